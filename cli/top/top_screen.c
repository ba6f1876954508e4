/* cli/top/top_screen.c -- weft top on a terminal, with ncurses. It decides nothing about nodes: lines come from
 * top_text.c.
 *
 * Signals are blocked in all threads and delivered only while this thread waits, so that no signal comes at a bad
 * moment. SIGINT, SIGTERM and SIGHUP end the program after restoring the terminal; SIGWINCH redraws. */
#include <curses.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "top_screen.h"
#include "top_feed.h"
#include "top_text.h"

enum mode { LIST, DETAIL, KEYS };

struct screen {
    struct top_feed *feed;
    struct top_wish wish;
    struct top_snapshot *now;
    uint32_t shown;    /* actors that pass the filter */
    uint32_t selected; /* the selected actor */
    uint32_t first;    /* the first actor on the screen */
    enum mode mode;
    struct top_lines lines, detail;
    const char *ask; /* not NULL: a text is being typed for "filter" or "search" */
    char typed[64], search[64];
    char note[128];
    int64_t late;
    bool over;
};

static volatile sig_atomic_t ended_by, resized;
static sigset_t open_mask; /* the mask before */

static void on_end(int number)
{
    ended_by = number;
}

static void on_resize(int number)
{
    (void)number;
    resized = 1;
}

void top_screen_prepare(void)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction act = {.sa_handler = on_end};
    sigset_t ours;
    sigemptyset(&ours);
    sigaddset(&ours, SIGWINCH);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        sigaddset(&ours, ends[i]);
        (void)sigaction(ends[i], &act, NULL);
    }
    act.sa_handler = on_resize;
    (void)sigaction(SIGWINCH, &act, NULL);
    pthread_sigmask(SIG_BLOCK, &ours, &open_mask);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) sigdelset(&open_mask, ends[i]);
    sigdelset(&open_mask, SIGWINCH);
}

/* ---- Drawing --------------------------------------------------------------------------------------------------- */

static chtype attributes(enum top_look look)
{
    switch (look) {
    case TOP_HEAD: return A_BOLD | A_UNDERLINE;
    case TOP_WARN: return (chtype)COLOR_PAIR(1) | A_BOLD;
    case TOP_ALARM: return (chtype)COLOR_PAIR(2) | A_BOLD;
    case TOP_FAINT: return A_DIM;
    case TOP_PLAIN: break;
    }
    return A_NORMAL;
}

static void put_line(int row, const char *text, chtype how)
{
    attrset((int)how);
    mvaddnstr(row, 0, text, COLS);
    if ((how & A_REVERSE) != 0) mvchgat(row, 0, -1, A_REVERSE, 0, NULL);
    attrset(A_NORMAL);
}

static int put_lines(const struct top_lines *l, int row, int last)
{
    for (uint32_t i = 0; i < l->count && row <= last; i++)
        put_line(row++, l->line[i].text, attributes(l->line[i].look));
    return row;
}

static void draw_status(const struct screen *s)
{
    char line[TOP_LINE], left_out[64] = "", late[48] = "", filter[96] = "", span[16];
    uint64_t all = 0;
    for (uint32_t i = 0; s->now != NULL && i < s->now->node_count; i++) all += s->now->nodes[i].actors_matched;
    uint32_t had = s->now == NULL ? 0 : s->now->actor_count;
    if (all > had)
        snprintf(left_out, sizeof left_out, "  (the first %u of %llu)", (unsigned)had, (unsigned long long)all);
    if (s->late > 2000000000) snprintf(late, sizeof late, "  NO ANSWER for %s", top_span((double)s->late, span));
    if (s->wish.filter[0] != '\0') snprintf(filter, sizeof filter, "  filter: %s", s->wish.filter);
    snprintf(line, sizeof line, "weft top  %s%s%s  %u actors%s by %s%s%s",
             s->now == NULL ? "" : s->now->nodes[0].name, s->wish.everywhere ? " and all others" : "", late,
             (unsigned)s->shown, left_out, top_by_names[s->wish.by], s->wish.reverse ? ", reversed" : "", filter);
    put_line(0, line, A_REVERSE);
}

static void draw_foot(const struct screen *s)
{
    char line[256];
    if (s->ask != NULL) snprintf(line, sizeof line, "%s: %s_", s->ask, s->typed);
    else if (s->note[0] != '\0') snprintf(line, sizeof line, "%s", s->note);
    else if (s->mode != LIST) snprintf(line, sizeof line, "Esc back  q quit");
    else snprintf(line, sizeof line, "q quit  s sort  r reverse  f filter  / search  Enter inspect  a nodes  ? keys");
    put_line(LINES - 1, line, A_REVERSE);
}

