/* transport/security/roles.h -- the rights of the holder of a certificate. */
#ifndef WF_ROLES_H
#define WF_ROLES_H

#include <weft/api.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

WEFT_BEGIN

struct wf_identity;

/* Rights that the other side of a connection may have on this node. Without TLS: see cluster/admission.c. */
enum wf_right {
    WF_RIGHT_JOIN = 1,    /* be a node of the cluster */
    WF_RIGHT_TALK = 2,    /* messages, calls, names, topics */
    WF_RIGHT_OBSERVE = 4, /* list actors and nodes, read topics through $node */
    WF_RIGHT_STOP = 8,    /* stop, kill and link with actors */
    WF_RIGHT_SPAWN = 16,  /* spawn actors here */
    WF_RIGHT_ADMIN = 32,  /* end the node */
    WF_RIGHT_ALL = 63
};

enum { WF_ROLES = 4, WF_ROLE_TEXT = 64 };
/* In the order of a mask's bits: node, guest, observe, admin. */
WEFT_API const char *wf_role_name(unsigned role);
/* The bit of a role, 0: there is no such role. */
WEFT_API uint32_t wf_role_find(const char *name, size_t size);
WEFT_API uint32_t wf_role_rights(uint32_t roles);
/* "node, admin"; "none". */
WEFT_API const char *wf_roles_text(uint32_t roles, char out[WF_ROLE_TEXT]);

/* A node must use the name in its certificate; a tool may append "-" and more to it, as several may run at once. */
bool wf_identity_may_be(const struct wf_identity *i, const char *name, bool client);

WEFT_END

#endif
