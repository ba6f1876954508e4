/* cli/client/client.h -- a node of our own that talks to another. */
#ifndef CLI_CLIENT_H
#define CLI_CLIENT_H

#include "json.h"

#include <limits.h>

#define CLI_ANSWER_WITHIN WEFT_SEC(5) /* a verb without --timeout waits so long for an answer */

struct cli_client {
    const struct cli *c;
    int (*work)(struct cli_client *k); /* runs as an actor; an exit code */
    struct cli_body body;
    int64_t deadline; /* one deadline holds for the whole verb */
    int result;
    char url[PATH_MAX + 8];
    char node[65]; /* the node that answered */
};
/* Finds the node, joins it as a client, runs `work` and leaves again. */
int cli_with_node(struct cli_client *k);
int cli_ask_node(const struct cli *c,
                 int (*work)(struct cli_client *k)); /* the same, where there is no more to say */
/* Whether the certificate `name` of --tls can be used. CLI_OK or an exit code after a message that says why not. What
 * a node logs as a warning about it (others can read the key, it expires soon) is a message, too, if `warn`. */
int cli_check_tls(const struct cli *c, const char *name, bool warn);
/* Whether the node is on this machine, as its socket is. */
bool cli_is_local(const struct cli_client *k);
/* [A] Asks "$node" of that node: a verb of control.h. CLI_OK and the answer, which is well-formed msgpack; else an
 * exit code after a message. */
int cli_control(struct cli_client *k, uint32_t verb, const void *data, size_t size, weft_msg **answer);
/* [A] The same; the answer may also be an error that the node tells, WF_CONTROL_ERROR: of an older version, say. */
int cli_control_or_error(struct cli_client *k, uint32_t verb, const void *data, size_t size, weft_msg **answer);
/* [A] Says that the node is gone, and why if that is known; the exit code. */
int cli_node_gone(const struct cli_client *k);
/* Prints the error that the node has answered, WF_CONTROL_ERROR; the exit code. */
int cli_print_refusal(const struct cli_client *k, const weft_msg *m);
/* Prints that the answer of the node cannot be decoded; the exit code. */
int cli_cannot_decode(const struct cli_client *k);
/* [A] Says on standard error which actors hold workers of the node up, and what follows from that. CLI_OK, or the exit
 * code after a message that the node has not answered. */
int cli_print_stuck(struct cli_client *k, const char *consequence);
/* [A] A message about an error of the runtime; the exit code it means. */
int cli_fail_with(const struct cli *c, int error, const char *what);

#endif
