/* actors/all_features.h -- a node with all features of actors. */
#ifndef WF_ALL_FEATURES_H
#define WF_ALL_FEATURES_H

#include "node_life.h"

/* As wf_node_make. */
int wf_node_create(weft_node **out, const weft_node_options *options, struct pf_env *env);

#endif
