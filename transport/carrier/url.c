/* transport/carrier/url.c -- which URLs a node may listen on and dial, and why a URL without TLS is refused. */
#include "url.h"
#include "carrier.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const local_schemes[] = {"ipc://", "unix://", "abstract://"};
static const char *const net_schemes[] = {"tcp://", "tcp4://",    "tcp6://",     "ws://",
                                          "wss://", "tls+tcp://", "tls+tcp4://", "tls+tcp6://"};

static bool is_loopback(const char *host, size_t size)
{
    static const char *const names[] = {"localhost", "[::1]", "[0:0:0:0:0:0:0:1]" /* wf_address_text */};
    for (size_t i = 0; i < WF_COUNT(names); i++)
        if (size == strlen(names[i]) && memcmp(host, names[i], size) == 0) return true;
    if (size < 7 || size > 15 || memcmp(host, "127.", 4) != 0) return false;
    for (size_t i = 0; i < size; i++)
        if (host[i] != '.' && (host[i] < '0' || host[i] > '9')) return false;
    return true;
}

const char *wf_url_inherited(const char *url)
{
    static const char scheme[] = "inherited://";
    return strncmp(url, scheme, sizeof scheme - 1) == 0 ? url + sizeof scheme - 1 : NULL;
}

bool wf_url_is_tls(const char *url)
{
    return strncmp(url, "tls+", 4) == 0 || strncmp(url, "wss://", 6) == 0;
}

const char *wf_url_host(const char *url, size_t *size)
{
    for (size_t i = 0; i < WF_COUNT(net_schemes); i++) {
        size_t n = strlen(net_schemes[i]);
        if (strncmp(url, net_schemes[i], n) != 0) continue;
        const char *host = url + n;
        *size = host[0] == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":/");
        *size = WF_MIN(*size, strlen(host));
        return host;
    }
    return NULL;
}

static const char *local_path(const char *url)
{
    for (size_t i = 0; i < WF_COUNT(local_schemes); i++) {
        size_t n = strlen(local_schemes[i]);
        if (strncmp(url, local_schemes[i], n) == 0) return url + n;
    }
    return NULL;
}

const char *wf_url_path(const char *url)
{
    return strncmp(url, "abstract://", 11) == 0 ? NULL : local_path(url);
}

bool wf_url_is_known(const char *url)
{
    size_t size;
    return local_path(url) != NULL || wf_url_host(url, &size) != NULL;
}

static int refuse(char *why, const char *text)
{
    snprintf(why, WF_REASON_TEXT, "%s", text);
    return WEFT_EADDRESS;
}

int wf_port_of(const char *at, size_t size)
{
    int port = 0;
    if (size == 0 || size > 5) return -1;
    for (size_t i = 0; i < size; i++) {
        if (at[i] < '0' || at[i] > '9') return -1;
        port = port * 10 + (at[i] - '0');
    }
    return port <= 65535 ? port : -1;
}

/* `after`: what stands behind the host. Web sockets have a port of their own. */
static bool has_port(const char *url, const char *after, bool listens)
{
    if (after[0] != ':') return strncmp(url, "ws", 2) == 0 && (after[0] == '\0' || after[0] == '/');
    return wf_port_of(after + 1, strcspn(after + 1, "/")) >= (listens ? 0 : 1);
}

static int check_network(const char *url, bool listens, char *why)
{
    size_t size;
    const char *host = wf_url_host(url, &size);
    if (host == NULL && listens)
        return refuse(why, "unknown scheme; known are tcp, ws, tls+tcp, wss, ipc, abstract, inherited");
    if (host == NULL) return refuse(why, "unknown scheme; known are tcp, ws, tls+tcp, wss, ipc, abstract");
    /* "127.0.0.1:x@0.0.0.0:1" has a user and a password, and the address is 0.0.0.0, which all machines can reach. */
    if (strchr(host, '@') != NULL) return refuse(why, "a URL of a node has no user");
    if (size == 0 && !listens) return refuse(why, "no host after ://");
    if (host[0] == '[' && host[size - 1] != ']') return refuse(why, "no ']' after the address");
    if (has_port(url, host + size, listens)) return WEFT_OK;
    return refuse(why, listens ? "no port from 0 to 65535 after the host; 0 stands for any"
                               : "no port from 1 to 65535 after the host");
}

int wf_url_check(const char *url, bool listens, char *why)
{
    if (strlen(url) >= WF_URL_TEXT) {
        snprintf(why, WF_REASON_TEXT, "the URL is longer than %d bytes", WF_URL_TEXT - 1);
        return WEFT_EADDRESS;
    }
    const char *path = local_path(url), *name = listens ? wf_url_inherited(url) : NULL;
    if (name != NULL) return name[0] != '\0' ? WEFT_OK : refuse(why, "no name after ://");
    if (listens && strncmp(url, "tls+", 4) == 0 && wf_url_inherited(url + 4) != NULL)
        return refuse(why, "an inherited socket has no TLS: use tls+tcp://, or inherited:// for one on 127.0.0.1");
    if (path != NULL) return path[0] != '\0' ? WEFT_OK : refuse(why, "no path after ://");
    return check_network(url, listens, why);
}

