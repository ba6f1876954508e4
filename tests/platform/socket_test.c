/* tests/platform/socket_test.c -- sockets made with pf_*, waited for with the poller. */
#include "conformance.h"

enum { LISTENER = 50, CLIENT = 1, SERVER = 2 };

static void converse(const struct end *client, const struct end *server)
{
    char buffer[64];
    struct pf_address a, b;
    ck_assert_int_eq(pf_peer_address(client->handle, &a), WEFT_OK);
    ck_assert_int_eq(pf_local_address(server->handle, &b), WEFT_OK);
    ck_assert_uint_eq(a.size, b.size);
    ck_assert_mem_eq(a.bytes, b.bytes, a.size);
    ck_assert_int_eq(pf_connect_result(client->handle), WEFT_OK); /* for good */
    ck_assert_int_eq(pf_read(server->handle, buffer, sizeof buffer), PF_AGAIN);
    ck_assert_int_eq(pf_is_ready(server->handle, false), 0);
    ck_assert_int_eq(pf_is_ready(server->handle, true), 1);
    struct pf_slice parts[] = {{"one ", 4}, {"", 0}, {"two", 3}};
    ck_assert_int_eq(pf_write(client->handle, parts, 3), 7);
    read_exactly(server, buffer, 7);
    ck_assert_mem_eq(buffer, "one two", 7);
    ck_assert_int_eq(pf_shutdown(client->handle), WEFT_OK);
    ck_assert_int_eq(read_some(server, buffer, sizeof buffer), 0);
    write_text(server, "bye");
    read_exactly(client, buffer, 3);
    ck_assert_mem_eq(buffer, "bye", 3);
}

START_TEST(two_sockets_exchange_bytes_at_each_kind_of_address)
{
    static const char *const PLACES[] = {"127.0.0.1:0", "localhost:0", "[::1]:0"};
    for (size_t i = 0; i < WF_COUNT(PLACES); i++) {
        struct pf_address at, bound;
        struct end client, server = {PF_NO_HANDLE, SERVER};
        pf_handle listener, none;
        ck_assert_int_eq(pf_address_parse(PLACES[i], &at), WEFT_OK);
        int rc = pf_listen(&listener, &at, 16, false);
        if (rc == WEFT_EADDRESS && PLACES[i][0] == '[') continue; /* a machine without IPv6 */
        ck_assert_int_eq(rc, WEFT_OK);
        ck_assert_int_eq(pf_accept(listener, &none), PF_AGAIN);
        ck_assert_int_eq(none, PF_NO_HANDLE);
        ck_assert_int_eq(pf_local_address(listener, &bound), WEFT_OK);
        add(listener, LISTENER);
        ck_assert_int_eq(connect_to(&bound, CLIENT, &client), WEFT_OK);
        server.handle = accept_one(listener, LISTENER);
        add(server.handle, SERVER);
        converse(&client, &server);
        take_out(&client);
        take_out(&server);
        env->poller_remove(poller, listener);
        pf_listen_close(listener, &at);
    }
}
END_TEST

START_TEST(addresses_name_both_sides)
{
    struct end pair[2];
    struct pf_address a, b, again;
    char text[80];
    make_pair(0, pair);
    ck_assert_int_eq(pf_local_address(pair[0].handle, &a), WEFT_OK);
    ck_assert_int_eq(pf_peer_address(pair[1].handle, &b), WEFT_OK);
    ck_assert_uint_eq(a.size, b.size);
    ck_assert_mem_eq(a.bytes, b.bytes, a.size);
    ck_assert_int_eq(pf_address_format(&a, text, sizeof text), WEFT_OK);
    ck_assert_int_eq(strncmp(text, "127.0.0.1:", 10), 0);
    ck_assert_int_eq(pf_address_parse(text, &again), WEFT_OK);
    ck_assert_int_eq(pf_address_format(&again, text + 40, 40), WEFT_OK);
    ck_assert_str_eq(text, text + 40);
    close_pair(pair);
    ck_assert_int_eq(pf_local_address(pair[0].handle, &a), WEFT_ECLOSED);
}
END_TEST

/* A port nobody listens on. */
static struct pf_address free_port(void)
{
    struct pf_address at;
    pf_handle h = listen_here("127.0.0.1:0", &at);
    pf_listen_close(h, &at);
    return at;
}

START_TEST(a_connection_nobody_takes_is_refused)
{
    struct pf_address at = free_port();
    for (int i = 0; i < 20; i++) {
        struct end e;
        ck_assert_int_eq(connect_to(&at, CLIENT, &e), WEFT_EREFUSED);
        if (e.handle != PF_NO_HANDLE) take_out(&e);
    }
}
END_TEST

START_TEST(an_address_in_use_is_refused)
{
    struct pf_address bound;
    pf_handle second, first = listen_here("127.0.0.1:0", &bound);
    ck_assert_int_eq(pf_listen(&second, &bound, 1, false), WEFT_EINUSE);
    ck_assert_int_eq(second, PF_NO_HANDLE);
    pf_listen_close(first, &bound);
    ck_assert_int_eq(pf_listen(&second, &bound, 1, false), WEFT_OK); /* at once */
    pf_listen_close(second, &bound);
}
END_TEST

