/* transport/security/stream_tls.h -- the part of the connection that the configuration of users' TLS uses. */
#ifndef WF_STREAM_TLS_H
#define WF_STREAM_TLS_H

#include <weft/tls.h>

/* From now on certificates are chosen by the name that a client asks for. */
void wf_tls_choose_by_name(weft_tls *tls);

#endif
