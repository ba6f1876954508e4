/* Memory of an actor: blocks and keyed blocks, which are zeroed, belong to one actor, and are freed when it ends in
 * any way. The address sanitizer shows leaks. */
#include "../node_harness.h"

#include <weft/local.h>

enum { READY = 1 };

static char order[16]; /* of what ran at an actor's end */

static void note(char what)
{
    size_t used = strlen(order);
    want(used + 1 < sizeof order);
    order[used] = what;
}

static bool is_zero(const void *block, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (((const uint8_t *)block)[i] != 0) return false;
    }
    return true;
}

/* ---- Blocks ---------------------------------------------------------------------------------------------------- */

static void allocates(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (size_t n = 0; n < 200; n++) {
        uint8_t *block = weft_alloc(n);
        want(block != NULL && (uintptr_t)block % alignof(max_align_t) == 0 && is_zero(block, n));
        memset(block, 0xFF, n);
        if (n % 3 == 0) want_int(weft_release(block), 0);
    }
    want_int(weft_release(NULL), 0);
    want(weft_alloc(SIZE_MAX) == NULL);
    want(weft_alloc(PTRDIFF_MAX) == NULL);
}

START_TEST(a_block_is_zeroed_aligned_and_freed_with_its_actor)
{
    run_on(1, allocates);
}
END_TEST

static void tries_to_release(const void *arg, size_t size)
{
    struct kid k;
    (void)size;
    memcpy(&k, arg, sizeof k);
    want_int(weft_release((void *)(uintptr_t)k.n), WEFT_EINVAL); /* before it has any memory of its own */
    want(weft_alloc(1) != NULL);
    want_int(weft_release((void *)(uintptr_t)k.n), WEFT_EINVAL);
    want_int(say(k.parent, READY, 0), 0);
}

static void lends_a_block(const void *arg, size_t size)
{
    static const weft_local_key key = {1, NULL};
    void *block = weft_alloc(10);
    (void)arg, (void)size;
    kid_on(1, tries_to_release, (int64_t)(uintptr_t)block);
    hear(READY);
    want_int(weft_release(weft_local(&key)), WEFT_EINVAL);
    want_int(weft_release(block), 0);
}

START_TEST(only_its_owner_releases_a_block)
{
    run_on(1, lends_a_block);
}
END_TEST

START_TEST(a_caller_outside_of_actors_gets_no_block)
{
    static const weft_local_key key = {8, NULL};
    ck_assert_ptr_null(weft_alloc(1));
    ck_assert_ptr_null(weft_local(&key));
    ck_assert_int_eq(weft_release(NULL), WEFT_ENOTACTOR);
}
END_TEST

/* ---- Keys ------------------------------------------------------------------------------------------------------ */

static const weft_local_key number = {sizeof(int64_t), NULL};

static void counts(const void *arg, size_t size)
{
    struct kid k;
    (void)size;
    memcpy(&k, arg, sizeof k);
    for (int64_t i = 0; i < k.n; i++) {
        int64_t *mine = weft_local(&number);
        want_int(*mine, i);
        ++*mine;
        want_int(weft_yield(), 0);
    }
    want_int(say(k.parent, READY, *(int64_t *)weft_local(&number)), 0);
}

static void compares(const void *arg, size_t size)
{
    static const weft_local_key empty, other = {3, NULL};
    (void)arg, (void)size;
    int64_t sum = 0;
    for (int i = 1; i <= 5; i++) kid_on(1 + i % 2, counts, i);
    for (int i = 1; i <= 5; i++) sum += hear(READY);
    want_int(sum, 15);
    want(weft_local(&number) == weft_local(&number));
    want(weft_local(&number) != weft_local(&other));
    want(weft_local(&empty) == NULL);
    want(weft_local(NULL) == NULL);
}

START_TEST(an_actor_has_one_block_for_each_key)
{
    run_on(2, compares);
}
END_TEST

/* ---- The end --------------------------------------------------------------------------------------------------- */

static void drop_first(void *block)
{
    want_int(*(char *)block, 'x');
    note('1');
}

static void drop_late(void *block)
{
    (void)block;
    note('3');
}

static const weft_local_key first = {1, drop_first}, late = {1, drop_late};

static void undo_later(void *arg)
{
    (void)arg;
    note('d');
}

