/* runtime/platform/address.c -- socket addresses as text. No name except "localhost" is looked up, because a look-up
 * would block. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inet.h"
#include "native.h"

_Static_assert(sizeof(struct sockaddr_un) <= sizeof(((struct pf_address *)0)->bytes), "every sockaddr fits");
static const char UNIX_PREFIX[] = "unix:";

static void set(struct pf_address *out, const void *address, size_t size)
{
    memset(out, 0, sizeof *out);
    memcpy(out->bytes, address, size);
    out->size = (uint32_t)size;
}

/* Returns the port that `text` names: "0" to "65535", digits only; -1: it names no port. */
static int parse_port(const char *text)
{
    int port = 0;
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 5 || text[digits] != '\0') return -1;
    for (size_t i = 0; i < digits; i++) port = port * 10 + (text[i] - '0');
    return port <= 65535 ? port : -1;
}

static int parse_unix(const char *path, struct pf_address *out)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    size_t length = strlen(path);
    if (length == 0 || length >= sizeof a.sun_path) return WEFT_EADDRESS;
    memcpy(a.sun_path, path, length + 1);
    set(out, &a, offsetof(struct sockaddr_un, sun_path) + length + 1);
    return WEFT_OK;
}

/* `host` may end in "%interface", for link-local addresses. */
static int parse_ipv6(char *host, int port, struct pf_address *out)
{
    struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
    char *scope = strchr(host, '%');
    if (scope != NULL) {
        *scope++ = '\0';
        a.sin6_scope_id = if_nametoindex(scope);
        if (a.sin6_scope_id == 0) return WEFT_EADDRESS;
    }
    if (inet_pton(AF_INET6, host, &a.sin6_addr) != 1) return WEFT_EADDRESS;
    set(out, &a, sizeof a);
    return WEFT_OK;
}

int pf_address_parse(const char *text, struct pf_address *out)
{
    if (strncmp(text, UNIX_PREFIX, sizeof UNIX_PREFIX - 1) == 0)
        return parse_unix(text + sizeof UNIX_PREFIX - 1, out);
    char host[INET6_ADDRSTRLEN + IF_NAMESIZE + 3];
    const char *colon = strrchr(text, ':');
    if (colon == NULL) return WEFT_EADDRESS;
    size_t length = (size_t)(colon - text);
    int port = parse_port(colon + 1);
    if (port < 0 || length == 0 || length >= sizeof host) return WEFT_EADDRESS;
    memcpy(host, text, length);
    host[length] = '\0';
    if (host[0] == '[') {
        if (host[length - 1] != ']') return WEFT_EADDRESS;
        host[length - 1] = '\0';
        return parse_ipv6(host + 1, port, out);
    }
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    const char *number = strcmp(host, "localhost") == 0 ? "127.0.0.1" : host;
    if (inet_pton(AF_INET, number, &a.sin_addr) != 1) return WEFT_EADDRESS;
    set(out, &a, sizeof a);
    return WEFT_OK;
}

static int format_unix(const struct pf_address *address, char *out, size_t size)
{
    struct sockaddr_un a;
    size_t before_path = offsetof(struct sockaddr_un, sun_path);
    memset(&a, 0, sizeof a);
    memcpy(&a, address->bytes, WF_MIN((size_t)address->size, sizeof a));
    int path_size = (int)(address->size > before_path ? address->size - before_path : 0); /* 0: unnamed */
    return snprintf(out, size, "%s%.*s", UNIX_PREFIX, path_size, a.sun_path);
}

int pf_address_format(const struct pf_address *a, char *out, size_t size)
{
    char host[INET6_ADDRSTRLEN] = "", zone[IF_NAMESIZE];
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    sa_family_t family;
    int n;
    if (a->size < sizeof family || a->size > sizeof a->bytes) return WEFT_EADDRESS;
    memcpy(&family, a->bytes + offsetof(struct sockaddr, sa_family), sizeof family);
    switch (family) {
    case AF_UNIX: n = format_unix(a, out, size); break;
    case AF_INET:
        memcpy(&v4, a->bytes, sizeof v4);
        inet_ntop(AF_INET, &v4.sin_addr, host, sizeof host);
        n = snprintf(out, size, "%s:%d", host, ntohs(v4.sin_port));
        break;
    case AF_INET6: {
        memcpy(&v6, a->bytes, sizeof v6);
        inet_ntop(AF_INET6, &v6.sin6_addr, host, sizeof host);
        bool scoped = v6.sin6_scope_id != 0 && if_indextoname(v6.sin6_scope_id, zone) != NULL;
        n = snprintf(out, size, "[%s%s%s]:%d", host, scoped ? "%" : "", scoped ? zone : "", ntohs(v6.sin6_port));
        break;
    }
    default: return WEFT_EADDRESS;
    }
    return n >= 0 && (size_t)n < size ? WEFT_OK : WEFT_ETOOBIG;
}

bool pf_address_is_unix(const struct pf_address *a)
{
    sa_family_t family;
    if (a->size < sizeof family) return false;
    memcpy(&family, a->bytes + offsetof(struct sockaddr, sa_family), sizeof family);
    return family == AF_UNIX;
}

size_t pf_address_bytes(const struct pf_address *a, uint8_t out[16])
{
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    sa_family_t family;
    if (a->size < sizeof family) return 0;
    memcpy(&family, a->bytes + offsetof(struct sockaddr, sa_family), sizeof family);
    if (family == AF_INET) {
        memcpy(&v4, a->bytes, sizeof v4);
        memcpy(out, &v4.sin_addr, 4);
        return 4;
    }
    if (family != AF_INET6) return 0;
    memcpy(&v6, a->bytes, sizeof v6);
    memcpy(out, &v6.sin6_addr, 16);
    return 16;
}
