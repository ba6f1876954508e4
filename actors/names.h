/* actors/names.h -- the registered names of one node: name -> pid. Any thread; one lock, held for the length of a
 * look-up.
 *
 * A name belongs to a chain, which its actor keeps and starts as NULL: who ends gives its whole chain back at once,
 * and nobody can take away the name of another. A chain is used by one thread at a time. */
#ifndef WF_NAMES_H
#define WF_NAMES_H

#include "base.h"
#include "list.h"

#include <weft/pack.h>
#include <weft/pid.h>

enum { WF_NAME_MAX = 64 };

struct wf_names; /* opaque */
struct wf_name;  /* opaque: one entry, the head of a chain */

int wf_names_create(struct wf_names **out); /* WEFT_ENOMEM */
void wf_names_destroy(struct wf_names *n);  /* NULL is fine; entries left in it are freed, their chains dangle */

/* 0: a name is 1 to WF_NAME_MAX letters, digits, '.', '_', '-' and '$'. WEFT_ETOOBIG: longer; WEFT_EINVAL. */
int wf_name_check(weft_text name);

/* WEFT_EINVAL, WEFT_ETOOBIG, WEFT_EEXIST (also when it is this actor's own), WEFT_ENOMEM. */
int wf_names_add(struct wf_names *n, weft_text name, weft_pid pid, struct wf_name **chain);
/* WEFT_ENOACTOR; then `*out` is untouched. */
int wf_names_find(struct wf_names *n, weft_text name, weft_pid *out);
/* Somebody who waits for a name: lives where its waiter likes, and is on the table from wf_names_await to
 * wf_names_forget. */
struct wf_name_wait {
    struct wf_link on_names;
    weft_pid found; /* nobody: not yet */
    /* With the lock held, from the registering thread, once: `found` is filled in. It must not come back here. */
    void (*wake)(struct wf_name_wait *wait);
    uint32_t hash, size;
    char text[WF_NAME_MAX];
};
/* As wf_names_find, but with WEFT_ENOACTOR `wait` (whose `wake` is filled in) is on the table. */
int wf_names_await(struct wf_names *n, weft_text name, struct wf_name_wait *wait, weft_pid *out);
/* Fine when it is not on the table any more. */
void wf_names_forget(struct wf_names *n, struct wf_name_wait *wait);
/* Only looks in `chain`. WEFT_ENOACTOR. */
int wf_names_remove(struct wf_names *n, weft_text name, struct wf_name **chain);
/* Every name of the chain; `*chain` is NULL afterwards. */
void wf_names_remove_all(struct wf_names *n, struct wf_name **chain);
/* Every name of the chain but that one, if it is there. */
void wf_names_remove_others(struct wf_names *n, const char *name, struct wf_name **chain);
/* The text of the oldest name in a chain, NUL-terminated; "" if it is empty. By the chain's user. */
const char *wf_names_first(const struct wf_name *chain);
/* The i-th, oldest first; NULL past the last. */
const char *wf_names_at(const struct wf_name *chain, size_t i);

size_t wf_names_count(struct wf_names *n);
size_t wf_names_waits(struct wf_names *n); /* how many wait */
/* Calls `see` for each name, in no order, with the lock held: it must not come back here. `name` is
 * NUL-terminated. */
void wf_names_each(struct wf_names *n, void (*see)(weft_text name, weft_pid pid, void *arg), void *arg);

#endif
