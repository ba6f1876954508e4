/* actors/all_features.c -- a node with all features of actors. A new feature is a line here. */
#include "all_features.h"

extern const struct wf_feature wf_tracing_feature, wf_topics_feature, wf_names_feature, wf_groups_feature,
    wf_calls_feature, wf_credit_feature, wf_stopping_feature, wf_backpressure_feature, wf_mailbox_feature,
    wf_send_after_feature, wf_monitors_feature, wf_supervision_feature, wf_connecting_feature, wf_reload_feature,
    wf_pools_feature, wf_remote_feature;

/* An ending actor leaves them in this order. */
static const struct wf_feature *const features[] = {&wf_tracing_feature,
                                                    &wf_topics_feature,
                                                    &wf_names_feature,
                                                    &wf_groups_feature,
                                                    &wf_calls_feature,
                                                    &wf_send_after_feature,
                                                    &wf_monitors_feature,
                                                    &wf_supervision_feature,
                                                    &wf_connecting_feature,
                                                    &wf_reload_feature,
                                                    &wf_pools_feature,
                                                    &wf_remote_feature,
                                                    &wf_credit_feature,
                                                    &wf_stopping_feature,
                                                    &wf_backpressure_feature,
                                                    &wf_mailbox_feature,
                                                    NULL};

int wf_node_create(weft_node **out, const weft_node_options *options, struct pf_env *env)
{
    return wf_node_make(out, options, env, features);
}
