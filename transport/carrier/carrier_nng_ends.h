/* transport/carrier/carrier_nng_ends.h -- listening and dialling on NNG. */
#ifndef WF_CARRIER_NNG_ENDS_H
#define WF_CARRIER_NNG_ENDS_H

#include "carrier_nng.h"

void wf_nng_free(struct nng_carrier *k); /* all operations must have ended */
/* As in wf_carrier_ops. */
int wf_nng_listen(struct wf_carrier *base, const char *url, int mode, char *bound, char *why);
void wf_nng_accept(struct wf_carrier *base);
int wf_nng_dial(struct wf_carrier *base, const char *url, void *tag, char *why);
void wf_nng_unlisten(struct wf_carrier *base);
void wf_nng_destroy(struct wf_carrier *base);
int wf_nng_renew_tls(struct wf_carrier *base, const struct wf_tls *tls);

#endif
