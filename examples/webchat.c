/* webchat.c -- a chat for browsers, on one node or on many.
 *
 *     $ export CFLAGS='-Wl,--no-as-needed -lwslay -lhttp_parser'
 *     $ weft run webchat.c --name a --listen tcp://127.0.0.1:4001 -- --port 8001
 *     a: chat on http://127.0.0.1:8001/
 *     $ weft run webchat.c --name b --join tcp://127.0.0.1:4001 -- --port 8002
 *     b: chat on http://127.0.0.1:8002/
 *
 * Open both addresses: lines written on one page appear on the other. Options: --port PORT (0: any free one; default
 * 8000), --host ADDRESS (default 127.0.0.1), --site NAME (by which browsers reach it, if not by address or as
 * localhost), --places N (connections at a time, a quarter of them from one address; default 4096), --ping SECONDS (a
 * browser that sends nothing gets a ping after so long; default 20), --patience SECONDS (a browser that does not
 * answer, or does not read, for so long is dropped; default 10), --history FILE (if built with libweft-store: stores the
 * lines there; on other nodes: --history cluster; chat_store.h).
 *
 * One actor serves one browser. It waits for the browser's socket and for its own mailbox, where the room's lines
 * arrive, in one call. So a line is sent to the screens as soon as it is published; nothing polls. The library for
 * the frames, wslay, knows nothing of actors: it calls back for bytes, and these callbacks read and write a weft
 * stream, which suspends only this actor. http_parser reads the request.
 *
 * A room is a topic, "room.lobby": clients of chat.c in the same cluster are in the same rooms. The members are a
 * group of the same name. They send each newcomer their names, and the room's keeper sends it the history
 * (chat_room.h). A browser that is too slow loses the oldest lines that wait for it, and learns how many. */
#include <sys/types.h>
#include <wslay/wslay.h>

#include "chat_room.h"

#define ASKED(F) F(uint, question)
WEFT_MESSAGE(asked, 2, ASKED) /* published in a room by chat.c: who is here? */
#define HERE(F) F(uint, question) F(str, nick) F(str, node)
WEFT_MESSAGE(here, 3, HERE) /* the answer; members of the group also send it to a new one */
/* Messages for the browser only, as JSON. */
#define LIVE(F) F(str, nick) F(str, text)
WEFT_STRUCT(live, LIVE)
#define EARLIER(F) F(str, nick) F(str, earlier)
WEFT_STRUCT(earlier, EARLIER)
#define WHO(F) F(list(str), who)
WEFT_STRUCT(who, WHO)
#define NOTE(F) F(str, note)
WEFT_STRUCT(note, NOTE)

enum {
    JSON_BYTES = 32768,
    PEOPLE_MAX = 200,   /* listed; more are not */
    LINES_MAX = 256,    /* lines that wait for a slow browser */
    MAIL_PER_TURN = 64, /* after so many, the browser's own input is handled */
    READS_PER_TURN = 16,
    PERSON_BYTES = NAME_MAX_BYTES + 1 + 64 + 1, /* nick@node */
};

#include "webchat_http.h"
#include "webchat_page.h"

struct options {
    int64_t ping, patience;
    const char *site; /* NULL: none */
};

struct person {
    weft_pid pid;
    bool joined;             /* known from the group */
    char name[PERSON_BYTES]; /* "": not known yet */
};

struct visitor {
    weft_stream stream;
    struct options options;
    wslay_event_context_ptr frames;
    const char *early; /* bytes that came right after the request */
    size_t early_size;
    int reads;      /* the reads of this turn */
    int64_t failed; /* why a callback failed */
    int64_t heard;  /* when bytes last came */
    bool asked;     /* a ping was sent since then */
    bool crowd_changed;
    bool past_over; /* it has arrived, and may have contained some of these: */
    uint64_t live[HISTORY], heard_live;
    uint64_t lost, said;
    char nick[NAME_MAX_BYTES + 1], topic[NAME_MAX_BYTES + 6];
    size_t people_count;
    struct person *people;
};

