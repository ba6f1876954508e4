/* actors/run/end.c: an actor that ends gives back very many of what it has in parts, so no turn of its worker is long, and
 * other actors run in between. Work is counted in entries that a turn gives back. */
#include "../node_harness.h"

#include "held.h"
#include "local.h"
#include "subscription.h"

#include <stdio.h>

enum { READY = 1, MAIL = 2 };
enum { BLOCK_BYTES = 1024, HEADER_BYTES = 32 /* of a block of weft_alloc */ };
enum { MANY = 20000, ACTORS = 3000, MOST = 1300 /* in a turn: 1,024, and what the last part has more */ };

enum kind {
    NAMES,
    GLOBALS,
    GROUPS,
    WATCHES,
    TOPICS,
    WATCHERS,
    MONITORS,
    LINKS,
    MAILS,
    HELD,
    SIGNALS,
    CLEAN_UPS,
    BLOCKS,
    EVENTS,
    LATER,
    KINDS
};

static unsigned count_of(enum kind kind)
{
    return kind == LINKS ? ACTORS : MANY;
}

/* ---- An actor that has very many ------------------------------------------------------------------------------- */

static void sleeper(const void *arg, size_t size)
{
    (void)arg, (void)size;
    (void)weft_sleep(WEFT_FOREVER);
}

static unsigned clean_ups;

static void clean_up(void *arg)
{
    (void)arg;
    clean_ups--;
}

static void take_one(enum kind kind, unsigned i, weft_pid parent, weft_pid nobody_there)
{
    char name[32];
    weft_event event;
    snprintf(name, sizeof name, "one.of.many.%u", i);
    switch (kind) {
    case NAMES: want_int(weft_register(name), 0); return;
    case GLOBALS: want_int(weft_register_global(name), 0); return;
    case GROUPS: want_int(weft_group_join(name), 0); return;
    case WATCHES: want_int(weft_group_watch(name), 0); return;
    case TOPICS: want_int(weft_subscribe(name, NULL), 0); return;
    case MONITORS: want_int(weft_monitor(parent, NULL), 0); return;
    case LINKS: kid_with(sleeper, (struct kid){.n = 0}, &(weft_spawn_options){.worker = 1, .link = true}); return;
    case HELD: want(weft_msg_new(MAIL, 0) != NULL); return;
    case SIGNALS: want_int(weft_monitor(nobody_there, NULL), 0); return;
    case CLEAN_UPS:
        clean_ups++;
        want_int(weft_defer(clean_up, NULL), 0);
        return;
    case BLOCKS: want(weft_alloc(BLOCK_BYTES - HEADER_BYTES) != NULL); return;
    case EVENTS: want_int(weft_event_open(&event), 0); return;
    case LATER: want_int(weft_send_after(weft_after(WEFT_SEC(1000)), parent, MAIL, NULL, 0, NULL), 0); return;
    default: return;
    }
}

static void rich(const void *arg, size_t size)
{
    struct kid k;
    want_int(size, sizeof k);
    memcpy(&k, arg, sizeof k);
    for (unsigned i = 0; i < count_of((enum kind)k.n); i++) take_one((enum kind)k.n, i, k.parent, k.other);
    say(k.parent, READY, 0);
    (void)weft_sleep(WEFT_FOREVER);
}

/* ---- What it still has ----------------------------------------------------------------------------------------- */

static unsigned left(enum kind kind, weft_pid p)
{
    struct wf_worker *w = wf_here;
    struct wf_actors *wa = wf_actors_of(w);
    struct wf_actor *a = wf_actor_find(w, p.actor);
    unsigned signals = 0;
    switch (kind) {
    case NAMES:
    case GLOBALS: return (unsigned)wf_names_count(wf_names_of(wa->node));
    case GROUPS: return (unsigned)groups_count(wa->node);
    case WATCHES: return slot_used(wa, WF_GROUPS_SLOT);
    case TOPICS: return wa->subscription_slab.used;
    case WATCHERS:
    case MONITORS: return slot_used(wa, WF_TIES_SLOT);
    case LINKS: return wf_ties_of(w)->ties.count;
    case MAILS: return a == NULL ? 0 : wf_mail_count(a);
    case HELD: return a == NULL ? 0 : wf_held_count(a);
    case SIGNALS:
        if (a == NULL) return 0;
        for (const weft_msg *m = a->signals.first; m != NULL; m = (const weft_msg *)m->post.next) signals++;
        return signals;
    case CLEAN_UPS: return clean_ups;
    case BLOCKS: return a == NULL ? 0 : (unsigned)(wf_locals_bytes(a) / BLOCK_BYTES);
    case EVENTS: return w->events.used;
    case LATER: return slot_used(wa, WF_SEND_AFTER_SLOT);
    default: return 0;
    }
}

static enum kind chosen;

/* Looks between any two turns. */
static void looks(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid gone = kid_on(1, sleeper, 0);
    want_int(weft_kill(gone), 0);
    await_end(gone);
    weft_pid p = kid_with(rich, (struct kid){.n = chosen, .other = gone}, &(weft_spawn_options){.worker = 1});
    (void)hear_only(READY);
    for (unsigned i = 0; i < MANY && chosen == WATCHERS; i++) want_int(weft_monitor(p, NULL), 0);
    for (unsigned i = 0; i < MANY && chosen == MAILS; i++) want_int(try_say(p, MAIL, i), 0);
    unsigned before = left(chosen, p), most = 0, at_first = before;
    want(at_first > count_of(chosen) / 2);
    want_int(weft_kill(p), 0);
    for (uint64_t turn = wf_here->count.turns; left(chosen, p) > 0 || is_alive(p);) {
        want_int(weft_yield(), 0);
        if (wf_here->count.turns == turn) continue;
        turn = wf_here->count.turns;
        unsigned now = left(chosen, p);
        most = WF_MAX(most, before - WF_MIN(before, now));
        before = now;
    }
    most = WF_MAX(most, before);
    want(most < MOST);
}

START_TEST(it_is_given_back_in_parts)
{
    chosen = (enum kind)_i;
    run_on(1, looks);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("end in parts");
    TCase *tc = tcase_create("kinds");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, it_is_given_back_in_parts, 0, KINDS);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
