/* transport/cluster/trim.h -- gives the memory of ended links back to the system. */
#ifndef WF_TRIM_H
#define WF_TRIM_H

#include <stdint.h>

struct wf_cluster;
struct wf_link;

void wf_trim_ended(struct wf_cluster *c, const struct wf_link *l); /* that link has ended */
int64_t wf_trim_tick(struct wf_cluster *c, int64_t now);           /* returns when to call it again */

#endif
