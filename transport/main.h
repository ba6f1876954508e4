/* transport/main.h -- a process that is one node: what weft_main and `weft run` share. */
#ifndef WF_MAIN_H
#define WF_MAIN_H

#include <weft/node.h>
#include <weft/reload.h>
WEFT_BEGIN

struct wf_main {
    const weft_node_options *options; /* NULL: defaults */
    weft_actor *first;
    const void *arg;
    size_t size;
    const weft_spawn_options *spawn; /* of the first actor; NULL: defaults */
    int64_t drain;                   /* how long actors may take to end */
    const char *metrics;             /* "9464", "127.0.0.1:9464": for HTTP; NULL: none */
    /* Called when the node listens, before its first actor begins; `bound`: where metrics are served, "": nowhere.
     * NULL: nobody. */
    void (*ready)(const weft_node *node, const char *bound);
    /* For `weft reload`: a wf_load_module of control.h; NULL: this node cannot */
    int (*load)(const char *path, weft_migrate **hook, char *why, size_t why_size);
};

/* Call it before anything is opened: no pipe or socket takes the place of a closed standard descriptor. */
WEFT_API void wf_main_hold_standard(void);
/* Starts the node, runs `first` and returns when no user actor is left or, after SIGTERM, SIGINT or a stop from the
 * command line, when the node is drained. A second signal ends the process at once, with 130. Results are those of
 * weft_main; 1 also if it cannot serve metrics, or the node cannot be part of its cluster. If an actor keeps its
 * worker from ending long after the drain's deadline, the process ends with 5. */
WEFT_API int wf_main_run(const struct wf_main *m);

WEFT_END
#endif
