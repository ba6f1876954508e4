/* actors/lifecycle/supervisor.h -- the messages and requests to a supervisor. */
#ifndef WF_SUPERVISOR_H
#define WF_SUPERVISOR_H

#include "actor.h"
#include "text.h"

#include <weft/supervisor.h>

/* The first two are signals, so that a full mailbox cannot keep them out. The others are requests, accepted only from
 * actors of this node: the one that starts a child contains a function's address. */
#define WF_TAG_CHILD_STARTED (WEFT_TAG_SYSTEM + 0x80)
#define WF_TAG_CHILD_SUPERVISES (WEFT_TAG_SYSTEM + 0x81)
#define WF_TAG_START_CHILD (WEFT_TAG_SYSTEM - 1)
#define WF_TAG_STOP_CHILD (WEFT_TAG_SYSTEM - 2)
#define WF_TAG_LIST_CHILDREN (WEFT_TAG_SYSTEM - 3)

/* Body of WF_TAG_START_CHILD; the child's argument follows. Pointers of `spec` other than `body` and options.kind
 * have no meaning. The body of WF_TAG_STOP_CHILD is a name with its NUL. */
struct wf_start_request {
    alignas(16) weft_child_spec spec;
    char name[WF_NAME_MAX + 1];
};
/* The answer to both. The answer to WF_TAG_LIST_CHILDREN is an array of struct weft_child_info. Each answer has the tag
 * of its request, because an actor that is no supervisor may answer, too. */
struct wf_child_answer {
    int rc;
    weft_pid pid;
};

#endif
