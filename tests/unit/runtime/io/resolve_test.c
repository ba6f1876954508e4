/* Names: the test determines the result of the look-up (the linker puts its function in between), so no name server
 * is asked. Connections are real. */
#include "../../actors/node_harness.h"
#include "offload.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <unistd.h>

#include <weft/offload.h>
#include <weft/resolve.h>
#include <weft/stream.h>

/* ---- A name server --------------------------------------------------------------------------------------------- */
int __wrap_getaddrinfo(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **out);
void __wrap_freeaddrinfo(struct addrinfo *all);

static struct {
    pf_mutex *lock;
    pf_cond *changed;
    bool held; /* look-ups wait */
    int begun, ended;
} server;
static uint16_t ports[WEFT_RESOLVE_MAX + 4]; /* of 127.0.0.1, that "several" has */
static int port_count;

static struct addrinfo *entry(uint16_t port, struct addrinfo *next)
{
    struct {
        struct addrinfo info;
        struct sockaddr_in address;
    } *e = calloc(1, sizeof *e);
    want(e != NULL);
    e->address = (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    e->info = (struct addrinfo){
        .ai_family = AF_INET, .ai_addr = (struct sockaddr *)&e->address, .ai_addrlen = sizeof e->address};
    e->info.ai_next = next;
    return &e->info;
}

int __wrap_getaddrinfo(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **out)
{
    int rc = 0;
    (void)hints;
    pf_mutex_lock(server.lock);
    server.begun++;
    pf_cond_broadcast(server.changed);
    while (server.held) (void)pf_cond_wait(server.changed, server.lock, WEFT_FOREVER);
    *out = NULL;
    if (strcmp(host, "several") == 0)
        for (int i = port_count; i > 0; i--) *out = entry(ports[i - 1], *out);
    else if (strcmp(host, "one") == 0) *out = entry((uint16_t)atoi(service), NULL);
    else if (strcmp(host, "away") == 0) rc = EAI_AGAIN;
    else if (strcmp(host, "port") == 0) rc = EAI_SERVICE;
    else if (strcmp(host, "memory") == 0) rc = EAI_MEMORY;
    else if (strcmp(host, "descriptors") == 0) rc = EAI_SYSTEM;
    else rc = EAI_NONAME;
    server.ended++;
    pf_cond_broadcast(server.changed);
    pf_mutex_unlock(server.lock);
    if (rc == EAI_SYSTEM) errno = EMFILE;
    return rc;
}

void __wrap_freeaddrinfo(struct addrinfo *all)
{
    for (struct addrinfo *next; all != NULL; all = next) {
        next = all->ai_next;
        free(all);
    }
}

static void hold(bool held)
{
    pf_mutex_lock(server.lock);
    server.held = held;
    pf_cond_broadcast(server.changed);
    pf_mutex_unlock(server.lock);
}

static int begun(void)
{
    pf_mutex_lock(server.lock);
    int n = server.begun;
    pf_mutex_unlock(server.lock);
    return n;
}

static bool all_ended(void)
{
    pf_mutex_lock(server.lock);
    bool ended = server.begun == server.ended;
    pf_mutex_unlock(server.lock);
    return ended;
}

/* In an actor: waits until this many look-ups are under way. */
static void await_begun(int n)
{
    while (begun() < n) weft_yield();
}

static void run(int workers, weft_actor *body)
{
    memset(&server, 0, sizeof server);
    want_int(pf_mutex_create(&server.lock), 0);
    want_int(pf_cond_create(&server.changed), 0);
    run_on(workers, body);
    pf_cond_destroy(server.changed);
    pf_mutex_destroy(server.lock);
}

/* ---- Looking up ------------------------------------------------------------------------------------------------ */
static void looks_up(const void *arg, size_t size)
{
    weft_address all[WEFT_RESOLVE_MAX + 4];
    char text[WEFT_ADDRESS_TEXT];
    (void)arg, (void)size;
    want_int(weft_resolve("one", "4711", all, 1, WEFT_FOREVER), 1);
    want_int(weft_address_text(&all[0], text, sizeof text), 0);
    want(strcmp(text, "127.0.0.1:4711") == 0);
    port_count = WEFT_RESOLVE_MAX + 4;
    for (int i = 0; i < port_count; i++) ports[i] = (uint16_t)(100 + i);
    want_int(weft_resolve("several", "80", all, 3, WEFT_FOREVER), 3);
    want_int(weft_resolve("several", "80", all, WF_COUNT(all), WEFT_FOREVER), WEFT_RESOLVE_MAX);
    want_int(weft_address_text(&all[WEFT_RESOLVE_MAX - 1], text, sizeof text), 0);
    want(strcmp(text, "127.0.0.1:115") == 0); /* in the order they came in */
}

START_TEST(a_name_has_addresses_in_their_order)
{
    run(1, looks_up);
}
END_TEST

static void fails(const void *arg, size_t size)
{
    weft_address a;
    weft_stream s;
    char long_name[400];
    (void)arg, (void)size;
    memset(long_name, 'x', sizeof long_name);
    long_name[sizeof long_name - 1] = '\0';
    want_int(weft_resolve("nobody", "80", &a, 1, WEFT_FOREVER), WEFT_ENOHOST);
    want_int(weft_resolve("away", "80", &a, 1, WEFT_FOREVER), WEFT_ENOHOST);
    want_int(weft_resolve("port", "80", &a, 1, WEFT_FOREVER), WEFT_EADDRESS);
    want_int(weft_resolve("memory", "80", &a, 1, WEFT_FOREVER), WEFT_ENOMEM);
    want_int(weft_resolve("descriptors", "80", &a, 1, WEFT_FOREVER), WEFT_EFULL);
    want_int(weft_connect(&s, "nobody:80", WEFT_FOREVER), WEFT_ENOHOST);
    int before = begun();
    want_int(weft_resolve(long_name, "80", &a, 1, WEFT_FOREVER), WEFT_EADDRESS);
    want_int(weft_resolve("", "80", &a, 1, WEFT_FOREVER), WEFT_EINVAL);
    want_int(weft_resolve("one", NULL, &a, 1, WEFT_FOREVER), WEFT_EINVAL);
    want_int(weft_resolve("one", "65536", &a, 1, WEFT_FOREVER), WEFT_EADDRESS);
    want_int(weft_resolve("one", "18446744073709551696", &a, 1, WEFT_FOREVER), WEFT_EADDRESS); /* 2^64 + 80 */
    want_int(weft_resolve("one", "80", &a, 0, WEFT_FOREVER), WEFT_EINVAL);
    want_int(weft_resolve("one", "80", &a, 1, WEFT_NOW), WEFT_ETIMEDOUT);
    const char *const wrong[] = {"127.0.0.300:80", "1.2.3:80",     "one",        "one:",      ":80",       "::1:80",
                                 "[::1:80",        "tcp://one:80", "one two:80", "one:80:80", "one:65536", ""};
    for (size_t i = 0; i < WF_COUNT(wrong); i++) want_int(weft_connect(&s, wrong[i], WEFT_FOREVER), WEFT_EADDRESS);
    want_int(begun(), before); /* nobody was asked */
}

START_TEST(each_failure_of_a_look_up_has_its_error_and_malformed_names_are_not_looked_up)
{
    weft_address a;
    ck_assert_int_eq(weft_resolve("one", "80", &a, 1, WEFT_NOW), WEFT_ENOTACTOR);
    run(1, fails);
}
END_TEST

/* ---- Giving up ------------------------------------------------------------------------------------------------- */
static void connects_to_held(const void *arg, size_t size)
{
    weft_stream s;
    (void)arg, (void)size;
    want_int(weft_connect(&s, "one:80", WEFT_FOREVER), WEFT_ECANCELED);
    want_int(weft_connect(&s, "one:80", WEFT_FOREVER), WEFT_ECANCELED);
    want_int(say(((const struct kid *)arg)->parent, 1, 0), 0);
}

static void is_killed(const void *arg, size_t size)
{
    weft_address a[2];
    (void)arg, (void)size;
    (void)weft_resolve("one", "80", a, 2, WEFT_FOREVER);
    want(false);
}

static void gives_up(const void *arg, size_t size)
{
    weft_address a;
    weft_stream s;
    (void)arg, (void)size;
    hold(true);
    int64_t deadline = weft_after(WEFT_MS(2));
    want_int(weft_resolve("one", "80", &a, 1, deadline), WEFT_ETIMEDOUT);
    want_int(weft_connect(&s, "one:80", weft_after(WEFT_MS(2))), WEFT_ETIMEDOUT);
    hold(false);
    while (!all_ended()) weft_yield(); /* their threads are free again */
    hold(true);
    int before = begun();
    weft_pid stopped = kid_on(1, connects_to_held, 0), killed = kid_on(1, is_killed, 0);
    await_begun(before + 2);
    want_int(weft_stop(stopped), 0);
    want_int(weft_kill(killed), 0);
    hear(1); /* while all look-ups still are under way */
    hold(false);
    while (!all_ended()) weft_yield(); /* each runs to its end */
}

START_TEST(a_look_up_ends_at_its_deadline_when_stopped_and_when_killed)
{
    run(1, gives_up);
}
END_TEST

static void ticks(const void *arg, size_t size)
{
    (void)size;
    for (int i = 0; i < 100; i++) weft_yield();
    want_int(say(((const struct kid *)arg)->parent, 1, 0), 0);
}

static void looks_up_slowly(const void *arg, size_t size)
{
    weft_address a;
    (void)size;
    want_int(weft_resolve("one", "80", &a, 1, WEFT_FOREVER), 1);
    want_int(say(((const struct kid *)arg)->parent, 2, 0), 0);
}

static void goes_on(const void *arg, size_t size)
{
    (void)arg, (void)size;
    hold(true);
    kid_on(1, looks_up_slowly, 0);
    await_begun(1);
    kid_on(1, ticks, 0);
    hear(1); /* the same worker runs others meanwhile */
    hold(false);
    hear(2);
}

START_TEST(the_loop_goes_on_while_a_name_is_looked_up)
{
    run(1, goes_on);
}
END_TEST

static void does_nothing(void *block)
{
    *(int *)block += 1;
}

static void waits_in_line(const void *arg, size_t size)
{
    weft_address a;
    (void)arg, (void)size;
    (void)weft_resolve("one", "80", &a, 1, WEFT_FOREVER);
    want(false);
}

enum { SLOW = WF_OFFLOAD_THREADS + 1 }; /* look-ups that are asked for before the others */

static struct wf_offload_counts counts(void)
{
    return wf_offload_count(wf_here->set->offload);
}

/* No name server answers. Other jobs run, and the look-ups that have to wait can give up. */
static void leaves_a_thread(const void *arg, size_t size)
{
    weft_address a;
    int n = 0;
    (void)arg, (void)size;
    hold(true);
    for (int i = 0; i < SLOW; i++) kid_on(1, looks_up_slowly, 0);
    await_begun(WF_OFFLOAD_THREADS - 1);
    want_int(weft_offload(does_nothing, &n, sizeof n, weft_after(WEFT_SEC(10))), 0);
    want_int(n, 1);
    while (counts().queued < 2) weft_yield();
    weft_pid killed = kid_on(1, waits_in_line, 0);
    while (counts().queued < 3) weft_yield();
    want_int(weft_resolve("one", "80", &a, 1, weft_after(WEFT_MS(2))), WEFT_ETIMEDOUT);
    want_int(weft_kill(killed), 0);
    while (counts().queued > 2) weft_yield();
    want_int(weft_offload(does_nothing, &n, sizeof n, weft_after(WEFT_SEC(10))), 0);
    want_int(begun(), WF_OFFLOAD_THREADS - 1);
    hold(false);
    for (int i = 0; i < SLOW; i++) hear(2);
    want_int(begun(), SLOW); /* those that gave up were never begun */
}

START_TEST(look_ups_that_get_no_answer_leave_a_thread_to_other_jobs)
{
    run(1, leaves_a_thread);
}
END_TEST

/* ---- Connecting ------------------------------------------------------------------------------------------------ */
static uint16_t port_of(weft_listener l)
{
    char text[WEFT_ADDRESS_TEXT];
    want_int(weft_listener_address(l, text, sizeof text), 0);
    return (uint16_t)atoi(strrchr(text, ':') + 1);
}

/* A port where nobody listens: bound, so that nobody else takes it, but not listening. */
static uint16_t dead_port(int *fd)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof a;
    *fd = socket(AF_INET, SOCK_STREAM, 0);
    want(*fd >= 0 && bind(*fd, (struct sockaddr *)&a, sizeof a) == 0);
    want(getsockname(*fd, (struct sockaddr *)&a, &size) == 0);
    return ntohs(a.sin_port);
}

