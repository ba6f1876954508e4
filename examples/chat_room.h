/* chat_room.h -- the rooms of chat.c and webchat.c: the history and the members. Each node that has had members has
 * one such actor, the keeper of the room; chat.c describes how they agree. */
#ifndef CHAT_ROOM_H
#define CHAT_ROOM_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft.h>

#define SAY(F) F(str, nick) F(str, text) F(uint, id)
WEFT_MESSAGE(say, 1, SAY) /* published in a room: a line of a member */
#define CAME(F) F(str, nick) F(uint, change)
WEFT_MESSAGE(came, 4, CAME) /* published to the keepers of a room: the sender has that nick; "": it leaves. Its
                               changes have numbers, because they arrive on more than one way */
#define OLD(F) F(str, nick) F(str, text) F(uint, id) F(str, room)
WEFT_MESSAGE(old, 5, OLD) /* a line of the history, from the owner of a room; without a nick: a summary of them */
#define MOVE(F) F(str, nick) F(str, what)
WEFT_MESSAGE(move, 8, MOVE) /* published in a room by its owner: a member came, left, or has another nick now */
#define ROLL(F) F(pid, session) F(str, nick) F(uint, change)
WEFT_MESSAGE(roll, 9, ROLL) /* between the owner and the other keepers: a member; without a nick: it has left */

enum {
    PAST = 6,            /* to the owner of a room: send the sender all lines */
    ROLL_CALL,           /* published in a room: send the sender your nick */
    KEEP = 10,           /* to the owner: the sender keeps the room, too; send it the lines and the members */
    TAKE,                /* to the keepers of the room: its owner gives it up, one of them is to own it */
    HISTORY = 100,       /* lines kept of a room */
    NAME_MAX_BYTES = 24, /* the length of a nick or a room's name */
    TEXT_BYTES = 1600,   /* the length of one line */
};

struct line {
    uint64_t id;
    char nick[NAME_MAX_BYTES + 1], text[TEXT_BYTES + 1];
};

/* A client cannot move the cursors of others, whichever node the text comes from. */
static inline void make_plain(char *text, size_t size)
{
    for (size_t at = 0; (at += weft_printable(text + at, size - at, NULL)) < size;) text[at++] = '?';
}

#define ROOM_IDLE WEFT_SEC(3600) /* after this time its lines are not kept in memory any more */
#define ROOM_EMPTY WEFT_SEC(10)  /* after this time a room without lines and members ends */

struct member {
    weft_pid session;
    weft_monitor_ref ref;
    uint64_t change; /* the number of its last known change */
    bool away;       /* its node is a suspect: nothing reaches it for now, */
    uint64_t since;  /* send the lines from this number on */
    char nick[NAME_MAX_BYTES + 1];
};

struct absent {
    char nick[NAME_MAX_BYTES + 1];
    uint64_t since;   /* the number of the first line that it did not get */
    weft_pid session; /* its changes up to this number are from before it left */
    uint64_t change;
};

struct keeper {
    weft_pid pid;
    weft_monitor_ref ref;
};

struct room {
    char name[NAME_MAX_BYTES + 6]; /* its topic, which is also the global name of its owner */
    bool owner;
    weft_pid owner_pid; /* the actor that owns it instead; no actor: the room has no owner now */
    weft_monitor_ref owner_ref;
    bool owner_away;              /* the owner's node is a suspect */
    uint64_t count, saved, heard; /* the number of all lines; of those on disk; and of those not from an owner */
    bool loaded;                  /* the lines on disk have been read */
    size_t member_count, member_room;
    struct member *members; /* the members that have a nick */
    size_t keeper_count;
    struct keeper *keepers; /* the keepers on other nodes: they are notified of members */
    struct absent absent[HISTORY];
    uint64_t absent_count;
    struct line lines[HISTORY]; /* number i at i % HISTORY */
};

