/* chat.c -- a chat server for plain TCP clients, on one node or on many.
 *
 *     $ weft run chat.c --name a --listen tcp://127.0.0.1:4001 -- --port 4101
 *     a: chat on 127.0.0.1:4101
 *     $ weft run chat.c --name b --join tcp://127.0.0.1:4001 -- --port 4102
 *     b: chat on 127.0.0.1:4102
 *
 * and from two terminals, one on each node
 *
 *     $ nc 127.0.0.1 4101                               $ nc 127.0.0.1 4102
 *     * welcome to a, you are guest1 in lobby; ...      * welcome to b, you are guest1 in lobby; ...
 *     /nick ann                                         /who
 *     * you are ann                                     * lobby: ann@a guest1@b
 *     hello                                             [lobby] ann: hello
 *     [lobby] ann: hello
 *
 * Commands: /join ROOM, /nick NAME, /who, /watch, /history, /quit. Options: --port PORT (0: any free one; default
 * 4100), --host ADDRESS (default 127.0.0.1), --patience SECONDS (a client that does not read for so long is dropped,
 * and one that leaves a line without an end for six times as long; default 5), --places N (clients at a time, a
 * quarter of them from one address; default 4096), --history FILE. If systemd has opened a port (chat.socket) it
 * listens there. For a chat without other nodes: `cc chat.c $(pkg-config --cflags --libs weft) && ./a.out`.
 *
 * One actor serves one client. It waits for the client's socket and for its own mailbox in one call, so there is no
 * second thread, no lock and no polling. A room is a topic, "room.lobby": publishing a line delivers it to the
 * members on this node and sends one copy to each other node that has members.
 *
 * An actor on each node that has had members keeps the last 100 lines of a room. One of these actors owns the room:
 * the one with its global name, "room.lobby". It answers /history. When a client that has left takes its nick again,
 * on any node, the owner shows it the lines that it missed. It notifies clients that /watch of those that come and
 * go. When its node crashes another actor takes the name, and has the lines. Only data that the owner alone had is
 * lost: lines on their way, and clients that had left before the other began (they can ask for /history). A node
 * counts as lost when its link is not resumed in time; until then its rooms do not answer. After a cut the older
 * owner stays, and does not have the lines of the other side. Rooms stay, so one client may open 100 of them.
 *
 * Built with libweft-store (meson does if it is there; else CFLAGS=-DCHAT_STORE weft run chat.c), a node with --history
 * FILE stores the lines, and others with --history cluster use that store (chat_store.h). The owner of a room begins with
 * its stored lines, so they outlive all nodes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft.h>

#include "chat_room.h"

#define WHO(F) F(uint, question)
WEFT_MESSAGE(who, 2, WHO) /* published in a room: who is here? */
#define HERE(F) F(uint, question) F(str, nick) F(str, node)
WEFT_MESSAGE(here, 3, HERE) /* the answer, directly to the asking actor */

enum {
    INPUT_BYTES = 512,   /* the longest line a client may send, with its newline */
    OUTPUT_BYTES = 4096, /* lines for a client are joined into writes of at most this size */
    OUTPUT_LINE = TEXT_BYTES + 2 * NAME_MAX_BYTES + 20,
    MAIL_PER_TURN = 64, /* after so many, the client's own input is handled */
    PEOPLE_MAX = 40,    /* listed by /who; the others are counted */
    PERSON_BYTES = 96,
    ROOMS_EACH = 100, /* opened by one client: each stays, and has patterns that are announced to other nodes */
};

#define ANSWERS_WITHIN WEFT_MS(300)
#define COMMANDS "/join ROOM, /nick NAME, /who, /watch, /history, /quit"

struct client {
    weft_stream stream;
    int64_t patience;
    unsigned number;
};

struct session {
    struct client client;
    bool greeted;    /* it has said a line */
    int64_t line_by; /* until when the begun line has to end; WEFT_FOREVER: no line has begun */
    char nick[NAME_MAX_BYTES + 1];
    char topic[NAME_MAX_BYTES + 6]; /* "room." and the room's name */
    weft_subscription membership;
    bool named;                     /* the client has chosen the nick */
    bool watching;                  /* it is notified of members that come and go */
    uint64_t said, changes;         /* lines; and its announced changes of nick and room */
    uint64_t question;              /* the number of the last /who */
    int64_t answers_by;             /* when its answers are shown; WEFT_FOREVER: there is no /who */
    char (*people)[PERSON_BYTES];   /* the members that answered; allocated at the first /who */
    size_t people_count, uncounted; /* listed, and beyond the list */
    int opened;                     /* rooms that this client has opened: ROOMS_EACH at most */
};

