#include "rows.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct row *rows;
static char outcome[1000];
static pthread_mutex_t outcome_lock = PTHREAD_MUTEX_INITIALIZER; /* rows with several nodes have several threads */
static weft_pid first;
static bool over; /* what follows is only the end of the node */

void row_add(struct row *r)
{
    r->next = rows;
    rows = r;
}

/* ---- What happened --------------------------------------------------------------------------------------------- */

void say(const char *format, ...)
{
    pthread_mutex_lock(&outcome_lock);
    size_t used = strlen(outcome);
    if (!over) {
        if (used > 0 && used + 1 < sizeof outcome) strcpy(outcome + used++, " ");
        va_list args;
        va_start(args, format);
        vsnprintf(outcome + used, sizeof outcome - used, format, args);
        va_end(args);
    }
    pthread_mutex_unlock(&outcome_lock);
}

const char *reason_word(int reason)
{
    static char number[16];
    switch (reason) {
    case WEFT_EXIT_NORMAL: return "normal";
    case WEFT_EXIT_STOPPED: return "stopped";
    case WEFT_EXIT_KILLED: return "killed";
    case WEFT_EXIT_NO_ACTOR: return "no-actor";
    case WEFT_EXIT_NODE_LOST: return "node-lost";
    case WEFT_EXIT_FAILED: return "failed";
    case WEFT_EXIT_GAVE_UP: return "gave-up";
    default: snprintf(number, sizeof number, "%d", reason); return number;
    }
}

void say_result(int result)
{
    switch (result) {
    case WEFT_OK: say("ok"); break;
    case WEFT_ETIMEDOUT: say("timed-out"); break;
    case WEFT_ECANCELED: say("canceled"); break;
    case WEFT_ENOACTOR: say("no-actor"); break;
    case WEFT_ENONODE: say("node-lost"); break;
    case WEFT_ENOREPLY: say("no-reply"); break;
    case WEFT_EDEADLOCK: say("deadlock"); break;
    case WEFT_EFULL: say("full"); break;
    case WEFT_ECLOSED: say("closed"); break;
    default: say(result < 0 ? "error" : "%d", result);
    }
}

void say_refused(int result)
{
    say(result < 0 ? "error" : "ok");
}

void say_message(weft_msg *m)
{
    struct weft_down down;
    struct weft_group_news news;
    if (weft_down_read(m, &down) == 0)
        say("%s %s", weft_tag(m) == WEFT_TAG_DOWN ? "DOWN" : "EXIT", reason_word(down.reason));
    else if (weft_group_news_read(m, &news) == 0) {
        if (weft_tag(m) == WEFT_TAG_GROUP_JOIN) say("join");
        else if (news.ended) say("leave %s", reason_word(news.reason));
        else say("leave");
    } else if (weft_tag(m) == WEFT_TAG_STOP) say("STOP");
    else say("%u", weft_tag(m));
    weft_msg_free(m);
}

void say_mail(void)
{
    weft_msg *m;
    int count = 0;
    int64_t deadline = weft_after(WEFT_SEC(60));
    for (; weft_recv(&m, deadline) == 0; count++) say_message(m);
    if (count == 0) say("nothing");
}

void say_alive(weft_pid who)
{
    weft_monitor_ref ref;
    weft_settle();
    if (weft_monitor(who, &ref) != 0) say("error");
    weft_settle();
    weft_msg *m;
    say(weft_recv_tag(&m, WEFT_TAG_DOWN, WEFT_NOW) == 0 ? "ended" : "lives");
    weft_demonitor(ref);
}

/* ---- Actors ---------------------------------------------------------------------------------------------------- */

weft_pid first_actor(void)
{
    return first;
}

void tell(int tag)
{
    weft_send(first, (uint32_t)tag, NULL, 0);
}

static weft_pid started(weft_actor *body, weft_monitor_ref *ref)
{
    weft_pid pid = weft_nobody();
    if (weft_spawn(&pid, body, NULL, 0, &(weft_spawn_options){.monitor = ref}) != 0) say("no memory");
    return pid;
}

weft_pid start(weft_actor *body)
{
    return started(body, NULL);
}

weft_pid watch(weft_actor *body)
{
    weft_monitor_ref ref;
    return started(body, &ref);
}

void idle(const void *arg, size_t size)
{
    (void)arg;
    (void)size;
    for (weft_msg *m; weft_recv(&m, WEFT_FOREVER) == 0;) weft_msg_free(m);
}

struct order {
    enum { DO_EXIT, DO_LINK, DO_TRAP, DO_SEND, DO_NAME } what;
    int number;
    weft_pid other;
    char name[32];
};
enum { ORDER = 1000 };

static void obey(const struct order *o)
{
    switch (o->what) {
    case DO_EXIT: weft_exit(o->number);
    case DO_LINK: weft_link(o->other); break;
    case DO_TRAP: weft_trap_exits(o->number != 0); break;
    case DO_SEND: weft_send(o->other, (uint32_t)o->number, NULL, 0); break;
    case DO_NAME: say_result(weft_register(o->name)); break;
    }
}

ACTOR(puppet_body)
{
    for (weft_msg *m; weft_recv(&m, WEFT_FOREVER) == 0;) {
        struct order o = {0};
        bool mine = weft_tag(m) == ORDER;
        if (mine) memcpy(&o, weft_data(m), sizeof o);
        weft_msg_free(m);
        if (mine) obey(&o);
    }
}

weft_pid puppet(void)
{
    return start(puppet_body);
}

void settle(void)
{
    weft_settle();
}

static void order(weft_pid who, const struct order *o)
{
    weft_send(who, ORDER, o, sizeof *o);
    settle();
}

void do_exit(weft_pid who, int reason)
{
    order(who, &(struct order){.what = DO_EXIT, .number = reason});
}

void do_link(weft_pid who, weft_pid other)
{
    order(who, &(struct order){.what = DO_LINK, .other = other});
}

void do_trap(weft_pid who, bool on)
{
    order(who, &(struct order){.what = DO_TRAP, .number = on});
}

void do_send(weft_pid who, weft_pid to, int tag)
{
    order(who, &(struct order){.what = DO_SEND, .other = to, .number = tag});
}

void do_name(weft_pid who, const char *name)
{
    struct order o = {.what = DO_NAME};
    snprintf(o.name, sizeof o.name, "%s", name);
    order(who, &o);
}

/* ---- Running them ---------------------------------------------------------------------------------------------- */

ACTOR(row_body)
{
    first = weft_self();
    (*(const struct row *const *)arg)->body(NULL, 0);
    over = true;
}

static void run(const struct row *r)
{
    outcome[0] = '\0';
    over = false;
    if (r->plain != NULL) r->plain();
    else if (weft_test_run(row_body, &r, sizeof(struct row *), &(weft_test_options){.quiet = true}) != 0) {
        over = false;
        say("[%s]", weft_test_report());
    }
    for (char *p = outcome; *p != '\0'; p++)
        if (*p == '\n' || *p == '\t') *p = ' ';
    printf("%s\t%s\n", r->name, outcome);
}

/* usage: rows [ROW...]: prints "row TAB outcome" for these, or all. */
int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--peer") == 0) return peer_main(argv[2]);
    for (const struct row *r = rows; r != NULL; r = r->next) {
        bool wanted = argc < 2;
        for (int i = 1; i < argc; i++) wanted |= strcmp(argv[i], r->name) == 0;
        if (wanted) run(r);
    }
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
