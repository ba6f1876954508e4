/* transport/admin/answer.h -- helpers for the answers of $node. */
#ifndef WF_ANSWER_H
#define WF_ANSWER_H

#include "msg.h"

#include <weft/actor.h>
#include <weft/pack.h>

struct wf_transport;

/* Answers with the bytes that `put` writes for `data`. It is called again if tables have grown between measuring and
 * writing. NULL, or the text of an error. */
const char *wf_control_answer(const weft_msg *ask,
                              void (*put)(weft_writer *w, const struct wf_transport *t, const void *data),
                              const struct wf_transport *t, const void *data);
static inline void wf_put_text(weft_writer *w, const char *text)
{
    weft_put_str(w, weft_cstr(text));
}
/* An entry of a map: its key, then its value. */
static inline void wf_put_text_of(weft_writer *w, const char *key, const char *value)
{
    wf_put_text(w, key);
    wf_put_text(w, value);
}
static inline void wf_put_number_of(weft_writer *w, const char *key, uint64_t value)
{
    wf_put_text(w, key);
    weft_put_uint(w, value);
}
/* "0.17.1@..."; nobody is "". */
void wf_put_pid(weft_writer *w, weft_pid pid);
/* Drop counters as INFO and DROPS have them: [reason, count]. */
void wf_put_drops(weft_writer *w, const struct wf_transport *t);
/* [A] Finds the actor of a pid, "0.17.1@NODE" or, of this node, "0.17.1", or of a name. False: there is none. */
bool wf_read_actor(weft_text who, weft_pid *out);

/* Numbers of messages and frames that did not reach an actor, by reason. */
enum { WF_ALL_DROPS = WF_DROP_REASONS + 5 };
struct wf_drop_count {
    const char *reason; /* static */
    uint64_t count;
};
void wf_transport_drops(const struct wf_transport *t, struct wf_drop_count all[WF_ALL_DROPS]);

#endif