static const char *room_of(const struct session *s)
{
    return s->topic + strlen("room.");
}

/* Nicks and rooms: letters, digits, '_' and '-', so that they fit into topics and on every terminal. */
static bool is_name(const char *text)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    size_t size = strlen(text);
    return size >= 1 && size <= NAME_MAX_BYTES && strspn(text, allowed) == size;
}

/* Writes a line to this client alone. Negative: the client does not read in time, or is gone. */
#define TELL(s, ...) weft_printf((s)->client.stream, weft_after((s)->client.patience), "* " __VA_ARGS__)

/* ---- Messages from the mailbox --------------------------------------------------------------------------------- */

static void note_person(struct session *s, const struct here *h)
{
    if (h->question != s->question || s->answers_by == WEFT_FOREVER) return; /* too late */
    if (s->people_count == PEOPLE_MAX) s->uncounted++;
    else {
        char *person = s->people[s->people_count++];
        snprintf(person, PERSON_BYTES, "%.*s@%.*s", WEFT_STR(h->nick), WEFT_STR(h->node));
        make_plain(person, strlen(person));
    }
}

/* A message that is not a line: a question, or an answer to ours. */
static void take_note(struct session *s, const weft_msg *m)
{
    struct who asked;
    struct here answer;
    if (who_is(m) && who_read(m, &asked) == 0) {
        answer = (struct here){asked.question, weft_cstr(s->nick), weft_cstr(weft_node_name(weft_here()))};
        weft_ignore(here_try_send(weft_from(m), &answer)); /* the asking actor counts the answers that came in time */
    } else if (here_is(m) && here_read(m, &answer) == 0) {
        note_person(s, &answer);
    } else if (weft_tag(m) == ROLL_CALL && s->named && strcmp(weft_topic(m), s->topic) == 0) {
        struct came came = {weft_cstr(s->nick), s->changes};
        weft_ignore(came_try_send(weft_from(m), &came)); /* a room that is busy asks again */
    }
}

/* Writes the line into `out`, which holds OUTPUT_LINE, and returns its length; 0: it is not for this client. */
static size_t format_line(const struct session *s, const weft_msg *m, char *out)
{
    struct say said;
    struct old old;
    struct move moved;
    if (old_is(m) && old_read(m, &old) == 0 && old.nick.size <= NAME_MAX_BYTES && old.text.size <= TEXT_BYTES &&
        old.room.size <= NAME_MAX_BYTES)
        return (size_t)snprintf(out, OUTPUT_LINE,
                                old.nick.size == 0 ? "* %.*s: %.*s%.*s\n" : "[%.*s] (earlier) %.*s: %.*s\n",
                                WEFT_STR(old.room), WEFT_STR(old.nick), WEFT_STR(old.text));
    if (move_is(m) && s->watching && strcmp(weft_topic(m), s->topic) == 0 && move_read(m, &moved) == 0) {
        bool mine = weft_text_equal(moved.nick, s->nick);
        bool fits = moved.nick.size + moved.what.size < OUTPUT_LINE / 2;
        return mine || !fits ? 0
                             : (size_t)snprintf(out, OUTPUT_LINE, "* %s: %.*s %.*s\n", room_of(s),
                                                WEFT_STR(moved.nick), WEFT_STR(moved.what));
    }
    if (!say_is(m) || strcmp(weft_topic(m), s->topic) != 0 || say_read(m, &said) < 0) return 0;
    if (said.nick.size > NAME_MAX_BYTES || said.text.size > TEXT_BYTES) return 0; /* not from a chat like this one */
    return (size_t)snprintf(out, OUTPUT_LINE, "[%s] %.*s: %.*s\n", room_of(s), WEFT_STR(said.nick),
                            WEFT_STR(said.text));
}

