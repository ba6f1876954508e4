/* cli/options/values.h -- values of options that are more than a word: how they are written. */
#ifndef CLI_VALUES_H
#define CLI_VALUES_H

#include "options.h"

#include <stdbool.h>
#include <stdint.h>

/* "frames=100000,bytes=20M,spawns=100"; limits that are not named stay unchanged. */
struct cli_limits {
    uint64_t frames, bytes, spawns; /* a second */
};
bool cli_read_limits(const char *value, struct cli_limits *out);

/* "none", "majority", "3". `policy` is one of WEFT_PARTITION_*. */
struct cli_partition {
    int policy;
    uint32_t quorum;
};
bool cli_read_partition(const char *value, struct cli_partition *out);

/* "room.>:count=1000:bytes=64M:age=86400": a pattern of topics, and what is kept of each. */
struct cli_stored {
    char pattern[256];
    uint64_t count, bytes;
    int64_t age; /* ns */
};
bool cli_read_stored(const char *value, struct cli_stored *out);

/* "mail.>:lease=30:attempts=5:jobs=1000": a pattern of queues, and the rules of each. */
struct cli_queues {
    char pattern[256];
    int64_t lease; /* ns */
    uint64_t attempts, jobs;
};
bool cli_read_queues(const char *value, struct cli_queues *out);

/* "start", "now", "17", "6fe2a1b09c4d3e58:17": where to begin in a log. Epoch 0: any. */
struct cli_position {
    uint64_t epoch, offset;
};
bool cli_read_position(const char *value, struct cli_position *out);

bool cli_is_cursor(const char *name);

/* False, after a message: it is not a topic, or not a pattern of topics. */
bool cli_is_topic(const struct cli *c, const char *topic);
bool cli_is_pattern(const struct cli *c, const char *pattern);
/* False, after a message: it is not a NAME of an actor, nor NAME@NODE. */
bool cli_is_actor_name(const struct cli *c, const char *name);

/* Names of nodes. */
enum { CLI_NODE_NAME_MAX = 64 };
#define CLI_CLUSTER_NAME_RULE "1 to 64 letters, digits, '_', '-' and '.'"
#define CLI_NODE_NAME_RULE CLI_CLUSTER_NAME_RULE ", no leading dot"
bool cli_is_node_name(const char *name); /* it must also be suitable as a file name that is not hidden */
bool cli_is_cluster_name(const char *name);
/* CLI_OK or an exit code after a message. */
int cli_check_node_name(const struct cli *c, const char *name);

#endif
