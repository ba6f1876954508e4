/* transport/security/tls.c -- reads a node's certificates, and finds at the start the faults that would otherwise be
 * found at the first handshake. */
#include "base.h"
#include "identity_tls.h"
#include "platform.h"
#include "tls.h"

#include <mbedtls/pk.h>
#include <mbedtls/platform_util.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weft/error.h>

enum { FILE_MAX = 64 * 1024, PATH = 4096, SOON_DAYS = 14 };

struct loading {
    struct wf_tls *tls;
    const char *folder, *name;
    char *why;
    size_t why_size;
    mbedtls_x509_crt authority, certificate;
    mbedtls_pk_context key;
};

static void free_text(char *text)
{
    if (text != NULL) mbedtls_platform_zeroize(text, strlen(text));
    free(text);
}

void wf_tls_free(struct wf_tls *tls)
{
    if (tls == NULL) return;
    free_text(tls->authority);
    free_text(tls->certificate);
    free_text(tls->key);
    free(tls->folder);
    free(tls);
}

/* The whole file with a NUL behind it; NULL: missing, unreadable, empty, or with NULs in it. */
static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) return NULL;
    char *text = malloc(FILE_MAX + 1);
    size_t n = text == NULL ? 0 : fread(text, 1, FILE_MAX, file);
    bool ok = text != NULL && n > 0 && !ferror(file) && memchr(text, '\0', n) == NULL;
    fclose(file);
    if (ok) text[n] = '\0';
    else free(text);
    return ok ? text : NULL;
}

static int refuse(struct loading *l, const char *path, const char *what, const char *remedy)
{
    enum { SHOWN = 250 }; /* bytes of a path: its end names the file */
    size_t size = strlen(path), from = size > SHOWN ? size - SHOWN : 0;
    snprintf(l->why, l->why_size, "%s%s %s%s%s", from > 0 ? "..." : "", path + from, what,
             remedy[0] != '\0' ? "; " : "", remedy);
    return WEFT_EACCESS;
}

static int load_text(struct loading *l, const char *name, const char *ending, char **out, char path[PATH])
{
    char remedy[128];
    if (snprintf(path, PATH, "%s/%s.%s", l->folder, name, ending) >= PATH)
        return refuse(l, l->folder, "is too long a path", "");
    *out = read_file(path);
    if (*out != NULL) return WEFT_OK;
    if (strcmp(name, "ca") == 0)
        snprintf(remedy, sizeof remedy, "make it with 'weft certs init', or copy it from where that was done");
    else
        snprintf(remedy, sizeof remedy, "make it with 'weft certs issue %s' where ca.key is, and copy it here", name);
    refuse(l, path, "is missing or cannot be read", remedy);
    return WEFT_ENOTFOUND;
}

static int load_certificate(struct loading *l, const char *name, char **text, mbedtls_x509_crt *out)
{
    char path[PATH];
    int rc = load_text(l, name, "crt", text, path);
    if (rc < 0) return rc;
    if (mbedtls_x509_crt_parse(out, (const unsigned char *)*text, strlen(*text) + 1) == 0) return WEFT_OK;
    return refuse(l, path, "is no certificate", "");
}

bool wf_tls_key_is_open(const char *path, char *warning, size_t size)
{
    bool open = pf_file_is_shared(path);
    if (open) snprintf(warning, size, "%.200s can be read by others: chmod 600 it", path);
    else warning[0] = '\0';
    return open;
}

static int load_key(struct loading *l)
{
    char path[PATH];
    int rc = load_text(l, l->name, "key", &l->tls->key, path);
    if (rc < 0) return rc;
    const unsigned char *text = (const unsigned char *)l->tls->key;
    if (mbedtls_pk_parse_key(&l->key, text, strlen(l->tls->key) + 1, NULL, 0) != 0)
        return refuse(l, path, "is no key (or one with a password)", "");
    if (mbedtls_pk_check_pair(&l->certificate.pk, &l->key) != 0)
        return refuse(l, path, "is not the key of the certificate beside it", "issue both again");
    (void)wf_tls_key_is_open(path, l->tls->warning, sizeof l->tls->warning);
    return WEFT_OK;
}

