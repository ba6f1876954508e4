/* tests/litmus/search.c -- see search.h. */
#include "search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coro.h"

enum { STACK_BYTES = 256 * 1024 };

struct step {
    int which;
    enum step_kind kind;
    const char *function;
};

/* Where one of the threads was chosen. Sets of threads are bits. */
struct choice {
    unsigned enabled, sleeping, done; /* done: all orders that go on with it were run */
    unsigned may;                     /* of those that are enabled, who keeps the bound */
    int chosen, interrupted;          /* how often so far a thread that could go on did not */
    struct step next[THREADS_MAX];
};

static struct {
    struct search *search;
    struct choice at[STEPS_MAX];
    int depth, replayed; /* choices made in this order; of them, from the last one */
    struct wf_coro main, thread[THREADS_MAX];
    struct wf_stack_arena *stacks;
    struct step next[THREADS_MAX];
    const bool *ready[THREADS_MAX];
    unsigned finished;
    int self;
    const char *wrong;
    bool cut;
} now = {.self = -1};

static bool independent(const struct step *a, const struct step *b)
{
    return a->which != b->which || (a->kind == STEP_READ && b->kind == STEP_READ);
}

static unsigned enabled_now(void)
{
    unsigned set = 0;
    for (int i = 0; i < now.search->threads; i++)
        if ((now.finished & 1u << i) == 0 && (now.next[i].kind != STEP_WAIT || *now.ready[i])) set |= 1u << i;
    return set;
}

/* What need not be tried first here: it was tried before, and does not meet what was done since. */
static unsigned sleeping_now(void)
{
    unsigned set = 0;
    if (now.depth == 0) return 0;
    const struct choice *before = &now.at[now.depth - 1];
    for (int i = 0; i < now.search->threads; i++)
        if (((before->sleeping | before->done) & 1u << i) != 0 &&
            independent(&before->next[i], &before->next[before->chosen]))
            set |= 1u << i;
    return set;
}

static int interrupted_before(void)
{
    return now.depth == 0 ? 0 : now.at[now.depth - 1].interrupted;
}

static int lowest(unsigned set)
{
    return __builtin_ctz(set);
}

/* Who is next; -1: this order is over. */
static int choose(void)
{
    const struct search *s = now.search;
    unsigned enabled = enabled_now();
    if (now.wrong != NULL) return -1;
    if (enabled == 0) {
        if (now.finished != (1u << now.search->threads) - 1) now.wrong = "a thread waits for ever";
        return -1;
    }
    if (now.depth == STEPS_MAX) {
        now.wrong = "more steps than there may be";
        return -1;
    }
    struct choice *c = &now.at[now.depth];
    if (now.depth >= now.replayed) {
        *c = (struct choice){.enabled = enabled, .may = enabled};
        memcpy(c->next, now.next, sizeof c->next);
        bool goes_on = now.self >= 0 && (enabled & 1u << now.self) != 0;
        if (s->interruptions == 0) c->sleeping = sleeping_now();
        else if (goes_on && interrupted_before() == s->interruptions) c->may = 1u << now.self;
        unsigned may = c->may & ~c->sleeping;
        now.cut = may == 0;
        if (now.cut) return -1;
        c->chosen = goes_on && (may & 1u << now.self) != 0 ? now.self : lowest(may);
    } else if (c->enabled != enabled) {
        now.wrong = "the same choices are not the same order";
        return -1;
    }
    bool interrupts = now.self >= 0 && (enabled & 1u << now.self) != 0 && c->chosen != now.self;
    c->interrupted = interrupted_before() + interrupts;
    now.depth++;
    return c->chosen;
}

static void go_on(struct wf_coro *from)
{
    int before = now.self, next = choose();
    if (next == before && next >= 0 && (now.finished & 1u << next) == 0) return;
    now.self = next;
    wf_coro_switch(from, next < 0 ? &now.main : &now.thread[next]);
}

void search_step(int which, enum step_kind kind, const bool *ready, const char *function)
{
    int self = now.self;
    now.next[self] = (struct step){which, kind, function};
    now.ready[self] = ready;
    go_on(&now.thread[self]);
}

void search_fail(const char *why)
{
    int self = now.self;
    now.wrong = why;
    now.self = -1;
    wf_coro_switch(&now.thread[self], &now.main);
}

int search_self(void)
{
    return now.self;
}

static void thread_main(void *arg)
{
    int self = now.self;
    (void)arg;
    now.search->body[self](self);
    now.finished |= 1u << self;
    go_on(&now.thread[self]);
}

static void run_order(struct search *s)
{
    s->begin();
    now.depth = 0;
    now.finished = 0;
    now.self = -1;
    now.wrong = NULL;
    now.cut = false;
    for (int i = 0; i < s->threads; i++) {
        /* What was left suspended by the order before is not gone on with. */
        struct wf_stack stack = now.thread[i].stack;
        if (stack.base == NULL && wf_stack_take(now.stacks, STACK_BYTES, &stack) < 0) abort();
        now.thread[i] = (struct wf_coro){0};
        wf_coro_prepare(&now.thread[i], stack, thread_main, NULL);
        now.next[i] = (struct step){.which = -1 - i, .kind = STEP_WRITE, .function = "begins"};
    }
    go_on(&now.main);
    if (now.wrong == NULL && !now.cut) now.wrong = s->end();
    s->orders += !now.cut;
}

/* To the next order; false: there is none. */
static bool advance(void)
{
    while (now.depth > 0) {
        struct choice *c = &now.at[now.depth - 1];
        c->done |= 1u << c->chosen;
        unsigned left = c->may & ~c->done & ~c->sleeping;
        if (left != 0) {
            c->chosen = lowest(left);
            now.replayed = now.depth;
            return true;
        }
        now.depth--;
    }
    return false;
}

const char *search_all(struct search *s)
{
    now.search = s;
    if (now.stacks == NULL && wf_stack_arena_create(&now.stacks) < 0) abort();
    wf_coro_adopt_thread(&now.main);
    now.replayed = 0;
    s->orders = 0;
    do run_order(s);
    while (now.wrong == NULL && advance());
    return now.wrong;
}

void search_print(void)
{
    static const char *const variables[] = {"inbox", "space calls", "state", "edge"};
    static const char *const kinds[] = {"reads", "writes", "waits for"};
    for (int i = 0; i < now.depth; i++) {
        const struct step *step = &now.at[i].next[now.at[i].chosen];
        if (step->which >= 0)
            printf("    thread %d %s %s in %s\n", now.at[i].chosen, kinds[step->kind], variables[step->which],
                   step->function);
    }
}