/* Inserts it after all but the last `newer` lines. */
static void keep(struct room *r, weft_text nick, weft_text text, uint64_t id, uint64_t newer)
{
    uint64_t at = r->count;
    if (nick.size == 0 || nick.size > NAME_MAX_BYTES || text.size > TEXT_BYTES) return;
    for (uint64_t i = 0; i < r->count && i < HISTORY; i++)
        if (r->lines[i].id == id) return; /* it came from the owner, and was also received directly */
    for (; newer > 0 && at > 0; newer--, at--) r->lines[at % HISTORY] = r->lines[(at - 1) % HISTORY];
    struct line *l = &r->lines[at % HISTORY];
    l->id = id;
    snprintf(l->nick, sizeof l->nick, "%.*s", WEFT_STR(nick));
    snprintf(l->text, sizeof l->text, "%.*s", WEFT_STR(text));
    r->count++;
}

#ifdef CHAT_STORE
#include "chat_store.h"
#else
#define open_history(file) ((file) == NULL ? WEFT_OK : WEFT_ENOTSUP)
#define save(r) ((r)->saved = (r)->count)
#define load(r) (void)(r)
#endif

/* Sends the lines from that number on, then their count. */
static void tell_past(const struct room *r, weft_pid to, uint64_t from, const char *what)
{
    const weft_text name = weft_cstr(r->name + strlen("room."));
    char end[64];
    if (r->count > HISTORY && from < r->count - HISTORY) from = r->count - HISTORY;
    snprintf(end, sizeof end, "%d %s", (int)(r->count - from), what);
    for (; from < r->count; from++) {
        const struct line *l = &r->lines[from % HISTORY];
        /* A session that has no space for the history, or has ended, gets nothing: the room does not wait for it. */
        weft_ignore(old_try_send(to, &(struct old){weft_cstr(l->nick), weft_cstr(l->text), l->id, name}));
    }
    weft_ignore(old_try_send(to, &(struct old){weft_cstr(""), weft_cstr(end), 0, name}));
}

static void note_absent(struct room *r, const struct member *who, uint64_t change)
{
    struct absent *a = &r->absent[r->absent_count++ % HISTORY]; /* the member that left first is forgotten */
    *a = (struct absent){.since = who->away ? who->since : r->count, .session = who->session, .change = change};
    memcpy(a->nick, who->nick, sizeof a->nick);
}

static bool had_left(const struct room *r, weft_pid session, uint64_t change)
{
    for (const struct absent *a = r->absent; a < r->absent + HISTORY; a++)
        if (weft_pid_equal(a->session, session) && change <= a->change) return true;
    return false;
}

/* Only the owner publishes this, once for all nodes. */
static void tell_move(const struct room *r, const char *nick, const char *what)
{
    if (!r->owner) return;
    int rc = move_publish(r->name, &(struct move){weft_cstr(nick), weft_cstr(what)});
    if (rc < 0) weft_log(WEFT_WARN, "%s is not told that %s %s: %s", r->name, nick, what, weft_strerror(rc));
}

static struct member *find_member(const struct room *r, weft_pid session)
{
    for (size_t i = 0; i < r->member_count; i++)
        if (weft_pid_equal(r->members[i].session, session)) return &r->members[i];
    return NULL;
}

/* Adds a member that has a nick and is not known yet. NULL: it cannot be added. */
static struct member *add_member(struct room *r, weft_pid session)
{
    if (r->member_count == r->member_room) {
        struct member *more = realloc(r->members, (2 * r->member_room + 8) * sizeof *more);
        if (more == NULL) return NULL;
        r->members = more;
        r->member_room = 2 * r->member_room + 8;
    }
    struct member *who = &r->members[r->member_count];
    *who = (struct member){.session = session};
    return weft_monitor(session, &who->ref) < 0 ? NULL : &r->members[r->member_count++];
}

static void tell_roll(weft_pid to, const struct member *who)
{
    int rc = roll_try_send(to, &(struct roll){who->session, weft_cstr(who->nick), who->change});
    if (rc < 0)
        weft_log(WEFT_WARN, "a keeper of the room on another node is not notified of %s: %s", who->nick,
                 weft_strerror(rc));
}

/* A publication of the session itself does not reach a node whose link is new. Between a node and the owner there is
 * no such gap. Only changes from the session's own node are forwarded, so they go nowhere twice. */
static void pass_on(const struct room *r, const struct member *who)
{
    uint64_t here = weft_self().node, home = who->session.node;
    if (!weft_pid_is_nobody(r->owner_pid) && home == here) tell_roll(r->owner_pid, who);
    for (size_t i = 0; r->owner && i < r->keeper_count; i++)
        if (r->keepers[i].pid.node != home) tell_roll(r->keepers[i].pid, who);
}

