/* transport/security/identity.h -- the identity that a certificate gives its holder, and the holder's rights here.
 *
 * A certificate of a cluster names its node in the subject's common name, and its roles as alternative names of the
 * form "weft:role:ROLE". docs/security.md says what each role may do. */
#ifndef WF_IDENTITY_H
#define WF_IDENTITY_H

#include "roles.h"

#include <weft/api.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
WEFT_BEGIN

enum { WF_IDENTITY_NAME = 65 };

struct wf_identity {
    char name[WF_IDENTITY_NAME];
    uint32_t roles;  /* a mask */
    uint32_t rights; /* the rights of those roles */
};

/* From a certificate in DER or (`size` counts the final NUL) PEM, the first if there are several. False: `why`
 * (`why_size` bytes) says what is wrong with it. Does not check whether the certificate can be trusted. */
WEFT_API bool wf_identity_read(struct wf_identity *out, const void *certificate, size_t size, char *why,
                               size_t why_size);

WEFT_END
#endif
