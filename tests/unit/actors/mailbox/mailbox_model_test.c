/* actors/mailbox/mailbox.c against a specification of a mailbox in a few lines: one list of all waiting messages, in
 * the order of their arrival. After each random operation the two are compared; a failure prints the seed, which
 * fails again. */
#include "mailbox.h"
#include "../../alloc_faults.h"
#include "published_block.h"
#include "../node_harness.h"
#include "../random.h"

#define SIGNAL (WEFT_TAG_SYSTEM + 200)

enum { TAGS = 3, PLACES = 512, SUBSCRIBED_MAX = 3, COUNTING = 2, STEPS = 400 };

/* ---- The specification ----------------------------------------------------------------------------------------- */

struct item {
    int64_t id; /* below 0: news of a subscription */
    uint32_t tag;
    int counted;   /* by that one of the subscriptions that drop their oldest message; 0: none */
    bool dead;     /* a request whose caller no longer waits */
    bool in_block; /* it needs an envelope: as the real mailbox says */
};

struct spec {
    struct item at[PLACES]; /* all that waits, the oldest first */
    size_t n;
    uint32_t max, skipped_max;
    weft_full_policy policy;
};

static bool is_signal(const struct item *i)
{
    return i->tag >= WEFT_TAG_SYSTEM;
}

static struct item take(struct spec *s, size_t i)
{
    struct item taken = s->at[i];
    memmove(&s->at[i], &s->at[i + 1], (--s->n - i) * sizeof s->at[0]);
    return taken;
}

static void add(struct spec *s, struct item i)
{
    want(s->n < PLACES);
    s->at[s->n++] = i;
}

/* The first of the mail from `i` on, or s->n; or of what that subscription counts. */
static size_t first_mail(const struct spec *s, size_t i, int counted)
{
    while (i < s->n && (is_signal(&s->at[i]) || (counted != 0 && s->at[i].counted != counted))) i++;
    return i;
}

static uint32_t count_mail(const struct spec *s, int counted)
{
    uint32_t n = 0;
    for (size_t i = first_mail(s, 0, counted); i < s->n; i = first_mail(s, i + 1, counted)) n++;
    return n;
}

static bool is_full(const struct spec *s)
{
    return count_mail(s, 0) >= s->max;
}

static void notify_lost(struct spec *s, int counted)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->at[i].tag == WEFT_TAG_SUBSCRIPTION && s->at[i].id == -counted) return;
    add(s, (struct item){.id = -counted, .tag = WEFT_TAG_SUBSCRIPTION});
}

/* Whether there is space, or was made by dropping the oldest. */
static bool make_space(struct spec *s)
{
    while (is_full(s) && s->policy == WEFT_FULL_DROP_OLDEST) {
        const struct item oldest = take(s, first_mail(s, 0, 0));
        if (oldest.counted != 0) notify_lost(s, oldest.counted);
    }
    return !is_full(s);
}

/* Publishes to a subscription that drops its oldest message. */
static void add_counted(struct spec *s, struct item i)
{
    if (is_full(s) || count_mail(s, i.counted) >= SUBSCRIBED_MAX) {
        if (count_mail(s, i.counted) > 0) {
            (void)take(s, first_mail(s, 0, i.counted));
            notify_lost(s, i.counted);
        }
        if (is_full(s) || count_mail(s, i.counted) >= SUBSCRIBED_MAX) {
            notify_lost(s, i.counted);
            return;
        }
    }
    add(s, i);
}

/* Dead requests, and mail for which there is no memory, go when they are come to. */
static void skip_dead(struct spec *s, size_t i, bool memory)
{
    while ((i = first_mail(s, i, 0)) < s->n && (s->at[i].dead || (s->at[i].in_block && !memory))) (void)take(s, i);
}

static int receive(struct spec *s, struct item *out, bool memory)
{
    while (s->n > 0 && !is_signal(&s->at[0]) && (s->at[0].dead || (s->at[0].in_block && !memory))) (void)take(s, 0);
    if (s->n == 0) return WEFT_ETIMEDOUT;
    *out = take(s, 0);
    return WEFT_OK;
}

struct wanted {
    bool mail, signals;
    uint32_t tag;     /* 0: any of those */
    int64_t of, rest; /* id % of == rest */
};

static bool is_wanted(const struct wanted *w, int64_t id, uint32_t tag)
{
    return (w->tag == 0 || w->tag == tag) && (w->of == 0 || id % w->of == w->rest);
}

