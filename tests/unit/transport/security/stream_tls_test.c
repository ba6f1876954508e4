/* TLS under streams: both ends are ours here; tests/integration/secure_test.py has openssl's. */
#include "../../runtime/streams.h"

#include "../../../sockets.h"
#include "certificates.h"
#include <weft/tls.h>

static struct signer authority, stranger;
static struct pem local, shop, wild, expired, alice, mallory;
#define FOR_EVER "20491231235959"

static void make_certificates(void)
{
    make_signer(&authority, "CN=test authority");
    make_signer(&stranger, "CN=somebody else");
    sign(&authority, "CN=localhost", FOR_EVER, &local);
    sign(&authority, "CN=one.shop.example", FOR_EVER, &shop);
    sign(&authority, "CN=*.shop.example", FOR_EVER, &wild);
    sign(&authority, "CN=localhost", "20210101000000", &expired);
    sign(&authority, "CN=alice,O=Example", FOR_EVER, &alice);
    sign(&stranger, "CN=mallory", FOR_EVER, &mallory);
}

static weft_tls *open_tls(const weft_tls_options *o)
{
    weft_tls *tls = NULL;
    char why[256];
    int rc = weft_tls_open(&tls, o, why, sizeof why);
    if (rc < 0) fprintf(stderr, "%s\n", why);
    want_int(rc, 0);
    return tls;
}

static weft_tls *server_with(const struct pem *pem)
{
    return open_tls(&(weft_tls_options){.server = true, .certificate = pem->certificate, .key = pem->key});
}

static weft_tls *plain_client(void)
{
    return open_tls(&(weft_tls_options){.authority = authority.pem.certificate});
}

/* The handshake of one side, in a task of its own. */
struct shake {
    weft_stream stream;
    weft_tls *tls;
    const char *name;
    int64_t deadline;
    int result;
    char why[256];
};

static void do_secure(void *arg)
{
    struct shake *k = arg;
    k->result = 1;
    k->result = weft_stream_secure(k->stream, k->tls, k->name, k->why, sizeof k->why, k->deadline);
}

/* Both sides, to their end; gives up the configurations. */
static void shake_hands(struct shake *client, struct shake *server)
{
    client->deadline = server->deadline = WEFT_FOREVER;
    struct test_task *a = spawn_here(do_secure, client), *b = spawn_here(do_secure, server);
    until(a->done && b->done);
    weft_tls_close(client->tls);
    weft_tls_close(server->tls);
}

static void secured_pair(enum transport kind, weft_stream *a, weft_stream *b)
{
    make_pair(kind, a, b);
    struct shake client = {.stream = *a, .tls = plain_client(), .name = "localhost"};
    struct shake server = {.stream = *b, .tls = server_with(&local)};
    shake_hands(&client, &server);
    want_int(client.result, 0);
    want_int(server.result, 0);
    want_int(strlen(client.why) + strlen(server.why), 0);
}

static void want_read(weft_stream s, const char *text)
{
    char buffer[256];
    want_int(weft_read_exact(s, buffer, strlen(text), WEFT_FOREVER), strlen(text));
    want(memcmp(buffer, text, strlen(text)) == 0);
}

static void put(weft_stream s, const char *text)
{
    want_int(weft_write(s, text, strlen(text), WEFT_FOREVER), strlen(text));
}

