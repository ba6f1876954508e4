/* actors/remote/remote_child.c -- a child, or a member of a pool, that lives on another node: an actor here stands
 * for it. To a supervisor or a pool that actor is like any other child. It passes on each message, and ends as the
 * remote actor ends. */
#include "actor.h"
#include "end.h"
#include "export.h"
#include "send.h"

#include <stdlib.h>

#include <weft/supervisor.h>

/* The argument of weft_remote_child is [[node, ...], actor, arguments]. */
int64_t weft_remote_place(void *out, size_t size, const char *const *nodes, size_t node_count, const char *actor,
                          const struct weft_type_info *type, const void *args)
{
    if (nodes == NULL || node_count == 0 || node_count > WEFT_REMOTE_NODES_MAX || actor == NULL) return WEFT_EINVAL;
    weft_writer measure = weft_writer_on(NULL, 0);
    if (type != NULL && args != NULL) weft_typed_put(&measure, type, args);
    if (measure.error != 0 || measure.size > WEFT_REMOTE_ARGS_MAX) return WEFT_ETOOBIG;
    void *packed = malloc(measure.size + 1);
    if (packed == NULL) return WEFT_ENOMEM;
    weft_writer w = weft_writer_on(packed, measure.size);
    if (measure.size > 0) weft_typed_put(&w, type, args);
    w = weft_writer_on(out, size);
    weft_put_array(&w, 3);
    weft_put_array(&w, (uint32_t)node_count);
    for (size_t i = 0; i < node_count; i++) weft_put_str(&w, weft_cstr(nodes[i]));
    weft_put_str(&w, weft_cstr(actor));
    weft_put_bin(&w, packed, measure.size);
    free(packed);
    return w.error != 0 ? WEFT_ETOOBIG : (int64_t)w.size;
}

static void copy_text(char *out, size_t size, weft_text t)
{
    size_t n = WF_MIN(t.size, size - 1);
    memcpy(out, t.data, n);
    out[n] = 0;
}

/* Starts it on the first node of the list that agrees. */
static weft_pid start(const void *arg, size_t size)
{
    weft_reader r = weft_reader_on(arg, size), behind;
    struct weft_why why = {.text = "the place is malformed"};
    char node[WEFT_REMOTE_NAME_MAX + 1], actor[WEFT_REMOTE_NAME_MAX + 1];
    weft_remote_options options = {.link = true, .why = &why};
    weft_pid pid = weft_nobody();
    int rc = WEFT_EFORMAT;
    uint32_t fields = weft_get_array(&r), count = weft_get_array(&r);
    behind = r;
    for (uint32_t i = 0; i < count; i++) weft_skip(&behind);
    copy_text(actor, sizeof actor, weft_get_str(&behind));
    weft_text args = weft_get_bin(&behind);
    if (behind.error < 0 || fields < 3) count = 0;
    for (uint32_t i = 0; i < count && rc != WEFT_OK && rc != WEFT_ECANCELED; i++) {
        copy_text(node, sizeof node, weft_get_str(&r));
        WF_SOMETIMES("remote child: the next node of its list is tried", i > 0);
        rc = weft_spawn_packed_on(node, actor, &pid, args.data, args.size, &options);
    }
    if (rc < 0) wf_actor_fail(wf_actor_self(), rc, why.text);
    return pid;
}

/* If this actor is killed, it kills the remote one, too: it cannot wait for it to stop. */
static void kill_too(void *block)
{
    weft_pid pid;
    memcpy(&pid, block, sizeof pid);
    free(block);
    WF_SOMETIMES("remote child: it is killed with its local proxy", wf_actor_self()->reason == WEFT_EXIT_KILLED);
    if (wf_actor_self()->reason == WEFT_EXIT_KILLED) (void)weft_kill(pid);
}

static void ends_as(const weft_msg *m)
{
    struct weft_down d = {0};
    (void)weft_down_read(m, &d);
    wf_actor_fail(wf_actor_self(), d.reason, d.text);
}

static void stop(weft_pid pid)
{
    weft_msg *m;
    (void)weft_stop(pid);
    while (weft_recv_tag(&m, WEFT_TAG_EXIT, WEFT_FOREVER) == WEFT_OK) {
        if (weft_pid_equal(weft_from(m), pid)) ends_as(m);
        weft_msg_free(m);
    }
}

/* Waits as long as needed; senders to this actor meanwhile wait for space in its mailbox. If the remote actor is gone,
 * whose EXIT will come soon, the message is counted as dropped. */
static void pass_on(weft_pid pid, weft_msg *m)
{
    uint64_t here = weft_self().actor;
    weft_pid from = weft_from(m);
    uint32_t tag = weft_tag(m);
    bool answered = weft_wants_reply(m); /* with the error, if it cannot be sent on */
    if (wf_send_given(pid, m, WEFT_FOREVER) < 0 && !answered)
        wf_note_drop(wf_here, WF_DROP_NO_ACTOR, here, from, tag);
}

void weft_remote_child(const void *arg, size_t size)
{
    (void)weft_trap_exits(true);
    weft_pid pid = start(arg, size), *copy = malloc(sizeof *copy);
    if (copy == NULL) weft_exit(WEFT_ENOMEM); /* it is linked, so the remote actor ends as well */
    *copy = pid;
    if (weft_defer(kill_too, copy) < 0) weft_exit(WEFT_ENOMEM);
    (void)weft_trap_stop(true);
    (void)weft_ready();
    for (weft_msg *m; weft_recv(&m, WEFT_FOREVER) == WEFT_OK;) {
        uint32_t tag = weft_tag(m);
        if (tag == WEFT_TAG_EXIT) ends_as(m);
        if (tag < WEFT_TAG_SYSTEM) {
            pass_on(pid, m);
            continue;
        }
        weft_msg_free(m);
        if (tag == WEFT_TAG_STOP) stop(pid);
    }
}
