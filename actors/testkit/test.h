/* actors/testkit/test.h -- the test that runs in a thread; expect.c has what its actors call. */
#ifndef WF_TEST_H
#define WF_TEST_H

#include "actor.h"
#include "sim/sim.h"

#include <weft/test.h>

struct wf_text {
    char at[4096]; /* NUL-terminated, cut to fit */
    size_t size;
};
void wf_text_add(struct wf_text *t, const char *format, ...) WEFT_PRINTF(2, 3);
/* "1.5 s", "20 ms", "3 us" */
void wf_text_add_span(struct wf_text *t, int64_t span);

struct wf_probe;

struct wf_test {
    struct pf_sim sim;
    weft_node *node;
    struct wf_worker *worker;
    weft_actor *body;
    bool body_ended, failed;
    bool shuffle;            /* the seed decides who runs next */
    bool ending;             /* all were asked to stop */
    int reason;              /* the reason of the body's end */
    struct wf_text report;   /* the report of the first failure */
    struct wf_list settlers; /* wf_waiter.on_source: woken one by one when nothing else can run */
    struct wf_probe *probes; /* freed with the test */
    uint64_t turns, turns_max;
    int64_t outside;
    int64_t clean_up_by;
};

/* The test that runs in this thread; ends the process if there is none. */
struct wf_test *wf_test_here(const char *caller);
/* Only the first failure is kept. */
void wf_test_fail(struct wf_test *t, const char *text);

#endif