/* ---- The same calls -------------------------------------------------------------------------------------------- */
static void talk(void *arg)
{
    weft_stream a, b;
    char line[64];
    weft_tls_info info;
    secured_pair(*(enum transport *)arg, &a, &b);
    put(a, "one\ntwo\nthr");
    want_int(weft_read_until(b, line, sizeof line, '\n', WEFT_FOREVER), 4);
    want_int(weft_read_until(b, line, sizeof line, '\n', WEFT_FOREVER), 4);
    want_int(weft_read_until(b, line, sizeof line, '\n', weft_after(WEFT_MS(1))), WEFT_ETIMEDOUT);
    put(a, "ee\n");
    want_int(weft_read_until(b, line, sizeof line, '\n', WEFT_FOREVER), 6);
    const weft_slice slices[] = {{"a", 1}, {"", 0}, {"bc", 2}, {"def", 3}};
    want_int(weft_writev(b, slices, 4, WEFT_FOREVER), 6);
    want_read(a, "abcdef");
    want_int(weft_printf(b, WEFT_FOREVER, "%d bottles", 99), 10);
    want_read(a, "99 bottles");
    want_int(weft_stream_tls(a, &info), 0);
    want(strcmp(info.version, "TLSv1.2") == 0 && strcmp(info.peer, "CN=localhost") == 0 && info.cipher[0] != 0);
    want_int(weft_stream_tls(b, &info), 0);
    want(strcmp(info.name, "localhost") == 0 && info.peer[0] == 0 && info.protocol[0] == 0);
    want_int(weft_stream_secure(a, NULL, NULL, NULL, 0, WEFT_FOREVER), WEFT_EINVAL);
    weft_tls *tls = plain_client();
    want_int(weft_stream_secure(a, tls, "localhost", NULL, 0, WEFT_FOREVER), WEFT_EEXIST);
    want_int(weft_stream_secure(a, tls, NULL, NULL, 0, WEFT_FOREVER), WEFT_EINVAL);
    weft_tls_close(tls);
    /* Half-close: one side has said all, the other goes on. */
    want_int(weft_shutdown(a), 0);
    want_int(weft_read(b, line, sizeof line, WEFT_FOREVER), 0);
    want_int(weft_read(b, line, sizeof line, WEFT_FOREVER), 0);
    want_int(weft_write(a, "x", 1, WEFT_FOREVER), WEFT_ERESET);
    put(b, "still here");
    want_read(a, "still here");
    want_int(weft_shutdown(b), 0);
    want_int(weft_read(a, line, sizeof line, WEFT_FOREVER), 0);
    close_pair(a, b);
}

START_TEST(a_secured_stream_is_used_like_a_plain_one)
{
    enum transport kinds[] = {TCP, UNIX};
    for (int i = 0; i < 2; i++) run_alone(talk, &kinds[i]);
}
END_TEST

enum { LARGE = 1 << 20 };
struct transfer {
    weft_stream stream;
    unsigned seed;
};

static void send_large(void *arg)
{
    const struct transfer *x = arg;
    unsigned char *data = malloc(LARGE);
    want(data != NULL);
    for (size_t i = 0; i < LARGE; i++) data[i] = (unsigned char)(i * 31 + i / 251 + x->seed);
    want_int(weft_write(x->stream, data, LARGE, WEFT_FOREVER), LARGE);
    want_int(weft_shutdown(x->stream), 0);
    free(data);
}

static void receive_large(void *arg)
{
    const struct transfer *x = arg;
    unsigned char data[3000];
    size_t at = 0;
    weft_wait w = weft_on_readable(x->stream);
    for (;;) {
        if (at % 2 == 0) want_int(weft_wait_any(&w, 1, WEFT_FOREVER), 0);
        int64_t n = weft_read(x->stream, data, sizeof data, at % 2 == 0 ? WEFT_NOW : WEFT_FOREVER);
        want(n >= 0);
        if (n == 0) break;
        for (size_t i = 0; i < (size_t)n; i++)
            want_int(data[i], (unsigned char)((at + i) * 31 + (at + i) / 251 + x->seed));
        at += (size_t)n;
    }
    want_int(at, LARGE);
}

static void both_ways(void *arg)
{
    weft_stream a, b;
    secured_pair(*(enum transport *)arg, &a, &b);
    struct transfer x[] = {{a, 1}, {b, 1}, {b, 2}, {a, 2}};
    struct test_task *t[4];
    for (int i = 0; i < 4; i++) t[i] = spawn_here(i % 2 == 0 ? send_large : receive_large, &x[i]);
    for (int i = 0; i < 4; i++) until(t[i]->done);
    close_pair(a, b);
}

START_TEST(large_transfers_go_both_ways_at_once)
{
    enum transport kinds[] = {TCP, UNIX};
    for (int i = 0; i < 2; i++) run_alone(both_ways, &kinds[i]);
}
END_TEST

