/* tests/stress/operations.c -- random operations of every kind, and an exact account at the end: every message sent
 * was received, refused or dropped for a reason; every monitor and link fired once, or was removed; every request was
 * answered or failed; every published message reached each subscriber of that moment; no memory is left.
 *
 * Players do all operations, and end all the time, in every way; another one takes the place of each. Servers answer,
 * keep, free and forward requests, and end as well; they live on the last worker and receive only requests, so that
 * messages dropped there are requests, and on other workers plain messages. Auditors never fail, and end when they
 * have received all notifications that they must get. Listeners subscribe and unsubscribe.
 *
 *     operations [OPERATIONS [SEED [WORKERS [PARK_AFTER_NS]]]]
 *
 * With 0 workers it runs in virtual time on one thread: the same seed makes exactly the same run, so that a failure
 * can be repeated. With more workers, threads race, and the seed decides only which operations are tried. */
#include "account.h"

#include "park.h"

#include <weft/test.h>

static void play(const void *arg, size_t size);

/* ---- Life ------------------------------------------------------------------------------------------------------ */

static int give_birth(uint32_t place, struct player *parent)
{
    uint64_t random = new_seed();
    struct player child = {.place = place};
    weft_monitor_ref ref;
    bool watch = parent != NULL && parent->monitor_count < TIES && random_below(&random, 2) == 0;
    bool tie = parent != NULL && parent->link_count < TIES && random_below(&random, 4) == 0;
    uint32_t workers = weft_here()->workers.users;
    int worker = is_server(place) || workers == 1 ? (int)workers : 1 + (int)random_below(&random, workers - 1);
    weft_spawn_options o = {.worker = worker,
                            .mailbox_max = 1 + random_below(&random, 12),
                            .policy = (weft_full_policy)random_below(&random, 3),
                            .monitor = watch ? &ref : NULL,
                            .link = tie};
    child.random = random;
    weft_pid pid;
    atomic_fetch_add(&all.players, 1);
    int rc = weft_spawn(&pid, play, &child, sizeof child, &o);
    if (rc < 0) {
        atomic_fetch_sub(&all.players, 1);
        return rc;
    }
    ADD(lives);
    if (watch) {
        parent->monitors[parent->monitor_count++] = (struct tie){ref, pid};
        ADD(watched);
    }
    if (tie) {
        parent->links[parent->link_count++] = pid;
        ADD(tied);
    }
    return rc;
}

/* A clean-up, the last one: an actor that is killed leaves its account, too. */
static void close_account(void *arg)
{
    struct player *p = arg;
    if (p->sending) ADD(refused);
    if (p->asking) ADD(abandoned);
    for (uint32_t i = 0; i < p->monitor_count; i++) ADD(forgotten);
    for (uint32_t i = 0; i < p->link_count; i++) ADD(untied); /* with it */
    want(!p->auditor || p->monitor_count + p->link_count == 0);
    if (!p->auditor) {
        /* Unless another has its place already: else there would be more and more of them. */
        bool owner = atomic_load_explicit(&all.place[p->place], memory_order_acquire) == weft_self().actor;
        if (owner && atomic_load(&all.budget) > 0) (void)give_birth(p->place, NULL);
        atomic_fetch_sub(&all.players, 1);
    }
    free(p);
}

/* ---- News ------------------------------------------------------------------------------------------------------ */

static void take_down(struct player *p, const struct weft_down *d)
{
    uint32_t i = 0;
    while (i < p->monitor_count && p->monitors[i].ref.id != d->ref.id) i++;
    want(i < p->monitor_count); /* else it is told twice, or was ended */
    want(weft_pid_equal(p->monitors[i].who, d->who));
    p->monitors[i] = p->monitors[--p->monitor_count];
    ADD(told);
}

static void take_exit(struct player *p, const struct weft_down *d)
{
    uint32_t i = 0;
    while (i < p->link_count && !weft_pid_equal(p->links[i], d->who)) i++;
    want(i < p->link_count);
    p->links[i] = p->links[--p->link_count];
    ADD(exits);
}

