/* tests/unit/transport/store/postgres_names_test.c -- the engine for PostgreSQL finds its server by a name: the test
 * determines what a name server says, also that it says nothing. Here and in libpq, getaddrinfo is the test's.
 *
 * A relay of the test's, on addresses of this machine, leads to a server on a Unix socket. */
#include "../../../suite.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "engine.h"
#include "postgres.h"
#include "postgres_server.h"

#include <weft/log.h>

/* ---- The name server -------------------------------------------------------------------------------------------- */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool held; /* it answers nothing about names that begin with "silent" */
    int begun, ended;
    bool by_opener; /* the thread that opens the store has asked for a name */
    pthread_t opener;
} names = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* 127.0.0.1 has the relay, and nobody listens at 127.0.0.2. */
static const struct {
    const char *name, *address[2];
} known[] = {
    {"server.test", {"127.0.0.1"}}, {"several.test", {"127.0.0.2", "127.0.0.1"}}, {"silent.test", {"127.0.0.1"}}};

static struct addrinfo *entry(const char *address, struct addrinfo *next)
{
    struct {
        struct addrinfo info;
        struct sockaddr_in at;
    } *e = calloc(1, sizeof *e);
    if (e == NULL) abort();
    e->at.sin_family = AF_INET;
    inet_pton(AF_INET, address, &e->at.sin_addr);
    e->info = (struct addrinfo){.ai_family = AF_INET,
                                .ai_socktype = SOCK_STREAM,
                                .ai_addr = (struct sockaddr *)&e->at,
                                .ai_addrlen = sizeof e->at,
                                .ai_next = next};
    return &e->info;
}

static void count_asked(const char *name)
{
    pthread_mutex_lock(&names.lock);
    names.begun++;
    names.by_opener |= pthread_equal(pthread_self(), names.opener) != 0;
    while (names.held && strncmp(name, "silent", strlen("silent")) == 0)
        pthread_cond_wait(&names.changed, &names.lock);
    names.ended++;
    pthread_cond_broadcast(&names.changed);
    pthread_mutex_unlock(&names.lock);
}

/* libpq gives a port with an address, and has to get it in the result. */
__attribute__((visibility("default"))) int getaddrinfo(const char *name, const char *service,
                                                       const struct addrinfo *hints, struct addrinfo **out)
{
    struct in_addr address;
    *out = NULL;
    if (name != NULL && inet_pton(AF_INET, name, &address) == 1) {
        *out = entry(name, NULL);
        if (service != NULL)
            ((struct sockaddr_in *)(void *)(*out)->ai_addr)->sin_port = htons((uint16_t)atoi(service));
        return 0;
    }
    if (name == NULL || (hints->ai_flags & AI_NUMERICHOST) != 0) return EAI_NONAME;
    count_asked(name);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        for (int k = 1; k >= 0 && strcmp(name, known[i].name) == 0; k--)
            if (known[i].address[k] != NULL) *out = entry(known[i].address[k], *out);
    return *out == NULL ? EAI_NONAME : 0;
}

__attribute__((visibility("default"))) void freeaddrinfo(struct addrinfo *all)
{
    for (struct addrinfo *next; all != NULL; all = next) {
        next = all->ai_next;
        free(all);
    }
}

static void hold(bool held)
{
    pthread_mutex_lock(&names.lock);
    names.held = held;
    pthread_cond_broadcast(&names.changed);
    pthread_mutex_unlock(&names.lock);
}

/* ---- The relay, in children ------------------------------------------------------------------------------------- */

static struct {
    pid_t pid;
    int port;
} relay;

static void pass(int from, int to)
{
    char bytes[4096];
    ssize_t got = read(from, bytes, sizeof bytes);
    if (got <= 0 || send(to, bytes, (size_t)got, MSG_NOSIGNAL) != got) _exit(0);
}

