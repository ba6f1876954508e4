/* weft/remote.h -- actors that other nodes start by name. docs/remote-actors.md has examples.
 *
 *     #define ROOM_ARGS(F) F(str, topic) F(uint, places)
 *     WEFT_STRUCT(room_args, ROOM_ARGS)
 *     static void room(const struct room_args *args) {...}
 *     WEFT_EXPORT_ACTOR("chat.room", room, room_args)    -- at file scope, without a semicolon
 *
 * Then, on any node:
 *     struct room_args args = {weft_cstr("tea"), 40};
 *     rc = weft_spawn_on("b", "chat.room", &pid, WEFT_ARGS(room_args, &args), NULL);
 *
 * The arguments travel as messages do (weft/typed.h), so the two nodes may have different versions of the struct, as
 * long as its list of fields changes by the rules given there. The receiving node checks the arguments before it
 * starts anything.
 *
 * Exports belong to the process: all of its nodes have them. A module that `weft run` loads, a program and a shared
 * library export when they are loaded. A static library exports only if the linker includes the object file, so put
 * WEFT_EXPORT_ACTOR into a file that the program needs anyway, or call weft_export_actor. */
#ifndef WEFT_REMOTE_H
#define WEFT_REMOTE_H

#include <weft/actor.h>
#include <weft/api.h>
#include <weft/monitor.h>
#include <weft/pid.h>
#include <weft/typed.h>
WEFT_BEGIN

enum {
    WEFT_REMOTE_ARGS_MAX = 60 * 1024, /* bytes of packed arguments */
    WEFT_REMOTE_NAME_MAX = 64,        /* bytes of an exported name: letters, digits, '.', '_', '-', '$' */
};

/* An exported actor. Zero means the default for every field but `name` and `body`. */
struct weft_export {
    const char *name; /* static storage, not copied */
    weft_actor *body; /* receives the packed arguments */
    /* The type that the arguments are checked against; NULL: the body receives any bytes and checks them itself. */
    const struct weft_type_info *(*type)(void);
    weft_spawn_options options; /* `kind` is `name` by default; `link` and `monitor` are ignored */
    struct weft_export *next;   /* weft's own */
};

/* [T] Exports an actor, before its node starts or later. `*e` is not copied and must stay valid as long as the
 * process runs. Errors: WEFT_EEXIST (another actor is exported under that name), WEFT_EINVAL; the log says why. */
WEFT_API WEFT_CHECKED int weft_export_actor(struct weft_export *e);

/* At file scope: exports `function`, a void (const struct TYPE *), whose argument is a WEFT_STRUCT or WEFT_MESSAGE
 * called `args_type`. The arguments, and the texts and lists in them, are valid until the function returns. */
