/* transport/cluster/trim.h -- memory of links that have ended goes back. */
#ifndef WF_TRIM_H
#define WF_TRIM_H

#include <stdint.h>

struct wf_cluster;
struct wf_link;

void wf_trim_ended(struct wf_cluster *c, const struct wf_link *l); /* that link has ended */
int64_t wf_trim_tick(struct wf_cluster *c, int64_t now);           /* returns when it has to look again */

#endif
