/* tests/unit/transport/store/server/queues_fixture.h -- the queues of a store without an engine, for tests of the server. */
#ifndef QUEUES_FIXTURE_H
#define QUEUES_FIXTURE_H

#include "../../../../suite.h"

#include <weft.h>

#include "store_holds.h"
#include "store_queues.h"

#include <string.h>

static int64_t wall; /* what the store's clock shows */

static int64_t read_clock(struct wf_store *s)
{
    (void)s;
    return wall;
}

static const struct wf_store_engine engine = {.clock = read_clock};
static struct wf_store store = {.engine = &engine, .secret = 11};
static struct wf_store_file file = {.store = &store, .users = 1};
static struct wf_effort effort;
static struct wf_store_queues queues;
static struct wf_work_queue *queue;

static void use_queue(const char *name)
{
    ck_assert_int_eq(wf_queue_use(&queues.table, weft_cstr(name), &queue), WEFT_OK);
}

static void begin_queues(const char *name)
{
    struct wf_queue_rule *rule = calloc(1, sizeof *rule);
    ck_assert_ptr_nonnull(rule);
    *rule = (struct wf_queue_rule){.pattern = ">", .jobs = 9};
    memset(&queues, 0, sizeof queues);
    effort = (struct wf_effort){0};
    wall = WEFT_SEC(1000000);
    wf_queues_init(&queues, &file, &effort, rule, 1);
    use_queue(name);
}

static void teardown(void)
{
    wf_queues_free(&queues);
}

#endif