static void readiness(void *arg)
{
    weft_stream a, b;
    char buffer[8];
    (void)arg;
    secured_pair(UNIX, &a, &b);
    weft_wait r = weft_on_readable(b), w = weft_on_writable(b);
    want_int(weft_wait_any(&r, 1, WEFT_NOW), WEFT_ETIMEDOUT);
    want_int(weft_wait_any(&w, 1, WEFT_NOW), 0);
    put(a, "0123456789");
    want_int(weft_read(b, buffer, 3, WEFT_FOREVER), 3);
    want_int(weft_wait_any(&r, 1, WEFT_NOW), 0); /* decrypted, though the socket is empty */
    want_read(b, "3456789");
    want_int(weft_wait_any(&r, 1, WEFT_NOW), WEFT_ETIMEDOUT);
    struct call c = {.what = WAIT_READABLE, .stream = b};
    check_endings(&c);
    want_int(weft_shutdown(a), 0);
    want_int(weft_wait_any(&r, 1, WEFT_FOREVER), 0);
    want_int(weft_read(b, buffer, sizeof buffer, WEFT_NOW), 0);
    close_pair(a, b);
}

START_TEST(readable_means_decrypted_bytes)
{
    run_alone(readiness, NULL);
}
END_TEST

/* A write that ends at its deadline leaves whole records: what comes later is understood. */
static void full(void *arg)
{
    weft_stream a, b;
    static char block[65536], got[65536];
    size_t sent = 0, seen = 0;
    int64_t n;
    (void)arg;
    secured_pair(UNIX, &a, &b);
    weft_wait w = weft_on_writable(a);
    while ((n = weft_write(a, block, sizeof block, weft_after(WEFT_MS(5)))) > 0) sent += (size_t)n;
    want_int(n, WEFT_ETIMEDOUT);
    want_int(weft_wait_any(&w, 1, WEFT_NOW), WEFT_ETIMEDOUT);
    struct call c = {.what = WRITE, .stream = a, .buffer = block, .size = 5, .deadline = WEFT_FOREVER};
    struct test_task *t = spawn_here(do_call, &c);
    until(is_waiting(t));
    while (!t->done || seen < sent + 5) { /* all of that comes, if not at once */
        n = weft_read(b, got, sizeof got, WEFT_FOREVER);
        want(n > 0);
        seen += (size_t)n;
        wf_task_yield();
    }
    want_int(c.result, 5);
    want(seen <= sent + sizeof block + 5); /* of the block that found no space there may be a part */
    close_pair(a, b);
}

START_TEST(a_writer_waits_and_may_give_up)
{
    run_alone(full, NULL);
}
END_TEST

/* ---- What is not to be trusted --------------------------------------------------------------------------------- */
static void truncated(void *arg)
{
    weft_stream a, b;
    int fd;
    char buffer[8];
    (void)arg;
    secured_pair(TCP, &a, &b);
    put(a, "half");
    want_int(weft_stream_fd(a, &fd), 0);
    want_int(shutdown(fd, SHUT_WR), 0); /* somebody on the way ends it, without the word that only `a` can say */
    want_read(b, "half");
    want_int(weft_read(b, buffer, sizeof buffer, WEFT_FOREVER), WEFT_ERESET);
    want_int(weft_read(b, buffer, sizeof buffer, WEFT_FOREVER), WEFT_ERESET);
    close_pair(a, b);
    secured_pair(TCP, &a, &b);
    want_int(weft_stream_fd(a, &fd), 0);
    want_int(send(fd, "\x17\x03\x03\x00\x20 this is no record of theirs.....", 37, 0), 37);
    want_int(weft_read(b, buffer, sizeof buffer, WEFT_FOREVER), WEFT_ETLS);
    want_int(weft_write(b, "x", 1, WEFT_FOREVER), WEFT_ETLS);
    want_int(weft_read(a, buffer, sizeof buffer, WEFT_FOREVER), WEFT_ETLS); /* it is told */
    close_pair(a, b);
}

START_TEST(a_cut_and_a_forgery_are_noticed)
{
    run_alone(truncated, NULL);
}
END_TEST

