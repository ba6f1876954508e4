/* tests/platform/conformance.h -- shared by the conformance tests: an environment, sockets made with pf_* only, and
 * waiting as the runtime waits.
 *
 * Design notes. (1) These tests are platform.h in executable form. They run with every poller, so they call no
 * operating system and rely only on the contract: readiness may be reported too often, but must never be missing. (2)
 * A test arms, waits and tries again, as runtime/wait/fd.h does. Each wait has PATIENCE to succeed; no test measures
 * time. (3) The simulated environment lets no time pass by itself, so it is told how long in real time a wait may
 * take. */
#ifndef WF_CONFORMANCE_H
#define WF_CONFORMANCE_H

#include <check.h>
#include <string.h>

#include "platform.h"
#include "sim/sim.h"
#include "../suite.h"

#define PATIENCE WEFT_SEC(20)
enum { TAGS = 512 };

static struct pf_sim simulation;
static struct pf_env *env;
static struct pf_poller *poller;
/* By tag: what has been reported since forget(). */
static struct pf_ready seen[TAGS];

static inline bool is_simulated(void)
{
    return env == pf_sim_env(&simulation);
}

static inline void begin(struct pf_env *with)
{
    env = with;
    memset(seen, 0, sizeof seen);
    ck_assert_int_eq(env->poller_create(env, &poller), WEFT_OK);
}

static inline void begin_native(void)
{
    begin(pf_env_native());
}

static inline void begin_simulated(void)
{
    pf_sim_init(&simulation, 1);
    begin(pf_sim_env(&simulation));
}

static inline void end(void)
{
    env->poller_destroy(poller);
    env->poller_destroy(NULL);
}

/* ---- Waiting --------------------------------------------------------------------------------------------------- */

/* One wait of at most `span`, with space for `max` entries: how many came. */
static inline int wait_for_some(int64_t span, int max)
{
    struct pf_ready r[64];
    simulation.patience = span;
    int n = env->poller_wait(poller, r, max, span > 0 ? env->now(env) + span : WEFT_NOW);
    ck_assert_int_ge(n, 0);
    ck_assert_int_le(n, max);
    for (int i = 0; i < n; i++) {
        ck_assert_uint_lt(r[i].tag, TAGS);
        struct pf_ready *s = &seen[r[i].tag];
        s->readable |= r[i].readable;
        s->writable |= r[i].writable;
        s->hangup |= r[i].hangup;
        s->done |= r[i].done;
    }
    return n;
}

static inline int look(void)
{
    return wait_for_some(0, 64);
}

/* Before a call that may say PF_AGAIN: only what is reported after it counts. */
static inline void forget(uint64_t tag)
{
    seen[tag] = (struct pf_ready){0};
}

/* Waits until `*what`, a member of seen[], is set. */
static inline void await_hint(const bool *what)
{
    int64_t deadline = env->now(env) + PATIENCE;
    while (!*what) {
        ck_assert_msg(env->now(env) < deadline, "an entry that was due did not come");
        (void)wait_for_some(PATIENCE, 64);
    }
}

/* As a task that is about to wait does. */
static inline void await_ready(pf_handle h, uint64_t tag, bool for_write)
{
    if (env->poller_arms(poller)) ck_assert_int_eq(env->poller_arm(poller, h, tag, for_write), WEFT_OK);
    await_hint(for_write ? &seen[tag].writable : &seen[tag].readable);
}

/* ---- Sockets --------------------------------------------------------------------------------------------------- */

/* A handle that is registered under its tag. */
struct end {
    pf_handle handle;
    uint64_t tag;
};

static inline void add(pf_handle h, uint64_t tag)
{
    forget(tag);
    ck_assert_int_eq(env->poller_add(poller, h, tag), WEFT_OK);
}

static inline void take_out(struct end *e)
{
    env->poller_remove(poller, e->handle);
    pf_close(e->handle);
    e->handle = PF_NO_HANDLE;
}

/* pf_read that waits. */
static inline int64_t read_some(const struct end *e, void *buffer, size_t size)
{
    for (;;) {
        forget(e->tag);
        int64_t n = pf_read(e->handle, buffer, size);
        if (n != PF_AGAIN) return n;
        await_ready(e->handle, e->tag, false);
    }
}