/* The listener is reported for each connection after accept said PF_AGAIN. */
START_TEST(a_listener_is_reported_every_time)
{
    struct pf_address bound;
    pf_handle listener = listen_here("127.0.0.1:0", &bound);
    add(listener, LISTENER);
    for (int i = 0; i < 60; i++) {
        pf_handle none;
        struct end client, server = {PF_NO_HANDLE, SERVER};
        ck_assert_int_eq(pf_accept(listener, &none), PF_AGAIN);
        forget(LISTENER);
        ck_assert_int_eq(env->poller_arm(poller, listener, LISTENER, false), WEFT_OK);
        (void)look();
        ck_assert_int_eq(connect_to(&bound, CLIENT, &client), WEFT_OK);
        await_hint(&seen[LISTENER].readable);
        server.handle = accept_one(listener, LISTENER);
        take_out(&client);
        pf_close(server.handle);
    }
    env->poller_remove(poller, listener);
    pf_listen_close(listener, &bound);
}
END_TEST

/* One hint may stand for many connections: accept until PF_AGAIN finds them all. */
START_TEST(connections_that_come_together_are_all_found)
{
    enum { CLIENTS = 60 };
    struct pf_address bound;
    struct end clients[CLIENTS];
    pf_handle h, listener = listen_here("127.0.0.1:0", &bound);
    for (int i = 0; i < CLIENTS; i++) ck_assert_int_eq(connect_to(&bound, (uint64_t)(100 + i), &clients[i]), WEFT_OK);
    add(listener, LISTENER);
    for (int i = 0; i < CLIENTS; i++) {
        h = accept_one(listener, LISTENER);
        pf_close(h);
    }
    ck_assert_int_eq(pf_accept(listener, &h), PF_AGAIN);
    for (int i = 0; i < CLIENTS; i++) {
        char byte;
        ck_assert_int_eq(read_some(&clients[i], &byte, 1), 0);
        take_out(&clients[i]);
    }
    env->poller_remove(poller, listener);
    pf_listen_close(listener, &bound);
}
END_TEST

/* Who has given up while it waited to be accepted does not stop the listener. */
START_TEST(a_client_that_has_gone_does_not_stop_the_listener)
{
    struct pf_address bound;
    struct end gone, client;
    char byte;
    pf_handle listener = listen_here("127.0.0.1:0", &bound);
    add(listener, LISTENER);
    ck_assert_int_eq(connect_to(&bound, CLIENT, &gone), WEFT_OK);
    take_out(&gone);
    ck_assert_int_eq(connect_to(&bound, CLIENT, &client), WEFT_OK);
    struct end first = {accept_one(listener, LISTENER), 10};
    add(first.handle, 10);
    if (pf_is_ready(first.handle, false) == 1) { /* else the kernel had dropped the first one itself */
        ck_assert_int_le(read_some(&first, &byte, 1), 0);
        take_out(&first);
        first.handle = accept_one(listener, LISTENER);
        add(first.handle, 10);
    }
    write_text(&first, "x");
    read_exactly(&client, &byte, 1);
    take_out(&first);
    take_out(&client);
    env->poller_remove(poller, listener);
    pf_listen_close(listener, &bound);
}
END_TEST

START_TEST(slices_go_out_in_order)
{
    enum { PARTS = 200 };
    struct end pair[2];
    struct pf_slice parts[PARTS];
    static uint8_t sent[PARTS * PARTS], got[PARTS * PARTS];
    size_t total = 0;
    make_pair(0, pair);
    for (size_t i = 0; i < sizeof sent; i++) sent[i] = (uint8_t)(i * 31 >> 3);
    for (size_t i = 0; i < PARTS; i++) {
        parts[i] = (struct pf_slice){sent + total, i};
        total += i;
    }
    for (size_t done = 0, first = 0; done < total;) {
        int64_t n = pf_write(pair[0].handle, parts + first, (int)(PARTS - first));
        ck_assert_int_ge(n, 0); /* it fits into the buffers: never PF_AGAIN */
        done += (size_t)n;
        for (size_t left = (size_t)n; first < PARTS && left >= parts[first].size; first++) left -= parts[first].size;
        size_t before = first * (first - 1) / 2; /* the sizes of what is through */
        if (first < PARTS) parts[first] = (struct pf_slice){sent + done, before + first - done};
    }
    read_exactly(&pair[1], got, total);
    ck_assert_mem_eq(sent, got, total);
    close_pair(pair);
}
END_TEST

START_TEST(closed_handles_say_so)
{
    struct end pair[2];
    char byte;
    struct pf_slice s = {"x", 1};
    make_pair(0, pair);
    close_pair(pair);
    pf_close(PF_NO_HANDLE); /* fine */
    ck_assert_int_eq(pf_read(pair[0].handle, &byte, 1), WEFT_ECLOSED);
    ck_assert_int_eq(pf_write(pair[0].handle, &s, 1), WEFT_ECLOSED);
    ck_assert_int_eq(pf_shutdown(pair[0].handle), WEFT_ECLOSED);
    ck_assert_int_lt(pf_connect_result(pair[0].handle), 0);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        two_sockets_exchange_bytes_at_each_kind_of_address,
        addresses_name_both_sides,
        a_connection_nobody_takes_is_refused,
        an_address_in_use_is_refused,
        a_listener_is_reported_every_time,
        connections_that_come_together_are_all_found,
        a_client_that_has_gone_does_not_stop_the_listener,
        slices_go_out_in_order,
        closed_handles_say_so,
    };
    Suite *suite = suite_create("conformance: sockets");
    add_cases(suite, tests, WF_COUNT(tests));
    return run_suite(suite);
}
