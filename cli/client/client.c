/* cli/client/client.c -- asking a node: this process becomes a client node for as long as it takes. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "control.h"
#include "sockets.h"
#include "tls.h"
#include "tls_folder.h"

int cli_fail_with(const struct cli *c, int error, const char *what)
{
    int code = error == WEFT_ETIMEDOUT ? CLI_DEADLINE : error == WEFT_ENONODE ? CLI_UNREACHABLE : CLI_FAILED;
    return cli_fail(c, code, "%s: %s", what, weft_strerror(error));
}

static void work(const void *arg, size_t size)
{
    struct cli_client *k = *(struct cli_client *const *)arg;
    (void)size;
    k->result = k->work(k);
}

static int ask(struct cli_client *k, weft_node *node)
{
    char why[192] = "";
    int rc = wf_client_wait_up(node, NULL, k->node, k->deadline, why, sizeof why);
    if (rc < 0) {
        if (rc == WEFT_ETIMEDOUT && why[0] == '\0')
            snprintf(why, sizeof why, "it has not answered in time: its process may be stopped, or very busy");
        cli_plain(why, strlen(why)); /* the other side's words */
        return cli_fail(k->c, rc == WEFT_ETIMEDOUT ? CLI_DEADLINE : CLI_UNREACHABLE, "cannot connect to %s: %s",
                        k->url, why[0] != '\0' ? why : weft_strerror(rc));
    }
    rc = weft_node_spawn(node, NULL, work, &k, sizeof k, NULL);
    if (rc < 0) return cli_fail_with(k->c, rc, "cannot start");
    (void)weft_node_wait(node, WEFT_FOREVER);
    return k->result;
}

static const char no_folder[] =
    "--tls: there is no HOME to look for certificates in, or the path is too long; give --tls DIR";

int cli_check_tls(const struct cli *c, const char *name, bool warn)
{
    char folder[WF_TLS_PATH], why[WF_TLS_WHY];
    struct wf_tls *tls;
    if (!wf_tls_folder(c->tls, folder, sizeof folder)) return cli_fail(c, CLI_USAGE, no_folder);
    if (wf_tls_load(&tls, folder, name, why, sizeof why) < 0) return cli_fail(c, CLI_FAILED, "--tls: %s", why);
    if (warn && tls->warning[0] != '\0') cli_fail(c, 0, "--tls: %s", tls->warning);
    wf_tls_free(tls);
    return CLI_OK;
}

/* The only certificate of the folder beside the authority's; "admin", if that is there. */
static int find_identity(const struct cli *c, char out[WF_IDENTITY_NAME])
{
    char folder[WF_TLS_PATH];
    int found = 0;
    if (!wf_tls_folder(c->tls, folder, sizeof folder)) return cli_fail(c, CLI_FAILED, no_folder);
    DIR *dir = opendir(folder);
    if (dir == NULL)
        return cli_fail(c, CLI_FAILED,
                        "--tls: cannot read the folder %s; 'weft certs init' makes it, or give --tls DIR", folder);
    const struct dirent *e;
    while ((e = readdir(dir)) != NULL) {
        size_t n = strlen(e->d_name);
        if (n < 5 || n > 68 || strcmp(e->d_name + n - 4, ".crt") != 0 || strcmp(e->d_name, "ca.crt") == 0) continue;
        bool admin = strcmp(e->d_name, "admin.crt") == 0;
        found = admin ? 1 : found + 1;
        snprintf(out, WF_IDENTITY_NAME, "%.*s", (int)(n - 4), e->d_name);
        if (admin) break;
    }
    closedir(dir);
    if (found == 1) return CLI_OK;
    if (found > 1)
        return cli_fail(c, CLI_USAGE, "--tls: several certificates are in %s; choose one with --as NAME", folder);
    return cli_fail(c, CLI_FAILED, "--tls: no certificate is in %s; make one: weft certs issue admin --role admin",
                    folder);
}

/* Loads an identity for a TLS URL. A local node needs no TLS. Without --tls there is no identity, and dialling
 * reports it. */
static int use_tls(const struct cli_client *k, char name[WF_IDENTITY_NAME], weft_node_options *o)
{
    bool tls = strncmp(k->url, "tls+", 4) == 0 || strncmp(k->url, "wss://", 6) == 0;
    int rc = CLI_OK;
    if (!tls || k->c->tls == NULL) return CLI_OK;
    if (k->c->as == NULL) rc = find_identity(k->c, name);
    else snprintf(name, WF_IDENTITY_NAME, "%s", k->c->as);
    if (rc == CLI_OK) rc = cli_check_tls(k->c, name, true);
    o->tls = k->c->tls;
    o->tls_as = name;
    return rc;
}

int cli_with_node(struct cli_client *k)
{
    char identity[WF_IDENTITY_NAME];
    int rc = cli_node_url(k->c, k->url);
    if (rc != CLI_OK) return rc;
    const char *join = k->url;
    weft_node_options options = {
        .cluster = k->c->cluster, .join = &join, .join_count = 1, .workers = 1, .client = true};
    weft_node *node;
    rc = use_tls(k, identity, &options);
    if (rc != CLI_OK) return rc;
    weft_log_set(WEFT_SILENT, false);
    k->deadline = weft_after(k->c->has_timeout ? k->c->timeout : CLI_ANSWER_WITHIN);
    rc = weft_node_start(&node, &options);
    if (rc < 0) return cli_fail_with(k->c, rc, "cannot start");
    rc = ask(k, node);
    (void)weft_node_stop(node, weft_after(WEFT_SEC(1)));
    return rc;
}

