/* tests/unit/transport/store/postgres_lies_test.c -- the engine for PostgreSQL, between which and its server stands a relay
 * that lies in the protocol: it cuts answers, changes their bytes and lengths, repeats and drops messages, and adds notices.
 *
 * The relay is a process of its own for each connection. It changes one message of the server, that with a number drawn from
 * the seed, behind the beginning of the session. The engine gives an error or what the server has; it neither ends the
 * program nor waits without end. Of answers without an end it takes as much as an answer may have, and of settings that nobody
 * asked for, which libpq keeps, as much as a connection may bring. */
#include "../../../suite.h"

#include <poll.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "engine.h"
#include "postgres.h"
#include "postgres_relay.h"
#include "postgres_server.h"
#include "postgres_store.h"

#include <weft/log.h>

enum { SEEDS = 48, MESSAGE_MAX = 64 * 1024, NOTICE_BYTES = 8 << 20, SETTING_MAX = 16 * 1024 };
enum lie { CUT, FLIP, LENGTH, TWICE, DROPPED, NOTICE, ERROR_OF_SERVER, LIES };
enum endless { NOTHING, ROWS, ROW, NOTICES, NOTIFICATIONS, ENDLESS, SETTINGS };

static uint64_t state;

/* From which row on, of each session, the relay sends something without an end. SETTINGS: in front of each row it reports
 * settings, each with another name. */
static struct {
    enum endless what;
    int row, settings; /* settings: how many in front of a row */
    uint32_t setting_size;
    _Atomic size_t
        *taken; /* bytes that the engine has taken of it, the most of all sessions; shared with the relay */
} endless;

static uint32_t draw(uint32_t below)
{
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(state >> 33) % below;
}

/* ---- The relay, in children ------------------------------------------------------------------------------------- */

static bool take(int from, void *to, size_t size)
{
    for (char *at = to; size > 0;) {
        ssize_t got = read(from, at, size);
        if (got <= 0) return false;
        at += got;
        size -= (size_t)got;
    }
    return true;
}

static void give(int to, const void *data, size_t size)
{
    for (const char *at = data; size > 0;) {
        ssize_t put = send(to, at, size, MSG_NOSIGNAL);
        if (put <= 0) _exit(0);
        at += put;
        size -= (size_t)put;
    }
}

static void put_length(unsigned char *at, uint32_t length)
{
    for (int i = 0; i < 4; i++) at[i] = (unsigned char)(length >> (24 - 8 * i));
}

static void give_notice(int to)
{
    static const char head[] = "SWARNING\0VWARNING\0C01000\0M";
    unsigned char *m = calloc(1, NOTICE_BYTES);
    if (m == NULL) _exit(1);
    memset(m, 'x', NOTICE_BYTES);
    m[0] = 'N';
    put_length(m + 1, NOTICE_BYTES - 1);
    memcpy(m + 5, head, sizeof head - 1);
    m[NOTICE_BYTES - 2] = m[NOTICE_BYTES - 1] = '\0';
    give(to, m, NOTICE_BYTES);
    free(m);
}

static void give_error(int to)
{
    static const char fields[] = "SERROR\0VERROR\0CXX\0M\0"; /* a state that is too short, and no text */
    unsigned char m[5 + sizeof fields] = {'E'};
    put_length(m + 1, 4 + sizeof fields);
    memcpy(m + 5, fields, sizeof fields);
    give(to, m, sizeof m);
}

static void lie_about(int to, enum lie lie, unsigned char *message, uint32_t size)
{
    switch (lie) {
    case CUT: give(to, message, 1 + draw(size)); _exit(0);
    case FLIP: message[size > 5 ? 5 + draw(size - 5) : 0] ^= (unsigned char)(1 + draw(255)); break;
    case LENGTH: put_length(message + 1, draw(2) == 0 ? draw(64) : UINT32_MAX >> draw(32)); break;
    case TWICE: give(to, message, size); break;
    case DROPPED:
        if (message[0] != 'C') return;
        break; /* at the end of a pipeline libpq forgets, and never frees, a result whose end ('C') has not come */
    case NOTICE: give_notice(to); break;
    case ERROR_OF_SERVER: give_error(to); break;
    default: break;
    }
    give(to, message, size);
}

static void give_counted(int to, const void *data, size_t size, size_t *sum)
{
    for (const char *at = data; size > 0;) {
        ssize_t put = send(to, at, size, MSG_NOSIGNAL);
        if (put <= 0) _exit(0);
        at += put;
        size -= (size_t)put;
        *sum += (size_t)put;
        if (*sum > atomic_load(endless.taken)) atomic_store(endless.taken, *sum);
    }
}

