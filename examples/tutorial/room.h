/* room.h -- shared by the chats of docs/tutorial-chat.md: the message, and functions for a client. */
#ifndef ROOM_H
#define ROOM_H

#include <stdio.h>
#include <string.h>
#include <weft.h>

#define SAY(F) F(str, nick) F(str, text)
WEFT_MESSAGE(say, 1, SAY) /* published in the room */

#define ROOM "room.lobby"
#define PATIENCE weft_after(WEFT_SEC(5)) /* how long to wait for a client that does not read */

/* The arguments after `--`: the port. */
static inline const char *port_of(const struct weft_args *args)
{
    return args->argc > 1 ? args->argv[1] : "4100";
}

/* Asks the client for a name, and returns it without its newline. False: the client has gone, its name has no end, or
 * it is a browser: a page of any site may post lines to a port of this machine, after a line like "POST / HTTP/1.1".
 * */
static inline bool ask_name(weft_stream s, char *nick, size_t room)
{
    if (weft_printf(s, PATIENCE, "* your name?\n") < 0) return false;
    int64_t n = weft_read_until(s, nick, room, '\n', weft_after(WEFT_SEC(60)));
    if (n <= 1 || nick[n - 1] != '\n') return false;
    nick[n - 1] = '\0';
    return strstr(nick, " HTTP/") == NULL;
}

/* "ann: hello" and a newline, with '?' for control characters, so that a client cannot move the cursors of others. */
static inline void put_line(char line[300], const struct say *said)
{
    int n = snprintf(line, 299, "%.*s: %.*s", WEFT_STR(said->nick), WEFT_STR(said->text));
    size_t size = n < 299 ? (size_t)n : 298;
    for (size_t at = 0; (at += weft_printable(line + at, size - at, NULL)) < size;) line[at++] = '?';
    memcpy(line + size, "\n", 2);
}

/* Receives a message of the room and shows it. Returns false if the client does not read. */
static inline bool show_said(weft_stream s)
{
    weft_msg *m;
    struct say said;
    char line[300];
    int64_t n = 0;
    if (weft_recv(&m, WEFT_NOW) < 0) return true;
    if (say_read(m, &said) == 0) {
        put_line(line, &said);
        n = weft_write(s, line, strlen(line), PATIENCE);
    }
    weft_msg_free(m);
    return n >= 0;
}

/* Accepts clients; each gets an actor. Returns when the caller is asked to stop. */
static inline void open_door(const char *port, weft_actor *session)
{
    char address[WEFT_ADDRESS_TEXT];
    weft_listener l;
    weft_stream s;
    snprintf(address, sizeof address, "127.0.0.1:%s", port);
    int rc = weft_listen(&l, address, NULL);
    if (rc < 0) weft_fail(rc, "cannot listen on %s", address);
    rc = weft_listener_places(l, 1024, 0); /* clients at a time, a quarter of them from one address */
    if (rc < 0) weft_fail(rc, "no memory for %s", address);
    weft_listener_address(l, address, sizeof address);
    printf("chat on %s\n", address);
    fflush(stdout);
    while ((rc = weft_accept(l, &s, WEFT_FOREVER)) == 0 || rc == WEFT_EFULL)
        if (rc == 0 && weft_spawn(NULL, session, &s, sizeof s, NULL) < 0) weft_close(s);
    weft_listener_close(l);
}

#endif