/* The notifications about a member alternate: it joins, it leaves. */
static void take_group_news(struct player *p, const weft_msg *m)
{
    struct weft_group_news news;
    want_int(weft_group_news_read(m, &news), 0);
    uint32_t g = (uint32_t)(news.group[0] - 'a'), i = 0;
    while (i < p->members->of[g].count && !weft_pid_equal(p->members->of[g].pid[i], news.who)) i++;
    bool known = i < p->members->of[g].count;
    if (weft_tag(m) == WEFT_TAG_GROUP_LEAVE) {
        want(known);
        p->members->of[g].pid[i] = p->members->of[g].pid[--p->members->of[g].count];
        ADD(leaves_told);
        return;
    }
    want(!known);
    if (i == p->members->of[g].capacity) {
        p->members->of[g].capacity = 2 * i + 64;
        p->members->of[g].pid = realloc(p->members->of[g].pid, p->members->of[g].capacity * sizeof(weft_pid));
        want(p->members->of[g].pid != NULL);
    }
    p->members->of[g].pid[p->members->of[g].count++] = news.who;
    ADD(joins_told);
}

static void take(struct player *p, weft_msg *m)
{
    struct weft_down d;
    uint32_t tag = weft_tag(m);
    note(tag * 31 + weft_size(m));
    if (tag == MAIL) {
        ADD(received);
        if (random_below(&p->random, 16) == 0) return; /* kept to its end */
    } else if (tag == WEFT_TAG_GROUP_JOIN || tag == WEFT_TAG_GROUP_LEAVE) {
        take_group_news(p, m);
    } else {
        want_int(weft_down_read(m, &d), 0);
        want((d.reason >= WEFT_EXIT_NORMAL && d.reason <= WEFT_EXIT_NO_ACTOR) ||
             (d.reason >= 16 && d.reason < 16 + OWN_REASONS));
        if (tag == WEFT_TAG_DOWN) take_down(p, &d);
        else take_exit(p, &d);
    }
    weft_msg_free(m);
}

static int receive(struct player *p, int64_t deadline)
{
    weft_msg *m;
    int rc = random_below(&p->random, 4) == 0 ? weft_recv_tag(&m, MAIL, WEFT_NOW) : weft_recv(&m, deadline);
    if (rc == 0) take(p, m);
    return rc;
}

/* ---- Operations ------------------------------------------------------------------------------------------------ */

static int send_one(struct player *p)
{
    uint64_t value = random_next(&p->random);
    weft_pid to = some_player(p);
    p->sending = true;
    ADD(sent);
    int rc = value % 3 == 0   ? weft_try_send(to, MAIL, &value, sizeof value)
             : value % 3 == 1 ? weft_node_send(weft_here(), to, MAIL, &value, sizeof value)
                              : weft_send(to, MAIL, &value, sizeof value);
    p->sending = false;
    if (rc < 0) ADD(refused);
    want(rc == 0 || rc == WEFT_ENOACTOR || rc == WEFT_EFULL || rc == WEFT_ECANCELED);
    note((uint64_t)rc);
    return rc;
}

static int ask(struct player *p)
{
    uint64_t value = random_next(&p->random);
    weft_msg *m;
    p->asking = true;
    ADD(asked);
    int rc = weft_call(some_server(p), ASK, &value, sizeof value, &m, weft_after(WEFT_US(1 + value % 2000)));
    p->asking = false;
    note((uint64_t)rc);
    if (rc == 0) {
        want(weft_tag(m) == ANSWER && memcmp(weft_data(m), &value, sizeof value) == 0); /* its own, not a late one */
        weft_msg_free(m);
        ADD(answered);
    } else if (rc == WEFT_ENOREPLY) {
        ADD(let_go);
    } else {
        want(rc == WEFT_ENOACTOR || rc == WEFT_EFULL || rc == WEFT_ETIMEDOUT || rc == WEFT_ECANCELED ||
             rc == WEFT_EDEADLOCK);
        ADD(failed);
    }
    return rc;
}

static void watch_or_not(struct player *p)
{
    if (p->monitor_count > 0 && random_below(&p->random, 3) == 0) {
        uint32_t i = random_below(&p->random, p->monitor_count);
        want_int(weft_demonitor(p->monitors[i].ref), 0); /* not received, so it can be ended */
        want_int(weft_demonitor(p->monitors[i].ref), WEFT_ECLOSED);
        p->monitors[i] = p->monitors[--p->monitor_count];
        ADD(unwatched);
    } else if (p->monitor_count < TIES) {
        struct tie *t = &p->monitors[p->monitor_count];
        t->who = somebody(p);
        want_int(weft_monitor(t->who, &t->ref), 0);
        p->monitor_count++;
        ADD(watched);
    }
}