static void drop_second(void *block)
{
    *(char *)weft_local(&first) = 'x'; /* those made before are there */
    want(weft_local(&late) != NULL);   /* and one may make others */
    want_int(weft_defer(undo_later, NULL), 0);
    want(*(void **)block != NULL);
    **(char **)block = 'y'; /* blocks without a key go last */
    note('2');
}

static const weft_local_key second = {sizeof(void *), drop_second};

static void undo(void *arg)
{
    (void)arg;
    want(weft_local(&first) != NULL);
    note('u');
}

static void ends_in_order(const void *arg, size_t size)
{
    (void)arg, (void)size;
    want(weft_local(&first) != NULL);
    *(void **)weft_local(&second) = weft_alloc(1);
    want_int(weft_defer(undo, NULL), 0);
    if (size > 0) weft_exit(20);
}

START_TEST(memory_ends_after_clean_ups_last_made_first)
{
    for (int how = 0; how < 2; how++) {
        memset(order, 0, sizeof order);
        weft_node *n = node_of(1);
        want_int(weft_node_spawn(n, NULL, ends_in_order, &how, how == 0 ? 0 : sizeof how, NULL), 0);
        node_end(n);
        ck_assert_str_eq(order, "u231d");
    }
}
END_TEST

static void waits_for_ever(const void *arg, size_t size)
{
    struct kid k;
    (void)size;
    memcpy(&k, arg, sizeof k);
    *(char *)weft_local(&first) = 'x';
    *(void **)weft_local(&second) = weft_alloc(1000);
    want_int(say(k.parent, READY, 0), 0);
    while (weft_sleep(WEFT_FOREVER) == WEFT_ECANCELED) {} /* until it is killed */
}

static void kills_it(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid kid = kid_on(1, waits_for_ever, 0);
    hear(READY);
    want_int(weft_stop(kid), 0);
    await_end(kid);
}

START_TEST(a_killed_actor_leaves_no_memory)
{
    memset(order, 0, sizeof order);
    weft_node *n = node_start(RUN_OPTIONS(.workers = 1, .grace = WEFT_MS(1)));
    node_spawn(n, 1, kills_it);
    node_end(n);
    ck_assert_str_eq(order, "231d");
}
END_TEST

/* ---- Destructors that do not return ---------------------------------------------------------------------------- */

enum { KEYS = 2000 };
static weft_local_key many_keys[KEYS];
static int destroyed;

static void ends_its_actor(void *block)
{
    (void)block;
    destroyed++;
    while (destroyed % 100 == 0) (void)weft_sleep(WEFT_FOREVER);
    if (destroyed % 2 == 0) weft_exit(18);
    weft_fail(19, "destructor %d", destroyed);
}

static void with_many_keys(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (int i = 0; i < KEYS; i++) {
        many_keys[i] = (weft_local_key){1, ends_its_actor};
        want(weft_local(&many_keys[i]) != NULL);
    }
}

static void endless(void *block);
static const weft_local_key in_turn[2] = {{1, endless}, {2, endless}};

static void endless(void *block)
{
    static unsigned calls;
    want(block != NULL);
    if (weft_local(&in_turn[++calls % 2]) == NULL) destroyed = 1;
}

static void with_endless_keys(const void *arg, size_t size)
{
    (void)arg, (void)size;
    want(weft_local(&in_turn[0]) != NULL);
}

static void down_after(weft_actor *body, int destructors)
{
    destroyed = 0;
    await_end(kid_with(body, (struct kid){.n = 0}, &(weft_spawn_options){.worker = 1, .stack_bytes = 1}));
    want_int(destroyed, destructors);
}

static void destroying(const void *arg, size_t size)
{
    (void)arg, (void)size;
    down_after(with_many_keys, KEYS);
    down_after(with_endless_keys, 1);
}

START_TEST(destructors_that_end_their_actor_or_have_no_end_are_abandoned)
{
    weft_node *n = node_start(RUN_OPTIONS(.workers = 1, .grace = WEFT_MS(20)));
    node_spawn(n, 1, destroying);
    node_end(n);
}
END_TEST

TEST_MAIN("local", a_block_is_zeroed_aligned_and_freed_with_its_actor, only_its_owner_releases_a_block,
          a_caller_outside_of_actors_gets_no_block, an_actor_has_one_block_for_each_key,
          memory_ends_after_clean_ups_last_made_first, a_killed_actor_leaves_no_memory,
          destructors_that_end_their_actor_or_have_no_end_are_abandoned)
