/* transport/wire/requests.h -- the tags of requests to $node (control.h), and the reasons that the program around a
 * node, and the node's peers, are given for its end. docs/wire.md ("Control requests") describes the arguments and
 * answers of each verb. */
#ifndef WF_REQUESTS_H
#define WF_REQUESTS_H

enum {
    WF_CONTROL_ERROR = 0,
    WF_CONTROL_PS = 1,
    WF_CONTROL_NODES = 2,
    WF_CONTROL_INFO = 3,
    WF_CONTROL_STOP = 4,
    WF_CONTROL_PUBLISH = 5,
    WF_CONTROL_SUBSCRIBE = 6,
    WF_CONTROL_HOLD = 7,
    WF_CONTROL_NEWS = 8,
    WF_CONTROL_NAMES = 9,
    WF_CONTROL_GROUPS = 10,
    WF_CONTROL_RECORD = 11,
    WF_CONTROL_INSPECT = 12,
    WF_CONTROL_WAITS = 13,
    WF_CONTROL_DROPS = 14,
    WF_CONTROL_TRACE = 15,
    WF_CONTROL_TRACED = 16,
    WF_CONTROL_RELOAD = 17,
    WF_CONTROL_TOP = 18,
    WF_CONTROL_TRACE_BODIES = 19,
    WF_CONTROL_LOG = 20,
    WF_CONTROL_CERTS = 21,
    WF_CONTROL_DRAIN = 22,
    WF_CONTROL_MISSED = 23,
    WF_CONTROL_PAGE = 24,
    WF_CONTROL_STUCK = 25,
    WF_CONTROL_WHO = 26,
};

/* Of wf_transport_watch. */
enum { WF_NOTIFY_FATAL = 1, WF_NOTIFY_STOP = 2 };

/* Reasons of BYE, which watchers get with NODE_DOWN: all actors had ended, or some had to be killed. Any other reason
 * counts as the first. */
#define WF_LEFT "left"
#define WF_LEFT_UNDRAINED "left, not drained"

/* The text of the error that a node of any version answers to a request that it does not know. */
#define WF_CONTROL_UNKNOWN "unknown request"

#endif
