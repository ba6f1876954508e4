/* client.h -- the client of steps 3 and 4 of docs/tutorial-chat.md: the client of step 2 with the command /past. */
#ifndef CLIENT_H
#define CLIENT_H

#include "room.h"

#include <stdlib.h>

#define PAST(F) F(int, lines)
WEFT_MESSAGE(past, 2, PAST) /* to "history": asks for the last lines; the reply is their text */

static inline bool show_past(weft_stream s, int64_t lines)
{
    weft_msg *m;
    char text[4000]; /* it may come from another node's history, so it is made printable here, too */
    int rc = past_call_name("history", &(struct past){.lines = lines}, &m, weft_after(WEFT_SEC(1)));
    if (rc < 0) return weft_printf(s, PATIENCE, "* no past: %s\n", weft_strerror(rc)) > 0;
    size_t size = weft_size(m) < sizeof text ? weft_size(m) : sizeof text;
    memcpy(text, weft_data(m), size);
    weft_msg_free(m);
    for (size_t at = 0; (at += weft_printable(text + at, size - at, NULL)) < size; at++)
        if (text[at] != '\n') text[at] = '?';
    int64_t n = weft_write(s, text, size, PATIENCE);
    return n >= 0 && weft_printf(s, PATIENCE, "* that was it\n") > 0;
}

/* Handles a line that the client has typed. Returns false if the client has gone, or does not read. */
static inline bool take_line(weft_stream s, const char *nick)
{
    char line[200];
    int64_t n = weft_read_until(s, line, sizeof line, '\n', WEFT_NOW);
    if (n == WEFT_ETIMEDOUT) return true; /* half a line so far */
    if (n <= 0) return false;
    line[n - 1] = '\0';
    if (strncmp(line, "/past ", 6) == 0) return show_past(s, atoi(line + 6));
    return say_publish(ROOM, &(struct say){.nick = weft_cstr(nick), .text = weft_cstr(line)}) >= 0;
}

static inline void session(const void *arg, size_t size)
{
    weft_stream s = *(const weft_stream *)arg;
    char nick[24];
    (void)size;
    weft_defer_close(s);
    if (!ask_name(s, nick, sizeof nick) || weft_subscribe(ROOM, NULL) < 0) return;
    if (weft_printf(s, PATIENCE, "* welcome to %s, %s\n", weft_node_name(weft_here()), nick) < 0) return;
    for (;;) {
        weft_wait on[] = {weft_on_mailbox(), weft_on_readable(s)};
        int which = weft_wait_any(on, 2, WEFT_FOREVER);
        if (which < 0) return; /* asked to stop */
        if (!(which == 0 ? show_said(s) : take_line(s, nick))) return;
    }
}

static inline void door(const void *arg, size_t size)
{
    (void)size;
    open_door(arg, session);
}

#endif
