/* cli/certs/certs_show.c -- weft certs show: what a certificate says, in plain words. */
#include <errno.h>
#include <mbedtls/oid.h>
#include <mbedtls/sha256.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "certs_show.h"
#include "certs.h"
#include "identity_tls.h"
#include "json.h"
#include "compat.h"
#include "roles.h"
#include "x509.h"

enum { DAY = 86400, SOON_DAYS = 30 };

struct shown {
    const char *path;
    struct wf_identity who; /* the identity of a node or a tool */
    bool ca, named;
    char why[128], subject[160];
    time_t from, until, now;
    char fingerprint[65];
};

/* Rounds to the nearest day, so a certificate made for 40 days has 40 also a second later. */
static int64_t days_left(const struct shown *s)
{
    return (s->until - s->now + (s->until >= s->now ? DAY / 2 : -DAY / 2)) / DAY;
}

static const char *state_of(const struct shown *s)
{
    if (s->now < s->from) return "not yet valid";
    if (s->now >= s->until) return "expired";
    return s->until - s->now < SOON_DAYS * DAY ? "expires soon" : "valid";
}

static void date_text(time_t t, char out[32])
{
    struct tm utc;
    cli_utc(t, &utc);
    strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

static void print_roles(uint32_t roles)
{
    bool any = false;
    for (unsigned i = 0; i < WF_ROLES; i++) {
        if ((roles >> i & 1) == 0) continue;
        printf("%s\"%s\"", any ? ", " : "", wf_role_name(i));
        any = true;
    }
}

static void print_json(const struct shown *s)
{
    char from[32], until[32];
    const char *name = s->named ? s->who.name : s->subject;
    date_text(s->from, from);
    date_text(s->until, until);
    fputs("{\"file\": ", stdout);
    cli_print_string(stdout, s->path, strlen(s->path));
    fputs(", \"name\": ", stdout);
    cli_print_string(stdout, name, strlen(name));
    printf(", \"authority\": %s, \"roles\": [", s->ca ? "true" : "false");
    print_roles(s->who.roles);
    printf("], \"state\": \"%s\", \"valid_from\": \"%s\", \"valid_until\": \"%s\", \"days_left\": %lld, "
           "\"sha256\": \"%s\"}\n",
           state_of(s), from, until, (long long)(days_left(s)), s->fingerprint);
}

static void print_words(const struct shown *s)
{
    char from[32], until[32], roles[WF_ROLE_TEXT];
    long long days = days_left(s);
    date_text(s->from, from);
    date_text(s->until, until);
    if (s->ca) printf("authority    %s\n", s->subject);
    else if (s->named) printf("name         %s\nroles        %s\n", s->who.name, wf_roles_text(s->who.roles, roles));
    else printf("subject      %s\n", s->subject);
    printf("valid from   %s\nvalid until  %s\nstate        %s", from, until, state_of(s));
    if (s->until > s->now && s->now >= s->from) printf(", %lld days left", days);
    printf("\nsha256       %s\n", s->fingerprint);
}

static void warn(const struct cli *c, const struct shown *s)
{
    const char *state = state_of(s);
    if (!s->ca && !s->named) cli_fail(c, 0, "no node can use %s: %s", s->path, s->why);
    else if (!s->ca && s->who.roles == 0)
        cli_fail(c, 0, "%s grants no role: every node will refuse it; issue it with --role", CLI_PATH(s->path));
    if (strcmp(state, "valid") == 0) return;
    cli_fail(c, 0, "%s: %s; %s", s->path, state,
             strcmp(state, "not yet valid") == 0 ? "is the clock of this machine right?"
             : s->ca                             ? "make a new authority with 'weft certs init --force'"
                                                 : "issue it again with 'weft certs issue NAME --force'");
}

static void look(struct shown *s, const mbedtls_x509_crt *crt)
{
    unsigned char digest[32];
    s->ca = crt->ca_istrue != 0;
    s->named = !s->ca && wf_identity_of(&s->who, crt, s->why, sizeof s->why);
    if (mbedtls_x509_dn_gets(s->subject, sizeof s->subject, &crt->subject) < 0) s->subject[0] = '\0';
    s->from = cli_x509_time(&crt->valid_from);
    s->until = cli_x509_time(&crt->valid_to);
    s->now = time(NULL);
    (void)mbedtls_sha256_ret(crt->raw.p, crt->raw.len, digest, 0);
    for (size_t i = 0; i < sizeof digest; i++) snprintf(s->fingerprint + 2 * i, 3, "%02x", digest[i]);
}

int cli_certs_print(const struct cli *c, const char *path)
{
    struct shown s = {.path = path};
    mbedtls_x509_crt crt;
    mbedtls_x509_crt_init(&crt);
    int rc = mbedtls_x509_crt_parse_file(&crt, path);
    if (rc == 0) look(&s, &crt);
    mbedtls_x509_crt_free(&crt);
    if (rc != 0) {
        bool there = rc != MBEDTLS_ERR_PK_FILE_IO_ERROR && rc != MBEDTLS_ERR_X509_FILE_IO_ERROR;
        if (there) return cli_fail(c, CLI_FAILED, "%s is no certificate", CLI_PATH(path));
        return cli_fail(c, CLI_FAILED, "cannot read %s: %s; 'weft certs issue NAME' makes one", CLI_PATH(path),
                        strerror(errno));
    }
    if (c->json) print_json(&s);
    else print_words(&s);
    warn(c, &s);
    return CLI_OK;
}

/* A path, or the name of a node whose certificate is in the folder. */
int cli_certs_show(const struct cli *c)
{
    char folder[PATH_MAX], path[2 * PATH_MAX];
    const char *what = c->argv[0];
    if (strpbrk(what, cli_slashes) != NULL || strchr(what, '.') != NULL) return cli_certs_print(c, what);
    int rc = cli_certs_folder(c, folder);
    if (rc != CLI_OK) return rc;
    snprintf(path, sizeof path, "%s/%s.crt", folder, what);
    return cli_certs_print(c, path);
}
