/* weft/embed.h -- a node inside a loop that is not weft's: libuv, GLib, Qt, a game's, or a plain poll().
 *
 * With weft_node_options.embedded the node has one worker and no thread. Its actors run when weft_node_turn is
 * called, in the thread that calls it, so they may use what belongs to that thread's loop. A program needs no more
 * than this:
 *
 *     watch weft_node_fd(node) for reading          the only descriptor there is; timers make it readable, too
 *     when it is readable: weft_node_turn(node, WEFT_NOW)
 *
 * While all actors wait the descriptor is not readable and the program sleeps: the node makes no wake-ups of its own,
 * but for heartbeats if it has links. An actor that computes for long holds up the loop: see weft_offload.
 *
 * weft_node_start, _turn, _wait and _stop of one node are called in one thread; weft_node_spawn, weft_node_send and
 * everything marked [S] as ever in any. weft_node_wait and weft_node_stop turn the node themselves until they are
 * done: they do not return to your loop meanwhile. A thread may have several such nodes. weft_offload and links other
 * than tcp:// have threads of their own, in which none of your code runs but the functions given to weft_offload. */
#ifndef WEFT_EMBED_H
#define WEFT_EMBED_H

#include <weft/api.h>
#include <weft/node.h>
#include <weft/time.h>
WEFT_BEGIN

/* [T] The descriptor, the same as long as the node lives; weft's: do not read or close it. Watch it level-triggered
 * (poll, epoll without EPOLLET, uv_poll_t). WEFT_EINVAL: the node is not embedded. Where the system has no such
 * descriptor (Windows) weft_node_start says WEFT_ENOTSUP. */
WEFT_API int weft_node_fd(weft_node *node);

/* Runs what there is to run, once: timers that are due, what has arrived, actors that can go on, each at most once or
 * a few times. If there is nothing it waits for something until `deadline`; WEFT_NOW: it does not wait. Returns when
 * it should be called again, unless the descriptor becomes readable before: WEFT_NOW (at once: not all has run), a
 * point in time (the next timer), or WEFT_FOREVER. The descriptor says all of this, too: the result is for loops that
 * rather set timers of their own, and for programs without a loop:
 *
 *     while (running) (void)weft_node_turn(node, WEFT_FOREVER);
 *
 * WEFT_EINVAL: not embedded, or called by one of its own actors. */
WEFT_API int64_t weft_node_turn(weft_node *node, int64_t deadline);

WEFT_END
#endif
