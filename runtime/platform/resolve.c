/* runtime/platform/resolve.c -- resolves names with the system: /etc/hosts, DNS and the other sources that it is
 * configured to use. */
#include "socket.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int error_of(int rc)
{
    switch (rc) {
    case EAI_SERVICE:
    case EAI_SOCKTYPE: return WEFT_EADDRESS;
    case EAI_MEMORY: return WEFT_ENOMEM;
    case PF_EAI_SYSTEM:
        return errno == EMFILE || errno == ENFILE ? WEFT_EFULL : pf_unknown_error("getaddrinfo", errno);
    default: return WEFT_ENOHOST;
    }
}

/* Whether it is a number, but not of a port. Systems take it for that number modulo 65536. */
static bool is_no_port(const char *service)
{
    size_t digits = strspn(service, "0123456789");
    if (digits == 0 || service[digits] != '\0') return false;
    return strtoull(service, NULL, 10) > 65535; /* a number that is too large for the type yields its largest one */
}

int pf_resolve(const char *host, const char *service, struct pf_address *out, int max)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG}, *found;
    if (is_no_port(service)) return WEFT_EADDRESS;
    pf_sockets_load();
    errno = 0;
    int rc = getaddrinfo(host, service, &hints, &found), count = 0;
    if (rc != 0) return error_of(rc);
    for (const struct addrinfo *a = found; a != NULL && count < max; a = a->ai_next) {
        if (a->ai_family != AF_INET && a->ai_family != AF_INET6) continue;
        memset(&out[count], 0, sizeof out[count]);
        memcpy(out[count].bytes, a->ai_addr, a->ai_addrlen);
        out[count++].size = (uint32_t)a->ai_addrlen;
    }
    freeaddrinfo(found);
    return count > 0 ? count : WEFT_ENOHOST;
}
