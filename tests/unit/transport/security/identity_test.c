/* The name in a certificate: invalid names, two names, roles among other names. The test makes the certificates. */
#include "../../runtime/harness.h"

#include <mbedtls/oid.h>

#include "certificates.h"
#include "identity_read.h"
#include "roles.h"

static struct signer authority;

static bool read_name(const char *subject, struct wf_identity *who, char why[128])
{
    struct pem pem;
    sign(&authority, subject, "20491231235959", &pem);
    why[0] = '\0';
    return identity_read(who, pem.certificate, strlen(pem.certificate) + 1, why, 128);
}

START_TEST(certificates_without_a_valid_name_are_refused)
{
    static const struct {
        const char *subject, *why;
    } bad[] = {
        {"CN=not a name", "the certificate's name is not a name of a node"},
        {"CN=0123456789012345678901234567890123456789012345678901234567890123x",
         "the certificate's name is not a name of a node"},
        {"O=Example", "the certificate has no name"},
        {"O=Example,C=DE", "the certificate has no name"},
        {"", "the certificate has no name"},
    };
    struct wf_identity who;
    char why[128];
    make_signer(&authority, "CN=authority");
    for (size_t i = 0; i < WF_COUNT(bad); i++) {
        ck_assert_msg(!read_name(bad[i].subject, &who, why), "%s", bad[i].subject);
        ck_assert_str_eq(why, bad[i].why);
    }
    ck_assert(read_name("C=DE,CN=alice,O=Example", &who, why));
    ck_assert_str_eq(who.name, "alice");
    ck_assert_uint_eq(who.roles, 0);
    ck_assert_uint_eq(who.rights, wf_role_rights(0));
    ck_assert(!identity_read(&who, "x", 1, why, sizeof why));
    ck_assert_str_eq(why, "this is no certificate");
    free_signer(&authority);
}
END_TEST

/* A certificate as mbed TLS has read it: what is in it is the test's word. */
START_TEST(name_and_roles_are_read_from_a_certificate)
{
    static const struct {
        int tag;
        const char *text;
    } others[] = {
        {MBEDTLS_ASN1_CONTEXT_SPECIFIC | 6, "weft:role:node"},
        {MBEDTLS_ASN1_CONTEXT_SPECIFIC | 6, "weft:role:"},
        {MBEDTLS_ASN1_CONTEXT_SPECIFIC | 6, "weft:role:nobody"},
        {MBEDTLS_ASN1_CONTEXT_SPECIFIC | 6, "x"},
        {MBEDTLS_ASN1_CONTEXT_SPECIFIC | 6, "http://role:guest"},
        {MBEDTLS_ASN1_CONTEXT_SPECIFIC | 2, "weft:role:admin"},
        {MBEDTLS_ASN1_CONTEXT_SPECIFIC | 6, "weft:role:observe"},
    };
    static mbedtls_x509_sequence alternative[WF_COUNT(others)];
    mbedtls_x509_crt crt;
    mbedtls_x509_crt_init(&crt);
    for (size_t i = 0; i < WF_COUNT(others); i++) {
        alternative[i].buf = (mbedtls_x509_buf){
            .tag = others[i].tag, .p = (unsigned char *)(uintptr_t)others[i].text, .len = strlen(others[i].text)};
        if (i > 0) alternative[i - 1].next = &alternative[i];
    }
    /* One OID has the length of that of a common name, the other has another length. */
    static unsigned char other[] = {0x55, 0x04, 0x0A}, longer[] = {0x55, 0x04, 0x03, 0x01},
                         common[] = {0x55, 0x04, 0x03}, text[] = "bob";
    mbedtls_x509_name real = {.oid = {.p = common, .len = 3}, .val = {.p = text, .len = 3}};
    mbedtls_x509_name further = {.oid = {.p = longer, .len = 4}, .val = {.p = text, .len = 3}, .next = &real};
    crt.subject = (mbedtls_x509_name){.oid = {.p = other, .len = 3}, .val = {.p = text, .len = 3}, .next = &further};
    crt.subject_alt_names = alternative[0];
    struct wf_identity who;
    char why[128] = "";
    ck_assert(wf_identity_of(&who, &crt, why, sizeof why));
    ck_assert_str_eq(who.name, "bob");
    ck_assert_uint_eq(who.roles, (wf_role_find("node", 4) | wf_role_find("observe", 7)));
    ck_assert_uint_eq(who.rights, wf_role_rights(who.roles));
    crt.subject.oid.p = NULL; /* as in a name of no parts */
    ck_assert(wf_identity_of(&who, &crt, why, sizeof why));
    mbedtls_x509_name second = real;
    real.next = &second;
    ck_assert(!wf_identity_of(&who, &crt, why, sizeof why));
    ck_assert_str_eq(why, "the certificate has two names");
    real.val.len = 0;
    ck_assert(!wf_identity_of(&who, &crt, why, sizeof why));
    ck_assert_str_eq(why, "the certificate's name is not a name of a node");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("identity");
    TCase *t = tcase_create("identity");
    tcase_add_test(t, certificates_without_a_valid_name_are_refused);
    tcase_add_test(t, name_and_roles_are_read_from_a_certificate);
    suite_add_tcase(s, t);
    return run_suite(s);
}
