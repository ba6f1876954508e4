/* actors/names.h -- the registered names of one node: name -> pid. Any thread; one lock, held for the length of a
 * look-up.
 *
 * A name belongs to a chain, which its actor keeps and starts as NULL: who ends gives its whole chain back at once,
 * and nobody can take away the name of another. A chain is used by one thread at a time. */
#ifndef WF_NAMES_H
#define WF_NAMES_H

#include "base.h"

#include <weft/pack.h>
#include <weft/pid.h>

enum { WF_NAME_MAX = 64 };

struct wf_names; /* opaque */
struct wf_name;  /* opaque: one entry, the head of a chain */

int wf_names_create(struct wf_names **out); /* WEFT_ENOMEM */
void wf_names_destroy(struct wf_names *n);  /* NULL is fine; entries left in it are freed, their chains dangle */

/* 0, or WEFT_EINVAL: a name is 1 to WF_NAME_MAX letters, digits, '.', '_', '-' and '$'. */
int wf_name_check(weft_text name);

/* WEFT_EINVAL, WEFT_EEXIST (also when it is this actor's own), WEFT_ENOMEM. */
int wf_names_add(struct wf_names *n, weft_text name, weft_pid pid, struct wf_name **chain);
/* WEFT_ENOACTOR; then `*out` is untouched. */
int wf_names_find(struct wf_names *n, weft_text name, weft_pid *out);
/* Only looks in `chain`. WEFT_ENOACTOR. */
int wf_names_remove(struct wf_names *n, weft_text name, struct wf_name **chain);
/* Every name of the chain; `*chain` is NULL afterwards. */
void wf_names_remove_all(struct wf_names *n, struct wf_name **chain);
/* Every name of the chain but the oldest. */
void wf_names_remove_newer(struct wf_names *n, struct wf_name **chain);
/* The text of the oldest name in a chain, NUL-terminated; "" if it is empty. By the chain's user. */
const char *wf_names_first(const struct wf_name *chain);

size_t wf_names_count(struct wf_names *n);
/* Calls `see` for each name, in no order, with the lock held: it must not come back here. `name` is
 * NUL-terminated. */
void wf_names_each(struct wf_names *n, void (*see)(weft_text name, weft_pid pid, void *arg), void *arg);

#endif