/* ---- Frames: wslay asks for bytes and provides bytes ----------------------------------------------------------- */

static ssize_t take_bytes(wslay_event_context_ptr ctx, uint8_t *buffer, size_t size, int flags, void *arg)
{
    struct visitor *v = arg;
    int64_t n = WEFT_ETIMEDOUT;
    (void)flags;
    if (v->early_size > 0) {
        n = (int64_t)(size < v->early_size ? size : v->early_size);
        memcpy(buffer, v->early, (size_t)n);
        v->early += n;
        v->early_size -= (size_t)n;
    } else if (v->reads++ < READS_PER_TURN) n = weft_read(v->stream, buffer, size, WEFT_NOW);
    if (n > 0) {
        v->heard = weft_now();
        v->asked = false;
        return (ssize_t)n;
    }
    if (n != WEFT_ETIMEDOUT) v->failed = n == 0 ? WEFT_ECLOSED : n;
    wslay_event_set_error(ctx, n == WEFT_ETIMEDOUT ? WSLAY_ERR_WOULDBLOCK : WSLAY_ERR_CALLBACK_FAILURE);
    return -1;
}

/* Waits for a slow browser. Publications of the meantime wait in the mailbox, up to LINES_MAX. */
static ssize_t put_bytes(wslay_event_context_ptr ctx, const uint8_t *data, size_t size, int flags, void *arg)
{
    struct visitor *v = arg;
    (void)flags;
    int64_t n = weft_write(v->stream, data, size, weft_after(v->options.patience));
    if (n > 0) return (ssize_t)n;
    v->failed = n;
    wslay_event_set_error(ctx, WSLAY_ERR_CALLBACK_FAILURE);
    return -1;
}

static void tell(struct visitor *v, const char *json, size_t size)
{
    const struct wslay_event_msg m = {WSLAY_TEXT_FRAME, (const uint8_t *)json, size};
    if (size < JSON_BYTES) wslay_event_queue_msg(v->frames, &m);
}

/* Handles a whole message of the browser: a line. */
static void on_message(wslay_event_context_ptr ctx, const struct wslay_event_on_msg_recv_arg *m, void *arg)
{
    struct visitor *v = arg;
    char text[TEXT_BYTES + 1];
    (void)ctx;
    if (m->opcode != WSLAY_TEXT_FRAME || m->msg_length == 0 || m->msg_length > TEXT_BYTES) return;
    memcpy(text, m->msg, m->msg_length);
    make_plain(text, m->msg_length); /* other members of the room have terminals */
    weft_pid self = weft_self();
    uint64_t id = (self.node * 31 + self.actor) * 1000003 + ++v->said;
    int rc = say_publish(v->topic, &(struct say){weft_cstr(v->nick), weft_str(text, m->msg_length), id});
    if (rc < 0) weft_log(WEFT_WARN, "%s: not said: %s", v->nick, weft_strerror(rc));
}

/* ---- Messages from the mailbox --------------------------------------------------------------------------------- */

static struct person *find_person(struct visitor *v, weft_pid pid, bool make)
{
    for (size_t i = 0; i < v->people_count; i++)
        if (weft_pid_equal(v->people[i].pid, pid)) return &v->people[i];
    if (!make || v->people_count == PEOPLE_MAX) return NULL;
    v->people[v->people_count] = (struct person){.pid = pid};
    return &v->people[v->people_count++];
}

static void note_group(struct visitor *v, const weft_msg *m)
{
    struct weft_group_news news;
    if (weft_group_news_read(m, &news) < 0) return;
    bool joins = weft_tag(m) == WEFT_TAG_GROUP_JOIN;
    struct person *p = find_person(v, news.who, joins);
    if (p != NULL) v->crowd_changed = true;
    if (joins && p != NULL) p->joined = true;
    struct here here = {0, weft_cstr(v->nick), weft_cstr(weft_node_name(weft_here()))};
    /* All list the members that came first: in a large room the others do not send their names, and get none. */
    if (joins && (p != NULL || find_person(v, weft_self(), false) != NULL))
        weft_ignore(here_try_send(news.who, &here)); /* a newcomer that has no space asks for the members itself */
    if (!joins && p != NULL) *p = v->people[--v->people_count];
}

