/* transport/store/client/store_client.h -- sends requests to the store's actor. */
#ifndef WF_STORE_CLIENT_H
#define WF_STORE_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include <weft/api.h>
#include <weft/message.h>
#include <weft/pid.h>
#include <weft/time.h>
#include <weft/typed_desc.h>

/* [A, W] Sends the store of that name, WEFT_STORE_NAME or WEFT_STORE_NAME "@NODE", a request and waits for its
 * answer, which is read into `*out`: its views live as long as `*answer`. If `answer_type` is NULL, the caller reads it.
 * Returns 0, and the caller owns the answer; or an error of weft_call_name, or WEFT_EFORMAT. */
WEFT_API int wf_store_ask(const char *name, uint32_t request, const struct weft_type_info *type, const void *value,
                          const struct weft_type_info *answer_type, void *out, weft_msg **answer, int64_t deadline);

struct weft_stored_log;
/* [A, W] As weft_stored_logs, of the store of that name. */
WEFT_CHECKED int wf_stored_logs(const char *store, const char *after, struct weft_stored_log *out, size_t max,
                                int64_t deadline);

/* Texts of a reader or a member: "" stands for the store that has the name WEFT_STORE_NAME. */
const char *wf_store_named(const char *store);
/* Whether each reading actor would get this error of the store again if it asked again. */
bool wf_store_error_lasts(int64_t error);
/* A random number, which no other actor can guess. Never 0. */
uint64_t wf_store_random(void);
/* How long a job waits that was given back after so many attempts. */
int64_t wf_backoff(uint32_t attempts);

/* [A] The actor of the store; weft_nobody(): no store is known. */
weft_pid wf_store_pid(void);
/* [A, W] Call it after an error of wf_store_ask; `asked` was the store before. Waits until asking again makes sense:
 * until there is another store, or, if this one lives, for a second. Returns 0 or WEFT_ECANCELED. */
int wf_store_await(weft_pid asked);

#endif
