/* bench/savina/streams.c -- numbers that flow through actors: series, sieves, filters. */
#include "savina.h"

enum { NEXT = 1, VALUE, DONE, STOP };
struct stage {
    weft_pid next, boss;
    long a, b;
};

/* ---- logistic map: x = r x (1 - x), each series asks its rate's actor for the next term ------------------------ */

struct term {
    double rate, x;
};

static void compute_terms(const void *given, size_t size)
{
    struct term t;
    (void)size;
    double rate;
    memcpy(&rate, given, sizeof rate);
    weft_pid from;
    while (take(&t, sizeof t, &from) != STOP) {
        t.x = rate * t.x * (1 - t.x);
        give(from, VALUE, &t, sizeof t);
    }
}

static double rate_of(long series)
{
    return 3.46 + 0.0025 * (double)(series % 20);
}

static void series_actor(const void *given, size_t size)
{
    struct stage me;
    (void)size;
    memcpy(&me, given, sizeof me);
    double rate = rate_of(me.a);
    weft_pid computer = fork_actor("terms", compute_terms, &rate, sizeof rate);
    struct term t = {rate, 0.5 / (double)(me.a + 1)};
    for (long i = 0; i < savina.b; i++) {
        give(computer, NEXT, &t, sizeof t);
        take(&t, sizeof t, NULL);
    }
    give(computer, STOP, &t, sizeof t);
    give(me.boss, DONE, &t.x, sizeof t.x);
}

long logistic_map(void)
{
    double sum = 0, wanted = 0, x;
    for (long i = 0; i < savina.a; i++) {
        struct stage s = {.boss = weft_self(), .a = i};
        start("series", series_actor, &s, sizeof s);
    }
    for (long i = 0; i < savina.a; i++) take(&x, sizeof x, NULL), sum += x;
    clock_ends();
    for (long i = 0; i < savina.a; i++) {
        x = 0.5 / (double)(i + 1);
        for (long k = 0; k < savina.b; k++) x = rate_of(i) * x * (1 - x);
        wanted += x;
    }
    check(fabs(sum - wanted) < 1e-9 * (double)savina.a, "logistic: a wrong sum");
    return 2 * savina.a * savina.b;
}

/* ---- sieve of Eratosthenes: a chain of actors, each with some primes ------------------------------------------- */

/* The chain grows at its end; numbers that pass a full actor go to the next one. */
static void sieve_actor(const void *given, size_t size)
{
    struct stage me;
    (void)size;
    memcpy(&me, given, sizeof me);
    long *primes = grab((size_t)savina.b, sizeof *primes), count = 1, number;
    primes[0] = me.a;
    while (take(&number, sizeof number, NULL) == VALUE) {
        long i = 0;
        while (i < count && number % primes[i] != 0) i++;
        if (i < count) continue;
        if (count < savina.b) {
            primes[count++] = number;
        } else if (weft_pid_is_nobody(me.next)) {
            struct stage s = {.boss = me.boss, .a = number};
            me.next = fork_actor("sieve", sieve_actor, &s, sizeof s);
        } else {
            give(me.next, VALUE, &number, sizeof number);
        }
    }
    number += count; /* on its way the end counts */
    give(weft_pid_is_nobody(me.next) ? me.boss : me.next, DONE, &number, sizeof number);
    free(primes);
}

static long count_primes(long below)
{
    bool *composite = grab((size_t)below + 1, sizeof *composite);
    long count = 0;
    for (long i = 2; i < below; i++) {
        if (composite[i]) continue;
        count++;
        for (long k = 2 * i; k < below; k += i) composite[k] = true;
    }
    free(composite);
    return count;
}

long sieve(void)
{
    check(savina.a > 3, "sieve: of at least 4");
    struct stage s = {.boss = weft_self(), .a = 3};
    weft_pid first = fork_actor("sieve", sieve_actor, &s, sizeof s);
    long sent = 0;
    for (long n = 5; n < savina.a; n += 2, sent++) give(first, VALUE, &n, sizeof n);
    long count = 1; /* two */
    give(first, DONE, &count, sizeof count);
    take(&count, sizeof count, NULL);
    clock_ends();
    check(count == count_primes(savina.a), "sieve: a wrong number of primes");
    return sent;
}

/* ---- radix sort: one actor for each bit, which holds back the ones --------------------------------------------- */

enum { BITS = 30 };

