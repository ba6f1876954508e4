/* actors/testkit/expect.h -- what the actors of a test expect. */
#ifndef WF_EXPECT_H
#define WF_EXPECT_H

struct wf_test;

/* The probes of a test that is over. */
void wf_probes_free(struct wf_test *t);

#endif