bool cli_is_local(const struct cli_client *k)
{
    return strncmp(k->url, "ipc://", 6) == 0;
}

int cli_cannot_decode(const struct cli_client *k)
{
    return cli_fail(k->c, CLI_FAILED, "%s: cannot decode the answer: is it another version of weft?", k->node);
}

int cli_node_gone(const struct cli_client *k)
{
    char why[192];
    wf_client_lost(weft_here(), why, sizeof why);
    cli_plain(why, strlen(why)); /* the other side's words */
    return cli_fail(k->c, CLI_UNREACHABLE, "node %s is gone%s%s", k->node, why[0] == '\0' ? "" : ": ", why);
}

int cli_print_refusal(const struct cli_client *k, const weft_msg *m)
{
    weft_text why = weft_str(weft_data(m), weft_size(m));
    if (weft_text_equal(why, WF_CONTROL_UNKNOWN))
        return cli_fail(
            k->c, CLI_FAILED,
            "%s runs a version of weft that does not know this request; use the weft command of that version",
            k->node);
    return cli_fail(k->c, CLI_FAILED, "%s: %.*s", k->node, WEFT_STR(why));
}

int cli_control_or_error(struct cli_client *k, uint32_t verb, const void *data, size_t size, weft_msg **answer)
{
    char name[80];
    snprintf(name, sizeof name, "$node@%s", k->node);
    int rc = weft_call_name(name, verb, data, size, answer, k->deadline);
    if (rc == WEFT_ENONODE) return cli_node_gone(k);
    if (rc < 0) return cli_fail_with(k->c, rc, k->node);
    cli_plain_answer(k->c, *answer);
    if (weft_tag(*answer) == WF_CONTROL_ERROR) return CLI_OK;
    if (weft_tag(*answer) == verb && cli_is_pack(weft_data(*answer), weft_size(*answer))) return CLI_OK;
    weft_msg_free(*answer);
    return cli_cannot_decode(k);
}

int cli_control(struct cli_client *k, uint32_t verb, const void *data, size_t size, weft_msg **answer)
{
    int rc = cli_control_or_error(k, verb, data, size, answer);
    if (rc != CLI_OK || weft_tag(*answer) == verb) return rc;
    rc = cli_print_refusal(k, *answer);
    weft_msg_free(*answer);
    return rc;
}

/* ---- Who holds workers up -------------------------------------------------------------------------------------- */

static void print_one(const struct cli *c, weft_reader *r, const char *consequence)
{
    weft_text pid = {"", 0}, kind = pid, name = pid, where = pid;
    uint64_t worker = 0, ns = 0;
    for (uint32_t left = weft_get_map(r); left > 0 && r->error == 0; left--) {
        weft_text key = weft_get_str(r);
        if (weft_text_equal(key, "worker")) worker = weft_get_uint(r);
        else if (weft_text_equal(key, "ns")) ns = weft_get_uint(r);
        else if (weft_text_equal(key, "pid")) pid = weft_get_str(r);
        else if (weft_text_equal(key, "kind")) kind = weft_get_str(r);
        else if (weft_text_equal(key, "name")) name = weft_get_str(r);
        else if (weft_text_equal(key, "where")) where = weft_get_str(r);
        else weft_skip(r);
    }
    if (r->error != 0) return;
    const char *at = pid.size == 0 ? NULL : memchr(pid.data, '@', pid.size);
    if (at != NULL) pid.size = (size_t)(at - pid.data);
    bool named = name.size > 0;
    (void)cli_fail(c, CLI_OK, "worker %u is held up by %s%.*s%s%.*s%s%.*s%s for %.1f s%s%.*s: %s", (unsigned)worker,
                   pid.size == 0 ? "a timer or a delivery" : "actor ", WEFT_STR(name), named ? " (" : "",
                   WEFT_STR(kind), pid.size == 0 ? "" : " ", WEFT_STR(pid), named ? ")" : "", (double)ns / 1e9,
                   where.size == 0 ? "" : ", in ", WEFT_STR(where), consequence);
}

int cli_print_stuck(struct cli_client *k, const char *consequence)
{
    weft_msg *m;
    int rc = cli_control_or_error(k, WF_CONTROL_STUCK, NULL, 0, &m);
    if (rc != CLI_OK) return rc;
    weft_reader r = weft_reader_on(weft_data(m), weft_size(m));
    if (weft_tag(m) == WF_CONTROL_STUCK) /* an older node does not know */
        for (uint32_t left = weft_get_array(&r); left > 0 && r.error == 0; left--) print_one(k->c, &r, consequence);
    weft_msg_free(m);
    return CLI_OK;
}

int cli_ask_node(const struct cli *c, int (*act)(struct cli_client *k))
{
    struct cli_client k = {.c = c, .work = act};
    return cli_with_node(&k);
}