/* A session takes the nick, perhaps not for the first time. */
static void tell_missed(struct room *r, const struct member *who)
{
    for (struct absent *a = r->absent; a < r->absent + HISTORY; a++) {
        if (strcmp(a->nick, who->nick) != 0) continue;
        bool ours = r->owner || (r->owner_away && who->session.node == weft_self().node);
        if (ours && a->since < r->count) tell_past(r, who->session, a->since, "while you were away");
        a->nick[0] = 0;
    }
}

/* A session has the nick of another one whose node is a suspect: the client has come back on another node, before
 * that one is known to be down. Forgets the old session, so that its end is not reported. False: there is no such
 * session. */
static bool came_back(struct room *r, const struct member *who)
{
    for (size_t i = 0; i < r->member_count; i++) {
        struct member *old = &r->members[i];
        if (!old->away || old->session.node == who->session.node || strcmp(old->nick, who->nick) != 0) continue;
        note_absent(r, old, UINT64_MAX);
        weft_demonitor(old->ref);
        *old = r->members[--r->member_count];
        return true;
    }
    return false;
}

/* `nick` "": the session leaves. A change that is not newer than the known one has come on a longer way. */
static void note_member(struct room *r, weft_pid from, weft_pid session, weft_text nick, uint64_t change)
{
    char now[NAME_MAX_BYTES + 16];
    struct member *who = find_member(r, session), before = {0};
    if (nick.size > NAME_MAX_BYTES) return;
    if (who != NULL) {
        if (change <= who->change) return;
        before = *who;
    } else if (nick.size == 0 || had_left(r, session, change)) return;
    else if ((who = add_member(r, session)) == NULL) {
        weft_log(WEFT_WARN, "%s does not know of %.*s", r->name, WEFT_STR(nick));
        return;
    }
    who->change = change;
    snprintf(who->nick, sizeof who->nick, "%.*s", WEFT_STR(nick));
    if (from.node == session.node) pass_on(r, who);
    if (strcmp(before.nick, who->nick) == 0) return;
    if (nick.size > 0 && came_back(r, who)) {
        who = find_member(r, session); /* it may have moved */
    } else if (before.nick[0] == 0) {
        tell_move(r, who->nick, "has come");
    } else {
        note_absent(r, &before, change);
        snprintf(now, sizeof now, nick.size == 0 ? "has left" : "is now %s", who->nick);
        tell_move(r, before.nick, now);
    }
    if (nick.size > 0) {
        tell_missed(r, who);
    } else {
        weft_demonitor(who->ref);
        *who = r->members[--r->member_count];
    }
}

static void tell_members(const struct room *r, weft_pid to)
{
    for (size_t i = 0; i < r->member_count; i++) tell_roll(to, &r->members[i]);
}

static void add_keeper(struct room *r, weft_pid pid)
{
    struct keeper *more = realloc(r->keepers, (r->keeper_count + 1) * sizeof *more);
    if (more == NULL) return;
    r->keepers = more;
    more[r->keeper_count].pid = pid;
    if (weft_monitor(pid, &more[r->keeper_count].ref) == 0) r->keeper_count++;
}

/* This actor owns the room, or monitors the owner; then the two exchange their members. In a minority, or on a node
 * that drains, the room may have no owner for now: lines arrive as usual, and no actor sends the history. */
static void claim(struct room *r)
{
    int rc = WEFT_EEXIST; /* another actor has the name, and may end before it is found */
    if (!weft_pid_is_nobody(r->owner_pid)) weft_demonitor(r->owner_ref);
    r->owner_away = false;
    for (int tries = 0; tries < 10 && rc == WEFT_EEXIST; tries++) {
        r->owner_pid = weft_nobody();
        rc = weft_register_global(r->name);
        r->owner = rc == 0;
        if (rc < 0 && weft_whereis(r->name, &r->owner_pid) == 0) rc = weft_monitor(r->owner_pid, &r->owner_ref);
    }
    if (rc < 0) r->owner_pid = weft_nobody();
    if (r->owner) {
        load(r);
    } else if (rc == 0) {
        weft_ignore(weft_send(r->owner_pid, KEEP, NULL, 0)); /* if it has ended the monitor reports that */
        tell_members(r, r->owner_pid);
    }
    weft_ignore(weft_publish(r->name, ROLL_CALL, NULL, 0)); /* without memory: sessions ask by themselves, later */
    if (rc == 0) weft_log(WEFT_INFO, "%s is %s", r->name, r->owner ? "owned here" : "kept here, too");
    else weft_log(WEFT_WARN, "%s has no owner for now: %s", r->name, weft_strerror(rc));
}

