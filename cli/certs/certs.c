/* cli/certs/certs.c -- weft certs init and issue: from nothing to a cluster whose nodes know each other.
 *
 * A folder holds it all: ca.crt and ca.key, and NAME.crt and NAME.key for each node. ca.key stays where it is; the
 * other machines get ca.crt and their own two files. */
#include <mbedtls/platform_util.h>
#include <stdlib.h>
#include <string.h>

#include "certs.h"
#include "certs_show.h"
#include "compat.h"
#include "roles.h"
#include "tls.h"
#include "tls_folder.h"
#include "values.h"
#include "x509.h"

enum { DAY = 86400, SKEW = 600, CA_DAYS = 3650, NODE_DAYS = 365, WHY = 160 };

/* ---- Files ----------------------------------------------------------------------------------------------------- */

int cli_certs_folder(const struct cli *c, char out[PATH_MAX])
{
    if (wf_tls_folder(c->dir != NULL ? c->dir : "auto", out, PATH_MAX)) return CLI_OK;
    return cli_fail(c, CLI_USAGE,
                    c->dir != NULL ? "--dir: the path is too long"
                                   : "no HOME to keep certificates in; give --dir DIR");
}

/* The folder and those above it, for their owner alone. */
static int make_folder(const struct cli *c, const char *folder)
{
    char path[PATH_MAX], why[WHY];
    snprintf(path, sizeof path, "%s", folder);
    for (char *at = path + 1; at[-1] != '\0'; at++) {
        if (*at != '\0' && strchr(cli_slashes, *at) == NULL) continue;
        char kept = *at;
        *at = '\0';
        if (!cli_make_folder(path, why, sizeof why))
            return cli_fail(c, CLI_FAILED, "cannot make the folder %s: %s", CLI_PATH(path), why);
        *at = kept;
    }
    return CLI_OK;
}

static int refuse_existing(const struct cli *c, const char *path, const char *consequence)
{
    if (c->force || !cli_is_there(path)) return CLI_OK;
    return cli_fail(c, CLI_FAILED, "%s is there already; --force replaces it, %s", CLI_PATH(path), consequence);
}

static int write_file(const struct cli *c, const char *path, const char *text, bool secret)
{
    char why[WHY];
    if (cli_replace_file(path, text, secret, why, sizeof why)) return CLI_OK;
    return cli_fail(c, CLI_FAILED, "cannot write %s: %s", CLI_PATH(path), why);
}

struct pair {
    char crt[PATH_MAX + 72], key[PATH_MAX + 72];
};

static void pair_of(const char *folder, const char *name, struct pair *out)
{
    snprintf(out->crt, sizeof out->crt, "%s/%s.crt", folder, name);
    snprintf(out->key, sizeof out->key, "%s/%s.key", folder, name);
}

/* Makes key and certificate and writes both. */
static int write_pair(const struct cli *c, const struct pair *p, const struct cli_subject *s, struct cli_ca *ca)
{
    char key_text[CLI_PEM_MAX], crt_text[CLI_PEM_MAX];
    mbedtls_pk_context key;
    mbedtls_pk_init(&key);
    int rc = cli_key_new(c, &key);
    if (rc == CLI_OK) rc = cli_key_pem(c, &key, key_text);
    if (rc == CLI_OK) rc = cli_certificate(c, s, &key, ca, crt_text);
    if (rc == CLI_OK) rc = write_file(c, p->key, key_text, true);
    if (rc == CLI_OK) rc = write_file(c, p->crt, crt_text, false);
    mbedtls_pk_free(&key);
    mbedtls_platform_zeroize(key_text, sizeof key_text);
    return rc;
}

static int64_t days_of(const struct cli *c, int64_t usual)
{
    return c->has_days ? c->days : usual;
}

/* ---- init ------------------------------------------------------------------------------------------------------ */

int cli_certs_init(const struct cli *c)
{
    char folder[PATH_MAX];
    struct pair p;
    int rc = cli_certs_folder(c, folder);
    if (rc != CLI_OK) return rc;
    pair_of(folder, "ca", &p);
    /* Every name of a cluster fits into a certificate. */
    const char *cluster = c->cluster != NULL ? c->cluster : "weft";
    rc = refuse_existing(c, p.key, "then no certificate issued before is valid");
    if (rc == CLI_OK) rc = refuse_existing(c, p.crt, "then no certificate issued before is valid");
    if (rc == CLI_OK) rc = make_folder(c, folder);
    if (rc != CLI_OK) return rc;
    time_t now = time(NULL);
    struct cli_subject s = {.ca = true, .from = now - SKEW, .until = now + days_of(c, CA_DAYS) * DAY};
    snprintf(s.name, sizeof s.name, "CN=weft authority,O=%s", cluster);
    rc = write_pair(c, &p, &s, NULL);
    if (rc != CLI_OK) return rc;
    if (c->json) return cli_certs_print(c, p.crt);
    printf("The authority of cluster %s is in %s.\n"
           "  ca.crt  every node gets a copy\n"
           "  ca.key  stays here: it can make a certificate for any node\n"
           "Next: weft certs issue NAME, once for each node.\n",
           cluster, folder);
    return CLI_OK;
}

/* ---- issue ----------------------------------------------------------------------------------------------------- */

struct issue {
    const struct cli *c;
    const char *name;
    uint32_t roles;
    struct cli_subject s;
    char uris[WF_ROLES][32];
    unsigned char addresses[CLI_LIST_MAX][16];
};

