/* embed_uv.c -- a node inside libuv's loop: actors and libuv's callbacks in one thread.
 *
 *     $ cc embed_uv.c $(pkg-config --cflags --libs weft libuv) && ./a.out
 *     libuv's timer: 1
 *     an actor has heard of 1
 *     libuv's timer: 2
 *     an actor has heard of 2
 *     libuv's timer: 3
 *     an actor has heard of 3
 *     stopped
 */
#include <stdio.h>
#include <uv.h>
#include <weft.h>

enum { TICK = 1, TICKS = 3 };

/* Shared by the loop's callbacks and the actor without a lock, because all run in one thread. */
static struct {
    weft_node *node;
    weft_pid listener;
    uv_poll_t node_readable;
    uv_timer_t timer;
    int ticks;
} app;

static void on_node(uv_poll_t *handle, int status, int events)
{
    (void)handle, (void)status, (void)events;
    (void)weft_node_turn(app.node, WEFT_NOW);
}

static void on_timer(uv_timer_t *handle)
{
    app.ticks++;
    printf("libuv's timer: %d\n", app.ticks);
    if (app.ticks == TICKS) uv_timer_stop(handle);
    int rc = weft_node_send(app.node, app.listener, TICK, &app.ticks, sizeof app.ticks);
    if (rc < 0) fprintf(stderr, "the listener misses a tick: %s\n", weft_strerror(rc));
}

static void listener(const void *arg, size_t size)
{
    weft_msg *m;
    (void)arg, (void)size;
    for (; weft_recv(&m, WEFT_FOREVER) == 0; weft_msg_free(m)) {
        int tick = *(const int *)weft_data(m);
        if (weft_sleep(weft_after(WEFT_MS(1))) < 0) continue; /* weft's timers wake this loop, too */
        printf("an actor has heard of %d\n", tick);
        if (tick < TICKS) continue;
        uv_close((uv_handle_t *)&app.timer, NULL); /* an actor may use the loop */
        uv_close((uv_handle_t *)&app.node_readable, NULL);
    }
}

int main(void)
{
    uv_loop_t *loop = uv_default_loop();
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (weft_node_start(&app.node, &(weft_node_options){.name = "inside", .embedded = true}) < 0) return 1;
    if (weft_node_spawn(app.node, &app.listener, listener, NULL, 0, NULL) < 0) return 1;
    if (uv_poll_init(loop, &app.node_readable, weft_node_fd(app.node)) < 0) return 1;
    (void)uv_poll_start(&app.node_readable, UV_READABLE, on_node);
    (void)uv_timer_init(loop, &app.timer);
    (void)uv_timer_start(&app.timer, on_timer, 30, 30);
    (void)uv_run(loop, UV_RUN_DEFAULT); /* until both handles are closed */
    int rc = weft_node_stop(app.node, weft_after(WEFT_SEC(5)));
    printf("%s\n", rc == 0 ? "stopped" : weft_strerror(rc));
    return rc != 0 || uv_loop_close(loop) != 0;
}
