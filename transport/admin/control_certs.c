/* transport/admin/control_certs.c -- the certificates of a node: loaded when it starts, and reloaded while it
 * runs. */
#include "control_certs.h"
#include "answer.h"
#include "tool_actors.h"
#include "control.h"
#include "roles.h"
#include "tls.h"
#include "tls_folder.h"
#include "transport.h"

#include <weft/local.h>
#include <weft/offload.h>

#include <stdio.h>
#include <string.h>

/* Whether this node may use that certificate; else `why`. */
static int check_identity(const struct wf_transport *t, const struct wf_tls *tls, char *why, size_t size)
{
    const char *name = tls->self.name;
    if (!t->client && (tls->self.rights & WF_RIGHT_JOIN) == 0)
        snprintf(why, size, "the certificate of %s is for a tool: issue it with --role node", name);
    else if (!wf_identity_may_be(&tls->self, t->node->name, t->client))
        snprintf(why, size, "node %s cannot use the certificate of %s", t->node->name, name);
    else return WEFT_OK;
    return WEFT_EACCESS;
}

/* The node uses these certificates from now on. */
static void take(struct wf_transport *t, struct wf_tls *tls)
{
    t->tls = tls;
    atomic_store_explicit(&t->guest, (tls->self.rights & WF_RIGHT_STOP) == 0, memory_order_relaxed);
}

int wf_certs_load(struct wf_transport *t, const weft_node_options *o)
{
    char folder[WF_TLS_PATH], why[WF_TLS_WHY] = "no folder: $HOME is not set, or the path is too long";
    if (o->tls == NULL) return WEFT_OK;
    const char *name = o->tls_as != NULL ? o->tls_as : t->node->name;
    if (o->client && o->name == NULL && o->tls_as != NULL)
        snprintf(t->node->name, sizeof t->node->name, "%.54s-%08x", name, (unsigned)(t->node->incarnation >> 32));
    int rc = WEFT_EINVAL;
    if (wf_tls_folder(o->tls, folder, sizeof folder)) rc = wf_tls_load(&t->tls, folder, name, why, sizeof why);
    if (rc == WEFT_OK) rc = check_identity(t, t->tls, why, sizeof why);
    if (rc == WEFT_OK) take(t, t->tls);
    t->has_tls = rc == WEFT_OK;
    if (rc < 0) weft_log(WEFT_ERROR, "TLS: %s", why);
    else if (t->tls->warning[0] != '\0') weft_log(WEFT_WARN, "TLS: %s", t->tls->warning);
    return rc;
}

/* Under tls_lock. */
static int renew(struct wf_transport *t, char *why, size_t size)
{
    struct wf_tls *fresh = NULL, *old = t->tls;
    if (old == NULL) {
        snprintf(why, size, "this node has no certificates: it was started without --tls");
        return WEFT_ENOTFOUND;
    }
    int rc = wf_tls_load(&fresh, old->folder, old->self.name, why, size);
    if (rc < 0) return rc;
    rc = check_identity(t, fresh, why, size);
    if (rc == WEFT_OK) {
        rc = t->carrier->ops->renew_tls(t->carrier, fresh);
        if (rc < 0) snprintf(why, size, "%s", weft_strerror(rc));
    }
    if (rc == WEFT_OK) take(t, fresh);
    wf_tls_free(rc == WEFT_OK ? old : fresh);
    return rc;
}

/* The result of a renewal: the new certificate, or why nothing has changed. */
struct renewal {
    struct wf_transport *t;
    int rc;
    char serial[64], until[16];
    char why[WF_TLS_WHY];
};

static void renew_now(void *block)
{
    struct renewal *r = block;
    struct wf_transport *t = r->t;
    pf_mutex_lock(t->tls_lock);
    r->rc = renew(t, r->why, sizeof r->why);
    if (r->rc == WEFT_OK) {
        memcpy(r->serial, t->tls->serial, sizeof r->serial);
        memcpy(r->until, t->tls->until, sizeof r->until);
        weft_log(WEFT_INFO, "TLS: node %s has reloaded its certificates: serial %s, valid until %s", t->node->name,
                 r->serial, r->until);
        if (t->tls->warning[0] != '\0') weft_log(WEFT_WARN, "TLS: %s", t->tls->warning);
    } else {
        weft_log(WEFT_ERROR, "TLS: node %s still uses its old certificates: %s", t->node->name, r->why);
    }
    pf_mutex_unlock(t->tls_lock);
}

int weft_node_renew_certs(weft_node *node)
{
    if (node == NULL) return WEFT_EINVAL;
    struct renewal r = {.t = node->transport};
    renew_now(&r);
    return r.rc;
}

bool wf_certs_are_there(const weft_node *node)
{
    const struct wf_transport *t = node->transport;
    return t->has_tls;
}

/* ---- For the command line -------------------------------------------------------------------------------------- */

static void answer(const weft_msg *ask, const struct renewal *r)
{
    uint8_t text[128];
    weft_writer w = weft_writer_on(text, sizeof text);
    weft_put_array(&w, 2);
    weft_put_str(&w, weft_cstr(r->serial));
    weft_put_str(&w, weft_cstr(r->until));
    (void)weft_reply(ask, WF_CONTROL_CERTS, text, w.size);
}

/* Answers instead of $node: the files are read on a thread for blocking work. */
static void renewer_main(const void *arg, size_t size)
{
    weft_msg *ask;
    struct renewal *r = weft_alloc(sizeof *r);
    if (r == NULL || weft_recv(&ask, WEFT_FOREVER) < 0) return;
    memset(r, 0, sizeof *r);
    memcpy(&r->t, arg, size);
    int rc = weft_offload(renew_now, r, sizeof *r, WEFT_FOREVER);
    const char *why = rc < 0 ? weft_strerror(rc) : r->why;
    if (rc == WEFT_OK && r->rc == WEFT_OK) answer(ask, r);
    else (void)weft_reply(ask, WF_CONTROL_ERROR, why, strlen(why));
    weft_msg_free(ask);
}

const char *wf_certs_begin(struct wf_transport *t, weft_msg *ask, bool *handed)
{
    return wf_hand_to(
        ask, &(struct wf_tool_work){.body = renewer_main, .kind = "$certs", .arg = &t, .size = sizeof t}, handed);
}
