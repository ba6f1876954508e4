/* transport/store/server/standby_marks.h -- how many commits the store has acknowledged, which stores that stand by
 * are told.
 *
 * If the store and its database server are lost together, a standby may find another server, which is behind. It knows by the
 * mark that acknowledged commits are missing there. */
#ifndef WF_STANDBY_MARKS_H
#define WF_STANDBY_MARKS_H

#include <weft/message.h>
#include <weft/pid.h>

#include "store_file.h"

enum {
    WF_STANDBYS_MAX = 16
}; /* the standbys that are told, one of each node; if there are more, those that have asked last */

struct wf_standby_marks {
    struct wf_store_mark is, told;
    int64_t told_at;
    weft_pid standby[WF_STANDBYS_MAX];
    size_t count, oldest;
};

/* [A] Answers a WF_STORE_MARK. From now on its sender is told. */
void wf_standby_marks_ask(struct wf_standby_marks *m, const weft_msg *ask);
/* The store is open, or has stored a batch. A struct of zeros is one that nobody has asked. */
void wf_standby_marks_take(struct wf_standby_marks *m, const struct wf_store_file *f);
/* When wf_standby_marks_tell has something to tell; WEFT_FOREVER: never. Standbys know a mark a second later at most. */
int64_t wf_standby_marks_deadline(const struct wf_standby_marks *m);
void wf_standby_marks_tell(struct wf_standby_marks *m); /* [A] if it is time */
/* [A] Tells the last mark: the store ends. */
void wf_standby_marks_end(struct wf_standby_marks *m);

#endif
