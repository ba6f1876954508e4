/* cli/top/top.h -- weft top: what is asked of a node. */
#ifndef CLI_TOP_H
#define CLI_TOP_H

#include <weft/message.h>

#include "options.h"
#include "top_model.h"

struct cli;
struct cli_client;

struct top_wish {
    bool everywhere;
    enum top_by by;
    bool reverse;
    char filter[CLI_FILTER_MAX + 1];
    char inspect[64]; /* a pid; "": none */
};

int cli_top(const struct cli *c);

/* What the options ask for. */
struct top_wish top_wish_of(const struct cli *c);
int64_t top_interval_of(const struct cli *c);
/* [A] Asks once. CLI_OK and the answer, or another exit code. */
int top_ask(struct cli_client *k, const struct top_wish *wish, weft_msg **answer);

/* Shows the node on a terminal until the user quits. Returns the exit code. A weft without ncurses cannot. */
int top_show(const struct cli *c);

#endif
