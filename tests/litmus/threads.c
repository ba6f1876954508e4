/* tests/litmus/threads.c -- as interleave.c, but with real threads, for as many orders as there is time for, and for
 * ThreadSanitizer: threads post to one worker while it falls asleep repeatedly; no post is lost or comes twice, and
 * the posts of each sender come in order. */
#include "../suite.h"
#include "../unit/runtime/harness.h"

enum { SENDERS = 3, BURST = 7 };

struct item {
    struct wf_call call;
    struct sender *by;
    int64_t serial;
    _Atomic bool free; /* release by the worker, acquire by the sender, who writes it again */
};

struct sender {
    struct wf_worker *to;
    int64_t count;
    int64_t heard; /* the worker's thread only, until it has ended */
    bool disordered;
    struct item items[BURST];
};

static void hear(struct wf_worker *w, struct wf_call *c)
{
    struct item *i = WF_CONTAINER(c, struct item, call);
    (void)w;
    i->by->disordered |= i->serial != ++i->by->heard;
    atomic_store_explicit(&i->free, true, memory_order_release);
}

/* Bursts of one to BURST; in between the worker may have slept for long, or is about to. */
static void send_all(void *arg)
{
    struct sender *s = arg;
    for (int64_t n = 1; n <= s->count; n++) {
        struct item *i = &s->items[n % BURST];
        while (!atomic_load_explicit(&i->free, memory_order_acquire)) pf_cpu_relax();
        atomic_store_explicit(&i->free, false, memory_order_relaxed);
        i->call = (struct wf_call){.post = {.kind = WF_POST_CALL}, .call = hear};
        i->serial = n;
        wf_worker_post(s->to, &i->call.post);
        for (int64_t j = 0; j < n % 97; j++) pf_cpu_relax();
    }
}

START_TEST(posts_of_threads_come_once_and_in_order)
{
    static struct sender senders[SENDERS];
    struct harness h;
    pf_thread *thread[SENDERS];
    harness_start(&h, 1);
    for (int i = 0; i < SENDERS; i++) {
        senders[i] = (struct sender){.to = h.set.at[0], .count = repeats(200000)};
        for (int j = 0; j < BURST; j++) {
            senders[i].items[j].by = &senders[i];
            atomic_store_explicit(&senders[i].items[j].free, true, memory_order_relaxed);
        }
        ck_assert_int_eq(pf_thread_start(&thread[i], "sender", send_all, &senders[i]), 0);
    }
    for (int i = 0; i < SENDERS; i++) pf_thread_join(thread[i]);
    for (int i = 0; i < SENDERS; i++)
        for (int j = 0; j < BURST; j++)
            while (!atomic_load_explicit(&senders[i].items[j].free, memory_order_acquire)) pf_cpu_relax();
    harness_stop(&h);
    for (int i = 0; i < SENDERS; i++) {
        ck_assert_int_eq(senders[i].heard, senders[i].count);
        ck_assert(!senders[i].disordered);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("litmus");
    TCase *t = tcase_create("threads");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, posts_of_threads_come_once_and_in_order);
    suite_add_tcase(s, t);
    return run_suite(s);
}