static void tries_each(const void *arg, size_t size)
{
    weft_listener l;
    weft_stream s, accepted;
    int dead[2];
    char text[64], byte;
    (void)arg, (void)size;
    want_int(weft_listen(&l, "127.0.0.1:0", NULL), 0);
    ports[0] = dead_port(&dead[0]);
    ports[1] = dead_port(&dead[1]);
    ports[2] = port_of(l);
    port_count = 3;
    want_int(weft_connect(&s, "several:http", weft_after(WEFT_SEC(60))), 0);
    want_int(weft_accept(l, &accepted, WEFT_FOREVER), 0);
    want_int(weft_write(s, "x", 1, WEFT_FOREVER), 1);
    want_int(weft_read(accepted, &byte, 1, WEFT_FOREVER), 1);
    weft_close(s), weft_close(accepted);
    port_count = 2;
    want_int(weft_connect(&s, "several:http", WEFT_FOREVER), WEFT_EREFUSED);
    snprintf(text, sizeof text, "one:%d", ports[2]);
    want_int(weft_connect(&s, text, WEFT_FOREVER), 0);
    weft_close(s);
    weft_listener_close(l);
    close(dead[0]), close(dead[1]);
}

START_TEST(connecting_tries_each_address_in_turn)
{
    run(1, tries_each);
}
END_TEST

