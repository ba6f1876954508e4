/* Actors that continue with other code: what they keep, which reloads are refused, and that nothing is left behind.
 * No modules are needed. */
#include "call.h"
#include "../run/handlers.h"
#include "reload.h"

#include <stdio.h>

enum { ITEM = 50, REPORT, MANY = 3000 };

/* ---- The new code ---------------------------------------------------------------------------------------------- */

struct state {
    weft_pid parent;
    int64_t lives, seen;
    char *memory; /* the actor's own, from one life to the next */
    char rest[700];
};

static void serve(struct state *s, size_t size);
static void grow(struct state *s, weft_msg *m);
static _Atomic int closed;

static void next_body(const void *arg, size_t size)
{
    struct state s;
    want(((uintptr_t)arg & 15) == 0);
    memcpy(&s, arg, size);
    s.lives++;
    serve(&s, size);
}

static void next_handler(void *state, weft_msg *m)
{
    struct state *s = state;
    want(((uintptr_t)state & 15) == 0);
    grow(s, m);
}

static int to_body(struct weft_handover *h)
{
    want_int(h->version, 7);
    want(strcmp(h->kind, "serves") == 0);
    h->body = next_body;
    return WEFT_OK;
}

static int to_handler(struct weft_handover *h)
{
    struct state s;
    memcpy(&s, h->state, h->size);
    s.lives++;
    want_int(weft_handover_state(h, &s, WEFT_HANDOVER_MAX + 1), WEFT_ETOOBIG);
    want_int(weft_handover_state(h, h, 1), 0); /* the last one counts */
    want_int(weft_handover_state(h, &s, sizeof s), 0);
    h->handle = next_handler;
    return WEFT_OK;
}

static int refuses(struct weft_handover *h)
{
    want_int(weft_handover_state(h, "gone", 4), 0);
    snprintf(h->why, sizeof h->why, "not from version %u", (unsigned)h->version);
    return WEFT_EFORMAT;
}

static int says_nothing(struct weft_handover *h)
{
    (void)h;
    return WEFT_OK;
}

static void knocks(const void *arg, size_t size)
{
    weft_pid to;
    (void)arg, (void)size;
    want_int(weft_whereis("serves", &to), 0);
    want_int(say(to, GO, 0), 0);
}

static int waits(struct weft_handover *h)
{
    weft_msg *m;
    want_int(weft_hand_over(NULL, 0, NULL, 0), WEFT_EINVAL);
    want_int(weft_handle(next_handler, NULL, 0), WEFT_EINVAL);
    want_int(weft_spawn(NULL, knocks, NULL, 0, NULL), 0);
    want_int(weft_recv_tag(&m, GO, WEFT_FOREVER), 0); /* what an actor may, its hook may */
    weft_msg_free(m);
    return to_body(h);
}

static int leaves(struct weft_handover *h)
{
    want_int(weft_handover_state(h, "gone", 4), 0);
    weft_exit(OWN_REASON);
}

/* ---- The old code ---------------------------------------------------------------------------------------------- */

static void grow(struct state *s, weft_msg *m)
{
    switch (weft_tag(m)) {
    case WEFT_TAG_RELOAD:
        if (weft_hand_over(m, 7, s, sizeof *s) < 0) s->lives += 1000;
        return;
    case ITEM:
        want_int(value_of(m), s->seen);
        s->seen++;
        return;
    case REPORT: {
        const int64_t both[] = {s->lives, s->seen};
        want(strcmp(s->memory, "kept") == 0);
        want_int(weft_reply(m, REPORT, both, sizeof both), 0);
        return;
    }
    default: return;
    }
}

static void serve(struct state *s, size_t size)
{
    weft_msg *m;
    while (weft_recv(&m, WEFT_FOREVER) == WEFT_OK) {
        if (weft_tag(m) == WEFT_TAG_RELOAD) {
            if (weft_hand_over(m, 7, s, size) == WEFT_OK) return;
            s->lives += 1000;
            continue;
        }
        grow(s, m);
        weft_msg_free(m);
    }
}

static void count_closed(void *arg)
{
    (void)arg;
    closed++;
}

