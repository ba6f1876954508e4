/* transport/cluster/swim_table.h -- the table of the members that swim.c knows, by node, name and state. */
#ifndef WF_SWIM_TABLE_H
#define WF_SWIM_TABLE_H

#include "swim.h"

bool wf_swim_table_init(struct wf_swim *s);
void wf_swim_table_finish(struct wf_swim *s);
uint64_t wf_swim_random(struct wf_swim *s);
uint32_t wf_swim_below(struct wf_swim *s, uint32_t bound); /* bound > 0 */
/* Adds an ALIVE member at a random place in the probing order. NULL: no memory, or too many members. */
struct wf_swim_member *wf_swim_add(struct wf_swim *s, uint64_t node, uint64_t number, weft_text record, int64_t now);
/* WEFT_ENOMEM: it keeps the record that it has. */
int wf_swim_set_record(struct wf_swim *s, struct wf_swim_member *m, weft_text record);
/* The table is full, and a member that is known from itself needs a place: forgets one that is known only from others.
 * If there is none, it forgets nothing. */
void wf_swim_make_room(struct wf_swim *s);
/* Puts it on the lists of its new state and calls wf_swim_user.changed. */
void wf_swim_enter(struct wf_swim *s, struct wf_swim_member *m, enum wf_swim_state state, uint64_t number,
                   int64_t now);
void wf_swim_forget_old(struct wf_swim *s, int64_t now);
void wf_swim_shuffle(struct wf_swim *s);
/* The newest member of that name; NULL: there is none, or it is not present. */
struct wf_swim_member *wf_swim_named(const struct wf_swim *s, weft_text name);
uint32_t wf_swim_logarithm(uint32_t n); /* ln(n) rounded up, at least 1 */
/* Its entry has changed, and is sent from now on. */
void wf_swim_update(struct wf_swim *s, struct wf_swim_member *m);
/* Chooses the entries that go with one message: `first` (may be NULL) and those that have been sent least. Returns how
 * many; each counts as sent once more. */
uint32_t wf_swim_pick(struct wf_swim *s, struct wf_swim_member *first, struct wf_swim_member **out, size_t space);
/* The update that is sent about it, with its record if it is present. */
struct wf_swim_update wf_swim_entry(const struct wf_swim_member *m);
size_t wf_swim_entry_size(const struct wf_swim_member *m);

struct wf_swim_member *wf_swim_find(const struct wf_swim *s, uint64_t node);

#endif