static void draw_list(struct screen *s)
{
    struct top_lines *l = &s->lines;
    int row = 1, last = LINES - 2;
    uint32_t most = LINES < 24 ? 2 : (uint32_t)(LINES - 12) / 5;
    top_lines_clear(l);
    l->width = COLS;
    top_put_nodes(l, s->now, most);
    row = put_lines(l, row, last - 3);
    uint32_t rows = row >= last ? 0 : (uint32_t)(last - row);
    if (s->selected < s->first) s->first = s->selected;
    if (s->selected >= s->first + rows) s->first = s->selected - rows + 1;
    if (s->first + rows > s->shown) s->first = s->shown > rows ? s->shown - rows : 0;
    top_lines_clear(l);
    uint32_t count = s->shown - s->first < rows ? s->shown - s->first : rows;
    top_put_actors(l, s->now, s->first, count, s->wish.by);
    put_lines(l, row, last);
    if (s->shown > 0) mvchgat(row + 1 + (int)(s->selected - s->first), 0, -1, A_REVERSE, 0, NULL);
}

static void draw_keys(void)
{
    static const char *const keys[] = {
        "Up Down PgUp PgDn Home End   choose an actor, also k and j",
        "Enter                        what it does and waits for; Esc goes back",
        "s S                          the next, the previous order",
        "r                            the other way round",
        "f                            only those with a text in kind, name, pid or node",
        "/ n                          search for a text; the next one",
        "a                            all nodes of the cluster, or this one only",
        "q                            quit",
        "",
        "W: workers. LONGEST: the longest turn of a worker in the last seconds; a message",
        "may have waited so long. BUSY: how much of the time the busiest worker ran.",
        "HOLD-UP: an actor that does not wait, and for how long. WAITING: messages in",
        "mailboxes; of a link: senders that wait. CREDIT: of the actors there that are",
        "sent to, those that accept messages. STACK: the most that a kind has used.",
    };
    for (int i = 0; i < (int)(sizeof keys / sizeof keys[0]) && i < LINES - 2; i++) put_line(i + 1, keys[i], A_NORMAL);
}

static void draw(struct screen *s)
{
    erase();
    if (LINES < 8 || COLS < 40) {
        put_line(0, "The terminal is too small.", A_NORMAL);
        refresh();
        return;
    }
    draw_status(s);
    if (s->mode == KEYS) draw_keys();
    else if (s->mode == DETAIL) (void)put_lines(&s->detail, 1, LINES - 2);
    else if (s->now != NULL) draw_list(s);
    draw_foot(s);
    refresh();
}

/* ---- What has come --------------------------------------------------------------------------------------------- */

static const struct top_actor *chosen(const struct screen *s)
{
    return s->now == NULL || s->selected >= s->shown ? NULL : &s->now->actors[s->selected];
}

/* Shows `fresh` or the present snapshot, sorted. The selected actor stays selected; but if the first place was
 * selected, the first place stays selected. */
static void arrange(struct screen *s, struct top_snapshot *fresh)
{
    char pid[sizeof fresh->actors[0].pid] = "";
    if (chosen(s) != NULL && s->selected > 0) memcpy(pid, chosen(s)->pid, sizeof pid);
    if (fresh != s->now) {
        top_compare(fresh, s->now);
        top_free(s->now);
        s->now = fresh;
    }
    if (fresh == NULL) return;
    s->shown = top_arrange(fresh, s->wish.by, s->wish.reverse, s->wish.filter);
    for (uint32_t i = 0; pid[0] != '\0' && i < s->shown; i++) {
        if (strcmp(fresh->actors[i].pid, pid) == 0) s->selected = i;
    }
    if (s->selected >= s->shown) s->selected = s->shown == 0 ? 0 : s->shown - 1;
}

static void take_news(struct screen *s)
{
    struct top_news news;
    s->over = !top_feed_take(s->feed, &news);
    s->late = news.late;
    if (news.fresh != NULL) arrange(s, news.fresh);
    if (news.detail != NULL || news.why[0] != '\0') {
        top_lines_clear(&s->detail);
        if (news.detail == NULL || !top_put_detail(&s->detail, news.detail, news.detail_size))
            snprintf(s->note, sizeof s->note, "%.120s", news.why);
    }
    free(news.detail);
}

/* ---- Keys ------------------------------------------------------------------------------------------------------ */

static void wish(struct screen *s)
{
    arrange(s, s->now);
    top_feed_wish(s->feed, &s->wish);
}

static void search(struct screen *s, uint32_t from)
{
    if (s->now == NULL || s->search[0] == '\0') return;
    uint32_t at = top_search(s->now, s->shown, from, s->search);
    if (at != UINT32_MAX) s->selected = at;
    else snprintf(s->note, sizeof s->note, "no actor here has '%s' in kind, name, pid or node", s->search);
}

static void end_typing(struct screen *s, bool take)
{
    bool filters = strcmp(s->ask, "filter") == 0;
    s->ask = NULL;
    if (!take) return;
    memcpy(filters ? s->wish.filter : s->search, s->typed, sizeof s->typed);
    if (filters) wish(s);
    else search(s, s->selected);
}

static void on_typed(struct screen *s, int key)
{
    size_t n = strlen(s->typed);
    if (key == '\n' || key == KEY_ENTER || key == 27) end_typing(s, key != 27);
    else if ((key == KEY_BACKSPACE || key == 127 || key == 8) && n > 0) s->typed[n - 1] = '\0';
    else if (key >= ' ' && key <= '~' && n < sizeof s->typed - 1) s->typed[n] = (char)key, s->typed[n + 1] = '\0';
}