static void tie_or_not(struct player *p)
{
    if (p->link_count > 0 && random_below(&p->random, 2) == 0) {
        uint32_t i = random_below(&p->random, p->link_count);
        int rc = weft_unlink(p->links[i]);
        /* The other may have unlinked; for an auditor nobody does. */
        want(rc == 0 || (rc == WEFT_ECLOSED && !p->auditor));
        p->links[i] = p->links[--p->link_count];
        ADD(untied);
        return;
    }
    weft_pid who = somebody(p);
    for (uint32_t i = 0; i < p->link_count; i++) {
        if (weft_pid_equal(p->links[i], who)) return;
    }
    if (p->link_count == TIES || weft_pid_equal(who, weft_self())) return;
    want_int(weft_link(who), 0);
    p->links[p->link_count++] = who;
    ADD(tied);
}

static void name_it(struct player *p)
{
    char name[16];
    snprintf(name, sizeof name, "name.%u", random_below(&p->random, 40));
    weft_pid owner;
    int rc = weft_register(name);
    want(rc == 0 || rc == WEFT_EEXIST);
    if (rc == 0) {
        ADD(names);
        want_int(weft_whereis(name, &owner), 0);
        want(weft_pid_equal(owner, weft_self()));
    } else {
        ADD(name_taken);
    }
    note((uint64_t)rc);
}

static void join_or_leave(struct player *p)
{
    uint32_t g = random_below(&p->random, GROUPS);
    char name[] = {(char)('a' + g), 0};
    if (p->member[g]) {
        want_int(weft_group_leave(name), 0);
        want_int(weft_group_leave(name), WEFT_ENOACTOR);
    } else {
        want_int(weft_group_join(name), 0);
        want_int(weft_group_join(name), WEFT_EEXIST);
        ADD(joined);
    }
    p->member[g] = !p->member[g];
}

/* The receivers are servers, which ignore it: a message that was sent cannot be told from one that ended with its
 * actor. */
static void arm_or_disarm(struct player *p)
{
    if (p->later_count == LATERS) {
        int rc = weft_later_cancel(p->later[--p->later_count]);
        want(rc == 0 || rc == WEFT_ECLOSED);
        want_int(weft_later_cancel(p->later[p->later_count]), WEFT_ECLOSED);
        if (rc == 0) ADD(disarmed);
        return;
    }
    int64_t when = weft_after(WEFT_US(random_below(&p->random, 300)));
    weft_later *l = &p->later[p->later_count++];
    int rc = random_below(&p->random, 4) == 0 ? weft_send_every(when, WEFT_US(100), some_server(p), LATE, NULL, 0, l)
                                              : weft_send_after(when, some_server(p), LATE, NULL, 0, l);
    want_int(rc, 0);
    ADD(armed);
}

static const char *topic(uint64_t *random)
{
    static const char *const topics[] = {"a", "a.b", "a.b.c", "b", "b.c", "a.c", "c.b.a"};
    return topics[random_below(random, WF_COUNT(topics))];
}

static void publish(struct player *p)
{
    uint64_t body[2] = {weft_self().actor, random_next(&p->random)};
    int rc = weft_publish(topic(&p->random), NEWS, body, sizeof body);
    want(rc >= 0);
    ADD(published);
    if (all.one_thread) atomic_fetch_add(&count.handed, rc); /* each subscriber once, there is one worker */
    note((uint64_t)rc);
}

static void end_somehow(struct player *p)
{
    uint32_t dice = random_below(&p->random, 4);
    if (dice == 0) (void)weft_kill(weft_self());
    else if (dice == 1) weft_fail(16 + (int)random_below(&p->random, OWN_REASONS), "as it likes");
    else weft_exit(dice == 2 ? WEFT_EXIT_NORMAL : 16 + (int)random_below(&p->random, OWN_REASONS));
}

static int operate(struct player *p)
{
    uint32_t dice = random_below(&p->random, 1000);
    note(dice);
    if (dice < 300) return send_one(p);
    if (dice < 550) return receive(p, WEFT_NOW);
    if (dice < 650) return all.calls ? ask(p) : 0;
    if (dice < 750) watch_or_not(p);
    else if (dice < 800) tie_or_not(p);
    else if (dice < 830) name_it(p);
    else if (dice < 850) join_or_leave(p);
    else if (dice < 870 && all.laters) arm_or_disarm(p);
    else if (dice < 900) publish(p);
    else if (dice < 950) return weft_yield();
    else if (dice < 955) (void)weft_stop(somebody(p));
    else if (dice < 960) (void)weft_kill(somebody(p));
    else if (dice < 970) return weft_sleep(weft_after(WEFT_US(random_below(&p->random, 50))));
    else if (dice < 985) (void)give_birth(random_below(&p->random, PLACES - SERVERS), p);
    else if (dice < 990) end_somehow(p);
    else return receive(p, weft_after(WEFT_US(50)));
    return 0;
}