/* Both fail, with these words. */
static void want_refused(weft_tls *client, const char *name, weft_tls *server, const char *client_says,
                         const char *server_says)
{
    weft_stream a, b;
    char buffer[8];
    make_pair(TCP, &a, &b);
    struct shake c = {.stream = a, .tls = client, .name = name}, s = {.stream = b, .tls = server};
    shake_hands(&c, &s);
    if (strstr(c.why, client_says) == NULL || strstr(s.why, server_says) == NULL)
        fprintf(stderr, "client: %s\nserver: %s\n", c.why, s.why);
    want(strstr(c.why, client_says) != NULL && strstr(s.why, server_says) != NULL);
    want(c.result == WEFT_ETLS || c.result == 0); /* 0: it learns of it with its first read */
    want_int(s.result, WEFT_ETLS);
    want_int(weft_read(a, buffer, sizeof buffer, WEFT_FOREVER), WEFT_ETLS);
    want_int(weft_write(b, "secret", 6, WEFT_FOREVER), WEFT_ETLS); /* and not plainly */
    want_int(weft_read(b, buffer, sizeof buffer, WEFT_FOREVER), WEFT_ETLS);
    weft_close(a), weft_close(b);
}

static void refusals(void *arg)
{
    (void)arg;
    weft_tls_options asks = {.server = true,
                             .certificate = local.certificate,
                             .key = local.key,
                             .authority = authority.pem.certificate,
                             .clients = WEFT_TLS_CLIENT_MUST};
    weft_tls_options false_client = {
        .authority = authority.pem.certificate, .certificate = mallory.certificate, .key = mallory.key};
    want_refused(plain_client(), "elsewhere.example", server_with(&local), "of another name", "refuses");
    want_refused(plain_client(), "mallory", server_with(&mallory), "signed by no authority that is trusted",
                 "refuses");
    want_refused(plain_client(), "localhost", server_with(&expired), "has expired", "refuses");
    want_refused(plain_client(), "localhost", open_tls(&asks), "", "no certificate");
    want_refused(open_tls(&false_client), "localhost", open_tls(&asks), "", "signed by no authority that is trusted");
    asks.clients = WEFT_TLS_CLIENT_MAY;
    want_refused(open_tls(&false_client), "localhost", open_tls(&asks), "", "signed by no authority that is trusted");
}

START_TEST(bad_certificates_are_refused_in_plain_words)
{
    run_alone(refusals, NULL);
}
END_TEST

static void no_tls(void *arg)
{
    weft_stream a, b;
    char buffer[64];
    (void)arg;
    make_pair(TCP, &a, &b);
    put(a, "GET / HTTP/1.0\r\n\r\n");
    struct shake s = {.stream = b, .tls = server_with(&local), .deadline = WEFT_FOREVER};
    do_secure(&s);
    want_int(s.result, WEFT_ETLS);
    want(strstr(s.why, "does not speak TLS") != NULL);
    weft_close(a), weft_close(b);
    make_pair(TCP, &a, &b);
    weft_close(a);
    s.stream = b;
    do_secure(&s);
    want_int(s.result, WEFT_ERESET);
    want_int(weft_read(b, buffer, sizeof buffer, WEFT_FOREVER), WEFT_ERESET);
    weft_close(b);
    weft_tls_close(s.tls);
}

START_TEST(a_peer_without_tls_is_told_apart_from_one_that_leaves)
{
    run_alone(no_tls, NULL);
}
END_TEST

/* ---- Names, protocols, clients --------------------------------------------------------------------------------- */
static void by_name(const char *name, const char *peer)
{
    static const char *const ours[] = {"h3", "smtp", "http/1.1", NULL}, *const theirs[] = {"http/1.1", "smtp", NULL};
    weft_stream a, b;
    weft_tls_info info;
    make_pair(TCP, &a, &b);
    struct shake c = {.stream = a, .name = name}, s = {.stream = b};
    c.tls = open_tls(&(weft_tls_options){.authority = authority.pem.certificate,
                                         .certificate = alice.certificate,
                                         .key = alice.key,
                                         .protocols = ours});
    s.tls = open_tls(&(weft_tls_options){
        .server = true, .authority = authority.pem.certificate, .clients = WEFT_TLS_CLIENT_MAY, .protocols = theirs});
    want_int(weft_tls_add(s.tls, "*.shop.example", wild.certificate, wild.key, NULL, 0), 0);
    want_int(weft_tls_add(s.tls, "One.shop.example", shop.certificate, shop.key, NULL, 0), 0);
    shake_hands(&c, &s);
    want_int(s.result, peer == NULL ? WEFT_ETLS : 0);
    want_int(c.result, s.result);
    if (peer == NULL) {
        want(strstr(c.why, "no server of that name") != NULL);
    } else {
        want_int(weft_stream_tls(a, &info), 0);
        want(strcmp(info.peer, peer) == 0 && strcmp(info.protocol, "http/1.1") == 0);
        want_int(weft_stream_tls(b, &info), 0);
        want(strcmp(info.name, name) == 0 && strcmp(info.peer, "CN=alice, O=Example") == 0);
    }
    weft_close(a), weft_close(b);
}

