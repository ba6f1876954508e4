/* transport/option_check.h -- whether a node takes a value of one of its options, for the command.
 *
 * weft_node_start judges with the same functions. So it refuses a value that is right here only for what files, the
 * network, or other options say. */
#ifndef WF_OPTION_CHECK_H
#define WF_OPTION_CHECK_H

#include <weft/api.h>
WEFT_BEGIN

enum wf_option {
    WF_OPTION_LISTEN, /* or "none" */
    WF_OPTION_JOIN,   /* also the URL that a tool dials */
    WF_OPTION_DISCOVER,
    WF_OPTION_DIAL_ONLY,
    WF_OPTION_WS_ORIGIN,
    WF_OPTION_META,
    /* Arguments of tools; a node has no such option: */
    WF_OPTION_NAME, /* of an actor */
    WF_OPTION_TOPIC,
    WF_OPTION_PATTERN, /* of topics, queues or states */
};
enum { WF_OPTION_WHY = 160 };
/* The most values of an option that is a list. */
enum { WF_OPTION_LISTEN_MAX = 8, WF_OPTION_LIST_MAX = 16 };

/* NULL: it is right. Else what is wrong with it, a text of its own or in `why`. */
WEFT_API const char *wf_option_check(enum wf_option option, const char *value, char why[WF_OPTION_WHY]);

WEFT_END
#endif