static void first_body(const void *arg, size_t size)
{
    struct state s = {.parent = ((const struct kid *)arg)->parent, .memory = weft_alloc(8)};
    (void)size;
    memcpy(s.memory, "kept", 5);
    want_int(weft_register("serves"), 0);
    want_int(weft_trap_reload(true), 0);
    want_int(weft_defer(count_closed, NULL), 0);
    serve(&s, sizeof s);
}

/* ---- The asker ------------------------------------------------------------------------------------------------- */

static weft_pid start(int worker)
{
    weft_pid pid = kid_with(first_body, (struct kid){.n = 0},
                            &(weft_spawn_options){.worker = worker, .kind = "serves"});
    weft_pid found;
    want_int(weft_await_name("serves", &found, WEFT_FOREVER), 0);
    weft_msg *m;
    want_int(weft_call(pid, REPORT, NULL, 0, &m, WEFT_FOREVER), 0); /* so it traps reloads by now */
    weft_msg_free(m);
    return pid;
}

/* Reloads; the one actor that is asked says `why`, "": it runs the new code. */
static void reload(weft_migrate *hook, const char *why)
{
    struct wf_reloaded *all;
    size_t count;
    want_int(wf_reload_actors(weft_here(), hook, &all, &count, WEFT_FOREVER), 0);
    want_int(count, 1);
    want_int(all[0].moved, why[0] == '\0');
    want(strcmp(all[0].why, why) == 0);
    want(strcmp(all[0].info.kind, "serves") == 0 && strcmp(all[0].info.name, "serves") == 0);
    (void)weft_release(all);
}

static void want_state(weft_pid pid, int64_t lives, int64_t seen)
{
    weft_msg *m;
    int64_t both[2];
    want_int(weft_call(pid, REPORT, NULL, 0, &m, WEFT_FOREVER), 0);
    memcpy(both, weft_data(m), sizeof both);
    weft_msg_free(m);
    want_int(both[0], lives);
    want_int(both[1], seen);
}

static void end(weft_pid pid)
{
    weft_monitor_ref ref;
    weft_msg *m;
    int before = closed;
    want_int(weft_monitor(pid, &ref), 0);
    want_int(weft_stop(pid), 0);
    want_int(weft_recv_tag(&m, WEFT_TAG_DOWN, WEFT_FOREVER), 0);
    weft_msg_free(m);
    want_int(closed, before + 1); /* its clean-ups are those of all its lives */
}

static void moves(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (int worker = 1; worker <= 2; worker++) {
        weft_pid pid = start(worker);
        for (int i = 0; i < 3; i++) reload(to_body, "");
        want_state(pid, 3, 0);
        reload(to_handler, "");
        reload(to_handler, "");
        want_state(pid, 5, 0);
        reload(to_body, "the migrate hook of the new module gives a body to a handler");
        want_state(pid, 1005, 0);
        end(pid);
    }
}

static void reloads_meanwhile(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (int i = 0; i < 6; i++) reload(i < 4 ? to_body : to_handler, "");
    want_int(say(((const struct kid *)arg)->parent, GO, 0), 0);
}

static void keeps_mail(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid pid = start(2);
    kid_on(1, reloads_meanwhile, 0);
    int64_t n = 0;
    weft_msg *done = NULL;
    while (done == NULL || n < MANY) {
        want_int(say(pid, ITEM, n++), 0);
        if (n % 50 == 0 && done == NULL) (void)weft_recv(&done, WEFT_NOW);
        if (n % 50 == 0) want_int(weft_yield(), 0);
    }
    weft_msg_free(done);
    want_state(pid, 6, n); /* `grow` has looked at their order */
    end(pid);
}

static void stays(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid pid = start(2);
    reload(refuses, "not from version 7");
    reload(says_nothing, "the migrate hook of the new module names neither a body nor a handler to continue with");
    want_state(pid, 2000, 0);
    reload(waits, "");
    want_state(pid, 2001, 0);
    weft_monitor_ref ref;
    weft_msg *m;
    want_int(weft_monitor(pid, &ref), 0);
    reload(leaves, "it freed the request without an answer, or ended");
    want_int(weft_recv_tag(&m, WEFT_TAG_DOWN, WEFT_FOREVER), 0);
    weft_msg_free(m);
    struct wf_reloaded *all;
    size_t count;
    want_int(wf_reload_actors(weft_here(), to_body, &all, &count, WEFT_FOREVER), 0);
    want_int(count, 0);
    (void)weft_release(all);
}

