/* weft/resolve.h -- network addresses in the system's form, and the addresses of a host name. */
#ifndef WEFT_RESOLVE_H
#define WEFT_RESOLVE_H

#include <weft/api.h>
#include <weft/time.h>
WEFT_BEGIN

enum {
    WEFT_ADDRESS_TEXT = 128, /* bytes that the text of any address needs at most, with its NUL */
    WEFT_RESOLVE_MAX = 16,   /* addresses of one host name */
};

/* A value that may be copied. Its content is for the system only. */
typedef struct {
    unsigned char bytes[128];
    uint32_t size;
} weft_address;

/* [T] Parses an address: "127.0.0.1:80", "[::1]:80", "localhost:80", "unix:/path". Does not look up names.
 * WEFT_EADDRESS. */
WEFT_API WEFT_CHECKED int weft_address_parse(weft_address *out, const char *text);
/* [T] Writes the address in the same form, at most `size` bytes with the NUL. Errors: WEFT_ETOOBIG, WEFT_EADDRESS
 * (`a` holds no address). */
WEFT_API int weft_address_text(const weft_address *a, char *out, size_t size);
/* [T] Returns true if family, host, port and interface are the same. */
WEFT_API bool weft_address_equal(const weft_address *a, const weft_address *b);

/* [A, W] Looks up the addresses of `host` as this system does (its hosts file, DNS) and writes at most `max` of them
 * (of up to 16), the one to try first in front. `service` is the number or name of a port. Returns the number
 * written. The look-up runs on a thread for blocking functions (weft/offload.h), and only the caller waits for it; if
 * the caller gives up, the look-up runs to its end there. Look-ups leave one of these threads to other jobs (if
 * there are several threads); further look-ups wait in a queue of their own: see docs/streams.md.
 * Errors: WEFT_ENOHOST, WEFT_EADDRESS (there is no such service or port, or the name is malformed), WEFT_ETIMEDOUT,
 * WEFT_ECANCELED, WEFT_EFULL (there was no place in the queue of look-ups until the deadline, or the process is out of
 * descriptors), WEFT_EINVAL, WEFT_ENOMEM, WEFT_ESYSTEM. */
WEFT_API WEFT_CHECKED int weft_resolve(const char *host, const char *service, weft_address *out, size_t max,
                                       int64_t deadline);

WEFT_END
#endif