static void note_here(struct visitor *v, const weft_msg *m)
{
    struct here h;
    if (here_read(m, &h) < 0 || h.nick.size > NAME_MAX_BYTES || h.node.size > 64) return;
    struct person *p = find_person(v, weft_from(m), true);
    if (p == NULL) return;
    snprintf(p->name, sizeof p->name, "%.*s@%.*s", WEFT_STR(h.nick), WEFT_STR(h.node));
    v->crowd_changed = true;
}

static void tell_live(struct visitor *v, const struct say *said)
{
    char json[8 * TEXT_BYTES];
    if (said->nick.size > NAME_MAX_BYTES || said->text.size > TEXT_BYTES) return;
    if (!v->past_over) v->live[v->heard_live++ % HISTORY] = said->id;
    tell(v, json, live_json(&(struct live){said->nick, said->text}, json, sizeof json));
}

/* Lines between the subscription and the answer are in the history of the answer, too. */
static void tell_earlier(struct visitor *v, const struct old *o)
{
    char json[8 * TEXT_BYTES];
    if (o->nick.size > NAME_MAX_BYTES || o->text.size > TEXT_BYTES) return;
    v->past_over = v->past_over || o->nick.size == 0;
    for (uint64_t i = 0; i < v->heard_live && i < HISTORY; i++)
        if (v->live[i] == o->id) return;
    if (!v->past_over) tell(v, json, earlier_json(&(struct earlier){o->nick, o->text}, json, sizeof json));
}

static void take_mail(struct visitor *v, const weft_msg *m)
{
    struct weft_subscription_news news;
    struct say said;
    struct old old;
    struct asked asked;
    if (say_is(m) && say_read(m, &said) == 0) {
        tell_live(v, &said);
    } else if (old_is(m) && old_read(m, &old) == 0) {
        tell_earlier(v, &old);
    } else if (asked_is(m) && asked_read(m, &asked) == 0) {
        struct here here = {asked.question, weft_cstr(v->nick), weft_cstr(weft_node_name(weft_here()))};
        weft_ignore(here_try_send(weft_from(m), &here)); /* the asking actor counts the answers */
    } else if (here_is(m)) {
        note_here(v, m);
    } else if (weft_subscription_news_read(m, &news) == 0) {
        v->lost += news.lost;
    } else if (weft_tag(m) == WEFT_TAG_GROUP_JOIN || weft_tag(m) == WEFT_TAG_GROUP_LEAVE) {
        note_group(v, m);
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const weft_text *)a)->data, ((const weft_text *)b)->data);
}

static void tell_crowd(struct visitor *v)
{
    char json[JSON_BYTES];
    weft_text names[PEOPLE_MAX];
    uint32_t count = 0;
    for (size_t i = 0; i < v->people_count; i++)
        if (v->people[i].joined && v->people[i].name[0] != 0) names[count++] = weft_cstr(v->people[i].name);
    qsort(names, count, sizeof *names, by_name);
    tell(v, json, who_json(&(struct who){weft_str_list(names, count)}, json, sizeof json));
    v->crowd_changed = false;
}

static void show_mail(struct visitor *v)
{
    char note[64], json[128];
    weft_msg *m;
    for (int i = 0; i < MAIL_PER_TURN && weft_recv(&m, WEFT_NOW) == 0; i++) {
        take_mail(v, m);
        weft_msg_free(m);
    }
    if (v->lost > 0) {
        snprintf(note, sizeof note, "%llu lines came too fast and are lost", (unsigned long long)v->lost);
        tell(v, json, note_json(&(struct note){weft_cstr(note)}, json, sizeof json));
        v->lost = 0;
    }
    if (v->crowd_changed) tell_crowd(v);
}

/* ---- A visit --------------------------------------------------------------------------------------------------- */