static void names(void *arg)
{
    (void)arg;
    by_name("one.shop.example", "CN=one.shop.example");
    by_name("two.shop.example", "CN=*.shop.example");
    by_name("localhost", NULL);
}

START_TEST(a_server_has_several_names_and_agrees_on_a_protocol)
{
    run_alone(names, NULL);
}
END_TEST

/* ---- Ends of a handshake --------------------------------------------------------------------------------------- */
static void ends(void *arg)
{
    weft_stream a, b;
    char buffer[8];
    (void)arg;
    weft_tls *tls = server_with(&local);
    for (int i = 0; i < 4; i++) {
        make_pair(UNIX, &a, &b);
        struct shake s = {.stream = b, .tls = tls, .deadline = i == 0 ? weft_after(WEFT_MS(2)) : WEFT_FOREVER};
        struct test_task *t = spawn_here(do_secure, &s);
        if (i > 0) until(is_waiting(t));
        if (i > 0) want_int(weft_read(b, buffer, sizeof buffer, WEFT_NOW), WEFT_EBUSY);
        if (i == 1) wf_task_cancel(&t->task);
        if (i == 2) wf_task_kill(&t->task);
        if (i == 3) want_int(weft_close(b), 0);
        until(t->done);
        if (i == 2) want(t->was_killed);
        else want_int(s.result, i == 0 ? WEFT_ETIMEDOUT : i == 1 ? WEFT_ECANCELED : WEFT_ECLOSED);
        if (i < 3) want_int(weft_write(b, "plain", 5, WEFT_FOREVER), WEFT_ETLS);
        weft_close(a), weft_close(b);
        want_int(wf_here->streams.used, 0);
    }
    weft_tls_close(tls);
}

START_TEST(a_handshake_ends_by_deadline_cancel_kill_and_close)
{
    run_alone(ends, NULL);
}
END_TEST

/* Bytes that came with the last plain line belong to the handshake. */
static void start_later(void *arg)
{
    weft_stream a, b;
    char line[64];
    (void)arg;
    make_pair(TCP, &a, &b);
    struct shake c = {.stream = a, .tls = plain_client(), .name = "localhost", .deadline = WEFT_FOREVER};
    struct shake s = {.stream = b, .tls = server_with(&local), .deadline = WEFT_FOREVER};
    put(a, "STARTTLS\r\n");
    struct test_task *t = spawn_here(do_secure, &c);
    until(is_waiting(t));
    want_int(weft_read_until(b, line, sizeof line, '\n', WEFT_FOREVER), 10); /* the client's first record is read */
    do_secure(&s);
    until(t->done);
    want_int(s.result, 0);
    want_int(c.result, 0);
    put(a, "hello");
    want_read(b, "hello");
    weft_tls_close(c.tls), weft_tls_close(s.tls);
    close_pair(a, b);
}

START_TEST(a_plain_stream_may_be_secured_later)
{
    run_alone(start_later, NULL);
}
END_TEST

/* ---- From worker to worker ------------------------------------------------------------------------------------- */
enum { ROUNDS = 200 };
struct hopping {
    weft_stream stream;
    int round;
};

static void send_rounds(void *arg)
{
    weft_stream s = *(weft_stream *)arg;
    for (int i = 0; i < ROUNDS; i++) want_int(weft_write(s, &i, sizeof i, WEFT_FOREVER), sizeof i);
    want_int(weft_shutdown(s), 0);
}

static void read_and_pass(void *arg)
{
    struct hopping *k = arg;
    int number;
    int64_t n = weft_read_exact(k->stream, &number, sizeof number, WEFT_FOREVER);
    if (n == 0) {
        want_int(k->round, ROUNDS);
        want_int(weft_close(k->stream), 0);
        return;
    }
    want_int(n, sizeof number);
    want_int(number, k->round++);
    harness_spawn(harness_here(), (wf_here->index + 1) % harness_here()->set.count, read_and_pass, k);
}