static inline void read_exactly(const struct end *e, void *buffer, size_t size)
{
    for (size_t done = 0; done < size;) {
        int64_t n = read_some(e, (char *)buffer + done, size - done);
        ck_assert_int_gt(n, 0);
        done += (size_t)n;
    }
}

/* pf_write that waits, once. */
static inline int64_t write_some(const struct end *e, const void *data, size_t size)
{
    struct pf_slice s = {data, size};
    for (;;) {
        forget(e->tag);
        int64_t n = pf_write(e->handle, &s, 1);
        if (n != PF_AGAIN) return n;
        await_ready(e->handle, e->tag, true);
    }
}

static inline void write_text(const struct end *e, const char *text)
{
    ck_assert_int_eq(write_some(e, text, strlen(text)), (int64_t)strlen(text));
}

static inline pf_handle listen_here(const char *text, struct pf_address *bound)
{
    pf_handle h;
    struct pf_address at;
    ck_assert_int_eq(pf_address_parse(text, &at), WEFT_OK);
    ck_assert_int_eq(pf_listen(&h, &at, 128, false), WEFT_OK);
    ck_assert_int_eq(pf_local_address(h, bound), WEFT_OK);
    return h;
}

/* pf_accept that waits; the listener is registered under `tag`. */
static inline pf_handle accept_one(pf_handle listener, uint64_t tag)
{
    for (;;) {
        pf_handle h;
        forget(tag);
        int rc = pf_accept(listener, &h);
        if (rc == WEFT_OK) return h;
        ck_assert_int_eq(rc, PF_AGAIN);
        ck_assert_int_eq(h, PF_NO_HANDLE);
        await_ready(listener, tag, false);
    }
}

/* pf_connect that waits; the handle is registered under `tag` from then on. */
static inline int connect_to(const struct pf_address *to, uint64_t tag, struct end *out)
{
    *out = (struct end){PF_NO_HANDLE, tag};
    int rc = pf_connect(&out->handle, to);
    if (rc != WEFT_OK && rc != PF_AGAIN) return rc;
    add(out->handle, tag);
    while (rc == PF_AGAIN) {
        await_ready(out->handle, tag, true);
        forget(tag);
        rc = pf_connect_result(out->handle);
    }
    return rc;
}

/* Two ends of a connection through the listener, registered under `tag` and `tag + 1`. */
static inline void make_pair_at(pf_handle listener, const struct pf_address *at, uint64_t tag, struct end *pair)
{
    enum { LISTENER_TAG = TAGS - 1 };
    add(listener, LISTENER_TAG);
    ck_assert_int_eq(connect_to(at, tag, &pair[0]), WEFT_OK);
    pair[1] = (struct end){accept_one(listener, LISTENER_TAG), tag + 1};
    add(pair[1].handle, tag + 1);
    env->poller_remove(poller, listener);
}

static inline void make_pair(uint64_t tag, struct end *pair)
{
    struct pf_address bound;
    pf_handle listener = listen_here("127.0.0.1:0", &bound);
    make_pair_at(listener, &bound, tag, pair);
    pf_listen_close(listener, &bound);
}

static inline void close_pair(struct end *pair)
{
    take_out(&pair[0]);
    take_out(&pair[1]);
}

/* Adds the tests to a case for each environment, which `native` and `simulated` begin and `after` ends. */
static inline void add_cases_with(Suite *suite, void (*native)(void), void (*simulated)(void), void (*after)(void),
                                  const TTest *const *tests, size_t count)
{
    void (*const BEGIN[])(void) = {native, simulated};
    static const char *const NAMES[] = {"native", "simulated"};
    for (size_t i = 0; i < WF_COUNT(BEGIN); i++) {
        TCase *c = tcase_create(NAMES[i]); /* which keeps the pointer */
        tcase_set_timeout(c, 60);
        tcase_add_checked_fixture(c, BEGIN[i], after);
        for (size_t k = 0; k < count; k++) tcase_add_test(c, tests[k]);
        suite_add_tcase(suite, c);
    }
}

static inline void add_cases(Suite *suite, const TTest *const *tests, size_t count)
{
    add_cases_with(suite, begin_native, begin_simulated, end, tests, count);
}

#endif
