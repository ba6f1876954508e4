/* Rows of docs/semantics.md as tests. A row is a function that reports, in a few words, what weft does; its namesake
 * in rows_*.erl reports what Erlang/OTP does. check.py compares both with what the page promises. */
#ifndef ROWS_H
#define ROWS_H

#include <weft.h>
#include <weft/test.h>

struct row {
    const char *name;
    weft_actor *body;
    void (*plain)(void); /* instead: outside of actors, for rows that need several nodes */
    struct row *next;
};
void row_add(struct row *r);

/* ROW(name) { ... }: the body of the first actor of a node with virtual time. */
#define ROW(id)                                             \
    static void row_##id(const void *arg, size_t size);     \
    __attribute__((constructor)) static void add_##id(void) \
    {                                                       \
        static struct row r = {#id, row_##id, 0, 0};        \
        row_add(&r);                                        \
    }                                                       \
    static void row_##id(__attribute__((unused)) const void *arg, __attribute__((unused)) size_t size)

#define NODES_ROW(id)                                       \
    static void row_##id(void);                             \
    __attribute__((constructor)) static void add_##id(void) \
    {                                                       \
        static struct row r = {#id, 0, row_##id, 0};        \
        row_add(&r);                                        \
    }                                                       \
    static void row_##id(void)

/* What such a row's other process runs: `rows --peer URL`. */
int peer_main(const char *url);

/* ACTOR(name) { ... } */
#define ACTOR(id) static void id(__attribute__((unused)) const void *arg, __attribute__((unused)) size_t size)

/* More words for the row's outcome, set apart by blanks. From any actor of the row. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A result in the words of the page: "ok", "timed-out", "canceled"; "error" for those that it has no word for. */
void say_result(int result);
/* "ok" or "error", where Erlang has an exception for it. */
void say_refused(int result);
/* A reason in the words of the page. */
const char *reason_word(int reason);
/* What a message says: "5" (its tag), "DOWN 17", "EXIT killed"; frees it. */
void say_message(weft_msg *m);
/* All that is in the mailbox or comes within a minute; "nothing" if that is nothing. */
void say_mail(void);
/* Whether that actor lives. */
void say_alive(weft_pid who);

weft_pid start(weft_actor *body);
/* The same, monitored by the caller. */
weft_pid watch(weft_actor *body);
/* An actor that does what others tell it, see do_*. */
weft_pid puppet(void);
void do_exit(weft_pid who, int reason);
void do_link(weft_pid who, weft_pid other);
void do_trap(weft_pid who, bool on);
void do_send(weft_pid who, weft_pid to, int tag);
void do_name(weft_pid who, const char *name);
/* All others have done what there is to do now. */
void settle(void);

/* Receives and frees whatever comes, until it is asked to stop. */
void idle(const void *arg, size_t size);
/* Sends a message of this tag to the row's first actor. */
void tell(int tag);
weft_pid first_actor(void);

#endif