int wf_url_check_listen(const char *url, bool tls, bool insecure, char *why)
{
    size_t size;
    if (wf_url_check(url, true, why) < 0) return WEFT_EADDRESS;
    if (strncmp(url, "abstract://", 11) == 0 && !insecure)
        return refuse(why, "any user may dial abstract://: use ipc://, or say --insecure (option insecure)");
    const char *host = wf_url_host(url, &size);
    if (host == NULL) return WEFT_OK;
    if (wf_url_is_tls(url)) return tls ? WEFT_OK : refuse(why, "TLS needs certificates: give --tls DIR (option tls)");
    if (insecure || is_loopback(host, size)) return WEFT_OK;
    snprintf(
        why, WF_REASON_TEXT,
        "%.*s is not a loopback address: use %s:// and --tls DIR (option tls), or say --insecure (option insecure)",
        (int)WF_MIN(size, (size_t)40), host, strncmp(url, "ws", 2) == 0 ? "wss" : "tls+tcp");
    return WEFT_EADDRESS;
}

int wf_url_check_inherited(const char *bound, bool insecure, char *why)
{
    size_t size = 0;
    const char *host = wf_url_host(bound, &size);
    if (insecure || (host != NULL && is_loopback(host, size))) return WEFT_OK;
    snprintf(why, WF_REASON_TEXT,
             "%.*s is not a loopback address and an inherited socket has no TLS: "
             "open it on 127.0.0.1 or say --insecure (option insecure)",
             (int)WF_MIN(size, (size_t)40), host == NULL ? "" : host);
    return WEFT_EADDRESS;
}

int wf_url_check_dial(const char *url, bool tls, bool insecure, char *why)
{
    size_t size;
    const char *host = wf_url_host(url, &size);
    if (!tls || insecure || host == NULL || wf_url_is_tls(url)) return WEFT_OK;
    if (is_loopback(host, size) && strchr(host, '@') == NULL) return WEFT_OK;
    return refuse(why, "this node uses TLS, so it does not talk plainly to other machines");
}

bool wf_url_is_loopback(const char *url)
{
    size_t size;
    const char *host = wf_url_host(url, &size);
    return host != NULL && is_loopback(host, size);
}

bool wf_url_is_local(const char *url)
{
    for (size_t i = 0; i < WF_COUNT(local_schemes); i++)
        if (strncmp(url, local_schemes[i], strlen(local_schemes[i])) == 0) return true;
    return false;
}

void wf_url_with_port(const char *url, int port, char *out)
{
    const char *host = strstr(url, "://");
    const char *from = host == NULL ? NULL : host[3] == '[' ? strchr(host, ']') : host + 3;
    const char *colon = from == NULL || port == 0 ? NULL : strchr(from, ':');
    if (colon == NULL) {
        snprintf(out, WF_URL_TEXT, "%s", url);
        return;
    }
    size_t digits = strspn(colon + 1, "0123456789");
    snprintf(out, WF_URL_TEXT, "%.*s:%d%s", (int)(colon - url), url, port, colon + 1 + digits);
}

bool wf_url_beside(const char *seed, const char *local, const char *name, char *out)
{
    size_t size;
    const char *path = local_path(seed), *host = wf_url_host(seed, &size), *port = strrchr(local, ':');
    int n = -1;
    if (path != NULL && strncmp(seed, "abstract://", 11) == 0) {
        n = snprintf(out, WF_URL_TEXT, "abstract://weft.%s", name);
    } else if (path != NULL && strrchr(path, '/') != NULL) {
        n = snprintf(out, WF_URL_TEXT, "%.*s/%s.link", (int)(strrchr(path, '/') - seed), seed, name);
    } else if (host != NULL && port != NULL) {
        n = snprintf(out, WF_URL_TEXT, "%.*s%.*s:0%s", (int)(host - seed), seed, (int)(port - local), local,
                     host + strcspn(host, "/"));
    }
    return n > 0 && n < WF_URL_TEXT;
}

void wf_address_text(const void *address, size_t address_size, const void *port, char *out, size_t size)
{
    const uint8_t *b = address, *p = port;
    unsigned number = (unsigned)(p[0] << 8 | p[1]);
    if (address_size == 4) {
        snprintf(out, size, "%u.%u.%u.%u:%u", b[0], b[1], b[2], b[3], number);
        return;
    }
    char text[48];
    int n = 0;
    for (size_t i = 0; i + 1 < address_size && n < 40; i += 2)
        n += snprintf(text + n, sizeof text - (size_t)n, "%s%x", i == 0 ? "" : ":", (unsigned)(b[i] << 8 | b[i + 1]));
    snprintf(out, size, "[%s]:%u", text, number);
}

char (*wf_urls_copy(const weft_text *urls, uint32_t count))[WF_URL_TEXT]
{
    char(*out)[WF_URL_TEXT] = calloc(WF_MAX(count, 1u), sizeof *out);
    for (uint32_t i = 0; out != NULL && i < count; i++) snprintf(out[i], sizeof out[i], "%.*s", WEFT_STR(urls[i]));
    return out;
}