static __attribute__((noreturn)) void give_without_end(int to, const unsigned char *row, uint32_t size)
{
    static const unsigned char notice[] = "N\0\0\0\x15SWARNING\0C01000\0", note[] = "A\0\0\0\x0d\0\0\0\1ab\0c";
    static unsigned char many[MESSAGE_MAX];
    const unsigned char *one = endless.what == ROWS ? row : endless.what == NOTICES ? notice : note;
    size_t of = endless.what == ROWS      ? size
                : endless.what == NOTICES ? sizeof notice
                                          : sizeof note,
           sum = 0, fill = 0;
    if (endless.what == ROW) {
        memcpy(many, row, size);
        put_length(many + 1, 1 << 30);
        fill = size;
        give_counted(to, many, fill, &sum);
        fill = sizeof many;
    } else {
        for (; fill + of <= sizeof many; fill += of) memcpy(many + fill, one, of);
    }
    for (;;) give_counted(to, many, fill, &sum);
}

/* Their sum is that of the session. */
static void give_settings(int to)
{
    static unsigned char m[SETTING_MAX];
    static size_t sum;
    static unsigned number;
    const uint32_t size = endless.setting_size;
    memset(m, 'x', size);
    for (int i = 0; i < endless.settings; i++) {
        m[0] = 'S';
        put_length(m + 1, size - 1);
        snprintf((char *)m + 5, 16, "setting%u", number++);
        m[size - 1] = '\0';
        give_counted(to, m, size, &sum);
    }
}

/* One message of the server. The `left`th one behind the beginning of the session is the lie. */
static void pass_message(int from, int to, bool *began, int *left, enum lie lie)
{
    static unsigned char m[MESSAGE_MAX];
    if (!take(from, m, 5)) _exit(0);
    uint32_t size = ((uint32_t)m[1] << 24 | (uint32_t)m[2] << 16 | (uint32_t)m[3] << 8 | m[4]) + 1;
    if (size > MESSAGE_MAX || !take(from, m + 5, size - 5)) _exit(0);
    if (endless.what == SETTINGS) {
        if (m[0] == 'D') give_settings(to);
        give(to, m, size);
        return;
    }
    if (endless.what != NOTHING) {
        if (m[0] == 'D' && --*left == 0) give_without_end(to, m, size);
        give(to, m, size);
        return;
    }
    if (*began && --*left == 0) lie_about(to, lie, m, size);
    else give(to, m, size);
    *began |= m[0] == 'Z';
}

static void relay(int client, int pg, int left, enum lie lie)
{
    bool began = false;
    for (;;) {
        struct pollfd on[] = {{.fd = client, .events = POLLIN}, {.fd = pg, .events = POLLIN}};
        if (poll(on, 2, -1) < 0) _exit(1);
        if (on[1].revents != 0) pass_message(pg, client, &began, &left, lie);
        char bytes[4096];
        ssize_t got = on[0].revents == 0 ? 0 : read(client, bytes, sizeof bytes);
        if (on[0].revents != 0 && got <= 0) _exit(0);
        if (got > 0) give(pg, bytes, (size_t)got);
    }
}

