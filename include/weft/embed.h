/* weft/embed.h -- a node inside an event loop that is not weft's: libuv, GLib, Qt, a game's, or a plain poll().
 *
 * With weft_node_options.embedded the node has one worker and no thread. Its actors run when weft_node_turn is
 * called, in the thread that calls it, so they may use what belongs to that thread's loop. A program needs only this:
 *
 *     watch weft_node_fd(node) for reading          the only descriptor; timers make it readable, too
 *     when it is readable: weft_node_turn(node, WEFT_NOW)
 *
 * While all actors wait, the descriptor is not readable and the program sleeps: the node causes no wake-ups, except
 * heartbeats if it has links. An actor that computes for long blocks the loop: see weft_offload.
 *
 * Call weft_node_start, _turn, _wait and _stop of one node in one thread; weft_node_spawn, weft_node_send and
 * everything marked [S] may be called in any thread, as always. weft_node_wait and weft_node_stop run the node
 * themselves until they are done; they do not return to your loop meanwhile. A thread may have several such nodes.
 * weft's writes to broken pipes raise no SIGPIPE in your thread. A write that an actor makes without weft, such as printf, does
 * what it does elsewhere in that thread.
 * weft_offload, and links other than tcp://, have threads of their own; the only code of yours that runs there is the
 * functions given to weft_offload. */
#ifndef WEFT_EMBED_H
#define WEFT_EMBED_H

#include <weft/api.h>
#include <weft/node.h>
#include <weft/time.h>
WEFT_BEGIN

/* [T] Returns the node's descriptor, the same one as long as the node lives. It belongs to weft: do not read or close
 * it. Watch it level-triggered (poll, epoll without EPOLLET, uv_poll_t). WEFT_EINVAL: the node is not embedded. On a
 * system without such a descriptor (Windows) weft_node_start returns WEFT_ENOTSUP. */
WEFT_API int weft_node_fd(weft_node *node);

/* Runs one iteration: timers that are due, messages and input that have arrived, and actors that are ready, each at
 * most once or a few times. If there is nothing to run, it waits until there is, or until `deadline`; with WEFT_NOW
 * it does not wait. Returns when to call it again, unless the descriptor becomes readable before: WEFT_NOW (at once:
 * not everything has run), a point in time (the next timer), or WEFT_FOREVER. The descriptor reports all of this,
 * too: the result is for loops that prefer to set their own timers, and for programs without a loop:
 *
 *     while (running) (void)weft_node_turn(node, WEFT_FOREVER);
 *
 * WEFT_EINVAL: the node is not embedded, one of its own actors makes the call, or another thread is running the node,
 * which the log says once. */
WEFT_API int64_t weft_node_turn(weft_node *node, int64_t deadline);

WEFT_END
#endif
