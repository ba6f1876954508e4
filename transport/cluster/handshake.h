/* transport/cluster/handshake.h -- the handshake, by which connections become channels of links. */
#ifndef WF_HANDSHAKE_H
#define WF_HANDSHAKE_H

#include <stddef.h>
#include <stdint.h>

struct wf_channel;
struct wf_cluster;
struct wf_cluster_event;

void wf_handshakes_message(struct wf_cluster *c, struct wf_channel *ch, const uint8_t *data, size_t size);
void wf_handshakes_down(struct wf_cluster *c, struct wf_cluster_event *e);
int64_t wf_handshakes_tick(struct wf_cluster *c, int64_t now); /* time limits; returns when to call it again */
void wf_handshakes_end(struct wf_cluster *c);                  /* closes the channels that carry no link yet */

#endif
