/* actors/mailbox/held.c -- see held.h. */
#include "held.h"

#include "describe.h"

#include <stdio.h>
#include <stdlib.h>

void wf_let_go(struct wf_actor *a, weft_msg *m)
{
    if (wf_is_handling(a, m)) wf_handled(a, m);
    if (m->post.kind == WF_POST_WORK) wf_work_let_go(a, m);
}

/* The block of a freed message may have another use by now: the tag is printed only if the rest looks like a
 * message. */
void wf_not_held(const struct wf_actor *a, const weft_msg *m)
{
    char who[160], from[WEFT_PID_TEXT], text[640], tag[32] = "its tag is gone";
    wf_actor_describe(&a->task, who, sizeof who);
    bool pooled = m->post.block_class <= WF_POOL_LARGE;
    bool whole = pooled && m->post.kind < WF_POST_KINDS && m->post.flags <= WF_MSG_TIMED;
    if (whole) snprintf(tag, sizeof tag, "tag %u", (unsigned)m->post.word);
    int n = snprintf(
        text, sizeof text,
        "weft: %s frees or sends a message that it does not hold (%s, from %s): it has freed or sent this "
        "message before, or another actor holds it\n",
        who, tag, weft_pid_format(m->from, from));
    if (n > 0) pf_stderr(text, WF_MIN((size_t)n, sizeof text - 1));
    abort();
}

/* ---- Messages that nobody frees -------------------------------------------------------------------------------- */

/* The most frequent tag, if at least one message in TAGS has it: Misra and Gries, "Finding repeated elements"
 * (1982). */
static uint32_t most_frequent_tag(const weft_msg *first, uint32_t *count)
{
    enum { TAGS = 16 };
    struct {
        uint32_t tag, count;
    } seen[TAGS] = {{0, 0}};
    for (const weft_msg *m = first; m != NULL; m = (const weft_msg *)m->post.next) {
        size_t at = 0, place = TAGS;
        for (; at < TAGS && (seen[at].count == 0 || seen[at].tag != m->post.word); at++)
            if (seen[at].count == 0) place = at;
        if (at < TAGS) seen[at].count++;
        else if (place < TAGS) seen[place].tag = m->post.word, seen[place].count = 1;
        else
            for (at = 0; at < TAGS; at++) seen[at].count--;
    }
    size_t most = 0;
    for (size_t i = 1; i < TAGS; i++) most = seen[i].count > seen[most].count ? i : most;
    *count = 0;
    for (const weft_msg *m = first; m != NULL; m = (const weft_msg *)m->post.next)
        *count += m->post.word == seen[most].tag;
    return seen[most].tag;
}

size_t wf_held_bytes(const struct wf_actor *a, uint32_t most)
{
    size_t bytes = 0;
    uint32_t looked = 0, count = wf_held_count(a);
    for (const weft_msg *m = a->held; m != NULL && looked < most; m = (const weft_msg *)m->post.next, looked++)
        bytes += sizeof *m + m->size;
    WF_ASSERT(looked <= count);
    return looked == count ? bytes : (size_t)((double)bytes * count / looked);
}

/* Whether most of the messages are requests without a reply. They are not forgotten: their callers wait, as those that read
 * at the end of a stored topic wait for the next record. It looks at some of them only, because a service with about
 * WF_HELD_MANY requests may pass that number with each one. */
static bool are_requests(const struct wf_actor *a)
{
    enum { LOOKED_AT = 64 };
    int requests = 0, looked = 0;
    for (const weft_msg *m = a->held; m != NULL && looked < LOOKED_AT; m = (const weft_msg *)m->post.next, looked++)
        requests += m->post.flags == WF_MSG_CALL;
    return requests > looked / 2;
}

__attribute__((noinline, cold)) void wf_holds_many(struct wf_actor *a)
{
    WF_ASSERT(a->held != NULL && a->task.worker == wf_here);
    if (a->service || are_requests(a) || !wf_misuse_is_new(wf_node_of(a->task.worker), a->kind, "held")) return;
    uint32_t count, tag = most_frequent_tag(a->held, &count);
    weft_log(WEFT_WARN,
             "actor %s: holds %u messages that it received or made and has not freed, %zu bytes; %u of them have the "
             "tag %u: write weft_msg_free(m) where it is done with a message",
             a->kind, wf_held_count(a), wf_held_bytes(a, WF_HELD_MANY), count, tag);
}
