/* weft/tls.h -- TLS for streams: one call turns a connected or accepted stream into a secured one, and weft_read,
 * weft_read_until, weft_write, weft_on_readable, weft_shutdown and the rest do what they did before. TLS 1.2, with
 * keys that are thrown away afterwards (ECDHE); by mbed TLS. A weft built without it gives WEFT_ENOTSUP.
 *
 * What a secured stream adds:
 * - Readable means that there are decrypted bytes (or the end, or an error), not that the socket has some.
 * - The end of the stream (0) is the other side's word, which nobody can forge. If the connection ends without it,
 *   reads give WEFT_ERESET: what was read may not be all.
 * - weft_shutdown says that word, and waits (10 s at most, then WEFT_ETIMEDOUT) until it is on its way. weft_close
 * says
 *   it, too, but does not wait: where the other side reads slowly it may not get it. So end with weft_shutdown.
 * - After a failed handshake, or bad data, every read and write gives WEFT_ETLS. */
#ifndef WEFT_TLS_H
#define WEFT_TLS_H

#include <weft/api.h>
#include <weft/stream.h>
#include <weft/time.h>
WEFT_BEGIN

/* A configuration: certificates, keys, whom to trust. Any number of streams, on any node, may use one. */
typedef struct weft_tls weft_tls;

enum weft_tls_clients {
    WEFT_TLS_NO_CLIENT_CERTIFICATE, /* is not asked for */
    WEFT_TLS_CLIENT_MAY,            /* may show one; a bad one is refused */
    WEFT_TLS_CLIENT_MUST,
};

/* Certificates and keys are PEM: the text itself, beginning with "-----BEGIN", or the path of a file. */
typedef struct {
    bool server;             /* this side answers: for accepted streams */
    const char *certificate; /* this side's, with those between it and the authority behind it; */
    const char *key;         /* its key. A client may have neither */
    const char *authority;   /* who signs certificates that we trust. NULL: for a client, those this system trusts */
    bool unverified;         /* a client: takes any certificate, of anybody. For tests */
    enum weft_tls_clients clients; /* a server: certificates of clients; needs an authority */
    const char *const *protocols;  /* ALPN: up to 8 names and a NULL, the favourite first; NULL: none */
} weft_tls_options;

/* [T] Reads files, so it may block for a moment. On failure `why` (may be NULL; 256 bytes are enough) says which
 * certificate or file, and what is wrong with it. WEFT_EINVAL, WEFT_ENOTFOUND (a file cannot be opened),
 * WEFT_EFORMAT (no PEM, or a key that is not that of the certificate), WEFT_ENOMEM, WEFT_ENOTSUP. */
WEFT_API WEFT_CHECKED int weft_tls_open(weft_tls **out, const weft_tls_options *options, char *why, size_t why_size);
/* [T] A server of several names (SNI): clients that ask for `name` ("shop.example.org", "*.example.org") are shown
 * this certificate instead; others that of the options, or are refused if there is none. Before any stream uses
 * `tls`. */
WEFT_API WEFT_CHECKED int weft_tls_add(weft_tls *tls, const char *name, const char *certificate, const char *key,
                                       char *why, size_t why_size);
/* [T] It is freed once no stream uses it any more. NULL is fine. */
WEFT_API void weft_tls_close(weft_tls *tls);

/* [A, W] The handshake. `name`: for a client, whom to expect; the server's certificate has to name it (a host name,
 * not an IP address). Bytes that the stream holds back (weft_read_until, before a STARTTLS) count as the other side's
 * first. Nobody else may be reading or writing: WEFT_EBUSY. On failure `why` (may be NULL; 256 bytes are enough) says
 * in words what was wrong, and the stream is good for nothing but weft_close. WEFT_ETLS, WEFT_ERESET (the other side
 * broke it off without a word), WEFT_EEXIST (is secured), WEFT_EINVAL (a client without `name`), WEFT_ENOMEM. */
WEFT_API WEFT_CHECKED int weft_stream_secure(weft_stream s, weft_tls *tls, const char *name, char *why,
                                             size_t why_size, int64_t deadline);

typedef struct {
    char version[16], cipher[64]; /* "TLSv1.2" */
    char protocol[64];            /* agreed on by ALPN; "": none */
    char name[256];               /* whom the client asked for */
    char peer[256];               /* whose certificate the other side has shown: "CN=alice, O=Example"; "": none */
} weft_tls_info;
/* [A] WEFT_EINVAL: it is not secured. */
WEFT_API int weft_stream_tls(weft_stream s, weft_tls_info *out);

WEFT_END
#endif