/* A listener whose queue is full swallows what comes; the address after it still gets its share of the time. */
static void gets_past(const void *arg, size_t size)
{
    weft_listener full, l;
    weft_stream s, fill[16];
    char text[WEFT_ADDRESS_TEXT];
    int filled = 0, silent = 0;
    (void)arg, (void)size;
    want_int(weft_listen(&full, "127.0.0.1:0", &(weft_listen_options){.backlog = 1}), 0);
    want_int(weft_listener_address(full, text, sizeof text), 0);
    while (filled < 16 && silent < 2) { /* one may be silent because this machine is busy */
        int rc = weft_connect(&fill[filled], text, weft_after(WEFT_MS(400)));
        want(rc == 0 || rc == WEFT_ETIMEDOUT);
        silent = rc == 0 ? 0 : silent + 1;
        if (rc == 0) filled++;
    }
    want_int(silent, 2);
    want_int(weft_listen(&l, "127.0.0.1:0", NULL), 0);
    ports[0] = port_of(full);
    ports[1] = port_of(l);
    port_count = 2;
    want_int(weft_connect(&s, "several:1", weft_after(WEFT_SEC(6))), 0);
    want_int(weft_stream_peer(s, text, sizeof text), 0);
    want_int(atoi(strrchr(text, ':') + 1), ports[1]);
    weft_close(s);
    for (int i = 0; i < filled; i++) weft_close(fill[i]);
    weft_listener_close(full), weft_listener_close(l);
}

START_TEST(an_address_that_swallows_everything_leaves_time_for_the_next)
{
    run(1, gets_past);
}
END_TEST

TEST_MAIN("resolve", a_name_has_addresses_in_their_order,
          each_failure_of_a_look_up_has_its_error_and_malformed_names_are_not_looked_up,
          a_look_up_ends_at_its_deadline_when_stopped_and_when_killed, the_loop_goes_on_while_a_name_is_looked_up,
          look_ups_that_get_no_answer_leave_a_thread_to_other_jobs, connecting_tries_each_address_in_turn,
          an_address_that_swallows_everything_leaves_time_for_the_next)
