/* tests/unit/actors/run/alone.c -- replaces actors/all_features.c: a node that has core/, mailbox/ and run/, and no
 * feature above them; and the functions of features that the harness uses. */
#include "all_features.h"
#include "names.h"

extern const struct wf_feature wf_stopping_feature, wf_backpressure_feature, wf_mailbox_feature;

static const struct wf_feature *const features[] = {&wf_stopping_feature, &wf_backpressure_feature,
                                                    &wf_mailbox_feature, NULL};

int wf_node_create(weft_node **out, const weft_node_options *options, struct pf_env *env)
{
    return wf_node_make(out, options, env, features);
}

size_t wf_names_count(struct wf_names *names)
{
    (void)names;
    return 0;
}

size_t wf_names_waits(struct wf_names *names)
{
    (void)names;
    return 0;
}
