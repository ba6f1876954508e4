/* cli/talk.h -- verbs that send something to a node, or print what it sends until the user stops them. */
#ifndef CLI_TALK_H
#define CLI_TALK_H

#include "client.h"

int cli_publish(const struct cli *c);
int cli_subscribe(const struct cli *c);
int cli_send(const struct cli *c);
int cli_call(const struct cli *c);
int cli_spawn(const struct cli *c);
/* [A] A verb of control.h that is followed by news; prints them. `what` is what they are about. */
int cli_listen(struct cli_client *k, uint32_t verb, const void *request, size_t size, const char *what);

#endif
