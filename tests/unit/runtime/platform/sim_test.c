/* runtime/platform/sim: a clock, random numbers and a poller that a test drives. */
#include "../harness.h"
#include "sim/sim.h"

#include <sys/socket.h>
#include <unistd.h>

START_TEST(a_simulated_environment)
{
    struct pf_sim a, b;
    pf_sim_init(&a, 7);
    pf_sim_init(&b, 7);
    struct pf_env *env = pf_sim_env(&a);
    uint8_t left[13], right[13];
    env->random(env, left, sizeof left);
    b.env.random(&b.env, right, sizeof right);
    ck_assert_mem_eq(left, right, sizeof left);
    ck_assert_uint_eq(pf_sim_random(&a), pf_sim_random(&b));
    pf_sim_init(&b, 8);
    ck_assert_uint_ne(pf_sim_random(&a), pf_sim_random(&b));

    struct pf_poller *p;
    struct pf_ready ready[4];
    ck_assert_int_eq(env->poller_create(env, &p), 0);
    int64_t start = env->now(env);
    ck_assert_int_eq(env->poller_wait(p, ready, 4, start + WEFT_SEC(5)), 0);
    ck_assert_int_eq(env->now(env), start + WEFT_SEC(5));
    ck_assert_int_eq(env->poller_wait(p, ready, 4, start), 0); /* never back */
    ck_assert_int_eq(env->poller_wait(p, ready, 4, WEFT_NOW), 0);
    env->poller_wake(p);
    ck_assert_int_eq(env->poller_wait(p, ready, 4, start + WEFT_SEC(9)), 0);
    ck_assert_int_eq(env->now(env), start + WEFT_SEC(5)); /* woken instead */
    int fds[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    ck_assert_int_eq(env->poller_add(p, fds[0], 3), 0);
    ck_assert(pf_sim_has_handles(&a));
    ck_assert_int_eq(write(fds[1], "x", 1), 1);
    ck_assert_int_eq(env->poller_wait(p, ready, 4, start + WEFT_SEC(9)), 1);
    ck_assert_uint_eq(ready[0].tag, 3);
    ck_assert_int_eq(env->now(env), start + WEFT_SEC(5)); /* readiness first */
    ck_assert_int_eq(write(fds[1], "x", 1), 1);
    ck_assert_int_eq(env->poller_wait(p, ready, 4, WEFT_FOREVER), 1); /* a real wait */
    ck_assert_int_eq(env->poller_arm(p, fds[0], 3, false), 0);
    env->poller_remove(p, fds[0]);
    ck_assert(!pf_sim_has_handles(&a));
    env->poller_destroy(p);
    env->poller_destroy(NULL);
    close(fds[0]), close(fds[1]);
}
END_TEST

TEST_MAIN("sim", a_simulated_environment)
