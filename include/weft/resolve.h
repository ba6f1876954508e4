/* weft/resolve.h -- addresses in the system's own form, and the addresses of a host name. */
#ifndef WEFT_RESOLVE_H
#define WEFT_RESOLVE_H

#include <weft/api.h>
#include <weft/time.h>
WEFT_BEGIN

enum {
    WEFT_ADDRESS_TEXT = 128, /* bytes that the text of any address needs at most, with its NUL */
    WEFT_RESOLVE_MAX = 16,   /* addresses of one host name */
};

/* Copy it freely, do not look inside. */
typedef struct {
    unsigned char bytes[128];
    uint32_t size;
} weft_address;

/* [T] "127.0.0.1:80", "[::1]:80", "localhost:80", "unix:/path". Looks no name up. WEFT_EADDRESS. */
WEFT_API WEFT_CHECKED int weft_address_parse(weft_address *out, const char *text);
/* [T] The same form back, at most `size` bytes with the NUL. WEFT_ETOOBIG, WEFT_EADDRESS (it holds none). */
WEFT_API int weft_address_text(const weft_address *a, char *out, size_t size);
/* [T] Family, host, port and interface are the same. */
WEFT_API bool weft_address_equal(const weft_address *a, const weft_address *b);

/* [A, W] Looks up the addresses of `host` as this system does (its hosts file, DNS) and writes at most `max` (16 are
 * looked at), the one to be tried first in front. `service` is a port's number or name. Returns how many. The look-up
 * runs on a thread for blocking functions (weft/offload.h), nothing else waits for it; one that is given up runs to
 * its end there. WEFT_ENOHOST, WEFT_EADDRESS (no such service, or no form of a name), WEFT_ETIMEDOUT, WEFT_ECANCELED,
 * WEFT_EFULL (until the deadline there was no place in the queue for such functions), WEFT_EINVAL, WEFT_ENOMEM,
 * WEFT_ESYSTEM. */
WEFT_API WEFT_CHECKED int weft_resolve(const char *host, const char *service, weft_address *out, size_t max,
                                       int64_t deadline);

WEFT_END
#endif