/* This node drains: a keeper on another node is to own the room. If there is none, this actor keeps it. */
static void give_up(struct room *r)
{
    if (!r->owner || r->keeper_count == 0) return;
    save(r);
    weft_unregister(r->name);
    for (size_t i = 0; i < r->keeper_count; i++) {
        weft_demonitor(r->keepers[i].ref);
        weft_ignore(weft_send(r->keepers[i].pid, TAKE, NULL, 0)); /* a keeper that has ended gets nothing */
    }
    r->keeper_count = 0;
    weft_log(WEFT_INFO, "%s goes to another node, as this one drains", r->name);
    r->owner = false;
    r->owner_pid = weft_nobody();
    if (weft_await_name(r->name, &r->owner_pid, weft_after(WEFT_SEC(5))) == 0) claim(r);
}

static void note_end(struct room *r, const weft_msg *m)
{
    struct weft_down down;
    if (weft_down_read(m, &down) < 0) return;
    if (!r->owner && down.ref.id == r->owner_ref.id) claim(r);
    for (size_t i = 0; i < r->keeper_count; i++)
        if (r->keepers[i].ref.id == down.ref.id) r->keepers[i] = r->keepers[--r->keeper_count];
    for (size_t i = 0; i < r->member_count; i++) {
        if (r->members[i].ref.id != down.ref.id) continue;
        note_absent(r, &r->members[i], UINT64_MAX);
        tell_move(r, r->members[i].nick, "is gone");
        r->members[i] = r->members[--r->member_count];
        return;
    }
}

/* A node is a suspect, or is not any more: then its members get the lines of the meantime. */
static void note_node(struct room *r, const weft_msg *m, bool suspect)
{
    struct weft_node_news news;
    if (weft_node_news_read(m, &news) < 0) return;
    size_t changed = 0;
    if (!r->owner && r->owner_pid.node == news.incarnation) r->owner_away = suspect;
    for (size_t i = 0; i < r->member_count; i++) {
        struct member *who = &r->members[i];
        if (who->session.node != news.incarnation || who->away == suspect) continue;
        if (suspect) who->since = r->count;
        who->away = suspect;
        changed++;
    }
    if (changed > 0)
        weft_log(WEFT_INFO, "%s: %zu members on node %s are %s", r->name, changed, news.name,
                 suspect ? "out of reach" : "back");
}

/* Notifications about nodes, and about the owner of the room. */
static void take_change(struct room *r, const weft_msg *m)
{
    switch (weft_tag(m)) {
    case TAKE:
        if (!r->owner && weft_pid_equal(weft_from(m), r->owner_pid)) claim(r);
        break;
    case WEFT_TAG_NODE_SUSPECT: note_node(r, m, true); break;
    case WEFT_TAG_MAJORITY:
    case WEFT_TAG_UNDRAIN:
    case WEFT_TAG_NODE_UP: /* perhaps that of an owner */
        note_node(r, m, false);
        if (!r->owner && weft_pid_is_nobody(r->owner_pid)) claim(r);
        break;
    default: break;
    }
}

