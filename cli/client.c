/* cli/client.c -- asking a node: this process becomes a client node for as long as it takes. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "control.h"

#define ANSWER_WITHIN WEFT_SEC(5)

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
    int rc = wf_client_wait_up(node, NULL, k->node, weft_after(ANSWER_WITHIN), why, sizeof why);
    if (rc < 0) {
        return cli_fail(k->c, rc == WEFT_ETIMEDOUT ? CLI_DEADLINE : CLI_UNREACHABLE, "no link to %s: %s", k->url,
                        why[0] != '\0' ? why : weft_strerror(rc));
    }
    rc = weft_node_spawn(node, NULL, work, &k, sizeof k, NULL);
    if (rc < 0) return cli_fail_with(k->c, rc, "cannot start");
    (void)weft_node_wait(node, WEFT_FOREVER);
    return k->result;
}

int cli_with_node(struct cli_client *k)
{
    int rc = cli_node_url(k->c, k->url);
    if (rc != CLI_OK) return rc;
    const char *join = k->url;
    weft_node_options options = {
        .cluster = k->c->cluster, .join = &join, .join_count = 1, .workers = 1, .client = true};
    weft_node *node;
    weft_log_set(WEFT_SILENT, false);
    k->deadline = weft_after(k->c->has_timeout ? k->c->timeout : ANSWER_WITHIN);
    rc = weft_node_start(&node, &options);
    if (rc < 0) return cli_fail_with(k->c, rc, "cannot start");
    rc = ask(k, node);
    (void)weft_node_stop(node, weft_after(WEFT_SEC(1)));
    return rc;
}

int cli_control(struct cli_client *k, uint32_t verb, const void *data, size_t size, weft_msg **answer)
{
    char name[80];
    snprintf(name, sizeof name, "$node@%s", k->node);
    int rc = weft_call_name(name, verb, data, size, answer, k->deadline);
    if (rc < 0) return cli_fail_with(k->c, rc, k->node);
    if (weft_tag(*answer) == verb && cli_is_pack(weft_data(*answer), weft_size(*answer))) return CLI_OK;
    if (weft_tag(*answer) == WF_CONTROL_ERROR)
        rc = cli_fail(k->c, CLI_FAILED, "%s: %.*s", k->node, (int)weft_size(*answer),
                      (const char *)weft_data(*answer));
    else
        rc = cli_fail(k->c, CLI_FAILED, "%s: an answer that cannot be read; is it another version of weft?", k->node);
    weft_msg_free(*answer);
    return rc;
}
