/* actors/testkit/expect.c -- functions for a test's actors: time, expectations, probes. All actors of a test live on
 * one worker, so one may read another's data. */
#include "expect.h"

#include "actor_life.h"
#include "deliver.h"
#include "held.h"
#include "mailbox.h"
#include "names.h"
#include "send.h"
#include "test.h"

#include <weft/monitor.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Time ------------------------------------------------------------------------------------------------------ */

static int settle(struct wf_test *t)
{
    struct wf_waiter me = {.task = wf_task_self()};
    int rc = WEFT_OK;
    wf_list_push(&t->settlers, &me.on_source);
    while (rc == WEFT_OK && wf_linked(&me.on_source)) rc = wf_task_wait(WEFT_FOREVER, "the others to come to rest");
    wf_unlink(&me.on_source);
    return (int)wf_task_finish_wait(rc);
}

int weft_settle(void)
{
    return settle(wf_test_here("weft_settle"));
}

int weft_advance(int64_t span)
{
    struct wf_test *t = wf_test_here("weft_advance");
    int rc = span <= 0 ? WEFT_OK : weft_sleep(weft_after(span));
    return rc < 0 ? rc : settle(t);
}

/* ---- Expectations ---------------------------------------------------------------------------------------------- */

static void add_message(struct wf_text *text, const weft_msg *m)
{
    static const char *const system[] = {
        [1] = "NODE_UP", "NODE_DOWN",          "DOWN",    "EXIT",         "GROUP_JOIN",
        "GROUP_LEAVE",   [8] = "SUBSCRIPTION", "STOP",    "NODE_SUSPECT", "MINORITY",
        "MAJORITY",      [14] = "DRAIN",       "UNDRAIN", "NAME_LOST",    [32] = "EXCLUSIVE_LOST"};
    uint32_t tag = m->post.word, number = tag - WEFT_TAG_SYSTEM;
    if (tag < WEFT_TAG_SYSTEM) wf_text_add(text, "\n  tag %u", tag);
    else if (number < WF_COUNT(system) && system[number] != NULL)
        wf_text_add(text, "\n  tag WEFT_TAG_%s", system[number]);
    else wf_text_add(text, "\n  tag WEFT_TAG_SYSTEM + %u", number);
    wf_text_add(text, "%s, %u bytes", m->post.flags == WF_MSG_CALL ? ", a request" : "", m->size);
    if (m->topic_size > 0) wf_text_add(text, ", published as %s", wf_body_topic(m->shared));
    if (weft_pid_is_nobody(m->from)) return;
    struct wf_actor *a = wf_actor_find(wf_here, m->from.actor);
    wf_text_add(text, ", from %s %u.%u.%u", a == NULL ? "an actor that has ended," : a->kind,
                wf_id_worker(m->from.actor), wf_id_slot(m->from.actor), wf_id_generation(m->from.actor));
}

static void add_lane(struct wf_text *text, const struct wf_lane *l)
{
    int count = 0;
    for (const weft_msg *m = l->first; m != NULL; m = (const weft_msg *)m->post.next) {
        if (++count <= 16) add_message(text, m);
    }
    if (count > 16) wf_text_add(text, "\n  and %d more", count - 16);
}

static void __attribute__((noreturn)) fail(struct wf_test *t, const struct wf_text *text)
{
    wf_test_fail(t, text->at);
    weft_exit(WEFT_EXIT_FAILED);
}

/* The expected message did not come. If the actor was asked to stop meanwhile, that is no failure. */
static void __attribute__((noreturn)) fail_to_come(struct wf_test *t, int rc, struct wf_text *text,
                                                   const struct wf_lane *signals, const struct wf_lane *mail)
{
    if (rc == WEFT_ECANCELED) weft_exit(WEFT_EXIT_STOPPED);
    wf_mailbox_unpack(wf_actor_self()); /* which may own the lane */
    wf_text_add(text, signals->first == NULL && mail->first == NULL ? "it is empty" : "it holds");
    add_lane(text, signals);
    add_lane(text, mail);
    fail(t, text);
}

static void say_missing(struct wf_text *text, const char *file, int line, uint32_t tag, int64_t within)
{
    wf_text_add(text, "%s:%d: no message with tag %u ", file, line, tag);
    if (within <= 0) wf_text_add(text, "is here");
    else {
        wf_text_add(text, "came within ");
        wf_text_add_span(text, within);
    }
}

/* A message that comes at the very end of the span is in time: so all other actors run before the last look. */
void weft_expect_at(const char *file, int line, uint32_t tag, int64_t within, weft_msg **out)
{
    struct wf_test *t = wf_test_here("weft_expect");
    struct wf_actor *self = wf_actor_self();
    weft_msg *m;
    int rc = weft_recv_tag(&m, tag, weft_after(within));
    if (rc == WEFT_ETIMEDOUT && (rc = settle(t)) == WEFT_OK) rc = weft_recv_tag(&m, tag, WEFT_NOW);
    if (rc < 0) {
        struct wf_text text = {.size = 0};
        say_missing(&text, file, line, tag, within);
        wf_text_add(&text, "; the mailbox: ");
        fail_to_come(t, rc, &text, &self->signals, &self->mail);
    }
    if (out != NULL) *out = m;
    else weft_msg_free(m);
}

