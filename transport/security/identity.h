/* transport/security/identity.h -- the identity that a certificate gives its holder, and the holder's rights here.
 *
 * A certificate of a cluster names its node in the subject's common name, and its roles as alternative names of the
 * form "weft:role:ROLE". docs/security.md says what each role may do. */
#ifndef WF_IDENTITY_H
#define WF_IDENTITY_H

#include "roles.h"

#include <stdint.h>

enum { WF_IDENTITY_NAME = 65 };

struct wf_identity {
    char name[WF_IDENTITY_NAME];
    uint32_t roles;  /* a mask */
    uint32_t rights; /* the rights of those roles */
};

#endif