/* A browser that has sent nothing for too long gets a ping; without an answer it counts as gone. */
static int64_t check_pulse(struct visitor *v)
{
    const struct wslay_event_msg ping = {WSLAY_PING, NULL, 0};
    if (v->asked) return WEFT_ETIMEDOUT;
    v->asked = true;
    wslay_event_queue_msg(v->frames, &ping);
    return 0;
}

/* Negative: the reason why it is over. 0: the browser has left. */
static int64_t converse(struct visitor *v)
{
    const weft_wait sources[] = {weft_on_readable(v->stream), weft_on_mailbox()};
    while (wslay_event_want_read(v->frames) || wslay_event_want_write(v->frames)) {
        int64_t pulse = v->heard + v->options.ping + (v->asked ? v->options.patience : 0);
        int which = v->early_size > 0 ? 0 : weft_wait_any(sources, 2, pulse);
        v->reads = 0;
        if (which == WEFT_ECANCELED) {
            const char *why = "the server stops";
            wslay_event_queue_close(v->frames, WSLAY_CODE_GOING_AWAY, (const uint8_t *)why, strlen(why));
        } else if (which == WEFT_ETIMEDOUT && check_pulse(v) < 0) return WEFT_ETIMEDOUT;
        else if (which < 0 && which != WEFT_ETIMEDOUT) return which;
        /* After a malformed frame the stream has not failed, and wslay reads no more: its close frame is to be sent. */
        if (which == 0 && wslay_event_recv(v->frames) != 0 && (v->failed != 0 || wslay_event_want_read(v->frames)))
            return v->failed;
        show_mail(v);
        if (wslay_event_send(v->frames) != 0) return v->failed;
        if (which == WEFT_ECANCELED) return which;
    }
    return 0;
}

static void free_frames(void *arg)
{
    wslay_event_context_free(arg);
}

static bool is_name(const char *text)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    size_t size = strlen(text);
    return size >= 1 && size <= NAME_MAX_BYTES && strspn(text, allowed) == size;
}

/* Reads the remaining input, for a second: closing while input is unread would reset the connection. */
static void part(weft_stream s)
{
    char rest[512];
    int64_t until = weft_after(WEFT_SEC(1));
    if (weft_shutdown(s) < 0) return;
    while (weft_read(s, rest, sizeof rest, until) > 0) {}
}

static void visit(struct visitor *v)
{
    static const struct wslay_event_callbacks callbacks = {
        .recv_callback = take_bytes, .send_callback = put_bytes, .on_msg_recv_callback = on_message};
    const weft_subscribe_options slow = {.slow = WEFT_SLOW_DROP_OLDEST, .max = LINES_MAX};
    v->people = weft_alloc(sizeof *v->people * PEOPLE_MAX);
    if (v->people == NULL || wslay_event_context_server_init(&v->frames, &callbacks, v) != 0 ||
        weft_defer(free_frames, v->frames) < 0)
        return;
    wslay_event_config_set_max_recv_msg_length(v->frames, TEXT_BYTES);
    if (weft_subscribe_with(v->topic, &slow, NULL) < 0 || weft_group_watch(v->topic) < 0 ||
        weft_group_join(v->topic) < 0)
        return;
    open_room(v->topic + strlen("room."));
    if (weft_send_name(v->topic, PAST, NULL, 0) < 0) v->past_over = true;
    int64_t rc = converse(v);
    if (rc == 0) part(v->stream);
    else if (rc != WEFT_ECANCELED)
        weft_log(rc == WEFT_ETIMEDOUT ? WEFT_INFO : WEFT_DEBUG, "%s is dropped: %s", v->nick, weft_strerror((int)rc));
}

/* ---- Requests -------------------------------------------------------------------------------------------------- */

static void refuse(weft_stream s, int64_t by, const char *status)
{
    static const char answer[] =
        "HTTP/1.1 %s\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n%s\n";
    weft_ignore(weft_printf(s, by, answer, status, strlen(status) + 1, status)); /* the client may be gone */
    part(s);
}