void weft_expect_nothing_at(const char *file, int line, int64_t within)
{
    struct wf_test *t = wf_test_here("weft_expect_nothing");
    struct wf_actor *self = wf_actor_self();
    int rc = weft_advance(within);
    if (rc == WEFT_OK && !wf_mailbox_ready(&self->task)) return;
    struct wf_text text = {.size = 0};
    wf_text_add(&text, "%s:%d: the mailbox is not empty: ", file, line);
    fail_to_come(t, rc, &text, &self->signals, &self->mail);
}

static bool is_down_of(const weft_msg *m, void *who)
{
    return m->post.word == WEFT_TAG_DOWN && weft_pid_equal(m->from, *(const weft_pid *)who);
}

void weft_expect_down_at(const char *file, int line, weft_pid who, int reason, int64_t within)
{
    struct wf_test *t = wf_test_here("weft_expect_down");
    struct wf_actor *self = wf_actor_self();
    struct wf_text text = {.size = 0};
    struct weft_down down = {.reason = reason};
    char pid[WEFT_PID_TEXT], words[32], wanted[32];
    weft_msg *m;
    int rc = weft_recv_match(&m, is_down_of, &who, weft_after(within));
    if (rc == WEFT_ETIMEDOUT && (rc = settle(t)) == WEFT_OK) rc = weft_recv_match(&m, is_down_of, &who, WEFT_NOW);
    if (rc < 0) {
        wf_text_add(&text, "%s:%d: no notification of the end of %s (is it monitored?); the mailbox: ", file, line,
                    weft_pid_format(who, pid));
        fail_to_come(t, rc, &text, &self->signals, &self->mail);
    }
    (void)weft_down_read(m, &down);
    weft_msg_free(m);
    if (down.reason == reason) return;
    wf_text_add(&text, "%s:%d: %s was to end with reason %d (%s), and did with %d (%s) %s", file, line,
                weft_pid_format(who, pid), reason, weft_reason_text(reason, wanted), down.reason,
                weft_reason_text(down.reason, words), down.text);
    fail(t, &text);
}

/* ---- Probes ---------------------------------------------------------------------------------------------------- */

struct wf_probe {
    struct wf_probe *next;
    weft_pid pid;
    struct wf_lane lane;    /* the messages sent to it, the oldest first; on no held list */
    struct wf_list waiters; /* wf_waiter.on_source */
    bool ended;
    int reason;
};

enum { PROBE_EXIT = 0xFF }; /* of the system tags: weft_probe_exit */

static void probe_put(struct wf_probe *p, weft_msg *m)
{
    m->post.next = NULL;
    if (p->lane.last == NULL) p->lane.first = m;
    else p->lane.last->post.next = &m->post;
    p->lane.last = m;
    WF_LIST_EACH(k, &p->waiters) wf_task_wake(WF_CONTAINER(k, struct wf_waiter, on_source)->task);
}

static weft_msg *probe_take(struct wf_probe *p, const uint32_t *tag)
{
    weft_msg *before = NULL;
    for (weft_msg *m = p->lane.first; m != NULL; before = m, m = (weft_msg *)m->post.next) {
        if (tag != NULL && m->post.word != *tag) continue;
        weft_msg *next = (weft_msg *)m->post.next;
        if (before == NULL) p->lane.first = next;
        else before->post.next = &next->post;
        if (next == NULL) p->lane.last = before;
        return m;
    }
    return NULL;
}

static void probe_ended(void *arg)
{
    struct wf_probe *p = arg;
    struct wf_worker *w = wf_here;
    p->ended = true;
    for (weft_msg *m; (m = probe_take(p, NULL)) != NULL;) {
        if (m->post.flags == WF_MSG_CALL) wf_refuse(w, m, WEFT_ENOREPLY);
        else wf_msg_free(w, m);
    }
    WF_LIST_EACH(k, &p->waiters) wf_task_wake(WF_CONTAINER(k, struct wf_waiter, on_source)->task);
}

static void probe_main(const void *arg, size_t size)
{
    (void)size;
    struct wf_probe *p;
    memcpy(&p, arg, sizeof p);
    struct wf_actor *self = wf_actor_self();
    weft_msg *m;
    if (weft_defer(probe_ended, p) < 0) return;
    while (weft_recv(&m, WEFT_FOREVER) == WEFT_OK) {
        if (m->post.word == WEFT_TAG_SYSTEM + PROBE_EXIT) weft_exit(p->reason);
        wf_release(self, m);
        probe_put(p, m);
    }
}

void wf_probes_free(struct wf_test *t)
{
    for (struct wf_probe *p; (p = t->probes) != NULL; free(p)) t->probes = p->next;
}

/* Ended or not; NULL: it is of no probe. */
static struct wf_probe *find(struct wf_test *t, weft_probe probe)
{
    struct wf_probe *p = t->probes;
    while (p != NULL && !weft_pid_equal(p->pid, probe.pid)) p = p->next;
    return p;
}

