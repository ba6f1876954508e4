/* transport/carrier/url.h -- URLs of nodes: which a node may listen on and dial, and their parts. */
#ifndef WF_URL_H
#define WF_URL_H

#include "carrier.h"

#include <weft/pack.h>

#include <stdbool.h>
#include <stddef.h>

/* Whether a node could dial it, or listen there (`listens`), as far as the text says: it has a known scheme, and a host
 * and a port, or a path. Returns 0, or WEFT_EADDRESS and a reason. */
int wf_url_check(const char *url, bool listens, char *why);
/* Whether a node may listen there. On an address that other machines can reach it needs TLS, unless its operator has
 * set `insecure`. `tls`: it has certificates. Returns 0, or WEFT_EADDRESS and a reason. */
int wf_url_check_listen(const char *url, bool tls, bool insecure, char *why);
/* Whether it may dial: a node with certificates never uses other machines without TLS, wherever the URL came from. */
int wf_url_check_dial(const char *url, bool tls, bool insecure, char *why);
/* A listener that the service manager hands over, "inherited://NAME": NAME. NULL: another URL. */
const char *wf_url_inherited(const char *url);
/* The same as wf_url_check_listen for such a listener, by its bound address: its links never have TLS. */
int wf_url_check_inherited(const char *bound, bool insecure, char *why);
bool wf_url_is_known(const char *url); /* nodes dial URLs of its scheme */
bool wf_url_is_tls(const char *url);
bool wf_url_is_loopback(const char *url); /* its host is a loopback address */
/* The host of a URL with a network scheme, with the brackets of IPv6; NULL: it has another scheme. */
const char *wf_url_host(const char *url, size_t *size);
/* The path of a URL whose socket is a file; NULL: it has another scheme. */
const char *wf_url_path(const char *url);
bool wf_url_is_local(const char *url); /* a socket of this machine's file system or kernel */
/* The port that these bytes name: up to five digits, 0 to 65535; -1: they name none. */
int wf_port_of(const char *at, size_t size);
void wf_url_with_port(const char *url, int port, char *out); /* WF_URL_TEXT bytes; port 0: as it is */
/* A URL to listen on, so that all nodes that reach `seed` can reach it: any port of `local`, the address from which the
 * seed was dialled, with the seed's scheme and path; if the seed is a local socket, a socket `name` beside it. `out`:
 * WF_URL_TEXT bytes. False: there is no such URL, or it is too long. */
bool wf_url_beside(const char *seed, const char *local, const char *name, char *out);
/* A copy of URLs, to be freed; longer ones are cut to WF_URL_TEXT. NULL: no memory. */
char (*wf_urls_copy(const weft_text *urls, uint32_t count))[WF_URL_TEXT];
/* "127.0.0.1:80", "[0:0:0:0:0:0:0:1]:80"; address and port in network order. */
void wf_address_text(const void *address, size_t address_size, const void *port, char *out, size_t size);

#endif