static struct player *player_of(const void *arg, size_t size)
{
    struct player *p = malloc(sizeof *p); /* clean-ups run when the frame of the body is gone */
    want(p != NULL && size == sizeof *p);
    memcpy(p, arg, sizeof *p);
    want_int(weft_defer(close_account, p), 0);
    if (!p->auditor) /* now: who is killed before it runs would leave no account */
        atomic_store_explicit(&all.place[p->place], weft_self().actor, memory_order_release);
    return p;
}

static int serve_one(struct player *p, weft_msg *m)
{
    if (weft_tag(m) == LATE) {
        weft_msg_free(m);
        return 0;
    }
    want(weft_wants_reply(m) && weft_tag(m) == ASK);
    uint32_t dice = random_below(&p->random, 100);
    if (dice < 10) return weft_send_msg(some_server(p), m); /* somebody else's from now on */
    ADD(requests);
    if (dice < 15) return 0; /* kept to its end */
    if (dice < 85) want_int(weft_reply(m, ANSWER, weft_data(m), weft_size(m)), 0);
    weft_msg_free(m);
    if (dice >= 98) end_somehow(p);
    return 0;
}

static void serve(struct player *p)
{
    weft_msg *m;
    while (atomic_load(&all.budget) > 0) {
        int rc = weft_recv(&m, weft_after(WEFT_US(200)));
        if (rc == 0) rc = serve_one(p, m);
        if (rc == WEFT_ECANCELED) return;
        if (rc == WEFT_ETIMEDOUT && random_below(&p->random, 16) == 0) weft_exit(16); /* lets go what it has kept */
    }
}

static void play(const void *arg, size_t size)
{
    struct player *p = player_of(arg, size);
    if (is_server(p->place)) {
        serve(p);
        return;
    }
    while (atomic_fetch_sub_explicit(&all.budget, 1, memory_order_relaxed) > 0) {
        if (operate(p) == WEFT_ECANCELED) return;
    }
}

/* Never fails, is never stopped, and at the end waits for all that it has to be told. */
static void audit(const void *arg, size_t size)
{
    struct player *p = player_of(arg, size);
    p->members = calloc(1, sizeof *p->members);
    want(p->members != NULL);
    want_int(weft_trap_exits(true), 0);
    for (char name[] = "a"; name[0] < 'a' + GROUPS; name[0]++) want_int(weft_group_watch(name), 0);
    while (atomic_fetch_sub_explicit(&all.budget, 1, memory_order_relaxed) > 0) {
        uint32_t dice = random_below(&p->random, 10);
        if (dice < 4) watch_or_not(p);
        else if (dice < 7) tie_or_not(p);
        else (void)receive(p, weft_after(WEFT_US(20)));
    }
    for (;;) {
        uint32_t open = p->monitor_count + p->link_count;
        for (int g = 0; g < GROUPS; g++) open += p->members->of[g].count;
        if (open == 0 && atomic_load(&all.players) == 0) break;
        /* The last player may have left before the last news of it was sent to us. */
        int rc = receive(p, open > 0 ? WEFT_FOREVER : weft_after(WEFT_MS(1)));
        want(rc == 0 || rc == WEFT_ETIMEDOUT);
    }
    for (int g = 0; g < GROUPS; g++) free(p->members->of[g].pid);
    free(p->members);
}

/* ---- Listeners ------------------------------------------------------------------------------------------------- */

static void hear_news(int64_t deadline)
{
    weft_msg *m;
    while (weft_recv(&m, deadline) == 0) {
        want_int(weft_tag(m), NEWS);
        want_int(weft_size(m), 16);
        note(((const uint64_t *)weft_data(m))[1]);
        ADD(heard);
        weft_msg_free(m);
        deadline = WEFT_NOW;
    }
}

static void listen(const void *arg, size_t size)
{
    static const char *const patterns[] = {"a", "a.*", "a.>", "*.b", "*.*.*", ">", "b.c"};
    uint64_t random = new_seed();
    weft_subscription open[SUBSCRIPTIONS];
    uint32_t n = 0;
    (void)arg, (void)size;
    while (atomic_load(&all.players) > 0) {
        if (n == SUBSCRIPTIONS || (n > 0 && random_below(&random, 2) == 0)) want_int(weft_unsubscribe(open[--n]), 0);
        else want_int(weft_subscribe(patterns[random_below(&random, WF_COUNT(patterns))], &open[n++]), 0);
        hear_news(weft_after(WEFT_US(random_below(&random, 200))));
    }
    while (n > 0) want_int(weft_unsubscribe(open[--n]), 0);
    hear_news(WEFT_NOW);
}