int weft_probe_open(weft_probe *out, const char *name)
{
    struct wf_test *t = wf_test_here("weft_probe_open");
    struct wf_worker *w = t->worker;
    static const weft_spawn_options options = {.kind = "probe", .mailbox_max = UINT32_MAX};
    if (out == NULL) return WEFT_EINVAL;
    struct wf_probe *p = calloc(1, sizeof *p);
    if (p == NULL) return WEFT_ENOMEM;
    wf_list_init(&p->waiters);
    int rc = wf_actor_spawn(t->node, w, &p->pid, probe_main, &p, sizeof p, &options, true);
    if (rc < 0) {
        free(p);
        return rc;
    }
    p->next = t->probes;
    t->probes = p;
    out->pid = p->pid;
    if (name == NULL) return WEFT_OK;
    struct wf_actor_more *more = wf_actor_more(wf_actor_find(w, p->pid.actor));
    rc = more == NULL ? WEFT_ENOMEM : wf_names_add(wf_names_of(t->node), weft_cstr(name), p->pid, &more->names);
    if (rc < 0) (void)weft_probe_exit(*out, WEFT_EXIT_NORMAL);
    return rc;
}

/* Waits for a message of this tag, or until the deadline, or the probe's end. */
static int probe_recv(struct wf_probe *p, uint32_t tag, weft_msg **out, int64_t deadline)
{
    struct wf_waiter me = {.task = wf_task_self()};
    int rc = WEFT_OK;
    wf_list_push(&p->waiters, &me.on_source);
    while ((*out = probe_take(p, &tag)) == NULL && rc == WEFT_OK)
        rc = p->ended ? WEFT_ECLOSED : wf_task_wait(deadline, "a message to a probe");
    wf_unlink(&me.on_source);
    if (*out != NULL) {
        wf_hold(wf_actor_self(), *out);
        rc = WEFT_OK;
    }
    return (int)wf_task_finish_wait(rc);
}

void weft_probe_expect_at(const char *file, int line, weft_probe probe, uint32_t tag, int64_t within, weft_msg **out)
{
    struct wf_test *t = wf_test_here("weft_probe_expect");
    struct wf_probe *p = find(t, probe);
    static const struct wf_lane none;
    weft_msg *m;
    int rc = p == NULL ? WEFT_ECLOSED : probe_recv(p, tag, &m, weft_after(within));
    if (rc == WEFT_ETIMEDOUT && (rc = settle(t)) == WEFT_OK) rc = probe_recv(p, tag, &m, WEFT_NOW);
    if (rc < 0) {
        struct wf_text text = {.size = 0};
        say_missing(&text, file, line, tag, within);
        wf_text_add(&text, rc == WEFT_ECLOSED ? "; the probe has ended: " : "; the probe: ");
        fail_to_come(t, rc, &text, &none, p == NULL ? &none : &p->lane);
    }
    if (out != NULL) *out = m;
    else weft_msg_free(m);
}

void weft_probe_expect_nothing_at(const char *file, int line, weft_probe probe, int64_t within)
{
    struct wf_test *t = wf_test_here("weft_probe_expect_nothing");
    struct wf_probe *p = find(t, probe);
    static const struct wf_lane none;
    int rc = weft_advance(within);
    if (rc == WEFT_OK && (p == NULL || p->lane.first == NULL)) return;
    struct wf_text text = {.size = 0};
    wf_text_add(&text, "%s:%d: the probe was sent something: ", file, line);
    fail_to_come(t, rc, &text, &none, p == NULL ? &none : &p->lane);
}

int weft_probe_send(weft_probe probe, weft_pid to, uint32_t tag, const void *data, size_t size)
{
    struct wf_test *t = wf_test_here("weft_probe_send");
    if (tag >= WEFT_TAG_SYSTEM || (data == NULL && size > 0)) return WEFT_EINVAL;
    if (size > WEFT_MESSAGE_MAX) return WEFT_ETOOBIG;
    weft_msg *m = wf_msg_new(t->worker, tag, size);
    if (m == NULL) return WEFT_ENOMEM;
    if (size > 0) memcpy(m + 1, data, size);
    m->from = probe.pid;
    return wf_send_or_free(wf_actor_self(), to, m, WEFT_NOW);
}

int weft_probe_exit(weft_probe probe, int reason)
{
    struct wf_test *t = wf_test_here("weft_probe_exit");
    struct wf_probe *p = find(t, probe);
    if (p == NULL || p->ended) return WEFT_ECLOSED;
    weft_msg *m = wf_msg_new(t->worker, WEFT_TAG_SYSTEM + PROBE_EXIT, 0);
    if (m == NULL) return WEFT_ENOMEM;
    m->post.flags = WF_MSG_SYSTEM;
    m->to_actor = p->pid.actor;
    p->reason = reason;
    wf_deliver(t->worker, m);
    while (wf_actor_find(t->worker, p->pid.actor) != NULL) wf_task_yield();
    return WEFT_OK;
}
