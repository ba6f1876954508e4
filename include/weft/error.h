/* weft/error.h -- every error that weft can return. One list defines the codes, their names and their texts. */
#ifndef WEFT_ERROR_H
#define WEFT_ERROR_H

#include <weft/api.h>
WEFT_BEGIN

/* Nodes of different versions exchange these values: append new ones, never renumber. */
#define WEFT_ERRORS(X)                                                              \
    X(EINVAL, -1, "invalid argument")                                               \
    X(ENOMEM, -2, "out of memory")                                                  \
    X(ETIMEDOUT, -3, "deadline passed")                                             \
    X(ECANCELED, -4, "the actor was asked to stop")                                 \
    X(ECLOSED, -5, "handle is closed")                                              \
    X(ENOACTOR, -6, "no such actor or name")                                        \
    X(ENONODE, -7, "node is unreachable")                                           \
    X(EFULL, -8, "a mailbox, a queue or the table of descriptors is full")          \
    X(EFORMAT, -9, "malformed data")                                                \
    X(ESYSTEM, -10, "system error, see the log")                                    \
    X(EEXIST, -11, "name is taken")                                                 \
    X(ETOOBIG, -12, "larger than the limit")                                        \
    X(EADDRESS, -13, "address is malformed or not available here")                  \
    X(EINUSE, -14, "address is in use by another process")                          \
    X(EREFUSED, -15, "connection was refused")                                      \
    X(ERESET, -16, "connection was broken by the other side")                       \
    X(EACCESS, -17, "permission denied")                                            \
    X(ENOTACTOR, -18, "only an actor may call this")                                \
    X(ENOTFOUND, -19, "file or entry point not found")                              \
    X(EBUSY, -20, "in use by another actor")                                        \
    X(ENOREPLY, -21, "the request was freed without a reply")                       \
    X(EDEADLOCK, -22, "a cycle of calls waits for itself")                          \
    X(ECHILD, -23, "the child ended before it had started")                         \
    X(ENOETCD, -24, "no etcd is configured for this node: see the option discover") \
    X(EMINORITY, -25, "the node is in a minority of its cluster")                   \
    X(ENOTSUP, -26, "not supported on this system")                                 \
    X(ENOSPC, -27, "no space is left on the device")                                \
    X(EISDIR, -28, "it is a directory")                                             \
    X(ENOHOST, -29, "host name has no address, or no name server answers")          \
    X(ETLS, -30, "TLS: no agreement, a bad certificate or bad data")                \
    X(EDRAINING, -31, "the node drains: it takes no new work")                      \
    X(ENOBODY, -32, "the pid is nobody's: it was never set, or no actor sent that message")

#define WEFT_ERROR_ENTRY(name, code, text) WEFT_##name = code,
enum { WEFT_ERRORS(WEFT_ERROR_ENTRY) WEFT_OK = 0 };
#undef WEFT_ERROR_ENTRY

/* [S] Returns the text of an error code: "deadline passed". Never NULL; static storage. */
WEFT_API const char *weft_strerror(int error);

/* [S] Returns the name of an error code: "WEFT_EFULL". Never NULL; static storage. */
WEFT_API const char *weft_error_name(int error);

WEFT_END
#endif