static int check_certificate(struct loading *l)
{
    char path[PATH], what[160], again[128];
    uint32_t flags = 0;
    snprintf(path, sizeof path, "%s/%s.crt", l->folder, l->name);
    snprintf(again, sizeof again, "issue it again: weft certs issue %s --force", l->name);
    if (!wf_identity_of(&l->tls->self, &l->certificate, what, sizeof what))
        return refuse(l, path, "cannot be used:", what);
    if (strcmp(l->tls->self.name, l->name) != 0) {
        snprintf(what, sizeof what, "is the certificate of %s, not of %s", l->tls->self.name, l->name);
        return refuse(l, path, what, "");
    }
    if (l->tls->self.rights == 0) return refuse(l, path, "grants no role", again);
    int rc = mbedtls_x509_crt_verify(&l->certificate, &l->authority, NULL, NULL, &flags, NULL, NULL);
    if (rc == 0) return WEFT_OK;
    const mbedtls_x509_time *t = &l->certificate.valid_to;
    if ((flags & MBEDTLS_X509_BADCERT_NOT_TRUSTED) != 0)
        return refuse(l, path, "was not issued by the authority in ca.crt beside it", again);
    if ((flags & MBEDTLS_X509_BADCERT_FUTURE) != 0)
        return refuse(l, path, "is not valid yet", "is the clock of this machine right?");
    if ((flags & MBEDTLS_X509_BADCERT_EXPIRED) == 0) return refuse(l, path, "cannot be used", again);
    snprintf(what, sizeof what, "has expired on %d-%02d-%02d", t->year, t->mon, t->day);
    return refuse(l, path, what, again);
}

/* The time of a certificate, roughly in days: good enough for a warning. */
static void warn_of_end(struct loading *l)
{
    mbedtls_x509_time soon = l->certificate.valid_to, first = soon;
    soon.day -= SOON_DAYS;
    if (soon.day < 1) {
        soon.day += 30;
        soon.mon -= 1;
    }
    if (soon.mon < 1) {
        soon.mon += 12;
        soon.year -= 1;
    }
    if (l->tls->warning[0] != '\0' || !mbedtls_x509_time_is_past(&soon)) return;
    snprintf(l->tls->warning, sizeof l->tls->warning,
             "the certificate of %s expires on %d-%02d-%02d: weft certs issue %s --force", l->name, first.year,
             first.mon, first.day, l->name);
}

static void note_which(struct loading *l)
{
    const mbedtls_x509_buf *serial = &l->certificate.serial;
    const mbedtls_x509_time *end = &l->certificate.valid_to;
    size_t n = 0;
    for (size_t i = 0; i < serial->len && n + 3 < sizeof l->tls->serial; i++)
        n += (size_t)snprintf(l->tls->serial + n, 3, "%02x", serial->p[i]);
    snprintf(l->tls->until, sizeof l->tls->until, "%04d-%02d-%02d", end->year % 10000, end->mon % 100,
             end->day % 100);
}

int wf_tls_load(struct wf_tls **out, const char *folder, const char *name, char *why, size_t why_size)
{
    struct loading l = {.folder = folder, .name = name, .why = why, .why_size = why_size};
    snprintf(why, why_size, "out of memory");
    l.tls = calloc(1, sizeof *l.tls);
    if (l.tls != NULL) l.tls->folder = strdup(folder);
    if (l.tls == NULL || l.tls->folder == NULL) {
        free(l.tls);
        return WEFT_ENOMEM;
    }
    mbedtls_x509_crt_init(&l.authority);
    mbedtls_x509_crt_init(&l.certificate);
    mbedtls_pk_init(&l.key);
    int rc = load_certificate(&l, "ca", &l.tls->authority, &l.authority);
    if (rc == WEFT_OK) rc = load_certificate(&l, name, &l.tls->certificate, &l.certificate);
    if (rc == WEFT_OK) rc = load_key(&l);
    if (rc == WEFT_OK) rc = check_certificate(&l);
    if (rc == WEFT_OK) {
        note_which(&l);
        warn_of_end(&l);
    }
    mbedtls_pk_free(&l.key);
    mbedtls_x509_crt_free(&l.certificate);
    mbedtls_x509_crt_free(&l.authority);
    if (rc < 0) wf_tls_free(l.tls);
    else *out = l.tls;
    return rc;
}