static __attribute__((noreturn)) void relay_one(int client)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    snprintf(at.sun_path, sizeof at.sun_path, "%s/.s.PGSQL.5432", server.folder);
    int pg = socket(AF_UNIX, SOCK_STREAM, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (connect(pg, (struct sockaddr *)&at, sizeof at) < 0) _exit(1);
    for (;;) {
        struct pollfd on[] = {{.fd = client, .events = POLLIN}, {.fd = pg, .events = POLLIN}};
        if (poll(on, 2, -1) < 0) _exit(1);
        if (on[0].revents != 0) pass(client, pg);
        if (on[1].revents != 0) pass(pg, client);
    }
}

static __attribute__((noreturn)) void serve(int listener)
{
    signal(SIGCHLD, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
        int client = accept(listener, NULL, NULL);
        if (client < 0) _exit(1);
        if (fork() == 0) relay_one(client);
        close(client);
    }
}

static void setup(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(listener, (struct sockaddr *)&at, sizeof at), 0);
    ck_assert_int_eq(listen(listener, 16), 0);
    ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&at, &size), 0);
    relay.port = ntohs(at.sin_port);
    relay.pid = fork();
    if (relay.pid == 0) serve(listener);
    close(listener);
    names.begun = names.ended = 0;
    names.held = names.by_opener = false;
    names.opener = pthread_self();
}

/* No thread that looks up a name is left. */
static void teardown(void)
{
    hold(false);
    pthread_mutex_lock(&names.lock);
    while (names.ended < names.begun) pthread_cond_wait(&names.changed, &names.lock);
    pthread_mutex_unlock(&names.lock);
    kill(relay.pid, SIGKILL);
    ck_assert_int_eq(waitpid(relay.pid, NULL, 0), relay.pid);
    unsetenv("PGHOST");
    unsetenv("PGPORT");
}

/* ---- Opening ---------------------------------------------------------------------------------------------------- */

static struct wf_store_why why;

static int open_at(const char *words)
{
    char where[256];
    struct wf_store *s = NULL;
    why.text[0] = '\0';
    snprintf(where, sizeof where, "%s user=weft dbname=postgres", words);
    int rc = wf_store_postgres.open(&s, where, &(struct wf_store_opening){0}, &why);
    wf_store_postgres.close(s);
    return rc;
}

/* Each %d is the port of the relay. */
static void expect_opened(const char *words)
{
    char where[160];
    snprintf(where, sizeof where, words, relay.port, relay.port);
    int rc = open_at(where);
    ck_assert_msg(rc == WEFT_OK, "%s: %s: %s", where, weft_error_name(rc), why.text);
    ck_assert(!names.by_opener);
}

START_TEST(a_name_server_that_answers_nothing_holds_nobody_up_without_end)
{
    hold(true);
    ck_assert_int_eq(open_at("host=silent.test connect_timeout=1"), WEFT_ESYSTEM);
    ck_assert_msg(strstr(why.text, "not said in 1 s which address silent.test has") != NULL, "%s", why.text);
    ck_assert_int_eq(open_at("host=silent.test connect_timeout=0 answer_timeout=1"), WEFT_ESYSTEM);
    ck_assert_msg(strstr(why.text, "not said in 1 s") != NULL, "%s", why.text);
    ck_assert(!names.by_opener);
}
END_TEST

START_TEST(one_thread_waits_for_a_name_however_often_it_is_asked_for)
{
    hold(true);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(open_at("host=silent.test,silent.test connect_timeout=1"), WEFT_ESYSTEM);
    ck_assert_int_eq(names.begun, 1);
    hold(false);
    expect_opened("host=silent.test port=%d connect_timeout=30");
}
END_TEST

START_TEST(another_host_of_the_url_is_used_if_a_name_has_no_answer)
{
    hold(true);
    expect_opened("host=silent.test,server.test port=1,%d connect_timeout=1");
    expect_opened("host=server.test,silent.test port=%d,%d connect_timeout=1");
    expect_opened("host=nobody.test,server.test port=%d");
}
END_TEST

START_TEST(each_address_of_a_name_is_tried)
{
    expect_opened("host=several.test port=%d");
    expect_opened("host=several.test,server.test port=%d,%d");
}
END_TEST

