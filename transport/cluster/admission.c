/* transport/cluster/admission.c -- whether the other side of a connection may have the identity that its HELLO claims,
 * and which rights it lacks here. */
#include "admission.h"
#include "channel.h"
#include "cluster.h"
#include "identity.h"
#include "links.h"
#include "peers.h"
#include "roles.h"
#include "peer_link.h"
#include "transport.h"

#include <stdio.h>
#include <string.h>

/* An incarnation belongs to one node forever. Pids contain it, so no other node, and no tool, may use it. Its node is
 * the one that has linked with it. What members report of an incarnation gives nobody a right to it. */
bool wf_rights_own(struct wf_cluster *c, const struct wf_channel *ch, char *why)
{
    const struct wf_link *l = wf_links_find(c, ch->incarnation);
    const struct wf_peer *p = wf_peers_find(c, ch->incarnation);
    const char *node = l != NULL && !l->client ? l->name : p != NULL && p->linked_at != 0 ? p->name : NULL;
    const char *tool = l != NULL && l->client && ch->client ? l->name : NULL; /* a tool gives way to a node */
    const char *owner = node != NULL ? node : tool;
    if (owner == NULL || (strcmp(owner, ch->name) == 0 && ch->client == (node == NULL))) return true;
    snprintf(why, WF_REASON_TEXT, "%s %.40s uses the incarnation of %s %.40s", ch->client ? "tool" : "node", ch->name,
             node != NULL ? "node" : "tool", owner);
    return false;
}

/* Rights that are never granted over ws://, as web pages can use it: to control this node, and for tools also to end
 * or start actors. Nodes have the same rights over each other's actors as over any link. */
enum { OVER_WS = WF_RIGHT_ADMIN, OVER_WS_OF_A_TOOL = WF_RIGHT_ADMIN | WF_RIGHT_STOP | WF_RIGHT_SPAWN };

/* A peer without a certificate may belong to any user of this machine. Nodes keep all rights over each other's actors,
 * as over any link. */
static uint32_t denied_without_certificate(const struct wf_transport *t, const struct wf_channel *ch)
{
    if (t->open_control || ch->conn->same_user || ch->conn->dial_tag != NULL) return 0;
    return ch->client ? WF_RIGHT_OBSERVE | WF_RIGHT_ADMIN | WF_RIGHT_STOP | WF_RIGHT_SPAWN : WF_RIGHT_ADMIN;
}

bool wf_rights_admit(struct wf_cluster *c, struct wf_channel *ch, char *why)
{
    const struct wf_identity *who = ch->conn->who;
    char roles[WF_ROLE_TEXT];
    ch->denied = who == NULL ? denied_without_certificate(c->t, ch) : WF_RIGHT_ALL & ~who->rights;
    if (ch->conn->plain_ws) ch->denied |= ch->client ? OVER_WS_OF_A_TOOL : OVER_WS;
    if (ch->client) ch->denied |= WF_RIGHT_JOIN; /* a tool is not a node, whatever its certificate says */
    ch->guarded = ch->denied != 0 || c->t->limits.spawns != 0;
    if (!wf_rights_own(c, ch, why)) {
        return false;
    } else if (who != NULL && !wf_identity_may_be(who, ch->name, ch->client)) {
        snprintf(why, WF_REASON_TEXT, "it claims to be node %.50s, but has the certificate of %.50s", ch->name,
                 who->name);
    } else if (!ch->client && (ch->denied & WF_RIGHT_JOIN) != 0) {
        snprintf(why, WF_REASON_TEXT, "the certificate of %.50s is for a tool (roles: %s), not for a node", who->name,
                 wf_roles_text(who->roles, roles));
    } else {
        return true;
    }
    return false;
}
