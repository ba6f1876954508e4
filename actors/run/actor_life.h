/* actors/run/actor_life.h -- the life of an actor: spawn, run, end. The rules are in actor.h. */
#ifndef WF_ACTOR_LIFE_H
#define WF_ACTOR_LIFE_H

#include "actor.h"

enum { WF_SPAWN_ARG_MAX = 64 * 1024 };

int wf_actors_init(weft_node *node, struct wf_worker *w);
void wf_actors_finish(struct wf_worker *w);
/* The arguments of a spawn: a body, or a handler with its state in `arg`. */
struct wf_birth {
    weft_actor *body;
    weft_handler *handle;
    const void *arg;
    size_t size;
    const weft_spawn_options *options; /* NULL: defaults */
    struct wf_kept_actor *keep;        /* the record of a child that is kept from life to life; NULL: not kept */
    bool service, lasts;
};
int wf_actor_birth(weft_node *node, struct wf_worker *from, weft_pid *out, const struct wf_birth *b);
int wf_actor_spawn(weft_node *node, struct wf_worker *from, weft_pid *out, weft_actor *body, const void *arg,
                   size_t size, const weft_spawn_options *options, bool service);
/* The same for a child that `keep` keeps from life to life. */
int wf_actor_spawn_kept(struct wf_worker *from, struct wf_kept_actor *keep, weft_pid *out, weft_actor *body,
                        const void *arg, size_t size, const weft_spawn_options *options);
/* Starts the next life of a kept actor. Takes over `arg`, a pool block. */
void wf_actor_restart(struct wf_actor *a, void *arg, size_t size);
/* Ends a kept actor whose last life is over. */
void wf_actor_end_kept(struct wf_actor *a);
/* wf_hooks.task_main. A body is run by wf_actor_main: tools look for that name in a stack, below the body. */
enum wf_turn wf_actor_turn(struct wf_task *t);
enum wf_turn wf_actor_main(struct wf_task *t);
void wf_actor_done(struct wf_task *t);
bool wf_actor_unstarted(struct wf_task *t);
/* Frees the argument it was started with, or a handler's state. */
void wf_actor_free_arg(struct wf_actor *a, struct wf_worker *w);

#endif