#define WEFT_EXPORT_ACTOR(exported, function, args_type)                        \
    static void weft_remote_##function(const void *packed, size_t size)         \
    {                                                                           \
        struct args_type args;                                                  \
        struct weft_why why;                                                    \
        if (weft_typed_read(args_type##_type(), packed, size, &args, &why) < 0) \
            weft_fail(WEFT_EFORMAT, "%s", why.text);                            \
        function(&args);                                                        \
    }                                                                           \
    WEFT_EXPORT_AS(weft_remote_##function, exported, args_type##_type)
/* At file scope: exports `function`, a weft_actor, which receives the bytes that the other node gave, unchecked. */
#define WEFT_EXPORT_PLAIN(exported, function) WEFT_EXPORT_AS(function, exported, NULL)
#define WEFT_EXPORT_AS(function, exported, type_function)                    \
    __attribute__((constructor)) static void function##_is_exported(void)    \
    {                                                                        \
        static struct weft_export e;                                         \
        e.name = exported;                                                   \
        e.body = function;                                                   \
        e.type = type_function;                                              \
        weft_ignore(weft_export_actor(&e)); /* the log says what is wrong */ \
    }

/* Zero means the default for every field. */
typedef struct {
    bool link; /* link the caller and the new actor, as weft_link does */
    /* Receives a monitor of the new actor. As with weft_spawn, its end cannot be missed. */
    weft_monitor_ref *monitor;
    /* when to stop waiting for the other node's answer; default: the node's send timeout from now */
    int64_t deadline;
    struct weft_why *why; /* receives the reason of an error in words: "room_args.places: expected uint, got str" */
} weft_remote_options;

/* [A, W] Starts the actor that the node called `node` exports as `actor`. NULL, or this node's own name, starts it on
 * this node. `out` (may be NULL) receives its pid. `type` and `args` are its arguments: WEFT_ARGS(room_args, &args),
 * or WEFT_NO_ARGS for an actor that takes bytes. `options` may be NULL.
 *
 * On an error there is no new actor, or it is killed as soon as this node learns of it.
 *     WEFT_ENOACTOR   that node exports no such actor
 *     WEFT_EFORMAT    the arguments do not match
 *     WEFT_ETOOBIG    the arguments take more than WEFT_REMOTE_ARGS_MAX bytes
 *     WEFT_EACCESS    that node does not let this one start actors
 *     WEFT_EFULL      this node has reached its limit of actors started on that node
 *     WEFT_ENONODE    this node is not, or is no longer, linked with that node
 *     WEFT_EMINORITY  this node or that one is in a minority: weft_node_options.partition
 *     WEFT_EDRAINING  that node drains: weft_drain
 *     WEFT_ECANCELED  the caller, or that node, is stopping
 *     WEFT_ETIMEDOUT, WEFT_ENOMEM, WEFT_EINVAL */
WEFT_API WEFT_CHECKED int weft_spawn_on(const char *node, const char *actor, weft_pid *out,
                                        const struct weft_type_info *type, const void *args,
                                        const weft_remote_options *options);
#define WEFT_ARGS(args_type, pointer) args_type##_type(), (1 ? (pointer) : (const struct args_type *)NULL)
#define WEFT_NO_ARGS NULL, NULL

/* [A, W] As weft_spawn_on, with arguments that are packed already, or with plain bytes. */
WEFT_API WEFT_CHECKED int weft_spawn_packed_on(const char *node, const char *actor, weft_pid *out, const void *packed,
                                               size_t size, const weft_remote_options *options);

/* ---- Children of supervisors and members of pools on other nodes ----------------------------------------------- */

enum { WEFT_REMOTE_NODES_MAX = 64 };

/* [S] Packs the place of an actor, for weft_remote_child: the nodes to try, the first one first, the exported actor and
 * its arguments. Returns the number of bytes used of `out`.
 * Errors: WEFT_ETOOBIG (`size` is too small, or the arguments are too large), WEFT_EINVAL, WEFT_ENOMEM. */
WEFT_API int64_t weft_remote_place(void *out, size_t size, const char *const *nodes, size_t node_count,
                                   const char *actor, const struct weft_type_info *type, const void *args);

/* A weft_actor: the body of a child or a pool member that represents an actor on another node. Its argument is what
 * weft_remote_place has packed. It starts that actor on the first node that can start it, calls weft_ready, and forwards
 * its messages to that actor. When it is stopped or killed, it stops or kills that actor. It ends when that actor
 * ends, with the same reason; with WEFT_EXIT_NODE_LOST if the actor's node is lost. When it is restarted, it begins
 * with the first node again.
 *     const char *nodes[] = {"b", "c"};
 *     int64_t size = weft_remote_place(place, sizeof place, nodes, 2, "chat.room", WEFT_ARGS(room_args, &args));
 *     weft_child_spec room = {.name = "room", .body = weft_remote_child, .arg = place, .arg_size = (size_t)size,
 *                             .await_ready = true}; */
WEFT_API void weft_remote_child(const void *place, size_t size);

WEFT_END
#endif