static int read_roles(struct issue *is)
{
    const char *at = is->c->role != NULL ? is->c->role : "node";
    for (;;) {
        size_t n = strcspn(at, ", ");
        uint32_t role = wf_role_find(at, n);
        if (role == 0)
            return cli_fail(is->c, CLI_USAGE, "--role: there is no role %s; roles are node, guest, observe, admin",
                            CLI_QUOTE_PART(at, n));
        is->roles |= role;
        if (at[n] == '\0') return CLI_OK;
        at += n + 1;
    }
}

static void add_san(struct issue *is, int tag, const void *data, size_t size)
{
    is->s.san[is->s.san_count++] = (struct cli_san){tag, data, size};
}

static bool is_host_name(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_*";
    size_t n = strlen(text);
    return n > 0 && n < 254 && strspn(text, letters) == n;
}

static int add_sans(struct issue *is)
{
    add_san(is, CLI_SAN_DNS, is->name, strlen(is->name));
    for (size_t i = 0; i < is->c->san.count; i++) {
        const char *text = is->c->san.item[i];
        size_t bytes = cli_ip(text, is->addresses[i]);
        if (bytes > 0) {
            add_san(is, CLI_SAN_IP, is->addresses[i], bytes);
        } else if (is_host_name(text)) {
            add_san(is, CLI_SAN_DNS, text, strlen(text));
        } else {
            return cli_fail(is->c, CLI_USAGE, "--san: %s is neither a host name nor an address", CLI_QUOTE(text));
        }
    }
    for (unsigned i = 0; i < WF_ROLES; i++) {
        if ((is->roles >> i & 1) == 0) continue;
        int n = snprintf(is->uris[i], sizeof is->uris[i], "weft:role:%s", wf_role_name(i));
        add_san(is, CLI_SAN_URI, is->uris[i], (size_t)n);
    }
    return CLI_OK;
}

static int check_name(const struct cli *c, const char *name)
{
    if (!cli_is_node_name(name) || name[0] == '-')
        return cli_fail(c, CLI_USAGE, "%s is no node name: 1 to 64 letters, digits, '_', '-' and '.'",
                        CLI_QUOTE(name));
    if (strcmp(name, "ca") == 0)
        return cli_fail(c, CLI_USAGE, "'ca' is the authority's name; call the node something else");
    return CLI_OK;
}

/* No certificate is good for longer than that of its authority. */
static int set_validity(struct issue *is, const struct cli_ca *ca)
{
    const struct cli *c = is->c;
    time_t now = time(NULL), end = cli_x509_time(&ca->crt.valid_to);
    int64_t days = days_of(c, NODE_DAYS), left = (end - now + DAY / 2) / DAY;
    if (days > left && c->has_days)
        return cli_fail(c, CLI_USAGE, "--days: the authority itself is good for %lld days only", (long long)left);
    is->s.from = now - SKEW;
    is->s.until = days >= left ? end : now + days * DAY;
    return CLI_OK;
}

/* A user who can read the authority's key can pose as any node. */
static void warn_of_key(const struct cli *c, const char *folder)
{
    char warning[256];
    struct pair ca;
    pair_of(folder, "ca", &ca);
    if (wf_tls_key_is_open(ca.key, warning, sizeof warning)) cli_fail(c, 0, "%s", warning);
}

static int issue_with(struct issue *is, const char *folder, const struct pair *p, struct cli_ca *ca)
{
    const struct cli *c = is->c;
    char roles[WF_ROLE_TEXT];
    int rc = cli_ca_load(c, folder, ca);
    if (rc == CLI_OK) warn_of_key(c, folder);
    if (rc == CLI_OK) rc = set_validity(is, ca);
    if (rc == CLI_OK) rc = write_pair(c, p, &is->s, ca);
    if (rc != CLI_OK) return rc;
    if (c->json) return cli_certs_print(c, p->crt);
    bool tool = (wf_role_rights(is->roles) & WF_RIGHT_JOIN) == 0;
    printf("%s (%s): %s and %s.key\n", is->name, wf_roles_text(is->roles, roles), p->crt, is->name);
    if (tool) printf("Use it with: weft ps --tls %s --as %s --node tls+tcp://HOST:PORT\n", folder, is->name);
    else
        printf(
            "Its machine needs these two and ca.crt: weft run ... --name %s --tls DIR --listen tls+tcp://HOST:PORT\n",
            is->name);
    return CLI_OK;
}

int cli_certs_issue(const struct cli *c)
{
    char folder[PATH_MAX];
    struct issue is = {.c = c, .name = c->argv[0]};
    struct pair p;
    struct cli_ca ca;
    int rc = check_name(c, is.name);
    if (rc == CLI_OK) rc = read_roles(&is);
    if (rc == CLI_OK) rc = add_sans(&is);
    if (rc == CLI_OK) rc = cli_certs_folder(c, folder);
    if (rc != CLI_OK) return rc;
    snprintf(is.s.name, sizeof is.s.name, "CN=%s", is.name);
    pair_of(folder, is.name, &p);
    rc = refuse_existing(c, p.key, "and the old one stays valid until it expires");
    if (rc == CLI_OK) rc = refuse_existing(c, p.crt, "and the old one stays valid until it expires");
    if (rc != CLI_OK) return rc;
    rc = issue_with(&is, folder, &p, &ca);
    cli_ca_free(&ca);
    return rc;
}