static int receive_wanted(struct spec *s, const struct wanted *w, struct item *out, bool memory)
{
    uint32_t skipped = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (w->mail && skipped < s->skipped_max) skip_dead(s, i, memory);
        if (i == s->n) break;
        bool seen = is_signal(&s->at[i]) ? w->signals : w->mail && skipped < s->skipped_max;
        if (seen && is_wanted(w, s->at[i].id, s->at[i].tag)) {
            *out = take(s, i);
            return WEFT_OK;
        }
        if (seen && !is_signal(&s->at[i])) skipped++;
    }
    bool in_vain = skipped >= s->skipped_max || (is_full(s) && s->policy != WEFT_FULL_DROP_OLDEST);
    return w->mail && in_vain ? WEFT_EFULL : WEFT_ETIMEDOUT;
}

/* ---- The real one ---------------------------------------------------------------------------------------------- */

static uint64_t now_seed; /* for who reports */
static int now_step;
static weft_subscription counting[COUNTING];

static void check(bool holds, const char *what, int64_t real, int64_t wanted)
{
    if (holds) return;
    fprintf(stderr, "seed %llu, step %d: %s: %lld instead of %lld\n", (unsigned long long)now_seed, now_step, what,
            (long long)real, (long long)wanted);
    want(false);
}

static int64_t id_of(const weft_msg *m)
{
    int64_t id;
    if (weft_tag(m) == WEFT_TAG_SUBSCRIPTION) return m->ref == counting[0].id ? -1 : -2;
    memcpy(&id, weft_data(m), sizeof id);
    return id;
}

static int64_t id_in_block(const struct wf_published_block *b, uint32_t i)
{
    int64_t id;
    memcpy(&id, wf_body_bytes(b->at[b->post.word - 1 - i]), sizeof id);
    return id;
}

static void check_signals_before(const struct spec *s, size_t *i, const weft_msg **signal, uint32_t *ahead,
                                 uint32_t place)
{
    for (; *signal != NULL && *ahead + (*signal)->mail_ahead <= place; (*i)++) {
        check(*i < s->n && s->at[*i].id == id_of(*signal), "this signal waits", id_of(*signal),
              *i < s->n ? s->at[*i].id : -1);
        *ahead += (*signal)->mail_ahead;
        *signal = (const weft_msg *)(*signal)->post.next;
    }
}

/* The marks that mean something know how much mail is ahead of them. */
static void check_marks(const struct wf_actor *a)
{
    WF_LIST_EACH(k, &a->more->backlog->evict_marks) {
        const struct wf_evict_mark *mark = WF_CONTAINER(k, struct wf_evict_mark, on_marks);
        const int64_t ahead = (int64_t)(mark->ahead - a->gone);
        const weft_msg *m = a->mail.first;
        int64_t place = 0;
        if (ahead <= 0) continue;
        for (; m != NULL && m != mark->at; m = (const weft_msg *)m->post.next)
            place += wf_is_published_block(m) ? wf_published_block_count(m) : 1;
        check(m != NULL && place == ahead, "mail ahead of a mark", ahead, m == NULL ? -1 : place);
    }
}

/* Lists all messages that wait, in the order of their arrival, and notes which of them are in published blocks. */
static void compare(struct spec *s)
{
    const struct wf_actor *a = peek(weft_self());
    const weft_msg *signal = a->signals.first;
    uint32_t ahead = 0, place = 0;
    size_t i = 0;
    for (const weft_msg *m = a->mail.first; m != NULL; m = (const weft_msg *)m->post.next) {
        const struct wf_published_block *b = wf_is_published_block(m) ? (const struct wf_published_block *)m : NULL;
        for (uint32_t k = 0; k < (b == NULL ? 1 : wf_published_block_count(m)); k++, i++, place++) {
            check_signals_before(s, &i, &signal, &ahead, place);
            int64_t id = b == NULL ? id_of(m) : id_in_block(b, k);
            check(i < s->n && s->at[i].id == id, "this mail waits", id, i < s->n ? s->at[i].id : -1);
            s->at[i].in_block = b != NULL;
        }
    }
    check(place == wf_mail_count(a), "mail counted", wf_mail_count(a), place);
    check(a->task.slow_path == (a->has_waiters || a->traced || a->signals.first != NULL), "slow path",
          a->task.slow_path, !a->task.slow_path);
    check_signals_before(s, &i, &signal, &ahead, place);
    check(a->signals.first == NULL || a->signals.first->mail_total == ahead, "mail ahead of the last signal",
          a->signals.first == NULL ? 0 : a->signals.first->mail_total, ahead);
    check(signal == NULL && i == s->n, "messages", (int64_t)i, (int64_t)s->n);
    check_marks(a);
}

