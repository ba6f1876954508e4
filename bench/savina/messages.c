/* bench/savina/messages.c -- the smallest programs: what a message, a creation, a rendezvous cost. */
#include "savina.h"

enum { WORK = 1, DONE, STOP };

/* ---- ping-pong ------------------------------------------------------------------------------------------------- */

static void answer(const void *unused, size_t unused_size)
{
    (void)unused, (void)unused_size;
    long number;
    weft_pid from;
    while (take(&number, sizeof number, &from) == WORK) {
        number++;
        give(from, WORK, &number, sizeof number);
    }
}

long ping_pong(void)
{
    weft_pid other = spawn_on(savina.workers, "pong", answer, NULL, 0);
    long number = 0;
    for (long i = 0; i < savina.a; i++) {
        give(other, WORK, &number, sizeof number);
        take(&number, sizeof number, NULL);
    }
    check(number == savina.a, "pingpong: wrong number of answers");
    give(other, STOP, &number, sizeof number);
    return 2 * savina.a;
}

/* ---- thread ring ----------------------------------------------------------------------------------------------- */

struct member {
    weft_pid next, boss;
    long index;
};

static void ring_member(const void *given, size_t size)
{
    struct member me;
    (void)size;
    memcpy(&me, given, sizeof me);
    if (weft_pid_is_nobody(me.next)) take(&me.next, sizeof me.next, NULL);
    for (;;) {
        long left;
        uint32_t tag = take(&left, sizeof left, NULL);
        if (tag == STOP) {
            if (left > 0) left--, give(me.next, STOP, &left, sizeof left);
            return;
        }
        if (left == 0) give(me.boss, DONE, &me.index, sizeof me.index);
        else left--, give(me.next, WORK, &left, sizeof left);
    }
}

long thread_ring(void)
{
    struct member m = {.boss = weft_self()};
    weft_pid first = fork_actor("ring", ring_member, &m, sizeof m);
    m.next = first;
    for (m.index = savina.a - 1; m.index > 0; m.index--) m.next = fork_actor("ring", ring_member, &m, sizeof m);
    give(first, WORK, &m.next, sizeof m.next);
    long left = savina.b, last;
    give(first, WORK, &left, sizeof left);
    take(&last, sizeof last, NULL);
    check(last == savina.b % savina.a, "ring: the token ended elsewhere");
    left = savina.a - 1;
    give(first, STOP, &left, sizeof left);
    return savina.b;
}

/* ---- counting: the counter is asked for its count at the end --------------------------------------------------- */

static void counter(const void *unused, size_t unused_size)
{
    (void)unused, (void)unused_size;
    long count = 0;
    weft_pid from;
    while (signal_from(&from) == WORK) count++;
    give(from, DONE, &count, sizeof count);
}

long counting(void)
{
    weft_pid to = spawn_on(savina.workers, "counter", counter, NULL, 0);
    for (long i = 0; i < savina.a; i++) tell(to, WORK);
    tell(to, STOP);
    long count;
    take(&count, sizeof count, NULL);
    check(count == savina.a, "counting: messages were lost");
    return savina.a;
}

/* ---- big: everybody pings somebody, the sink stops them all ---------------------------------------------------- */

enum { PING = 10, PONG };
static weft_pid *all;

static void big_actor(const void *given, size_t size)
{
    (void)size;
    long index, got = 0;
    memcpy(&index, given, sizeof index);
    uint32_t random = (uint32_t)index * 7919u + 1;
    weft_pid from, asked = weft_nobody();
    weft_msg *begin; /* on two workers pings of others may come first */
    must(weft_recv_tag(&begin, WORK, WEFT_FOREVER), "the word to begin");
    const weft_pid sink = weft_from(begin);
    weft_msg_free(begin);
    for (;;) {
        if (weft_pid_is_nobody(asked) && got < savina.b) {
            asked = all[next_random(&random) % (uint32_t)savina.a];
            tell(asked, PING);
        }
        uint32_t tag = signal_from(&from);
        if (tag == STOP) return;
        if (tag == PING) {
            tell(from, PONG);
            continue;
        }
        check(weft_pid_equal(from, asked), "big: a pong from somebody who was not asked");
        asked = weft_nobody();
        if (++got == savina.b) tell(sink, DONE);
    }
}

long big(void)
{
    all = grab((size_t)savina.a, sizeof *all);
    for (long i = 0; i < savina.a; i++) all[i] = start("big", big_actor, &i, sizeof i);
    for (long i = 0; i < savina.a; i++) tell(all[i], WORK);
    for (long i = 0; i < savina.a; i++) check(signal_from(NULL) == DONE, "big: who says so?");
    for (long i = 0; i < savina.a; i++) tell(all[i], STOP);
    return 2 * savina.a * savina.b;
}