/* Says that it would, and does not look. */
static void busy(const void *arg, size_t size)
{
    weft_msg *m;
    (void)size;
    want_int(weft_trap_reload(true), 0);
    want_int(weft_register("serves"), 0);
    want_int(weft_recv_tag(&m, GO, WEFT_FOREVER), 0);
    weft_msg_free(m);
    want_int(weft_recv_tag(&m, WEFT_TAG_RELOAD, WEFT_FOREVER), 0);
    want_int(weft_hand_over(m, 7, NULL, 0), WEFT_ETIMEDOUT); /* the asker was told that it has failed */
    want_int(weft_hand_over(NULL, 7, NULL, 0), WEFT_EINVAL);
    m = weft_msg_new(DATA, 0);
    want_int(weft_hand_over(m, 7, NULL, 0), WEFT_EINVAL);
    want_int(say(((const struct kid *)arg)->parent, GO, 0), 0);
}

static void too_late(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid pid = kid_with(busy, (struct kid){.n = 0}, &(weft_spawn_options){.worker = 2, .kind = "serves"}), found;
    struct wf_reloaded *all;
    size_t count;
    want_int(weft_await_name("serves", &found, WEFT_FOREVER), 0);
    want_int(wf_reload_actors(weft_here(), to_body, &all, &count, soon()), 0);
    want_int(count, 1);
    want_int(all[0].moved, false);
    want(strstr(all[0].why, "not received the request in time") != NULL);
    (void)weft_release(all);
    want_int(say(pid, GO, 0), 0);
    want_int(hear(GO), 0);
}

/* Its traps are its body's: clean-ups go on with nothing. */
static void cleans_up(void *arg)
{
    weft_msg *m;
    (void)arg;
    want_int(weft_recv_tag(&m, GO, WEFT_FOREVER), 0);
    weft_msg_free(m);
}

static void ends_slowly(const void *arg, size_t size)
{
    (void)arg, (void)size;
    want_int(weft_trap_reload(((const struct kid *)arg)->n != 0), 0);
    want_int(weft_defer(cleans_up, NULL), 0);
    if (((const struct kid *)arg)->n == 0) await_news();
}

static void asked_directly(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (int64_t traps = 0; traps < 2; traps++) {
        weft_msg *answer;
        weft_pid pid = kid_with(ends_slowly, (struct kid){.n = traps}, &(weft_spawn_options){.worker = 1});
        await_wait(pid, "mailbox");
        want_int(peek(pid)->cleaning, traps);
        want_int(wf_call_control(pid, WEFT_TAG_RELOAD, NULL, 0, &answer, WEFT_FOREVER), WEFT_EINVAL);
        if (traps == 0) tell_news(pid);
        want_int(say(pid, GO, 0), 0);
        await_end(pid);
    }
}

START_TEST(an_actor_that_has_not_trapped_reloads_is_not_asked)
{
    run_on(1, asked_directly);
}
END_TEST

START_TEST(an_actor_goes_on_with_other_code_and_what_it_has)
{
    run_on(2, moves);
}
END_TEST

START_TEST(no_message_is_lost_or_out_of_order)
{
    run_on(2, keeps_mail);
}
END_TEST

START_TEST(an_actor_that_refuses_a_reload_goes_on_as_before)
{
    run_on(2, stays);
}
END_TEST

START_TEST(no_actor_is_reloaded_after_the_asker_has_given_up)
{
    run_on(2, too_late);
}
END_TEST
TEST_MAIN("reload", an_actor_goes_on_with_other_code_and_what_it_has, no_message_is_lost_or_out_of_order,
          an_actor_that_refuses_a_reload_goes_on_as_before, no_actor_is_reloaded_after_the_asker_has_given_up,
          an_actor_that_has_not_trapped_reloads_is_not_asked)