static bool match_wanted(const weft_msg *m, void *wanted)
{
    return is_wanted(wanted, id_of(m), weft_tag(m));
}

static int receive_really(const struct wanted *w, weft_msg **m)
{
    if (w == NULL) return weft_recv(m, WEFT_NOW);
    if (w->tag != 0) return weft_recv_tag(m, w->tag, WEFT_NOW);
    return weft_recv_match(m, match_wanted, (void *)(uintptr_t)w, WEFT_NOW);
}

static void receive_both(struct spec *s, const struct wanted *w, bool memory)
{
    struct item wanted = {.id = -1};
    weft_msg *m = NULL;
    int rc = w == NULL ? receive(s, &wanted, memory) : receive_wanted(s, w, &wanted, memory);
    if (!memory) faults_arm(0, true);
    int real = receive_really(w, &m);
    (void)faults_disarm();
    check(real == rc, "result of a receive", real, rc);
    if (rc < 0) return;
    check(id_of(m) == wanted.id, "received", id_of(m), wanted.id);
    weft_msg_free(m);
}

static void send_both(struct spec *s, struct item i)
{
    int rc = make_space(s) || s->policy == WEFT_FULL_DROP_NEWEST ? WEFT_OK : WEFT_EFULL;
    if (!is_full(s)) add(s, i);
    int real = weft_try_send(weft_self(), i.tag, &i.id, sizeof i.id);
    check(real == rc, "result of a send", real, rc);
}

static void ask_both(struct spec *s, struct item i)
{
    if (!make_space(s)) return;
    add(s, i);
    weft_msg *m = wf_request_new(wf_here, i.tag, sizeof i.id, WEFT_FOREVER);
    want(m != NULL);
    memcpy(m + 1, &i.id, sizeof i.id);
    m->to_actor = weft_self().actor;
    want(wf_mailbox_put(peek(weft_self()), m));
}

static void signal_both(struct spec *s, struct item i)
{
    weft_msg *m = wf_msg_new(wf_here, i.tag, sizeof i.id);
    want(m != NULL);
    memcpy(m + 1, &i.id, sizeof i.id);
    m->ref = (uint64_t)i.id;
    add(s, i);
    wf_signal_put(peek(weft_self()), m, i.tag);
}

static void publish_both(struct spec *s, struct item i)
{
    const char *const topic[] = {"plain", "counted.1", "counted.2"};
    if (i.counted) add_counted(s, i);
    else if (make_space(s)) add(s, i);
    want_int(weft_publish(topic[i.counted], i.tag, &i.id, sizeof i.id) <= 1, true);
}

/* The caller of one of the waiting requests no longer waits. */
static void expire_both(struct spec *s, uint32_t choice)
{
    for (weft_msg *m = peek(weft_self())->mail.first; m != NULL; m = (weft_msg *)m->post.next) {
        if (m->post.flags != WF_MSG_CALL || id_of(m) % 4 != choice) continue;
        wf_terms(m)->deadline = weft_now() - 1;
        for (size_t i = 0; i < s->n; i++) s->at[i].dead |= s->at[i].id == id_of(m);
        return;
    }
}

static void forget_signal_both(struct spec *s, uint32_t choice)
{
    for (size_t i = 0; i < s->n; i++) {
        if (s->at[i].tag < SIGNAL || s->at[i].id % 4 != choice) continue;
        weft_msg *m = wf_signal_take(peek(weft_self()), s->at[i].tag, (uint64_t)s->at[i].id, weft_nobody());
        want(m != NULL);
        wf_msg_free(wf_here, m);
        (void)take(s, i);
        return;
    }
}

static void look_both(struct spec *s)
{
    while (first_mail(s, 0, 0) < s->n && s->at[first_mail(s, 0, 0)].dead) (void)take(s, first_mail(s, 0, 0));
    bool ready = wf_mailbox_ready(&peek(weft_self())->task);
    check(ready == (s->n > 0), "something is ready", ready, s->n > 0);
}

static void unpack_both(struct spec *s, bool memory)
{
    for (size_t i = 0; !memory && i < s->n;) {
        if (!is_signal(&s->at[i]) && s->at[i].in_block) (void)take(s, i);
        else i++;
    }
    if (!memory) faults_arm(0, true);
    wf_mailbox_unpack(peek(weft_self()));
    (void)faults_disarm();
}

/* ---- Random operations ----------------------------------------------------------------------------------------- */

