/* transport/security/tls_folder.h -- where certificates are. */
#ifndef WF_TLS_FOLDER_H
#define WF_TLS_FOLDER_H

#include <weft/api.h>

#include <stdbool.h>
#include <stddef.h>

WEFT_BEGIN

/* Where certificates are: `given`, or for "auto" $WEFT_CERTS, else $XDG_CONFIG_HOME/weft/certs, else
 * ~/.config/weft/certs, else %APPDATA%/weft/certs (Windows). False: no space, or none of these is set. */
WEFT_API bool wf_tls_folder(const char *given, char *out, size_t size);

WEFT_END

#endif
