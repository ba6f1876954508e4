/* transport/security/identity.c -- reads the name and the roles out of a certificate, with mbed TLS. */
#include "identity.h"
#include "identity_tls.h"

#include "base.h"
#include "names.h"
#include "roles.h"

#include <mbedtls/oid.h>
#include <stdio.h>
#include <string.h>

static const char role_prefix[] = "weft:role:";
enum { ROLE_PREFIX = sizeof role_prefix - 1, TAG_URI = MBEDTLS_ASN1_CONTEXT_SPECIFIC | 6 };

static bool is_common_name(const mbedtls_x509_name *n)
{
    return n->oid.len == MBEDTLS_OID_SIZE(MBEDTLS_OID_AT_CN) && memcmp(n->oid.p, MBEDTLS_OID_AT_CN, n->oid.len) == 0;
}

bool wf_identity_of(struct wf_identity *out, const mbedtls_x509_crt *crt, char *why, size_t why_size)
{
    *out = (struct wf_identity){.roles = 0};
    for (const mbedtls_x509_name *n = &crt->subject; n != NULL; n = n->next) {
        if (n->oid.p == NULL || !is_common_name(n)) continue;
        weft_text name = weft_str((const char *)n->val.p, n->val.len);
        if (name.size >= sizeof out->name || wf_name_check(name) < 0) {
            snprintf(why, why_size, "the certificate's name is not a name of a node");
            return false;
        }
        if (out->name[0] != '\0') {
            snprintf(why, why_size, "the certificate has two names");
            return false;
        }
        memcpy(out->name, name.data, name.size);
    }
    if (out->name[0] == '\0') {
        snprintf(why, why_size, "the certificate has no name");
        return false;
    }
    for (const mbedtls_x509_sequence *s = &crt->subject_alt_names; s != NULL; s = s->next) {
        const mbedtls_x509_buf *b = &s->buf;
        if (b->tag != TAG_URI || b->len <= ROLE_PREFIX || memcmp(b->p, role_prefix, ROLE_PREFIX) != 0) continue;
        out->roles |= wf_role_find((const char *)b->p + ROLE_PREFIX, b->len - ROLE_PREFIX);
    }
    out->rights = wf_role_rights(out->roles);
    return true;
}
