/* transport/tls.h -- a node's certificates, and who is at the other end of a connection under TLS. */
#ifndef WF_TLS_H
#define WF_TLS_H

#include "identity.h"

WEFT_BEGIN

/* Where certificates are: `given`, or for "auto" $WEFT_CERTS, else $XDG_CONFIG_HOME/weft/certs, else
 * ~/.config/weft/certs. False: no room, or none of these is set. */
WEFT_API bool wf_tls_folder(const char *given, char *out, size_t size);

WEFT_END
#endif
