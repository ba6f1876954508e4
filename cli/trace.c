/* cli/trace.c -- weft trace: messages as they pass. */
#include <string.h>

#include "cli.h"
#include "control.h"

static int trace(struct cli_client *k)
{
    const struct cli *c = k->c;
    char request[128];
    weft_writer w = weft_writer_on(request, sizeof request);
    weft_put_array(&w, 2);
    if (c->has_tag) weft_put_int(&w, c->tag);
    else weft_put_nil(&w);
    weft_put_str(&w, weft_cstr(c->actor == NULL ? "" : c->actor));
    if (w.error != 0) return cli_fail(c, CLI_USAGE, "--actor: no pid is so long");
    return cli_listen(k, WF_CONTROL_TRACE, request, w.size, c->actor == NULL ? "all actors" : c->actor);
}

int cli_trace(const struct cli *c)
{
    bool events = c->actor != NULL || c->has_tag;
    if (c->topic != NULL && events)
        return cli_fail(c, CLI_USAGE, "--topic shows what is published, and goes without --actor and --tag");
    return cli_ask_node(c, c->topic != NULL ? cli_listen_to_topic : trace);
}
