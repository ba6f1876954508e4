/* actors/remote/export.h -- the actors that other nodes may start here, by name. */
#ifndef WF_EXPORT_H
#define WF_EXPORT_H

#include <weft/remote.h>
#include <weft/pack.h>

/* The exported actor of that name; NULL. Any thread. */
const struct weft_export *wf_export_find(weft_text name);
/* What the calling thread exports from now on goes into `*list`, which begins with NULL, and does not count yet: it
 * is loading a module that may take the place of another. NULL: no more. */
void wf_exports_collect(struct weft_export **list);
/* It counts from now on, before what has the same names. Any thread. */
void wf_exports_replace(struct weft_export *list);

#endif
