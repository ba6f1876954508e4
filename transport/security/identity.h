/* transport/security/identity.h -- who a certificate says its holder is, and what that one may do here.
 *
 * A certificate of a cluster names its node in the subject's common name, and its roles as alternative names of the
 * form "weft:role:ROLE". docs/security.md says what each role may do. */
#ifndef WF_IDENTITY_H
#define WF_IDENTITY_H

#include <weft/api.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
WEFT_BEGIN

/* What the other side of a connection may ask of this node. Without TLS it may ask everything. */
enum wf_right {
    WF_RIGHT_JOIN = 1,    /* be a node of the cluster */
    WF_RIGHT_TALK = 2,    /* messages, calls, names, topics */
    WF_RIGHT_OBSERVE = 4, /* list actors and nodes, read topics through $node */
    WF_RIGHT_STOP = 8,    /* stop, kill and link with actors */
    WF_RIGHT_SPAWN = 16,  /* spawn actors here */
    WF_RIGHT_ADMIN = 32,  /* end the node */
    WF_RIGHT_ALL = 63
};

enum { WF_ROLES = 4, WF_ROLE_TEXT = 64, WF_IDENTITY_NAME = 65 };
/* In the order of a mask's bits: node, guest, observe, admin. */
WEFT_API const char *wf_role_name(unsigned role);
/* The bit of a role, 0: there is no such role. */
WEFT_API uint32_t wf_role_find(const char *name, size_t size);
WEFT_API uint32_t wf_role_rights(uint32_t roles);
/* "node, admin"; "none". */
WEFT_API const char *wf_roles_text(uint32_t roles, char out[WF_ROLE_TEXT]);

struct wf_identity {
    char name[WF_IDENTITY_NAME];
    uint32_t roles;  /* a mask */
    uint32_t rights; /* of those roles */
};

/* From a certificate in DER or (`size` counts the final NUL) PEM, the first if there are several. False: `why`
 * (`why_size` bytes) says what is wrong with it. Says nothing about whether the certificate can be trusted. */
WEFT_API bool wf_identity_read(struct wf_identity *out, const void *certificate, size_t size, char *why,
                               size_t why_size);

/* A node says the name of its certificate; a tool may put "-" and more behind it, as several may run at once. */
bool wf_identity_may_be(const struct wf_identity *i, const char *name, bool client);

WEFT_END
#endif