static void radix_stage(const void *given, size_t size)
{
    struct stage me;
    (void)size;
    memcpy(&me, given, sizeof me);
    long *held = grab((size_t)savina.a, sizeof *held), count = 0, value;
    for (long i = 0; i < savina.a; i++) {
        take(&value, sizeof value, NULL);
        if (value >> me.a & 1) held[count++] = value;
        else give(me.next, VALUE, &value, sizeof value);
    }
    for (long i = 0; i < count; i++) give(me.next, VALUE, &held[i], sizeof *held);
    free(held);
}

static void radix_source(const void *given, size_t size)
{
    struct stage me;
    (void)size;
    memcpy(&me, given, sizeof me);
    uint32_t random = 99;
    for (long i = 0; i < savina.a; i++) {
        long value = (long)((next_random(&random) << 15 ^ next_random(&random)) & ((1u << BITS) - 1));
        give(me.next, VALUE, &value, sizeof value);
        me.b += value;
    }
    give(me.boss, DONE, &me.b, sizeof me.b);
}

long radix_sort(void)
{
    struct stage s = {.next = weft_self(), .boss = weft_self()};
    for (s.a = BITS - 1; s.a >= 0; s.a--) s.next = start("radix", radix_stage, &s, sizeof s);
    start("source", radix_source, &s, sizeof s);
    long value, last = -1, sum = 0, wanted = 0;
    for (long i = 0; i <= savina.a; i++) {
        if (take(&value, sizeof value, NULL) == DONE) {
            wanted = value;
            continue;
        }
        check(value >= last, "radixsort: out of order");
        last = value;
        sum += value;
    }
    check(sum == wanted, "radixsort: numbers were lost");
    return (BITS + 1) * savina.a;
}

/* ---- filter bank: the signal goes through a delay line and a filter in each channel; the outputs are added ----- */

static double tap(long channel, long i)
{
    return (double)((channel + 3 * i) % 11 - 5) / 16;
}

static double filtered(const double *window, long channel)
{
    double sum = 0;
    for (long i = 0; i < savina.b; i++) sum += window[i] * tap(channel, i);
    return sum;
}

static double sample(long i)
{
    return (double)(i * 31 % 97) / 97;
}

/* window[i] is the sample i steps ago. */
static void shift(double *window, double value)
{
    memmove(window + 1, window, (size_t)(savina.b - 1) * sizeof *window);
    window[0] = value;
}

static void channel_actor(const void *given, size_t size)
{
    struct stage me;
    (void)size;
    memcpy(&me, given, sizeof me);
    double value, *window = grab((size_t)savina.b, sizeof *window);
    for (long i = 0; i < savina.c; i++) {
        take(&value, sizeof value, NULL);
        shift(window, value);
        struct term out = {(double)i, filtered(window, me.a)};
        give(me.next, VALUE, &out, sizeof out);
    }
    free(window);
}

/* Adds up what the channels say for one step; they may be some steps apart. */
static void combine(const void *given, size_t size)
{
    struct stage me;
    (void)size;
    memcpy(&me, given, sizeof me);
    struct term in;
    double sum = 0;
    for (long i = 0; i < savina.a * savina.c; i++) {
        take(&in, sizeof in, NULL);
        sum += in.x * (1 + in.rate / 1000);
    }
    give(me.boss, DONE, &sum, sizeof sum);
}

long filterbank(void)
{
    struct stage s = {.boss = weft_self()};
    s.next = start("combine", combine, &s, sizeof s);
    weft_pid *channels = grab((size_t)savina.a, sizeof *channels);
    for (s.a = 0; s.a < savina.a; s.a++) channels[s.a] = start("channel", channel_actor, &s, sizeof s);
    double *window = grab((size_t)savina.b, sizeof *window), wanted = 0, sum;
    for (long i = 0; i < savina.c; i++) {
        double value = sample(i);
        for (long k = 0; k < savina.a; k++) give(channels[k], VALUE, &value, sizeof value);
    }
    take(&sum, sizeof sum, NULL);
    clock_ends();
    for (long i = 0; i < savina.c; i++) {
        shift(window, sample(i));
        for (long k = 0; k < savina.a; k++) wanted += filtered(window, k) * (1 + (double)i / 1000);
    }
    check(fabs(sum - wanted) <= 1e-6 * (1 + fabs(wanted)), "filterbank: a wrong signal");
    free(window), free(channels);
    return 2 * savina.a * savina.c;
}
