/* cli/log.c -- weft log: the levels of a running node's log. */
#include <string.h>

#include "log.h"
#include "client.h"
#include "json.h"
#include "control.h"

static int ask(struct cli_client *k)
{
    const char *words = k->c->argc == 0 ? "" : k->c->argv[0];
    char body[1024];
    weft_writer w = weft_writer_on(body, sizeof body);
    weft_put_str(&w, weft_cstr(words));
    if (w.error < 0) return cli_fail(k->c, CLI_USAGE, "%s is too long", CLI_QUOTE(words));
    weft_msg *m;
    int rc = cli_control(k, WF_CONTROL_LOG, body, w.size, &m);
    if (rc != CLI_OK) return rc;
    weft_reader r = weft_reader_on(weft_data(m), weft_size(m));
    weft_text set = weft_get_str(&r);
    if (r.error < 0) rc = cli_cannot_decode(k);
    else if (k->c->json) {
        printf("{\"node\": \"%s\", ", k->node);
        cli_print_text("log", set);
        puts("}");
    } else {
        printf("%.*s\n", WEFT_STR(set));
    }
    weft_msg_free(m);
    return rc;
}

int cli_log(const struct cli *c)
{
    const char *wrong;
    if (c->argc > 0 && weft_log_check(c->argv[0], &wrong) < 0)
        return cli_fail(
            c, CLI_USAGE,
            "%s is not LEVEL (debug, info, warn, error, silent), MODULE=LEVEL, json, logfmt or json:LEVEL",
            CLI_QUOTE(wrong));
    return cli_ask_node(c, ask);
}