static int unix_socket(const char *of, struct sockaddr_un *out)
{
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(out->sun_path, sizeof out->sun_path, "%s/.s.PGSQL.5432", of);
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static __attribute__((noreturn)) void serve(int listener)
{
    signal(SIGCHLD, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
        int client = accept(listener, NULL, NULL), left = 1 + (int)draw(90);
        enum lie lie = (enum lie)draw(LIES);
        if (client < 0) _exit(1);
        if (endless.what != NOTHING) left = endless.row;
        state += 7; /* what the child draws differs from what this process draws */
        if (fork() == 0) {
            struct sockaddr_un at;
            int pg = unix_socket(server.folder, &at);
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (connect(pg, (struct sockaddr *)&at, sizeof at) < 0) _exit(1);
            relay(client, pg, left, lie);
        }
        close(client);
    }
}

/* ---- The engine ------------------------------------------------------------------------------------------------- */

static bool see_record(void *arg, const struct wf_store_record *r)
{
    size_t *bytes = arg;
    for (size_t i = 0; i < r->size; i++) *bytes += ((const char *)r->data)[i] != 0;
    return true;
}

static bool see_log(void *arg, const struct wf_store_log *log)
{
    *(size_t *)arg += strlen(log->topic);
    return true;
}

static void see_fault(void *arg, const char *topic, uint64_t offset, const char *text)
{
    (void)topic, (void)offset;
    *(size_t *)arg += strlen(text);
}

/* What it says has to be taken all the same. */
static bool is_liar_fine;

static void use(struct wf_store *s)
{
    const struct wf_store_engine *e = &wf_store_postgres;
    struct wf_store_log log;
    size_t seen = 0;
    for (int i = 0; i < 4; i++) {
        struct wf_store_append a[] = {{.topic = "a", .time = 1, .data = "one", .size = 3},
                                      {.topic = "b", .time = 1, .data = "two", .size = 3}};
        int rc = e->append(s, a, 2);
        if (is_liar_fine) ck_assert_int_eq(rc, WEFT_OK);
        (void)e->read(s, "a", 1, 100, 1 << 20, see_record, &seen, &log);
        struct wf_store_change c[] = {
            {.kind = WF_JOB_PUT, .queue = "q", .now = 5, .data = "job", .size = 3, .jobs_max = 100},
            {.kind = WF_JOB_TAKE, .queue = "q", .now = 6, .delay = 1, .attempts = 3}};
        if (e->change(s, c, 2) == WEFT_OK && c[1].error == WEFT_OK) free(c[1].body);
    }
    (void)e->list(s, NULL, see_log, &seen);
    (void)e->check(s, see_fault, &seen);
}

static void use_a_liar(void)
{
    char folder[] = "/tmp/weft-lies-XXXXXX", where[160];
    struct sockaddr_un at;
    ck_assert_ptr_nonnull(mkdtemp(folder));
    int listener = unix_socket(folder, &at);
    ck_assert_int_eq(bind(listener, (struct sockaddr *)&at, sizeof at), 0);
    ck_assert_int_eq(listen(listener, 16), 0);
    pid_t pid = fork();
    if (pid == 0) serve(listener);
    close(listener);
    snprintf(where, sizeof where, "host=%s user=weft dbname=postgres answer_timeout=1 connect_timeout=2", folder);
    struct wf_store *s = NULL;
    struct wf_store_why why = {""};
    for (int i = 0; i < 4 && s == NULL; i++)
        (void)wf_store_postgres.open(&s, where, &(struct wf_store_opening){0}, &why);
    if (is_liar_fine) ck_assert_ptr_nonnull(s);
    if (s != NULL) use(s);
    wf_store_postgres.close(s);
    kill(pid, SIGKILL);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    ck_assert_int_eq(unlink(at.sun_path), 0);
    ck_assert_int_eq(rmdir(folder), 0);
}

START_TEST(a_server_that_lies_in_the_protocol_ends_nothing)
{
    state = (uint64_t)_i * 977 + 3;
    endless.what = NOTHING;
    use_a_liar();
}
END_TEST

enum { BUFFERS = 4 << 20 };

/* Returns how many bytes the engine has taken. What is in the sockets' buffers was sent as well. */
static size_t use_an_endless_liar(enum endless what)
{
    endless.taken = mmap(NULL, sizeof *endless.taken, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(endless.taken, MAP_FAILED);
    endless.what = what;
    use_a_liar();
    size_t taken = atomic_load(endless.taken);
    ck_assert_int_eq(munmap(endless.taken, sizeof *endless.taken), 0);
    return taken;
}

START_TEST(a_server_that_answers_without_end_is_given_up)
{
    endless.row = 1 + 3 * (_i / (ENDLESS - 1));
    size_t taken = use_an_endless_liar((enum endless)(1 + _i % (ENDLESS - 1)));
    ck_assert_uint_gt(taken, PQ_ANSWERS_MAX / 2);
    ck_assert_uint_lt(taken, PQ_ANSWERS_MAX + BUFFERS);
}
END_TEST

/* Each answer has much fewer settings than an answer may have bytes. */
START_TEST(a_server_that_reports_more_and_more_settings_is_given_up)
{
    endless.settings = 32;
    endless.setting_size = SETTING_MAX;
    size_t taken = use_an_endless_liar(SETTINGS);
    ck_assert_uint_gt(taken, PQ_SETTINGS_MAX);
    ck_assert_uint_lt(taken, PQ_SETTINGS_MAX + BUFFERS);
}
END_TEST

/* A server reports settings when they change, and few of them. */
START_TEST(a_server_may_report_settings)
{
    endless.settings = 1;
    endless.setting_size = 256;
    is_liar_fine = true;
    size_t taken = use_an_endless_liar(SETTINGS);
    ck_assert_uint_gt(taken, 0);
    ck_assert_uint_lt(taken, PQ_SETTINGS_MAX);
}
END_TEST

int main(void)
{
    int rc = use_a_server("fsync=off");
    if (rc != 0) return rc;
    weft_log_set(WEFT_SILENT, false); /* it says what it has got */
    Suite *suite = suite_create("a server of PostgreSQL that lies");
    TCase *c = tcase_create("protocol");
    suite_add_tcase(suite, c);
    tcase_set_timeout(c, 60);
    /* An answer without an end takes seconds to compute, and one place counts the bytes of all: two statements show it, and
     * each build has one of them. */
    const int statement = under_tools() ? 1 : 0, kinds = ENDLESS - 1;
    tcase_add_loop_test(c, a_server_that_lies_in_the_protocol_ends_nothing, 0, under_tools() ? SEEDS / 3 : SEEDS);
    tcase_add_loop_test(c, a_server_that_answers_without_end_is_given_up, statement * kinds, (statement + 1) * kinds);
    tcase_add_test(c, a_server_that_reports_more_and_more_settings_is_given_up);
    tcase_add_test(c, a_server_may_report_settings);
    rc = run_suite(suite);
    server_end();
    return rc;
}
