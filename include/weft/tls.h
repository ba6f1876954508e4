/* weft/tls.h -- TLS for streams: one call secures a connected or accepted stream; after that weft_read,
 * weft_read_until, weft_write, weft_on_readable, weft_shutdown and the other calls work as before. It is TLS 1.2 with
 * keys that are discarded afterwards (ECDHE), by mbed TLS. If weft was built without TLS, the calls return
 * WEFT_ENOTSUP.
 *
 * A secured stream differs in these points:
 * - Readable means that there are decrypted bytes (or the end, or an error), not that the socket has bytes.
 * - The end of the stream (0) is an authenticated notice from the other side, which nobody can forge. If the
 *   connection ends without this notice, reads return WEFT_ERESET: some data may be missing.
 * - weft_shutdown sends this notice, and waits (10 s at most, then WEFT_ETIMEDOUT) until the system has taken it.
 *   weft_close sends it, too, but does not wait, so a peer that reads slowly may not get it. Call weft_shutdown
 *   before weft_close.
 * - After a failed handshake, or bad data, every read and write returns WEFT_ETLS. */
#ifndef WEFT_TLS_H
#define WEFT_TLS_H

#include <weft/api.h>
#include <weft/stream.h>
#include <weft/time.h>
WEFT_BEGIN

/* A configuration: certificates, keys, and the authorities to trust. Many streams, on any node, may share one. */
typedef struct weft_tls weft_tls;

enum weft_tls_clients {
    WEFT_TLS_NO_CLIENT_CERTIFICATE, /* the client is not asked for a certificate */
    WEFT_TLS_CLIENT_MAY,            /* the client may show one; an invalid one is refused */
    WEFT_TLS_CLIENT_MUST,           /* the client must show a valid one */
};

/* Certificates and keys are PEM: the text itself, which begins with "-----BEGIN", or the path of a file. */
typedef struct {
    bool server; /* true: this side is the server: for accepted streams */
    /* this side's certificate, followed by the certificates between it and its authority. A client may leave out
     * both */
    const char *certificate;
    const char *key; /* the key of that certificate */
    /* the certificate of the authority to trust. NULL: a client trusts the authorities that this system trusts */
    const char *authority;
    bool unverified;               /* for a client: accept any server's certificate. For tests only */
    enum weft_tls_clients clients; /* for a server: whether clients show certificates; needs `authority` */
    const char *const *protocols;  /* ALPN: up to 8 names and a NULL, the preferred one first; NULL: none */
} weft_tls_options;

/* [T] Makes a configuration. It reads files, so it may block for a moment. On an error `why` (may be NULL; 256 bytes
 * are enough) receives a text that says which certificate or file is wrong, and why.
 * Errors: WEFT_EINVAL, WEFT_ENOTFOUND (a file cannot be opened), WEFT_EFORMAT (not PEM, or the key does not match the
 * certificate), WEFT_ENOMEM, WEFT_ENOTSUP. */
WEFT_API WEFT_CHECKED int weft_tls_open(weft_tls **out, const weft_tls_options *options, char *why, size_t why_size);
/* [T] Adds a certificate, for a server with several names (SNI): clients that ask for `name` ("shop.example.org",
 * "*.example.org") are shown this certificate. Other clients are shown the certificate of the options, or are refused
 * if the options have none. Call it before any stream uses `tls`. Errors: those of weft_tls_open. */
WEFT_API WEFT_CHECKED int weft_tls_add(weft_tls *tls, const char *name, const char *certificate, const char *key,
                                       char *why, size_t why_size);
/* [T] Releases the configuration; it is freed once no stream uses it. NULL is allowed. */
WEFT_API void weft_tls_close(weft_tls *tls);

/* [A, W] Does the handshake. `name`: for a client, the expected server; the server's certificate must have this name
 * (a host name, not an IP address). Bytes that the stream holds back (weft_read_until, before a STARTTLS) count as
 * the first bytes of the other side. No other actor may be reading or writing: WEFT_EBUSY. On an error `why` (may be
 * NULL; 256 bytes are enough) receives the reason in words, and the only call left for the stream is weft_close.
 * Errors: WEFT_ETLS, WEFT_ERESET (the other side broke the connection off without a notice), WEFT_EEXIST (the stream
 * is secured already), WEFT_EINVAL (a client without `name`), WEFT_EBUSY, WEFT_ENOMEM, WEFT_ETIMEDOUT,
 * WEFT_ECANCELED. */
WEFT_API WEFT_CHECKED int weft_stream_secure(weft_stream s, weft_tls *tls, const char *name, char *why,
                                             size_t why_size, int64_t deadline);

typedef struct {
    char version[16], cipher[64]; /* "TLSv1.2" */
    char protocol[64];            /* protocol agreed on by ALPN; "": none */
    char name[256];               /* the server name that the client asked for */
    char peer[256]; /* subject of the other side's certificate: "CN=alice, O=Example"; "": it has shown no
                     * certificate */
} weft_tls_info;
/* [A] Describes the security of a stream. WEFT_EINVAL: the stream is not secured. */
WEFT_API int weft_stream_tls(weft_stream s, weft_tls_info *out);

WEFT_END
#endif