static void send_page(weft_stream s, int64_t by, bool with_body)
{
    size_t size = 0;
    for (size_t i = 0; i < sizeof page / sizeof *page; i++) size += strlen(page[i]);
    int64_t rc = weft_printf(s, by,
                             "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: %zu\r\n"
                             "Cache-Control: no-cache\r\nConnection: close\r\n\r\n",
                             size);
    for (size_t i = 0; i < sizeof page / sizeof *page && rc >= 0 && with_body; i++)
        rc = weft_write(s, page[i], strlen(page[i]), by);
    if (rc >= 0) part(s);
}

/* A page whose own name was made to lead to this server (DNS rebinding) asks for that name, not for an address. */
static bool for_this_site(const struct request *r, const char *site)
{
    char host[VALUE_BYTES];
    const char *said = r->value[HOST];
    size_t size = said[0] == '[' ? strcspn(said, "]") + 1 : strcspn(said, ":");
    const char *port = size <= strlen(said) ? said + size : "?";
    if (*port != 0 && (*port != ':' || port[1] == 0 || port[1 + strspn(port + 1, "0123456789")] != 0)) return false;
    snprintf(host, sizeof host, "%.*s", (int)size, said);
    if (strcasecmp(host, "localhost") == 0 || (site != NULL && strcasecmp(host, site) == 0)) return true;
    if (host[0] == '[') return strspn(host + 1, "0123456789abcdefABCDEF:.") == size - 2;
    size_t last = strlen(host) - strlen(strrchr(host, '.') != NULL ? strrchr(host, '.') : host);
    return host[0] != 0 && strspn(host, "0123456789.") == size && host[last] == '.'; /* no name ends in a number */
}

/* A page of another site may not send lines in the name of its visitor. */
static bool of_this_site(const struct request *r)
{
    const char *host = strstr(r->value[ORIGIN], "://");
    return r->value[ORIGIN][0] == 0 || (host != NULL && strcasecmp(host + 3, r->value[HOST]) == 0);
}

/* NULL: the browser is now a visitor with a nick in a room. */
static const char *enter(struct visitor *v, const struct request *r)
{
    char room[VALUE_BYTES], nick[VALUE_BYTES], key[29];
    bool is_new = r->parser.http_major > 1 || (r->parser.http_major == 1 && r->parser.http_minor > 0);
    /* parser.upgrade: the header Connection asks for it, too. */
    if (!is_new || r->parser.method != HTTP_GET || !r->parser.upgrade) return "400 Bad Request";
    if (strcasecmp(r->value[UPGRADE], "websocket") != 0 || strlen(r->value[WS_KEY]) != 24) return "400 Bad Request";
    if (strcmp(r->value[WS_VERSION], "13") != 0) return "426 Upgrade Required";
    if (!of_this_site(r)) return "403 Forbidden";
    query_value(r->url, "room", room, sizeof room);
    query_value(r->url, "nick", nick, sizeof nick);
    if (!is_name(room) || !is_name(nick)) return "400 Bad Request";
    snprintf(v->topic, sizeof v->topic, "room.%.*s", NAME_MAX_BYTES, room);
    snprintf(v->nick, sizeof v->nick, "%.*s", NAME_MAX_BYTES, nick);
    accept_key(r->value[WS_KEY], key);
    if (weft_printf(v->stream, weft_after(v->options.patience),
                    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                    "Sec-WebSocket-Accept: %s\r\n\r\n",
                    key) < 0)
        weft_exit(WEFT_EXIT_NORMAL);
    return NULL;
}

struct start {
    weft_stream stream;
    struct options options;
};