static void take_room_mail(struct room *r, const weft_msg *m)
{
    struct say said;
    struct old old;
    struct came came;
    struct roll roll;
    if (say_is(m) && say_read(m, &said) == 0)
        keep(r, said.nick, said.text, said.id, 0), r->heard += r->heard < HISTORY - 1;
    else if (old_is(m) && old_read(m, &old) == 0) keep(r, old.nick, old.text, old.id, r->heard);
    else if (came_is(m) && came_read(m, &came) == 0)
        note_member(r, weft_from(m), weft_from(m), came.nick, came.change);
    else if (roll_is(m) && roll_read(m, &roll) == 0) {
        if (roll.session.node != weft_self().node) /* a member on this node has reported it itself */
            note_member(r, weft_from(m), roll.session, roll.nick, roll.change);
    } else if (weft_tag(m) == PAST) {
        if (r->owner) load(r);
        tell_past(r, weft_from(m), 0, "in all");
    } else if (weft_tag(m) == KEEP) {
        tell_past(r, weft_from(m), 0, "in all");
        tell_members(r, weft_from(m));
        add_keeper(r, weft_from(m));
        if (weft_is_draining(weft_here())) give_up(r);
    } else if (weft_tag(m) == WEFT_TAG_DOWN) note_end(r, m);
    else if (weft_tag(m) == WEFT_TAG_NAME_LOST) claim(r); /* after a cut: another actor has had it for longer */
    else if (weft_tag(m) == WEFT_TAG_DRAIN) give_up(r);
    else take_change(r, m);
}

static void close_room(void *room)
{
    struct room *r = room;
    if (r->owner) save(r);
    free(r->members);
    free(r->keepers);
    free(r);
}

/* No member was ever known. Members without a nick are not known: see is_deserted. */
static bool is_empty(const struct room *r)
{
    return r->owner && r->count == 0 && r->member_count == 0 && r->keeper_count == 0;
}

/* The room has no subscribers. Visitors subscribe before they look for the room: so each one is counted here, or
 * finds no room and opens it again. */
static bool is_deserted(const struct room *r, const char *topic)
{
    struct weft_reach reach = {0};
    weft_unregister(topic);
    int rc = weft_publish_reach(r->name, ROLL_CALL, NULL, 0, &reach, weft_after(WEFT_SEC(1)));
    bool alone = rc == 0 && reach.silent == 0 && reach.subscribers <= 1; /* this room */
    return alone || weft_register(topic) < 0;
}

static void room(const void *arg, size_t size)
{
    struct room *r = calloc(1, sizeof *r);
    char topic[NAME_MAX_BYTES + 7];
    bool looked = false;
    int64_t rc = 0;
    weft_msg *m;
    (void)size;
    if (r == NULL || weft_defer(close_room, r) < 0) return;
    snprintf(r->name, sizeof r->name, "room.%s", (const char *)arg);
    snprintf(topic, sizeof topic, "rooms.%s", (const char *)arg);
    if (weft_subscribe(r->name, NULL) < 0 || weft_subscribe(topic, NULL) < 0 || weft_register(topic) < 0) return;
    if (weft_watch_nodes() < 0) return;
    claim(r);
    while (rc == 0) {
        bool unsaved = r->owner && r->saved < r->count, leaves = is_empty(r) && !looked;
        rc = r->count - r->saved > HISTORY / 2 && unsaved
                 ? WEFT_ETIMEDOUT
                 : weft_recv(&m, unsaved ? WEFT_NOW : weft_after(leaves ? ROOM_EMPTY : ROOM_IDLE));
        if (rc == 0) take_room_mail(r, m), weft_msg_free(m);
        if (rc == WEFT_ETIMEDOUT && unsaved) save(r), rc = 0;
        else if (rc == WEFT_ETIMEDOUT && leaves && !is_deserted(r, topic)) looked = true, rc = 0;
    }
}

/* Returns whether an actor keeps the room on this node. */
static bool room_is_open(const char *name)
{
    char topic[NAME_MAX_BYTES + 7];
    weft_pid pid;
    snprintf(topic, sizeof topic, "rooms.%s", name);
    return weft_whereis(topic, &pid) == 0;
}

/* Makes sure that an actor keeps the room on this node, and has subscribed when this returns. */
static void open_room(const char *name)
{
    char topic[NAME_MAX_BYTES + 7];
    weft_pid pid;
    snprintf(topic, sizeof topic, "rooms.%s", name);
    if (room_is_open(name)) return;
    if (weft_spawn(NULL, room, name, strlen(name) + 1, &(weft_spawn_options){.kind = "room"}) == 0)
        weft_ignore(weft_await_name(topic, &pid, weft_after(WEFT_SEC(1)))); /* actors that need it look it up */
}

#endif
