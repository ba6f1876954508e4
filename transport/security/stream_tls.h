/* transport/security/stream_tls.h -- what the configuration of users' TLS asks of the connection. */
#ifndef WF_STREAM_TLS_H
#define WF_STREAM_TLS_H

#include <weft/tls.h>

/* From now on by the name a client asks for. */
void wf_tls_choose_by_name(weft_tls *tls);

#endif
