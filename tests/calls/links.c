/* tests/calls/links.c -- two nodes that link, talk and stop: with sockets of the workers, with NNG, with the TLS of
 * NNG. See scenario.h. */
#include "scenario.h"
#include "calls.h"

#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <weft.h>

enum { ASK = 1 };
#define SHORTER weft_after(WEFT_SEC(calls_out_of_memory() ? 1 : 10))

static sem_t has_name; /* the one who answers */

/* A link may be up sooner than an actor that was spawned before it has run. */
static void await_name(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += calls_failed() > 0 ? 1 : 10; /* perhaps nobody could be spawned */
    (void)sem_timedwait(&has_name, &until);
}

/* Answers with what it got. */
static void far_echo(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_msg *m;
    (void)weft_register("echo"); /* without the memory for it nobody finds it: the asker is told */
    (void)sem_post(&has_name);
    while (weft_recv(&m, WEFT_FOREVER) == 0) {
        if (weft_wants_reply(m)) (void)weft_reply(m, weft_tag(m), weft_data(m), weft_size(m));
        weft_msg_free(m);
    }
}

/* A number at a time, so that an answer that is missing is a message that was lost. */
static void far_asker(const void *arg, size_t size)
{
    (void)arg, (void)size;
    enum { LARGE = 200000 };
    weft_msg *m;
    for (int64_t i = 0; i < 10; i++) {
        int64_t got = -1;
        if (!ok(weft_call_name("echo@b", ASK, &i, sizeof i, &m, SHORTER))) continue;
        must(weft_size(m) == sizeof got);
        memcpy(&got, weft_data(m), sizeof got);
        must(got == i);
        weft_msg_free(m);
    }
    char *large = calloc(1, LARGE);
    if (large != NULL && ok(weft_call_name("echo@b", ASK, large, LARGE, &m, SHORTER))) {
        must(weft_size(m) == LARGE && memcmp(weft_data(m), large, LARGE) == 0);
        weft_msg_free(m);
    }
    free(large);
}

/* Until b is up; its news may find no memory here, so only for a while then. */
static void far_begin(const void *arg, size_t size)
{
    weft_msg *m;
    weft_monitor_ref ref;
    bool up = false;
    if (!ok(weft_watch_nodes())) return;
    for (int tries = 0; !up && tries < 10; tries++) {
        if (weft_recv(&m, weft_after(calls_out_of_memory() ? WEFT_MS(300) : WEFT_SEC(2))) < 0) continue;
        up = weft_tag(m) == WEFT_TAG_NODE_UP;
        weft_msg_free(m);
    }
    must(up || calls_out_of_memory());
    if (ok(weft_spawn(NULL, far_asker, arg, size, &(weft_spawn_options){.monitor = &ref})))
        if (ok(weft_recv_tag(&m, WEFT_TAG_DOWN, PATIENCE))) weft_msg_free(m);
}

static void link_over(const char *carrier, const char *listen, const char *tls)
{
    weft_node *a = NULL, *b = NULL;
    const char *join;
    char control[220], cluster[32];
    weft_node_options o = {.workers = 1, .carrier = carrier, .heartbeat = WEFT_MS(100), .resume_window = WEFT_SEC(1)};
    /* Ports that are free again are soon another process's, which tests the same. */
    snprintf(cluster, sizeof cluster, "calls-%d", getpid());
    o.cluster = cluster;
    o.tls = tls;
    snprintf(control, sizeof control, "%s/control", path_of("run"));
    if (strcmp(carrier, "nng") == 0) o.control = control;
    o.name = "b";
    o.listen = &listen;
    o.listen_count = 1;
    if (!ok(weft_node_start(&b, &o))) {
        (void)rmdir(path_of("run"));
        return;
    }
    join = weft_node_url(b, 0);
    o.name = "a";
    o.control = NULL;
    o.listen_count = 0;
    o.join = &join;
    o.join_count = 1;
    must(sem_init(&has_name, 0, 0) == 0);
    bool echoes = ok(weft_node_spawn(b, NULL, far_echo, NULL, 0, NULL));
    if (echoes) await_name();
    if (echoes && ok(weft_node_start(&a, &o))) {
        if (ok(weft_node_spawn(a, NULL, far_begin, NULL, 0, NULL))) must(weft_node_wait(a, PATIENCE) == 0);
        stop(a);
    }
    stop(b);
    (void)rmdir(path_of("run"));
}

void link_nodes(void)
{
    link_over("tcp", "tcp://127.0.0.1:0", NULL);
}

void nng_tcp(void)
{
    link_over("nng", "tcp://127.0.0.1:0", NULL);
}

static char certificates[200];

void nng_tls(void)
{
    link_over("nng", "tls+tcp://127.0.0.1:0", certificates);
}

bool certificates_make(void)
{
    char command[1000];
    const char *weft = getenv("WEFT");
    if (weft == NULL) return false;
    snprintf(certificates, sizeof certificates, "%s", path_of("certificates"));
    snprintf(command, sizeof command,
             "export WEFT_CERTS='%s'; for c in init 'issue a --role node' 'issue b --role node'; do"
             " '%s' certs $c >/dev/null || exit 1; done",
             certificates, weft);
    return system(command) == 0;
}

void certificates_remove(void)
{
    char command[300];
    snprintf(command, sizeof command, "rm -rf '%s'", certificates);
    if (certificates[0] != '\0' && system(command) != 0) abort();
}
