/* weft/pid.h -- the address of an actor, valid in this process and on every other node. */
#ifndef WEFT_PID_H
#define WEFT_PID_H

#include <weft/api.h>
WEFT_BEGIN

/* A value of 16 bytes. It identifies one actor in one run of one node. Its numbers are never used again for another
 * actor. */
typedef struct {
    uint64_t node;  /* the node's incarnation: random, never 0 */
    uint64_t actor; /* generation (32 bits), worker (8 bits), slot (24 bits) */
} weft_pid;

enum { WEFT_PID_TEXT = 48 }; /* bytes that weft_pid_format needs at most */

/* [S] Returns the pid of no actor. */
static inline weft_pid weft_nobody(void)
{
    weft_pid none = {0, 0};
    return none;
}

/* [S] Returns true if both are the same actor. */
static inline bool weft_pid_equal(weft_pid a, weft_pid b)
{
    return a.node == b.node && a.actor == b.actor;
}

/* [S] Returns true if `p` is no actor. */
static inline bool weft_pid_is_nobody(weft_pid p)
{
    return p.node == 0;
}

/* [S] Writes "worker.slot.generation@incarnation" ("0.17.1@9f86d081884c7d65"), NUL-terminated, into `out`,
 * which has WEFT_PID_TEXT bytes. Returns `out`. */
WEFT_API char *weft_pid_format(weft_pid pid, char *out);

/* [S] Parses the text that weft_pid_format writes. Returns 0, or WEFT_EFORMAT with `*out` unchanged. */
WEFT_API WEFT_CHECKED int weft_pid_parse(const char *text, weft_pid *out);

WEFT_END
#endif