static void serve(const void *arg, size_t size)
{
    const struct start *start = arg;
    struct visitor v = {.stream = start->stream, .options = start->options, .heard = weft_now()};
    char *buffer = weft_alloc(REQUEST_BYTES);
    struct request *r = weft_alloc(sizeof *r);
    int64_t by = weft_after(v.options.patience);
    (void)size;
    weft_defer_close(v.stream);
    if (buffer == NULL || r == NULL) return;
    int64_t n = read_request(r, v.stream, buffer, by);
    bool is_get = r->parser.method == HTTP_GET, is_head = r->parser.method == HTTP_HEAD;
    const char *error = NULL;
    if (n == WEFT_ETOOBIG) error = "431 Request Header Fields Too Large";
    else if (n == WEFT_EFORMAT) error = "400 Bad Request";
    else if (n < 0) return;
    else if (!for_this_site(r, v.options.site)) error = "421 Misdirected Request";
    else if (!is_get && !is_head) error = "405 Method Not Allowed";
    else if (strcmp(r->url, "/") == 0) send_page(v.stream, by, is_get);
    else if (strncmp(r->url, "/chat?", 6) != 0) error = "404 Not Found";
    else if ((error = enter(&v, r)) == NULL) {
        v.early = buffer + r->body;
        v.early_size = (size_t)n - r->body;
        visit(&v);
    }
    if (error != NULL) refuse(v.stream, by, error);
}

/* ---- The server ------------------------------------------------------------------------------------------------ */

WEFT_NORETURN static void usage(void)
{
    fprintf(stderr, "usage: webchat [--port PORT] [--host ADDRESS] [--site NAME] [--places N] [--ping SECONDS] "
                    "[--patience SECONDS] [--history FILE]\n");
    weft_exit(WEFT_EINVAL);
}

static void server(const void *arg, size_t size)
{
    const struct weft_args *args = arg;
    const char *port = "8000", *host = "127.0.0.1", *history = NULL;
    struct start start = {.options = {.ping = WEFT_SEC(20), .patience = WEFT_SEC(10)}};
    char address[WEFT_ADDRESS_TEXT];
    weft_listener l;
    uint32_t places = 4096;
    (void)size;
    for (int i = 1; i < args->argc; i += 2) {
        const char *value = i + 1 < args->argc ? args->argv[i + 1] : NULL;
        if (value == NULL) usage();
        if (strcmp(args->argv[i], "--port") == 0) port = value;
        else if (strcmp(args->argv[i], "--host") == 0) host = value;
        else if (strcmp(args->argv[i], "--history") == 0) history = value;
        else if (strcmp(args->argv[i], "--site") == 0) start.options.site = value;
        else if (strcmp(args->argv[i], "--places") == 0 && atoi(value) > 0) places = (uint32_t)atoi(value);
        else if (strcmp(args->argv[i], "--ping") == 0 && atoi(value) > 0) start.options.ping = WEFT_SEC(atoi(value));
        else if (strcmp(args->argv[i], "--patience") == 0 && atoi(value) > 0)
            start.options.patience = WEFT_SEC(atoi(value));
        else usage();
    }
    int rc = open_history(history);
    if (rc < 0) {
        fprintf(stderr, "webchat: --history %s: %s\n", history, weft_strerror(rc));
        weft_exit(rc);
    }
    snprintf(address, sizeof address, "%s:%s", host, port);
    rc = weft_listen(&l, address, NULL);
    if (rc == 0) rc = weft_listener_places(l, places, 0);
    if (rc < 0) {
        fprintf(stderr, "webchat: cannot listen on %s: %s\n", address, weft_strerror(rc));
        weft_exit(rc);
    }
    weft_listener_address(l, address, sizeof address);
    printf("%s: chat on http://%s/\n", weft_node_name(weft_here()), address);
    fflush(stdout);

    /* The list of all members is made on the stack. */
    const weft_spawn_options options = {.kind = "visitor", .worker = WEFT_SPREAD, .stack_bytes = 128 * 1024};
    /* WEFT_EFULL: out of descriptors; weft_accept has waited a little for browsers to leave. */
    while ((rc = weft_accept(l, &start.stream, WEFT_FOREVER)) == 0 || rc == WEFT_EFULL)
        if (rc == 0 && weft_spawn(NULL, serve, &start, sizeof start, &options) < 0) weft_close(start.stream);
    weft_listener_close(l);
}

WEFT_MODULE(server) /* for `weft run` */

int main(int argc, char **argv)
{
    struct weft_args args = {argc, (const char *const *)argv};
    return weft_main(NULL, server, &args, sizeof args);
}