/* Shows the lines that have arrived, many in one write. Negative: the client does not read. */
static int64_t show_mail(struct session *s)
{
    char out[OUTPUT_BYTES];
    size_t used = 0;
    int64_t rc = 0;
    weft_msg *m;
    for (int i = 0; i < MAIL_PER_TURN && rc >= 0 && weft_recv(&m, WEFT_NOW) == 0; i++) {
        size_t size = format_line(s, m, out + used);
        if (size == 0) take_note(s, m);
        else make_plain(out + used, size - 1); /* except for its end */
        weft_msg_free(m);
        used += size;
        if (used + OUTPUT_LINE <= sizeof out) continue;
        rc = weft_write(s->client.stream, out, used, weft_after(s->client.patience));
        used = 0;
    }
    if (used > 0 && rc >= 0) rc = weft_write(s->client.stream, out, used, weft_after(s->client.patience));
    return rc;
}

/* ---- Commands of the client ------------------------------------------------------------------------------------ */

/* Notifies the keepers of the room, but not of guests. */
static void announce(struct session *s, const char *nick)
{
    char topic[NAME_MAX_BYTES + 7];
    snprintf(topic, sizeof topic, "rooms.%s", room_of(s));
    if (!s->named) return;
    struct came came = {weft_cstr(nick), ++s->changes};
    int rc = came_publish(topic, &came);
    if (rc < 0) weft_log(WEFT_WARN, "%s is not told that %s has come: %s", topic, nick, weft_strerror(rc));
}

static int64_t join(struct session *s, const char *room)
{
    weft_subscription before = s->membership;
    char topic[sizeof s->topic];
    if (!is_name(room)) return TELL(s, "a room's name is 1 to %d letters, digits, _ or -\n", NAME_MAX_BYTES);
    snprintf(topic, sizeof topic, "room.%s", room);
    if (strcmp(topic, s->topic) != 0) {
        bool opens = !room_is_open(room);
        if (opens && s->opened == ROOMS_EACH)
            return TELL(s, "you have opened %d rooms, more are not allowed; join one that is there\n", ROOMS_EACH);
        int rc = weft_subscribe(topic, &s->membership);
        if (rc < 0) return TELL(s, "cannot join %s: %s\n", room, weft_strerror(rc));
        announce(s, "");
        memcpy(s->topic, topic, sizeof topic);
        weft_unsubscribe(before);
        s->answers_by = WEFT_FOREVER; /* answers about the old room are of no use */
        open_room(room);
        s->opened += opens;
        announce(s, s->nick);
    }
    return TELL(s, "you are in %s\n", room);
}

static int64_t rename_to(struct session *s, const char *nick)
{
    if (!is_name(nick)) return TELL(s, "a nick is 1 to %d letters, digits, _ or -\n", NAME_MAX_BYTES);
    memcpy(s->nick, nick, strlen(nick) + 1);
    s->named = true;
    announce(s, nick);
    return TELL(s, "you are %s\n", s->nick);
}

/* No actor knows all members. So the question is published like a line, each member on every node answers, and the
 * answers that arrive until the deadline are shown. Meanwhile the session continues: it also waits for the deadline.
 * */
