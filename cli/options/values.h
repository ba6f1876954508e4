/* cli/values.h -- values of options that are more than a word: how they are written. */
#ifndef CLI_VALUES_H
#define CLI_VALUES_H

#include <stdbool.h>
#include <stdint.h>

/* "frames=100000,bytes=20M,spawns=100"; what is not named stays as it was. */
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

#endif