START_TEST(a_name_without_an_address_is_named)
{
    ck_assert_int_eq(open_at("host=nobody.test"), WEFT_ESYSTEM);
    ck_assert_msg(strstr(why.text, "the host nobody.test has no address") != NULL, "%s", why.text);
}
END_TEST

START_TEST(a_name_of_the_environment_is_looked_up_as_well)
{
    char port[8];
    snprintf(port, sizeof port, "%d", relay.port);
    setenv("PGHOST", "several.test", 1);
    setenv("PGPORT", port, 1);
    expect_opened("");
    ck_assert_int_eq(names.begun, 1);
}
END_TEST

START_TEST(an_address_and_a_socket_need_no_name_server)
{
    char where[80];
    expect_opened("host=127.0.0.1 port=%d");
    expect_opened("host=nobody.test hostaddr=127.0.0.1 port=%d");
    snprintf(where, sizeof where, "host=%s", server.folder);
    ck_assert_int_eq(open_at(where), WEFT_OK);
    ck_assert_int_eq(names.begun, 0);
    snprintf(where, sizeof where, "host=nobody.test,%s port=1,5432", server.folder);
    ck_assert_int_eq(open_at(where), WEFT_OK);
}
END_TEST

/* libpq would look up each of them for as long as the resolver takes. */
START_TEST(a_list_with_too_many_hosts_is_refused)
{
    char where[256] = "host=a.test";
    for (int i = 0; i < 16; i++) strcat(where, ",a.test");
    ck_assert_int_eq(open_at(where), WEFT_EINVAL);
    ck_assert_msg(strstr(why.text, "names 17 hosts, and 16 are the most") != NULL, "%s", why.text);
    ck_assert_int_eq(names.begun, 0);
    setenv("PGHOST", where + strlen("host="), 1);
    ck_assert_int_eq(open_at(""), WEFT_EINVAL);
    ck_assert_int_eq(names.begun, 0);
    *strrchr(where, ',') = '\0';
    ck_assert_int_eq(open_at(where), WEFT_ESYSTEM); /* 16, of which none has an address */
    /* They are one name: it is looked up once, unless that has ended before the last host is read. */
    ck_assert_int_ge(names.begun, 1);
}
END_TEST

START_TEST(names_are_looked_up_32_at_a_time)
{
    hold(true);
    for (int begun = 0; begun < 32; begun += 16) { /* those of a URL are looked up together, within one second */
        char where[224] = "host=";
        for (int i = 0; i < 16; i++) {
            size_t n = strlen(where);
            snprintf(where + n, sizeof where - n, "%ssilent%d", i > 0 ? "," : "", begun + i);
        }
        strcat(where, " connect_timeout=1");
        ck_assert_int_eq(open_at(where), WEFT_ESYSTEM);
    }
    ck_assert_int_eq(open_at("host=silent.test connect_timeout=1"), WEFT_EFULL);
    ck_assert_msg(strstr(why.text, "32 names of hosts are being looked up already") != NULL, "%s", why.text);
    ck_assert_int_eq(names.begun, 32);
}
END_TEST

int main(void)
{
    int rc = use_a_server("fsync=off");
    if (rc != 0) return rc;
    weft_log_set(WEFT_SILENT, false); /* it says which names have no answer */
    Suite *suite = suite_create("the name of a server of PostgreSQL");
    TCase *c = tcase_create("names");
    suite_add_tcase(suite, c);
    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, a_name_server_that_answers_nothing_holds_nobody_up_without_end);
    tcase_add_test(c, one_thread_waits_for_a_name_however_often_it_is_asked_for);
    tcase_add_test(c, another_host_of_the_url_is_used_if_a_name_has_no_answer);
    tcase_add_test(c, each_address_of_a_name_is_tried);
    tcase_add_test(c, a_name_without_an_address_is_named);
    tcase_add_test(c, a_name_of_the_environment_is_looked_up_as_well);
    tcase_add_test(c, an_address_and_a_socket_need_no_name_server);
    tcase_add_test(c, a_list_with_too_many_hosts_is_refused);
    tcase_add_test(c, names_are_looked_up_32_at_a_time);
    rc = run_suite(suite);
    server_end();
    return rc;
}
