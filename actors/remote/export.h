/* actors/remote/export.h -- the actors that other nodes may start here, by name. */
#ifndef WF_EXPORT_H
#define WF_EXPORT_H

#include <weft/remote.h>
#include <weft/pack.h>

/* The exported actor of that name, or NULL. Any thread. */
const struct weft_export *wf_export_find(weft_text name);
/* From now on, exports of the calling thread go into `*list`, NULL at first, and are not valid yet: the thread loads
 * a module that may replace another one. `list` NULL ends that. */
void wf_exports_collect(struct weft_export **list);
/* Makes the exports of `list` valid; they replace those with the same names. Any thread. */
void wf_exports_replace(struct weft_export *list);

#endif
