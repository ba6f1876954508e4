/* cli/stop.c -- weft stop: the orderly end of a node, from outside. */
#include <string.h>

#include "stop.h"
#include "client.h"
#include "control.h"
#include "sockets.h"

/* `why` (a reason of NODE_DOWN): in order, or not. */
static int ended(const struct cli_client *k, const char *why)
{
    bool drained = strcmp(why, WF_LEFT) == 0;
    if (k->c->json)
        printf("{\"node\": \"%s\", \"ended\": true, \"drained\": %s}\n", k->node, drained ? "true" : "false");
    else printf("%s has ended\n", k->node);
    if (drained) return CLI_OK;
    if (strcmp(why, WF_LEFT_UNDRAINED) == 0) why = "not all actors ended in time; they were killed";
    return cli_fail(k->c, CLI_NOT_DRAINED, "%s: %s", k->node, why);
}

static int await_end(struct cli_client *k, int64_t deadline)
{
    for (;;) {
        struct weft_node_news news;
        weft_msg *m;
        int rc = weft_recv(&m, deadline);
        if (rc < 0) return cli_fail_with(k->c, rc, k->node);
        bool gone = weft_tag(m) == WEFT_TAG_NODE_DOWN && weft_node_news_read(m, &news) == 0;
        weft_msg_free(m);
        if (gone) return ended(k, news.reason);
    }
}

/* A node with nothing to drain may be gone before its answer is; then its socket is, too. */
static bool is_gone(const struct cli_client *k)
{
    return cli_is_local(k) && !cli_socket_answers(k->url + strlen("ipc://"));
}

static int stop(struct cli_client *k)
{
    int64_t drain = k->c->has_drain ? k->c->drain : WEFT_SEC(10);
    uint8_t body[16];
    weft_writer w = weft_writer_on(body, sizeof body);
    weft_put_int(&w, drain / WEFT_MS(1));
    int rc = weft_watch_nodes();
    if (rc < 0) return cli_fail_with(k->c, rc, k->node);
    if (cli_print_stuck(k, "the stop waits for it") == CLI_UNREACHABLE)
        return is_gone(k) ? ended(k, WF_LEFT) : CLI_UNREACHABLE;
    weft_msg *m;
    char name[80];
    snprintf(name, sizeof name, "$node@%s", k->node);
    rc = weft_call_name(name, WF_CONTROL_STOP, body, w.size, &m, k->deadline);
    if (rc == WEFT_ENONODE) return is_gone(k) ? ended(k, WF_LEFT) : cli_node_gone(k);
    if (rc < 0) return cli_fail_with(k->c, rc, k->node);
    if (weft_tag(m) == WF_CONTROL_ERROR) {
        rc = cli_print_refusal(k, m);
        weft_msg_free(m);
        return rc;
    }
    weft_msg_free(m);
    /* Actors that had to be killed take until the drain's end, and a little for the clean-ups. */
    return await_end(k, k->c->has_timeout ? k->deadline : weft_after(drain + WEFT_SEC(10)));
}

int cli_stop(const struct cli *c)
{
    return cli_ask_node(c, stop);
}