/* ---- fork-join throughput: every actor gets a share of the messages, one each in turn -------------------------- */

static long some_work(long n)
{
    double angle = 37.2 + (double)n, s = sin(angle);
    return s * s + cos(angle) * cos(angle) > 0.5;
}

static void joined(const void *boss, size_t size)
{
    weft_pid to;
    (void)size;
    memcpy(&to, boss, sizeof to);
    long done = 0;
    while (done < savina.b) {
        check(signal_from(NULL) == WORK, "forkjoin: no work");
        done += some_work(done);
    }
    give(to, DONE, &done, sizeof done);
}

long fork_join(void)
{
    weft_pid self = weft_self(), *workers = grab((size_t)savina.a, sizeof *workers);
    for (long i = 0; i < savina.a; i++) workers[i] = start("joined", joined, &self, sizeof self);
    for (long round = 0; round < savina.b; round++)
        for (long i = 0; i < savina.a; i++) tell(workers[i], WORK);
    long sum = 0, done;
    for (long i = 0; i < savina.a; i++) take(&done, sizeof done, NULL), sum += done;
    check(sum == savina.a * savina.b, "forkjoin: work was lost");
    free(workers);
    return sum;
}

/* ---- fork-join create: an actor for each message --------------------------------------------------------------- */

static void short_lived(const void *boss, size_t size)
{
    weft_pid to;
    (void)size;
    memcpy(&to, boss, sizeof to);
    long number;
    take(&number, sizeof number, NULL);
    number = some_work(number);
    give(to, DONE, &number, sizeof number);
}

long fork_join_create(void)
{
    weft_pid self = weft_self();
    long sum = 0, done, answered = 0;
    for (long i = 0; i < savina.a; i++) {
        weft_pid child = fork_actor("joined", short_lived, &self, sizeof self);
        give(child, WORK, &i, sizeof i);
        /* what is alive at once stays within the mailbox */
        for (; i - answered >= 10000; answered++) take(&done, sizeof done, NULL), sum += done;
    }
    for (; answered < savina.a; answered++) take(&done, sizeof done, NULL), sum += done;
    check(sum == savina.a, "create: actors were lost");
    return 2 * savina.a;
}

/* ---- chameneos: creatures meet in pairs at a mall and change colour -------------------------------------------- */

enum { BLUE, RED, YELLOW, COLOURS };
struct meeting {
    weft_pid partner;
    int colour;
    int pad;
};

static int complement(int mine, int theirs)
{
    return mine == theirs ? mine : COLOURS - mine - theirs;
}

static void creature(const void *given, size_t size)
{
    struct meeting me, other;
    (void)size;
    memcpy(&me, given, sizeof me);
    weft_pid mall = me.partner;
    long meetings = 0;
    for (;;) {
        me.partner = weft_self();
        give(mall, WORK, &me, sizeof me);
        if (take(&other, sizeof other, NULL) == STOP) break;
        check(!weft_pid_equal(other.partner, weft_self()), "chameneos: met itself");
        me.colour = complement(me.colour, other.colour);
        meetings++;
    }
    give(mall, DONE, &meetings, sizeof meetings);
}

long chameneos(void)
{
    check(savina.a >= 2, "chameneos: it takes two");
    for (long i = 0; i < savina.a; i++) {
        struct meeting m = {weft_self(), (int)(i % COLOURS), 0};
        start("creature", creature, &m, sizeof m);
    }
    struct meeting waiting = {0}, came;
    for (long met = 0; met < savina.b;) {
        take(&came, sizeof came, NULL);
        if (weft_pid_is_nobody(waiting.partner)) {
            waiting = came;
            continue;
        }
        give(waiting.partner, WORK, &came, sizeof came);
        give(came.partner, WORK, &waiting, sizeof waiting);
        waiting.partner = weft_nobody();
        met++;
    }
    if (!weft_pid_is_nobody(waiting.partner)) give(waiting.partner, STOP, &waiting, sizeof waiting);
    long sum = 0;
    for (long gone = 0; gone < savina.a;) {
        weft_msg *m = receive();
        long meetings;
        if (weft_tag(m) == DONE) {
            memcpy(&meetings, weft_data(m), sizeof meetings);
            sum += meetings, gone++;
        } else {
            give(weft_from(m), STOP, &waiting, sizeof waiting);
        }
        weft_msg_free(m);
    }
    check(sum == 2 * savina.b, "chameneos: meetings do not add up");
    return 4 * savina.b;
}