static void begin_typing(struct screen *s, const char *what)
{
    s->ask = what;
    s->typed[0] = '\0';
}

static void move_to(struct screen *s, int64_t place)
{
    int64_t last = (int64_t)s->shown - 1;
    s->selected = (uint32_t)(place < 0 || last < 0 ? 0 : place > last ? last : place);
}

static void inspect(struct screen *s)
{
    const struct top_actor *a = chosen(s);
    if (a == NULL) return;
    if (a->node != 0) { /* a node tells of its own actors */
        snprintf(s->note, sizeof s->note, "it is on another node: weft inspect %.*s --node %s",
                 (int)strcspn(a->pid, "@"), a->pid, s->now->nodes[a->node].name);
        return;
    }
    snprintf(s->wish.inspect, sizeof s->wish.inspect, "%s", a->pid);
    top_lines_clear(&s->detail);
    s->mode = DETAIL;
    wish(s);
}

static void back(struct screen *s)
{
    s->mode = LIST;
    s->wish.inspect[0] = '\0';
}

static void on_list_key(struct screen *s, int key)
{
    int64_t at = s->selected, page = LINES / 2;
    switch (key) {
    case KEY_UP:
    case 'k': move_to(s, at - 1); break;
    case KEY_DOWN:
    case 'j': move_to(s, at + 1); break;
    case KEY_PPAGE: move_to(s, at - page); break;
    case KEY_NPAGE: move_to(s, at + page); break;
    case KEY_HOME: move_to(s, 0); break;
    case KEY_END: move_to(s, s->shown); break;
    case 's': s->wish.by = (s->wish.by + 1) % TOP_BYS, wish(s); break;
    case 'S': s->wish.by = (s->wish.by + TOP_BYS - 1) % TOP_BYS, wish(s); break;
    case 'r': s->wish.reverse = !s->wish.reverse, wish(s); break;
    case 'a': s->wish.everywhere = !s->wish.everywhere, wish(s); break;
    case 'f': begin_typing(s, "filter"); break;
    case '/': begin_typing(s, "search"); break;
    case 'n': search(s, s->selected + 1); break;
    case '\n':
    case KEY_ENTER: inspect(s); break;
    default: break;
    }
}

/* False: it was the last. */
static bool on_key(struct screen *s, int key)
{
    if (s->ask != NULL) {
        on_typed(s, key);
        return true;
    }
    s->note[0] = '\0';
    if (key == 'q') return false;
    if (key == '?' || key == 'h') s->mode = s->mode == KEYS ? LIST : KEYS;
    else if (key == 27 || key == KEY_LEFT) back(s);
    else if (s->mode == LIST) on_list_key(s, key);
    return true;
}

/* ---- The loop -------------------------------------------------------------------------------------------------- */

static void resize(void)
{
    struct winsize size;
    resized = 0;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0)
        resizeterm(size.ws_row, size.ws_col);
    clear();
}

static bool on_keys(struct screen *s)
{
    for (int key; (key = getch()) != ERR;) {
        if (!on_key(s, key)) return false;
    }
    return true;
}

static void show(struct screen *s)
{
    bool here = true;
    while (here && !s->over && ended_by == 0) {
        take_news(s);
        here = on_keys(s);
        draw(s);
        struct pollfd from[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                                {.fd = top_feed_descriptor(s->feed), .events = POLLIN}};
        struct timespec second = {.tv_sec = 1};
        if (!here || s->over) break;
        if (ppoll(from, 2, &second, &open_mask) < 0 && errno != EINTR) break;
        if ((from[0].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) ended_by = SIGHUP;
        if (resized) resize();
    }
}

static void use_colours(void)
{
    const char *none = getenv("NO_COLOR");
    if ((none != NULL && none[0] != '\0') || !has_colors()) return;
    start_color();
    use_default_colors();
    init_pair(1, COLOR_YELLOW, -1);
    init_pair(2, COLOR_RED, -1);
}

/* The screen comes up once there is something to show, so that what is wrong from the start is just printed. */
static bool await_first(struct screen *s)
{
    struct pollfd from = {.fd = top_feed_descriptor(s->feed), .events = POLLIN};
    while (s->now == NULL && !s->over && ended_by == 0) {
        (void)ppoll(&from, 1, NULL, &open_mask);
        take_news(s);
    }
    return s->now != NULL && ended_by == 0;
}

static bool take_terminal(SCREEN **out)
{
    *out = newterm(NULL, stdout, stdin);
    if (*out == NULL) return false;
    set_term(*out);
    cbreak();
    noecho();
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    set_escdelay(25);
    (void)curs_set(0);
    use_colours();
    return true;
}

int top_screen(struct top_feed *feed, const struct top_wish *first)
{
    struct screen s = {.feed = feed, .wish = *first};
    SCREEN *terminal = NULL;
    bool some = await_first(&s), taken = some && take_terminal(&terminal);
    if (taken) {
        show(&s);
        endwin();
        delscreen(terminal);
    }
    top_free(s.now);
    top_lines_clear(&s.lines);
    top_lines_clear(&s.detail);
    return some && !taken ? -1 : ended_by;
}
