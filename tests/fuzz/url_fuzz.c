/* A line of text as a URL, an address, and a source of nodes for discovery. Other machines must not be able to reach
 * an address at which a node may listen without TLS. */
#include "carrier_tcp.h"
#include "discover.h"
#include "fuzz.h"
#include "source.h"
#include "transport.h"
#include "url.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>

static void check_loopback(const struct pf_address *a)
{
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    memcpy(&v4, a->bytes, sizeof v4);
    memcpy(&v6, a->bytes, sizeof v6);
    if (v4.sin_family == AF_INET) MUST(ntohl(v4.sin_addr.s_addr) >> 24 == 127);
    else MUST(v6.sin6_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr));
}

static void check_address(const char *text)
{
    struct pf_address a, again;
    char out[256];
    if (pf_address_parse(text, &a) < 0) return;
    if (pf_address_format(&a, out, sizeof out) < 0) return;
    MUST(pf_address_parse(out, &again) == WEFT_OK && again.size == a.size);
    if (!pf_address_is_unix(&a)) MUST(memcmp(a.bytes, again.bytes, a.size) == 0);
}

static void check_url(const char *url)
{
    char why[WF_REASON_TEXT] = "", out[WF_URL_TEXT];
    struct pf_address a;
    bool tcp = wf_tcp_parse(url, &a);
    MUST(tcp == wf_carrier_tcp_knows(url));
    int rc = wf_url_check_listen(url, false, false, why);
    MUST(rc == WEFT_OK || why[0] != '\0');
    if (rc == WEFT_OK) {
        MUST(wf_url_is_known(url) != (wf_url_inherited(url) != NULL) && !wf_url_is_tls(url));
        if (tcp) check_loopback(&a);
        MUST(wf_url_check_listen(url, true, false, why) == WEFT_OK);
    }
    if (wf_url_check_dial(url, true, false, why) == WEFT_OK && tcp && !pf_address_is_unix(&a)) check_loopback(&a);
    MUST(wf_url_check_dial(url, false, false, why) == WEFT_OK);
    wf_url_with_port(url, 0, out);
    MUST(strncmp(out, url, sizeof out - 1) == 0);
    wf_url_with_port(url, 65535, out);
    MUST(memchr(out, '\0', sizeof out) != NULL);
    (void)wf_url_is_local(url);
    /* As a listener that was handed over would be bound there. */
    if (tcp && wf_url_check_inherited(url, false, why) == WEFT_OK) check_loopback(&a);
}

/* A password would be read from any file: not here. */
static void check_source(const char *spec)
{
    struct wf_transport t = {0};
    char why[WF_REASON_TEXT] = "";
    const weft_node_options o = {.discover = &spec, .discover_count = 1};
    if (wf_check_host_port(spec, strlen(spec), why) == WEFT_OK) MUST(strchr(spec, ':') != NULL);
    (void)wf_check_host(spec, strlen(spec), why);
    if (strstr(spec, "password_file") != NULL) return;
    int rc = wf_discover_create(&t, &o);
    MUST(rc == WEFT_OK ? t.discover->count == 1 : t.discover->count == 0);
    wf_discover_destroy(&t);
}

int fuzz_one_input(const uint8_t *data, size_t size)
{
    weft_log_set(WEFT_SILENT, false);
    struct input in = {data, data + size};
    char *text = input_string(&in);
    check_address(text);
    check_url(text);
    check_source(text);
    char *tcp = malloc(strlen(text) + 7);
    MUST(tcp != NULL);
    memcpy(tcp, "tcp://", 7);
    strcat(tcp, text);
    check_url(tcp);
    free(tcp);
    free(text);
    return 0;
}
