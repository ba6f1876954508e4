/* Two nodes in two processes; the other one is killed. They run in real time, and wait only for events. */
#include "rows.h"

#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PID = 1, NEVER = 2, ECHO = 3 };

extern char **environ;
static pid_t peer_process;

/* ---- The other process ----------------------------------------------------------------------------------------- */

/* Answers PID, never NEVER; sends ECHO and what follows back; exits with any other number. */
ACTOR(peer)
{
    weft_register("peer");
    start(idle); /* the node lives on when this actor ends */
    for (weft_msg *m, *kept = NULL; weft_recv(&m, WEFT_FOREVER) == 0;) {
        uint32_t tag = weft_tag(m);
        if (tag == NEVER) {
            weft_msg_free(kept);
            kept = m;
            continue;
        }
        if (tag == PID) weft_reply(m, PID, NULL, 0);
        else if (tag == ECHO)
            for (uint32_t i = 1; i <= 3; i++) weft_send(weft_from(m), i, NULL, 0);
        weft_msg_free(m);
        if (tag > ECHO) weft_exit((int)tag);
    }
}

int peer_main(const char *url)
{
    weft_node_options o = {.name = "peer", .workers = 1, .listen = &url, .listen_count = 1};
    return weft_main(&o, peer, NULL, 0);
}

static void kill_peer(void)
{
    kill(peer_process, SIGKILL);
}

/* ---- This one -------------------------------------------------------------------------------------------------- */

static int64_t patience(void)
{
    return weft_after(WEFT_SEC(20));
}

/* The actor on the other node, once that is there. */
static weft_pid meet(void)
{
    weft_pid who = weft_nobody();
    weft_msg *m;
    weft_watch_nodes();
    if (weft_recv_tag(&m, WEFT_TAG_NODE_UP, patience()) != 0) return who;
    weft_msg_free(m);
    int rc;
    do rc = weft_call_name("peer@peer", PID, NULL, 0, &m, patience()); /* the node is up before the name is there */
    while (rc == WEFT_ENOACTOR && weft_yield() == 0);
    if (rc != 0) {
        say("no peer");
        return who;
    }
    who = weft_from(m);
    weft_msg_free(m);
    return who;
}

static void say_next(uint32_t tag)
{
    weft_msg *m;
    if (weft_recv_tag(&m, tag, patience()) == 0) say_message(m);
    else say("nothing");
}

/* Runs `body` on a node that is linked to another process. */
static void two_nodes(weft_actor *body)
{
    char folder[] = "/tmp/weft-rows-XXXXXX", path[64], url[80];
    if (mkdtemp(folder) == NULL) return;
    snprintf(path, sizeof path, "%s/peer", folder);
    snprintf(url, sizeof url, "ipc://%s", path);
    char program[] = "/proc/self/exe", flag[] = "--peer";
    char *const argv[] = {program, flag, url, NULL};
    const char *seed = url;
    weft_node *n = NULL;
    weft_node_options o = {.name = "here",
                           .workers = 2,
                           .join = &seed,
                           .join_count = 1,
                           .heartbeat = WEFT_MS(200),
                           .resume_window = WEFT_MS(200)};
    if (posix_spawn(&peer_process, program, NULL, NULL, argv, environ) != 0) return;
    if (weft_node_start(&n, &o) == 0) {
        if (weft_node_spawn(n, NULL, body, NULL, 0, NULL) == 0) weft_node_wait(n, weft_after(WEFT_SEC(60)));
        weft_node_stop(n, weft_after(WEFT_SEC(10)));
    }
    kill_peer();
    waitpid(peer_process, NULL, 0);
    unlink(path);
    rmdir(folder);
}

ACTOR(exits)
{
    weft_pid a = meet();
    weft_monitor(a, NULL);
    weft_send(a, 17, NULL, 0);
    say_next(WEFT_TAG_DOWN);
}

NODES_ROW(node_monitor_exit)
{
    two_nodes(exits);
}

ACTOR(monitors)
{
    weft_monitor(meet(), NULL);
    kill_peer();
    say_next(WEFT_TAG_DOWN);
}

NODES_ROW(node_monitor_lost)
{
    two_nodes(monitors);
}

ACTOR(links)
{
    weft_trap_exits(true);
    weft_link(meet());
    kill_peer();
    say_next(WEFT_TAG_EXIT);
}

NODES_ROW(node_link_lost)
{
    two_nodes(links);
}

ACTOR(lost_with_its_node)
{
    weft_link(meet());
    kill_peer();
    idle(arg, size);
}

ACTOR(watches_the_linked)
{
    weft_monitor_ref r;
    weft_spawn(NULL, lost_with_its_node, NULL, 0, &(weft_spawn_options){.monitor = &r});
    say_next(WEFT_TAG_DOWN);
}

NODES_ROW(node_link_lost_untrapped)
{
    two_nodes(watches_the_linked);
}

ACTOR(kills_in_call)
{
    weft_msg *m;
    if (weft_recv_tag(&m, 4, patience()) == 0) weft_msg_free(m);
    kill_peer();
}

ACTOR(calls)
{
    weft_pid a = meet(), killer = weft_nobody();
    weft_msg *m;
    weft_spawn(&killer, kills_in_call, NULL, 0, NULL);
    weft_send(killer, 4, NULL, 0); /* it runs when this one waits for the answer */
    int rc = weft_call(a, NEVER, NULL, 0, &m, patience());
    say_result(rc);
}

NODES_ROW(node_call_lost)
{
    two_nodes(calls);
}

ACTOR(sends_on)
{
    weft_pid a = meet();
    weft_monitor(a, NULL);
    kill_peer();
    say_next(WEFT_TAG_DOWN);
    say_result(weft_send(a, ECHO, NULL, 0));
}

NODES_ROW(node_send_lost)
{
    two_nodes(sends_on);
}

ACTOR(hears_in_order)
{
    weft_pid a = meet();
    weft_msg *m;
    weft_monitor(a, NULL);
    weft_send(a, ECHO, NULL, 0);
    weft_send(a, 17, NULL, 0);
    for (int i = 0; i < 4 && weft_recv(&m, patience()) == 0; i++) say_message(m);
}

NODES_ROW(node_order)
{
    two_nodes(hears_in_order);
}

ACTOR(asks_for_nobody)
{
    weft_msg *m;
    meet();
    say_result(weft_send_name("nobody@peer", 1, NULL, 0));
    say_result(weft_call_name("nobody@peer", 1, NULL, 0, &m, patience()));
}

NODES_ROW(node_name_missing)
{
    two_nodes(asks_for_nobody);
}