static int64_t ask_who(struct session *s)
{
    if (s->people == NULL) {
        s->people = malloc(sizeof *s->people * PEOPLE_MAX);
        if (s->people == NULL || weft_defer(free, s->people) < 0) return WEFT_ENOMEM;
    }
    s->people_count = s->uncounted = 0;
    s->answers_by = weft_after(ANSWERS_WITHIN);
    return who_publish(s->topic, &(struct who){++s->question});
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

static int64_t show_people(struct session *s)
{
    char list[PEOPLE_MAX * PERSON_BYTES + 1];
    size_t used = 0;
    s->answers_by = WEFT_FOREVER;
    qsort(s->people, s->people_count, sizeof *s->people, by_name);
    list[0] = 0;
    for (size_t i = 0; i < s->people_count; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, " %s", s->people[i]);
    if (s->uncounted == 0) return TELL(s, "%s:%s\n", room_of(s), list);
    return TELL(s, "%s:%s and %zu more\n", room_of(s), list, s->uncounted);
}

static int64_t say_line(struct session *s, char *text)
{
    make_plain(text, strlen(text));
    weft_pid self = weft_self();
    uint64_t id = (self.node * 31 + self.actor) * 1000003 + ++s->said; /* the id of the line, on all nodes */
    int rc = say_publish(s->topic, &(struct say){weft_cstr(s->nick), weft_cstr(text), id});
    return rc < 0 ? TELL(s, "not said: %s\n", weft_strerror(rc)) : rc;
}

/* Negative: the session is over. */
static int64_t obey(struct session *s, char *line)
{
    char *word = strchr(line, ' ');
    if (line[0] == 0) return 0;
    if (line[0] != '/') return say_line(s, line);
    if (word == NULL) word = strchr(line, 0);
    else *word++ = 0;
    if (strcmp(line, "/join") == 0) return join(s, word);
    if (strcmp(line, "/nick") == 0) return rename_to(s, word);
    if (strcmp(line, "/who") == 0 && *word == 0) return ask_who(s);
    if (strcmp(line, "/watch") == 0 && *word == 0) {
        s->watching = !s->watching;
        return TELL(s, "you %s who comes and goes\n", s->watching ? "see" : "do not see any more");
    }
    if (strcmp(line, "/history") == 0 && *word == 0) {
        int rc = weft_send_name(s->topic, PAST, NULL, 0); /* wherever its owner is */
        return rc < 0 ? TELL(s, "no history: %s\n", weft_strerror(rc)) : rc;
    }
    if (strcmp(line, "/quit") == 0 && *word == 0) return WEFT_ECLOSED;
    return TELL(s, "unknown command; there are " COMMANDS "\n");
}

/* The first word of a browser's request. A page of any site may post lines to a port of this machine. */
static bool is_http(const char *line)
{
    size_t verb = strspn(line, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    const char *last = strrchr(line, ' ');
    return verb > 0 && line[verb] == ' ' && strncmp(last, " HTTP/", 6) == 0;
}

/* Handles one line of the client, if a whole one is there. Negative: the session is over. */
static int64_t take_line(struct session *s)
{
    char line[INPUT_BYTES];
    int64_t n = weft_read_until(s->client.stream, line, sizeof line, '\n', WEFT_NOW);
    if (n == WEFT_ETIMEDOUT) { /* half a line: weft_on_readable reports the rest */
        if (s->line_by == WEFT_FOREVER) s->line_by = weft_after(6 * s->client.patience);
        return 0;
    }
    s->line_by = WEFT_FOREVER;
    if (n == WEFT_ETOOBIG) {
        weft_ignore(TELL(s, "a line has at most %d bytes\n", INPUT_BYTES - 1)); /* the session is over in any case */
        return n;
    }
    if (n <= 0) return WEFT_ECLOSED;
    size_t size = (size_t)n;
    if (line[size - 1] == '\n') size--;
    else if (size == sizeof line) return WEFT_ETOOBIG;
    if (size > 0 && line[size - 1] == '\r') size--;
    line[size] = 0;
    if (!s->greeted && is_http(line)) return WEFT_EFORMAT;
    s->greeted = true;
    return obey(s, line);
}

/* ---- Sessions -------------------------------------------------------------------------------------------------- */

/* Lines from before the client left are shown, then the client has a second to read them: closing at once while input
 * is unread would reset the connection and might destroy them. */
static void part(struct session *s)
{
    char rest[INPUT_BYTES];
    int64_t until = weft_after(WEFT_SEC(1));
    if (show_mail(s) < 0 || TELL(s, "bye\n") < 0 || weft_shutdown(s->client.stream) < 0) return;
    while (weft_read(s->client.stream, rest, sizeof rest, until) > 0) {}
}

static void converse(struct session *s)
{
    /* The socket comes first, but neither starves the other: each pass serves both. */
    const weft_wait sources[] = {weft_on_readable(s->client.stream), weft_on_mailbox()};
    for (;;) {
        int which = weft_wait_any(sources, 2, s->answers_by < s->line_by ? s->answers_by : s->line_by);
        if (which == WEFT_ETIMEDOUT && weft_now() >= s->line_by) {
            weft_ignore(TELL(s, "your line has no end\n")); /* it is closed in any case */
            return;
        }
        int64_t rc = which == WEFT_ETIMEDOUT ? show_people(s) : which < 0 ? which : show_mail(s);
        if (rc == WEFT_ECANCELED) {
            weft_ignore(TELL(s, "the server stops\n")); /* it is closed in any case */
            return;
        }
        if (rc < 0) {
            weft_log(rc == WEFT_ETIMEDOUT ? WEFT_INFO : WEFT_DEBUG, "%s is dropped: %s", s->nick,
                     weft_strerror((int)rc));
            return;
        }
        if (which == 0 && take_line(s) < 0) {
            part(s);
            return;
        }
    }
}

static void session(const void *arg, size_t size)
{
    struct session s = {.client = *(const struct client *)arg,
                        .topic = "room.lobby",
                        .answers_by = WEFT_FOREVER,
                        .line_by = WEFT_FOREVER};
    (void)size;
    weft_defer_close(s.client.stream);
    snprintf(s.nick, sizeof s.nick, "guest%u", s.client.number);
    if (weft_subscribe(s.topic, &s.membership) < 0) return;
    open_room(room_of(&s));
    if (TELL(&s, "welcome to %s, you are %s in %s; " COMMANDS "\n", weft_node_name(weft_here()), s.nick,
             room_of(&s)) < 0)
        return;
    converse(&s);
}

/* ---- The server ------------------------------------------------------------------------------------------------ */

WEFT_NORETURN static void usage(void)
{
    fprintf(stderr,
            "usage: chat [--port PORT] [--host ADDRESS] [--patience SECONDS] [--places N] [--history FILE]\n");
    weft_exit(WEFT_EINVAL);
}

/* A listener that systemd has opened (chat.socket) is preferred to an address, which may then be left out. */
static weft_listener listener(const char *address)
{
    weft_listener l;
    int rc = weft_listen_inherited(&l, "chat");
    bool own = rc == WEFT_ENOTFOUND || rc == WEFT_ENOTSUP;
    if (own) rc = weft_listen(&l, address, NULL);
    if (rc == WEFT_OK) return l;
    fprintf(stderr, "chat: cannot listen on %s: %s\n", own ? address : "what systemd calls chat", weft_strerror(rc));
    weft_exit(rc);
}

static void server(const void *arg, size_t size)
{
    const struct weft_args *args = arg;
    const char *port = "4100", *host = "127.0.0.1", *history = NULL;
    struct client client = {.patience = WEFT_SEC(5)};
    char address[WEFT_ADDRESS_TEXT];
    uint32_t places = 4096;
    int rc;
    (void)size;
    for (int i = 1; i < args->argc; i += 2) {
        const char *value = i + 1 < args->argc ? args->argv[i + 1] : NULL;
        if (value == NULL) usage();
        if (strcmp(args->argv[i], "--port") == 0) port = value;
        else if (strcmp(args->argv[i], "--host") == 0) host = value;
        else if (strcmp(args->argv[i], "--history") == 0) history = value;
        else if (strcmp(args->argv[i], "--places") == 0 && atoi(value) > 0) places = (uint32_t)atoi(value);
        else if (strcmp(args->argv[i], "--patience") == 0 && atoi(value) > 0) client.patience = WEFT_SEC(atoi(value));
        else usage();
    }
    if ((rc = open_history(history)) < 0) {
        fprintf(stderr, "chat: --history %s: %s\n", history, weft_strerror(rc));
        weft_exit(rc);
    }
    snprintf(address, sizeof address, "%s:%s", host, port);
    weft_listener l = listener(address);
    if ((rc = weft_listener_places(l, places, 0)) < 0) {
        fprintf(stderr, "chat: --places %u: %s\n", (unsigned)places, weft_strerror(rc));
        weft_exit(rc);
    }
    weft_listener_address(l, address, sizeof address);
    printf("%s: chat on %s\n", weft_node_name(weft_here()), address);
    fflush(stdout);

    const weft_spawn_options options = {.kind = "session", .worker = WEFT_SPREAD};
    /* WEFT_EFULL: out of descriptors; weft_accept has waited a little for clients to leave. */
    while ((rc = weft_accept(l, &client.stream, WEFT_FOREVER)) == 0 || rc == WEFT_EFULL) {
        if (rc == WEFT_EFULL) continue;
        client.number++;
        if (weft_spawn(NULL, session, &client, sizeof client, &options) < 0) weft_close(client.stream);
    }
    weft_listener_close(l);
}

WEFT_MODULE(server) /* for `weft run` */

int main(int argc, char **argv)
{
    struct weft_args args = {argc, (const char *const *)argv};
    return weft_main(NULL, server, &args, sizeof args);
}