/* ---- The account ----------------------------------------------------------------------------------------------- */

static void begin(const void *arg, size_t size)
{
    uint32_t workers = weft_here()->workers.users;
    (void)arg, (void)size;
    all.incarnation = weft_self().node;
    for (uint32_t i = 0; i < PLACES; i++) atomic_store(&all.place[i], 1); /* nobody */
    atomic_fetch_add(&all.players, 1);                                    /* until all have been born */
    for (uint32_t i = 0; i < LISTENERS; i++)
        want_int(weft_spawn(NULL, listen, NULL, 0, &(weft_spawn_options){.worker = 1 + (int)(i % workers)}), 0);
    for (uint32_t i = 0; i < AUDITORS; i++) {
        struct player p = {.auditor = true, .random = new_seed()};
        want_int(weft_spawn(NULL, audit, &p, sizeof p, &(weft_spawn_options){.worker = 1 + (int)(i % workers)}), 0);
    }
    for (uint32_t i = 0; i < PLACES; i++) want_int(give_birth(i, NULL), 0);
    atomic_fetch_sub(&all.players, 1);
}

static int64_t park_after; /* 0: as ever, so hardly anybody is */

/* No task is left whose stack is parked. */
static void judge_parking(const weft_node *n)
{
    uint64_t parked = 0, unparked = 0;
    for (uint32_t i = 0; i < n->workers.count; i++) {
        parked += n->workers.at[i]->count.parked;
        unparked += n->workers.at[i]->count.unparked;
    }
    printf("  parked %llu times\n", (unsigned long long)parked);
    want_int(parked, unparked);
#ifndef _WIN32 /* a sweep waits for a timer, which is late by milliseconds there: replay_parked does without a clock */
    want(parked > 0 || park_after == 0 || !wf_parks());
#endif
}

static void race(int workers)
{
    weft_node *n = node_start(
        RUN_OPTIONS(.workers = workers, .send_timeout = WEFT_MS(2), .grace = WEFT_SEC(10), .park_after = park_after));
    want_int(weft_node_spawn(n, NULL, begin, NULL, 0, NULL), 0);
    want_int(weft_node_wait(n, WEFT_FOREVER), 0); /* a hang ends by the runner's timeout */
    node_finish(n);
    judge(n);
    judge_parking(n);
    wf_node_destroy(n);
}

/* Under the test kit's node: the account is closed while that is still there. */
static void virtual_time(const void *arg, size_t size)
{
    begin(arg, size);
    while (wf_actors_of(wf_here)->alive[0] > 1) (void)weft_sleep(weft_after(WEFT_MS(1)));
    judge(weft_here());
    judge_parking(weft_here());
}

/* The same again must take the same course. */
static uint64_t replay(int64_t operations)
{
    uint64_t course = 0;
    for (int i = 0; i < 2; i++) {
        memset(&count, 0, sizeof count);
        all.course = all.births = 0;
        atomic_store(&all.budget, operations);
        weft_test_options o = {.seed = all.seed | 1, .turns_max = UINT64_MAX};
        o.node = (weft_node_options){.send_timeout = WEFT_MS(2), .grace = WEFT_SEC(10), .park_after = park_after};
        want_int(weft_test_run(virtual_time, NULL, 0, &o), 0);
        want(i == 0 || all.course == course);
        course = all.course;
    }
    return course;
}

int main(int argc, char **argv)
{
    int64_t operations = argc > 1 ? strtoll(argv[1], NULL, 10) : 200 * 1000;
    all.seed = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)weft_now();
    int workers = argc > 3 ? atoi(argv[3]) : 3;
    park_after = argc > 4 ? strtoll(argv[4], NULL, 10) : 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("operations %lld %#llx %d\n", (long long)operations, (unsigned long long)all.seed, workers);
    weft_log_set(WEFT_SILENT, false); /* actors fail by the thousand */
    all.one_thread = workers == 0;
    all.calls = workers > 0 || all.seed % 2 == 0;
    all.laters = all.seed % 2 == 0;
    atomic_store(&all.budget, operations);
    if (workers > 0) race(workers);
    else printf("  course %016llx, twice\n", (unsigned long long)replay(operations));
    return 0;
}