static void receive_some(struct spec *s, uint64_t *random)
{
    bool memory = random_below(random, 8) > 0;
    struct wanted w = {.mail = true};
    switch (random_below(random, 6)) {
    case 0: w.tag = 1 + random_below(random, TAGS); break;
    case 1: w = (struct wanted){.signals = true, .tag = SIGNAL + random_below(random, TAGS)}; break;
    case 2:
        w.signals = true, w.of = 1 + random_below(random, 5), w.rest = random_below(random, (uint32_t)w.of);
        break;
    case 3: w.signals = true, w.of = 50, w.rest = random_below(random, 50); break;
    default: receive_both(s, NULL, memory); return;
    }
    receive_both(s, &w, memory);
}

static void step(struct spec *s, uint64_t *random, int64_t id)
{
    struct item i = {.id = id, .tag = 1 + random_below(random, TAGS)};
    switch (random_below(random, 18)) {
    case 0:
    case 1: send_both(s, i); break;
    case 2: ask_both(s, i); break;
    case 3:
    case 4:
        i.tag = SIGNAL + random_below(random, TAGS);
        signal_both(s, i);
        break;
    case 5:
    case 6:
    case 7: publish_both(s, i); break;
    case 8:
    case 14:
        i.counted = 1 + (int)random_below(random, COUNTING);
        publish_both(s, i);
        break;
    case 9: expire_both(s, random_below(random, 4)); break;
    case 10: forget_signal_both(s, random_below(random, 4)); break;
    case 11: look_both(s); break;
    case 12:
        if (random_below(random, 4) == 0) unpack_both(s, random_below(random, 2) > 0);
        break;
    default: receive_some(s, random);
    }
}

static void compare_with_model(const void *arg, size_t size)
{
    (void)arg, (void)size;
    uint64_t random = now_seed;
    struct spec *s = calloc(1, sizeof *s);
    want(s != NULL);
    const struct wf_actor *a = peek(weft_self());
    weft_msg *m;
    s->max = a->mailbox_max;
    s->policy = wf_actor_policy(a);
    want_int(weft_recv_tag(&m, 1, WEFT_NOW), WEFT_ETIMEDOUT); /* what it needs is there from now on */
    s->skipped_max = a->more->backlog->skipped_max;
    want_int(weft_subscribe("plain", NULL), 0);
    const weft_subscribe_options oldest = {.slow = WEFT_SLOW_DROP_OLDEST, .max = SUBSCRIBED_MAX};
    want_int(weft_subscribe_with("counted.1", &oldest, &counting[0]), 0);
    want_int(weft_subscribe_with("counted.2", &oldest, &counting[1]), 0);
    for (now_step = 1; now_step <= STEPS; now_step++) {
        step(s, &random, now_step);
        compare(s);
        check(wf_actor_received(a) <= a->gone && a->gone < STEPS, "messages gone", (int64_t)a->gone, STEPS);
    }
    while (s->n > 0) receive_both(s, NULL, true);
    compare(s);
    free(s);
}

static void run_seeds(const void *arg, size_t size)
{
    (void)size;
    const struct kid *k = arg;
    const weft_full_policy policies[] = {WEFT_FULL_SUSPEND, WEFT_FULL_FAIL, WEFT_FULL_DROP_NEWEST,
                                         WEFT_FULL_DROP_OLDEST};
    struct wf_depot *depot = wf_here->pool.depot; /* every block for itself, so that each can fail */
    wf_pool_finish(&wf_here->pool);
    wf_pool_init(&wf_here->pool, depot);
    wf_here->pool.bypass = true;
    for (now_seed = 1; now_seed <= (uint64_t)k->n; now_seed++) {
        weft_spawn_options o = {.worker = 1,
                                .mailbox_max = 4 + (uint32_t)(now_seed / 4 % 12),
                                .policy = policies[now_seed % 4],
                                .skipped_max = now_seed % 3 == 0 ? 3 : 0,
                                .stack_bytes = 256 * 1024};
        await_end(kid_with(compare_with_model, (struct kid){.n = 0}, &o));
    }
}

START_TEST(a_mailbox_does_as_its_specification)
{
    weft_log_set(WEFT_SILENT, false);
    weft_node *n = node_of(1);
    struct kid k = {.n = repeats(400)};
    want_int(weft_node_spawn(n, NULL, run_seeds, &k, sizeof k, &(weft_spawn_options){.worker = 1}), 0);
    node_end(n);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("mailbox_model");
    TCase *t = tcase_create("mailbox_model");
    tcase_set_timeout(t, 240);
    tcase_add_test(t, a_mailbox_does_as_its_specification);
    suite_add_tcase(s, t);
    return run_suite(s);
}