static struct hopping hopping;
static weft_stream source;

static void begin_hopping(void *arg)
{
    (void)arg;
    secured_pair(TCP, &source, &hopping.stream);
    hopping.round = 0;
    spawn_here(send_rounds, &source);
    spawn_here(read_and_pass, &hopping);
}

START_TEST(a_secured_stream_is_handed_from_worker_to_worker)
{
    struct harness h;
    harness_start(&h, 3);
    harness_spawn(&h, 0, begin_hopping, NULL);
    harness_stop(&h); /* and closes what is left open */
}
END_TEST

/* ---- Configurations -------------------------------------------------------------------------------------------- */
START_TEST(a_bad_configuration_says_what_is_wrong)
{
    static const char *const many[] = {"1", "2", "3", "4", "5", "6", "7", "8", "9", NULL};
    const struct {
        weft_tls_options options;
        int result;
        const char *why;
    } cases[] = {
        {{.server = true, .certificate = "/no/such/file", .key = local.key}, WEFT_ENOTFOUND, "/no/such/file"},
        {{.server = true, .certificate = local.certificate}, WEFT_EINVAL, "goes with its key"},
        {{.server = true, .certificate = local.certificate, .key = shop.key}, WEFT_EFORMAT, "is not the key"},
        {{.server = true, .certificate = local.key, .key = local.key}, WEFT_EFORMAT, "certificate"},
        {{.server = true, .certificate = local.certificate, .key = local.certificate}, WEFT_EFORMAT, "no good key"},
        {{.authority = "/dev/null"}, WEFT_EFORMAT, "/dev/null"},
        {{.server = true, .certificate = local.certificate, .key = local.key, .clients = WEFT_TLS_CLIENT_MUST},
         WEFT_EINVAL,
         "needs an authority"},
        {{.unverified = true, .protocols = many}, WEFT_EINVAL, "at most 8"},
        {{.server = true, .unverified = true}, WEFT_EINVAL, ""},
    };
    for (size_t i = 0; i < WF_COUNT(cases); i++) {
        weft_tls *tls = NULL;
        char why[256];
        want_int(weft_tls_open(&tls, &cases[i].options, why, sizeof why), cases[i].result);
        want(strstr(why, cases[i].why) != NULL);
        want_int(weft_tls_open(&tls, &cases[i].options, NULL, 0), cases[i].result);
        want(tls == NULL);
    }
    weft_tls *tls = plain_client();
    want_int(weft_tls_add(tls, "x", shop.certificate, shop.key, NULL, 0), WEFT_EINVAL); /* of servers only */
    want_int(weft_stream_secure((weft_stream){0}, tls, "x", NULL, 0, WEFT_NOW), WEFT_ENOTACTOR);
    weft_tls_close(tls);
    weft_tls_close(NULL);
}
END_TEST

static void add_all(TCase *t)
{
    tcase_add_test(t, a_secured_stream_is_used_like_a_plain_one);
    tcase_add_test(t, large_transfers_go_both_ways_at_once);
    tcase_add_test(t, readable_means_decrypted_bytes);
    tcase_add_test(t, a_writer_waits_and_may_give_up);
    tcase_add_test(t, a_cut_and_a_forgery_are_noticed);
    tcase_add_test(t, bad_certificates_are_refused_in_plain_words);
    tcase_add_test(t, a_peer_without_tls_is_told_apart_from_one_that_leaves);
    tcase_add_test(t, a_server_has_several_names_and_agrees_on_a_protocol);
    tcase_add_test(t, a_handshake_ends_by_deadline_cancel_kill_and_close);
    tcase_add_test(t, a_plain_stream_may_be_secured_later);
    tcase_add_test(t, a_secured_stream_is_handed_from_worker_to_worker);
    tcase_add_test(t, a_bad_configuration_says_what_is_wrong);
}

int main(void)
{
    make_certificates();
    Suite *s = suite_create("stream_tls");
    TCase *t = tcase_create("stream_tls");
    tcase_set_timeout(t, 60);
    add_all(t);
    suite_add_tcase(s, t);
    int rc = run_suite(s);
    free_signer(&authority);
    free_signer(&stranger);
    return rc;
}
