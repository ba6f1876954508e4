/* Lists of actors whose asker does not live to see them. */
#include "node_harness.h"

enum { READY = 1 };

static void lists_for_ever(const void *arg, size_t size)
{
    struct kid k;
    (void)size;
    memcpy(&k, arg, sizeof k);
    for (bool told = false;; told = true) {
        struct wf_actor_info *all;
        size_t count;
        int rc = wf_node_list_actors(weft_here(), &all, &count, WEFT_FOREVER);
        want(rc == WEFT_OK || rc == WEFT_ECANCELED); /* asked to stop it goes on, until it is killed */
        if (rc == WEFT_OK) free(all);
        if (!told) want_int(say(k.parent, READY, 0), 0);
    }
}

static void kills_askers(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (int i = 0; i < 20; i++) {
        weft_pid asker = kid_on(1 + i % 2, lists_for_ever, 0);
        hear(READY);
        want_int(weft_stop(asker), 0);
        await_end(asker);
    }
}

/* What was leaked shows under the address sanitizer. */
START_TEST(an_asker_that_is_killed_leaves_nothing)
{
    weft_node *n = node_start(RUN_OPTIONS(.workers = 2, .grace = WEFT_MS(1)));
    node_spawn(n, 1, kills_askers);
    node_end(n);
}
END_TEST

TEST_MAIN("inspect", an_asker_that_is_killed_leaves_nothing)
