/* transport/cluster/swim.c -- the protocol of membership: the rules are in swim.h. */
#include "swim.h"

#include "hash.h"
#include "swim_table.h"
#include "typed.h"

#include <stdlib.h>
#include <string.h>

enum { BACKLOG_MOST = 4 * WF_SWIM_UPDATES };

/* With more updates than this, whole tables are faster than gossip. */
#define BACKLOG WF_LIMIT("gossip: news that wait", BACKLOG_MOST, 1)

/* ---- Sending --------------------------------------------------------------------------------------------------- */

static bool send_frame(struct wf_swim *s, uint64_t to, const weft_writer *w)
{
    WF_ASSERT(w->error == 0);
    return s->user->send(s->arg, to, s->frame, w->size);
}

/* Sends `m` with the updates that have been sent least often; the entry of `first` goes along in any case. */
static bool send_message(struct wf_swim *s, uint64_t to, struct wf_swim_message *m, struct wf_swim_member *first)
{
    struct wf_swim_member *about[WF_SWIM_UPDATES];
    m->count = wf_swim_pick(s, first, about, sizeof s->frame - 64);
    weft_writer w = weft_writer_on(s->frame, sizeof s->frame);
    wf_put_swim(&w, m);
    for (uint32_t i = 0; i < m->count; i++) {
        struct wf_swim_update u = wf_swim_entry(about[i]);
        wf_put_swim_update(&w, &u);
    }
    return send_frame(s, to, &w);
}

/* A node that is suspected, or believed to be down, must be told so: only that node can refute it. */
static struct wf_swim_member *to_be_told(struct wf_swim_member *m)
{
    return m != NULL && m->state != WF_SWIM_ALIVE ? m : NULL;
}

static bool send_ping(struct wf_swim *s, uint64_t to, uint64_t sequence)
{
    struct wf_swim_message m = {.kind = WF_SWIM_PING, .sequence = sequence, .digest = s->digest};
    s->pings++;
    return send_message(s, to, &m, to_be_told(wf_swim_find(s, to)));
}

static void send_ack(struct wf_swim *s, uint64_t to, uint64_t sequence, bool there)
{
    struct wf_swim_message m = {.kind = WF_SWIM_ACK, .sequence = sequence, .digest = s->digest, .flags = there};
    s->acks++;
    (void)send_message(s, to, &m, to_be_told(wf_swim_find(s, to)));
}

/* Of a table in one frame. At least: a simulated member has a record of some 100 bytes. */
#define TABLE_BYTES WF_LIMIT("gossip: bytes of a table in a frame", sizeof s->frame, 512)

/* The whole table, in as many frames as it takes. */
static void send_sync(struct wf_swim *s, uint64_t to, uint64_t flags)
{
    uint32_t next = 0;
    s->syncs++;
    while (next < s->count) {
        size_t size = 64;
        uint32_t end = next;
        while (end < s->count && size + wf_swim_entry_size(s->at[end]) <= TABLE_BYTES)
            size += wf_swim_entry_size(s->at[end++]);
        struct wf_swim_message m = {.kind = WF_SWIM_SYNC, .count = end - next};
        m.flags = end == s->count ? flags : 0;
        weft_writer w = weft_writer_on(s->frame, sizeof s->frame);
        wf_put_swim(&w, &m);
        for (; next < end; next++) {
            struct wf_swim_update u = wf_swim_entry(s->at[next]);
            wf_put_swim_update(&w, &u);
        }
        WF_SOMETIMES("gossip: a table takes several frames", next < s->count);
        if (!send_frame(s, to, &w)) return;
    }
}

void wf_swim_greet(struct wf_swim *s, uint64_t node)
{
    if (s->leaving || node == s->self->node) return;
    struct wf_swim_message m = {.kind = WF_SWIM_PING, .digest = s->digest, .flags = WF_SWIM_GREETING};
    /* The PING of the present probe may be lost with the previous connection, so this PING takes its number. */
    bool probed = s->target != NULL && s->target->node == node;
    WF_SOMETIMES("gossip: a probe may be lost with its connection, and is sent again", probed);
    m.sequence = probed ? s->probe_sequence : ++s->sequence;
    struct wf_swim_member *first = to_be_told(wf_swim_find(s, node));
    s->pings++;
    (void)send_message(s, node, &m, first != NULL ? first : s->self);
}

int wf_swim_show(struct wf_swim *s, uint64_t node, weft_text record)
{
    struct wf_swim_member *m = wf_swim_find(s, node);
    if (m == NULL || wf_text_equal(m->name, wf_swim_record_of(record).name)) return WEFT_OK;
    int rc = wf_swim_set_record(s, m, record);
    if (rc == WEFT_OK) s->user->changed(s->arg, m, m->state);
    return rc;
}

void wf_swim_greet_suspect(struct wf_swim *s, uint64_t node, int64_t now)
{
    struct wf_swim_member *m = wf_swim_find(s, node);
    bool same = m != NULL && m->greeted_state == m->state && m->greeted_number == m->number;
    if (m == NULL || (same && now < m->greet_at)) return;
    m->greeted_state = m->state;
    m->greeted_number = m->number;
    m->greet_at = now + s->o.patience;
    wf_swim_greet(s, node);
}

/* ---- Suspicion ------------------------------------------------------------------------------------------------- */

static int64_t least_suspicion(const struct wf_swim *s)
{
    return s->o.period * s->o.suspicion / 1000 * WF_MAX(1000, 434 * (int64_t)wf_swim_logarithm(s->present));
}

int64_t wf_swim_longest(const struct wf_swim *s)
{
    return least_suspicion(s) * s->o.stretch;
}

/* How long a suspect may take to refute the suspicion. The time is long while only one member suspects it, as the fault
 * may be in that member. With c further accusers of k that are wanted, it is shorter by the share
 * ln(c + 1) / ln(k + 1). */
static int64_t suspicion_time(const struct wf_swim *s, const struct wf_swim_member *m)
{
    static const int64_t part[WF_SWIM_ACCUSERS][WF_SWIM_ACCUSERS] = {
        {1000, 1000, 1000, 1000}, {0, 1000, 1000, 1000}, {0, 631, 1000, 1000}, {0, 500, 792, 1000}};
    int64_t least = least_suspicion(s), most = wf_swim_longest(s);
    uint32_t wanted = s->present < 3 ? 0 : WF_MIN(s->present - 2, (uint32_t)WF_SWIM_ACCUSERS - 1);
    uint32_t others = m->accuser_count == 0 ? 0 : m->accuser_count - 1u;
    return most - (most - least) / 1000 * part[wanted][others];
}

static void declare_down(struct wf_swim *s, struct wf_swim_member *m, uint64_t number, uint64_t by, int64_t now)
{
    m->by[0] = by;
    m->accuser_count = 1;
    wf_swim_enter(s, m, WF_SWIM_DOWN, number, now);
    wf_swim_update(s, m);
}

static void accuse(struct wf_swim *s, struct wf_swim_member *m, uint64_t by)
{
    for (uint32_t i = 0; i < m->accuser_count; i++)
        if (m->by[i] == by) return;
    WF_SOMETIMES("gossip: another node shortens a suspicion", m->accuser_count > 0);
    if (m->accuser_count == WF_SWIM_ACCUSERS) return;
    m->by[m->accuser_count++] = by;
    m->due = m->since + suspicion_time(s, m);
    wf_swim_update(s, m); /* each new accuser is sent to all, as it shortens the time everywhere */
}

/* A suspect has surely ended if a newer member of the same name is alive. */
static void suspect(struct wf_swim *s, struct wf_swim_member *m, uint64_t number, uint64_t by, int64_t now)
{
    const struct wf_swim_member *successor = wf_swim_named(s, m->name);
    if (successor != NULL && successor != m && successor->state == WF_SWIM_ALIVE) {
        WF_SOMETIMES("gossip: a suspect is declared down because its successor is alive", true);
        declare_down(s, m, number, s->self->node, now);
        return;
    }
    m->accuser_count = 0;
    m->since = now;
    accuse(s, m, by);
    wf_swim_enter(s, m, WF_SWIM_SUSPECT, number, now);
}

/* ---- Updates from other members -------------------------------------------------------------------------------- */

static void worsen(struct wf_swim *s, uint32_t by)
{
    s->health = WF_MIN(s->health + by, (uint32_t)WF_SWIM_HEALTH_MAX);
}

static void raise_own(struct wf_swim *s, uint64_t above, int64_t now)
{
    if (above + 1 >= WF_SWIM_NUMBER_MAX) return;
    wf_swim_enter(s, s->self, WF_SWIM_ALIVE, above + 1, now);
    wf_swim_update(s, s->self);
}

static void hear_of_self(struct wf_swim *s, const struct wf_swim_update *u, int64_t now)
{
    if (s->leaving || u->number < s->self->number) return;
    if (u->state == WF_SWIM_ALIVE) {
        if (u->number > s->self->number || !wf_text_equal(u->record, s->self->record)) raise_own(s, u->number, now);
        return;
    }
    WF_SOMETIMES("gossip: a suspicion is refuted", u->state == WF_SWIM_SUSPECT);
    WF_SOMETIMES("gossip: a node refutes that it is down", u->state == WF_SWIM_DOWN);
    s->refuted++;
    worsen(s, 1); /* perhaps this member was too slow to answer a probe */
    raise_own(s, u->number, now);
}

static void meet(struct wf_swim *s, const struct wf_swim_update *u, int64_t now)
{
    if (u->state > WF_SWIM_SUSPECT || u->record.size == 0) return;
    bool of_another = s->speaker != 0 && s->speaker != u->node;
    if (of_another && s->user->may_introduce != NULL && !s->user->may_introduce(s->arg, s->speaker)) return;
    struct wf_swim_member *m = wf_swim_add(s, u->node, u->number, u->record, now);
    if (m == NULL) return;
    s->user->changed(s->arg, m, WF_SWIM_ALIVE);
    if (s->update_count < BACKLOG) wf_swim_update(s, m);
    if (u->state == WF_SWIM_SUSPECT) suspect(s, m, u->number, u->by, now);
}

/* The previous member of the same name is probed next, or declared down if it is suspect already. */
static void succeed(struct wf_swim *s, struct wf_swim_member *old, int64_t now)
{
    if (old == NULL || old == s->self) return;
    if (old->state == WF_SWIM_SUSPECT) declare_down(s, old, old->number, s->self->node, now);
    else if (old->state == WF_SWIM_ALIVE) wf_swim_recheck(s, old->node, now);
}

static void hear_of_present(struct wf_swim *s, struct wf_swim_member *m, const struct wf_swim_update *u, int64_t now)
{
    bool newer = u->number > m->number;
    if (newer) {
        if (u->record.size == 0 || wf_swim_set_record(s, m, u->record) < 0) return;
    } else if (u->state == WF_SWIM_ALIVE || u->number < m->number || !wf_swim_present(m)) {
        return;
    }
    if (u->state == WF_SWIM_ALIVE) {
        WF_SOMETIMES("gossip: a node that was down is alive again", m->state == WF_SWIM_DOWN);
        WF_SOMETIMES("gossip: a suspect is alive again", m->state == WF_SWIM_SUSPECT);
        wf_swim_enter(s, m, WF_SWIM_ALIVE, u->number, now);
        wf_swim_update(s, m);
    } else if (m->state == WF_SWIM_SUSPECT && !newer) {
        accuse(s, m, u->by);
    } else {
        suspect(s, m, u->number, u->by, now);
    }
}

void wf_swim_learn(struct wf_swim *s, const struct wf_swim_update *u, int64_t now)
{
    if (s->user->number_max != NULL && u->number > s->user->number_max(s->arg)) {
        s->unbelieved++; /* note (8) */
        return;
    }
    bool named = u->record.size > 0 && s->user->may_be_named != NULL;
    if (named && !s->user->may_be_named(s->arg, u->node, wf_swim_record_of(u->record).name)) {
        s->unbelieved++;
        return;
    }
    struct wf_swim_member *m = wf_swim_find(s, u->node);
    if (m == NULL) {
        struct wf_swim_member *old = u->record.size == 0 ? NULL : wf_swim_named(s, wf_swim_record_of(u->record).name);
        meet(s, u, now);
        succeed(s, old, now);
    } else if (m == s->self) {
        hear_of_self(s, u, now);
    } else if (u->state <= WF_SWIM_SUSPECT) {
        hear_of_present(s, m, u, now);
    } else if (u->number >= m->number && u->state > m->state) {
        if (u->state == WF_SWIM_DOWN) {
            declare_down(s, m, u->number, u->by, now);
        } else {
            WF_SOMETIMES("gossip: a node that leaves was suspected", m->state == WF_SWIM_SUSPECT);
            wf_swim_enter(s, m, WF_SWIM_LEFT, u->number, now);
            wf_swim_update(s, m);
        }
    }
}

/* ---- Probing --------------------------------------------------------------------------------------------------- */

static struct wf_swim_member *next_target(struct wf_swim *s)
{
    struct wf_list_node *k;
    while ((k = wf_list_pop(&s->rechecks)) != NULL) {
        struct wf_swim_member *m = WF_CONTAINER(k, struct wf_swim_member, in_rechecks);
        if (wf_swim_present(m)) return m;
    }
    for (uint32_t tries = 0; tries < 2 * s->count; tries++) {
        if (s->next >= s->count) {
            s->next = 0;
            wf_swim_shuffle(s);
        }
        struct wf_swim_member *m = s->at[s->next++];
        if (m != s->self && wf_swim_present(m)) return m;
    }
    return NULL;
}

static void ask_others(struct wf_swim *s)
{
    struct wf_swim_message m = {.kind = WF_SWIM_ASK, .sequence = s->probe_sequence, .node = s->target->node};
    s->ask_at = WEFT_FOREVER;
    for (uint32_t tries = 0; tries < 4 * s->o.indirect && s->asked < s->o.indirect; tries++) {
        struct wf_swim_member *other = s->at[wf_swim_below(s, s->count)];
        bool again = other == s->self || other == s->target || other->state != WF_SWIM_ALIVE;
        for (uint32_t i = 0; i < s->asked; i++) again = again || s->asked_of[i] == other->node;
        if (again || !send_message(s, other->node, &m, NULL)) continue;
        s->asks++;
        s->asked_of[s->asked++] = other->node;
        WF_SOMETIMES("gossip: other nodes are asked to probe a node", true);
    }
}

static void probe_failed(struct wf_swim *s, int64_t now)
{
    struct wf_swim_member *m = s->target;
    s->target = NULL;
    /* Members that were asked have not even answered that they got no answer: the fault may be on this node. */
    worsen(s, s->asked > 0 ? s->asked - WF_MIN(s->no_answers, s->asked) : 1);
    WF_SOMETIMES("gossip: a probe fails, and the nodes that were asked did not answer either",
                 s->asked > s->no_answers);
    if (m->state == WF_SWIM_ALIVE) suspect(s, m, m->number, s->self->node, now);
    else accuse(s, m, s->self->node);
}

/* Whether the next period may be long: note (7). */
static bool is_quiet(const struct wf_swim *s)
{
    if (s->user->heard == NULL || s->update_count > 0 || s->health > 0 || !wf_list_empty(&s->suspects)) return false;
    for (uint32_t i = 0; i < s->count; i++) {
        const struct wf_swim_member *m = s->at[i];
        if (m != s->self && wf_swim_present(m) && !s->user->heard(s->arg, m->node)) return false;
    }
    return true;
}

static void probe_answered(struct wf_swim *s, int64_t now)
{
    s->target->recheck = false;
    s->target = NULL;
    if (s->health > 0) s->health--;
    if (!wf_list_empty(&s->rechecks)) s->period_end = now;
    else if (is_quiet(s)) s->period_end = s->ordinary_end + (WF_SWIM_QUIET - 1) * s->o.period;
}

static void probe_next(struct wf_swim *s, int64_t now)
{
    int64_t slow = 1 + (int64_t)s->health;
    s->target = next_target(s);
    s->period_end = s->ordinary_end = s->target == NULL ? WEFT_FOREVER : now + s->o.period * slow;
    s->asked = s->no_answers = 0;
    if (s->target == NULL) return;
    s->probe_sequence = ++s->sequence;
    bool sent = send_ping(s, s->target->node, s->probe_sequence);
    s->ask_at = sent ? now + s->o.patience * slow : now;
}

void wf_swim_recheck(struct wf_swim *s, uint64_t node, int64_t now)
{
    struct wf_swim_member *m = wf_swim_find(s, node);
    if (m == NULL || m == s->self || m->state != WF_SWIM_ALIVE || m->recheck || s->leaving) return;
    m->recheck = true;
    if (m == s->target) {
        if (s->asked == 0) s->ask_at = WF_MIN(s->ask_at, now);
        return;
    }
    wf_list_push(&s->rechecks, &m->in_rechecks);
    if (s->target == NULL) s->period_end = WF_MIN(s->period_end, now);
}

/* ---- Messages -------------------------------------------------------------------------------------------------- */

static void on_ping(struct wf_swim *s, uint64_t from, const struct wf_swim_message *m, int64_t now)
{
    send_ack(s, from, m->sequence, true);
    if (m->digest == s->digest) return;
    if (m->flags & WF_SWIM_GREETING) {
        send_sync(s, from, 0); /* the other side gets a greeting, too, and sends its table for that */
        return;
    }
    bool quiet = m->count == 0 && s->update_count == 0;
    if ((!quiet && s->update_count < BACKLOG) || now < s->sync_at) return;
    WF_SOMETIMES("gossip: tables differ while no updates are under way, and are exchanged", true);
    s->sync_at = now + s->o.period;
    send_sync(s, from, WF_SWIM_ANSWER);
}

/* The place of `from` among the members that were asked to probe the target; NULL: none, or it got no answer. */
static uint64_t *asked_place(struct wf_swim *s, uint64_t from)
{
    for (uint32_t i = 0; i < s->asked; i++)
        if (s->asked_of[i] == from) return &s->asked_of[i];
    return NULL;
}

/* Sequence numbers can be guessed, so only the target and the members that were asked may answer. */
static void on_probe_ack(struct wf_swim *s, uint64_t from, bool there, int64_t now)
{
    uint64_t *asked = from == s->target->node ? NULL : asked_place(s, from);
    if (from != s->target->node && asked == NULL) return;
    if (there) {
        WF_SOMETIMES("gossip: a node answers through another node", asked != NULL);
        probe_answered(s, now);
    } else if (asked != NULL) {
        WF_SOMETIMES("gossip: a node that was asked to probe reports no answer", true);
        *asked = 0;
        s->no_answers++;
    }
}

static void on_ack(struct wf_swim *s, uint64_t from, const struct wf_swim_message *m, int64_t now)
{
    if (s->target != NULL && m->sequence == s->probe_sequence) {
        on_probe_ack(s, from, (m->flags & 1) != 0, now);
        return;
    }
    for (uint32_t i = 0; i < WF_SWIM_RELAYS; i++) {
        struct wf_swim_relay *r = &s->relay[i];
        if (r->sequence == 0 || r->sequence != m->sequence || r->node != from) continue;
        r->sequence = 0;
        s->relay_count--;
        send_ack(s, r->requester, r->asked, true);
        return;
    }
}

/* NULL: no place is free, or `requester` uses as many as it may. */
static struct wf_swim_relay *relay_place(struct wf_swim *s, uint64_t requester)
{
    struct wf_swim_relay *place = NULL;
    uint32_t of_requester = 0;
    for (uint32_t i = 0; i < WF_SWIM_RELAYS; i++) {
        if (s->relay[i].sequence == 0) place = &s->relay[i];
        else of_requester += s->relay[i].requester == requester;
    }
    return of_requester < WF_SWIM_RELAYS_OF_ONE ? place : NULL;
}

/* If there is no place, the requester gets no answer, as if the message had been lost. */
static void on_ask(struct wf_swim *s, uint64_t from, const struct wf_swim_message *m, int64_t now)
{
    if (m->node == s->self->node) {
        send_ack(s, from, m->sequence, true);
        return;
    }
    struct wf_swim_relay *r = relay_place(s, from);
    if (r == NULL) return;
    *r = (struct wf_swim_relay){from, m->sequence, ++s->sequence, m->node, now + s->o.patience};
    if (send_ping(s, m->node, r->sequence)) {
        s->relay_count++;
        return;
    }
    r->sequence = 0;
    send_ack(s, from, m->sequence, false);
}

/* A member has told this of itself. */
static void note_own_words(struct wf_swim *s, const struct wf_swim_update *u)
{
    struct wf_swim_member *m = wf_swim_find(s, u->node);
    if (m != NULL && u->record.size > 0 && wf_text_equal(m->record, u->record)) m->own = true;
}

int wf_swim_receive(struct wf_swim *s, uint64_t from, const void *frame, size_t size, int64_t now)
{
    struct wf_swim_message m;
    int rc = wf_swim_read_frame(frame, size, &m);
    if (rc < 0 || s->leaving || from == s->self->node) return rc;
    s->speaker = from;
    bool of_itself = false;
    for (uint32_t i = 0; i < m.count; i++) {
        struct wf_swim_update u;
        wf_swim_read_update(&m.items, &u);
        if (u.node == from && !of_itself && wf_swim_find(s, from) == NULL) wf_swim_make_room(s);
        of_itself = of_itself || u.node == from; /* once in a message: it may search the whole table */
        wf_swim_learn(s, &u, now);
        if (u.node == from) note_own_words(s, &u);
    }
    s->speaker = 0;
    switch (m.kind) {
    case WF_SWIM_PING: on_ping(s, from, &m, now); break;
    case WF_SWIM_ACK: on_ack(s, from, &m, now); break;
    case WF_SWIM_ASK: on_ask(s, from, &m, now); break;
    default:
        if (m.flags & WF_SWIM_ANSWER) send_sync(s, from, 0);
    }
    return WEFT_OK;
}

/* ---- Time ------------------------------------------------------------------------------------------------------ */

static void move(int64_t *deadline, int64_t by)
{
    if (*deadline != WEFT_FOREVER) *deadline += by;
}

/* See note (6). Messages that came meanwhile may not have been read yet: so the probe ends without a result, and
 * suspects get one more period. */
static void make_up(struct wf_swim *s, int64_t now)
{
    int64_t by = now - s->due + s->o.period;
    WF_SOMETIMES("gossip: this node was stopped for some time", true);
    s->target = NULL;
    s->period_end = s->ordinary_end = now;
    for (uint32_t i = 0; i < WF_SWIM_RELAYS; i++) move(&s->relay[i].due, by);
    WF_LIST_EACH(k, &s->suspects) move(&WF_CONTAINER(k, struct wf_swim_member, in_state)->due, by);
}

static int64_t tick_suspects(struct wf_swim *s, int64_t now)
{
    int64_t at = WEFT_FOREVER;
    WF_LIST_EACH(k, &s->suspects) {
        struct wf_swim_member *m = WF_CONTAINER(k, struct wf_swim_member, in_state);
        WF_SOMETIMES("gossip: a suspicion ends, and the node is declared down", now >= m->due);
        if (now >= m->due) declare_down(s, m, m->number, s->self->node, now);
        else at = WF_MIN(at, m->due);
    }
    return at;
}

static int64_t tick_relays(struct wf_swim *s, int64_t now)
{
    int64_t at = WEFT_FOREVER;
    for (uint32_t i = 0; s->relay_count > 0 && i < WF_SWIM_RELAYS; i++) {
        struct wf_swim_relay *r = &s->relay[i];
        if (r->sequence == 0) continue;
        if (now < r->due) {
            at = WF_MIN(at, r->due);
            continue;
        }
        r->sequence = 0;
        s->relay_count--;
        send_ack(s, r->requester, r->asked, false);
    }
    return at;
}

/* The first period has a random length, so that members do not all probe at the same time. */
static int64_t tick_probe(struct wf_swim *s, int64_t now)
{
    if (s->present < 2) {
        s->target = NULL;
        s->period_end = WEFT_FOREVER;
        return WEFT_FOREVER;
    }
    if (s->period_end == WEFT_FOREVER) {
        s->period_end = s->ordinary_end = now + (int64_t)(wf_swim_random(s) % (uint64_t)s->o.period);
        s->target = NULL;
    }
    if (now >= s->period_end) {
        if (s->target != NULL) probe_failed(s, now);
        probe_next(s, now);
    }
    if (s->target != NULL && now >= s->ask_at) ask_others(s);
    return s->target == NULL ? s->period_end : WF_MIN(s->period_end, s->ask_at);
}

int64_t wf_swim_tick(struct wf_swim *s, int64_t now)
{
    if (s->leaving) return WEFT_FOREVER;
    if (s->due != WEFT_FOREVER && now - s->due > s->o.period) make_up(s, now);
    int64_t at = tick_relays(s, now);
    at = WF_MIN(at, tick_probe(s, now));
    at = WF_MIN(at, tick_suspects(s, now));
    wf_swim_forget_old(s, now);
    struct wf_list_node *k = wf_list_first(&s->gone);
    if (k != NULL) at = WF_MIN(at, WF_CONTAINER(k, struct wf_swim_member, in_state)->since + s->o.keep);
    return s->due = at;
}

/* ---- Calls of the owner ---------------------------------------------------------------------------------------- */

void wf_swim_declare(struct wf_swim *s, uint64_t node, enum wf_swim_state state, int64_t now)
{
    const struct wf_swim_member *m = wf_swim_find(s, node);
    if (m == NULL || m == s->self || s->leaving) return;
    struct wf_swim_update u = {.node = node, .state = state, .number = m->number, .by = s->self->node};
    wf_swim_learn(s, &u, now);
}

void wf_swim_accuse(struct wf_swim *s, uint64_t node, int64_t now)
{
    struct wf_swim_member *m = wf_swim_find(s, node);
    if (m == NULL || m == s->self || s->leaving) return;
    if (m->state == WF_SWIM_ALIVE) suspect(s, m, m->number, s->self->node, now);
    else if (m->state == WF_SWIM_SUSPECT) accuse(s, m, s->self->node);
}

int wf_swim_describe(struct wf_swim *s, weft_text record, int64_t now)
{
    int rc = wf_swim_set_record(s, s->self, record);
    if (rc == WEFT_OK) raise_own(s, s->self->number, now);
    return rc;
}

void wf_swim_leave(struct wf_swim *s, int64_t now)
{
    if (s->leaving) return;
    wf_swim_enter(s, s->self, WF_SWIM_LEFT, s->self->number, now);
    s->leaving = true;
    uint32_t told = 0, wanted = s->o.spread * wf_swim_logarithm(s->present);
    wf_swim_shuffle(s);
    for (uint32_t i = 0; i < s->count && told < wanted; i++) {
        struct wf_swim_message m = {.kind = WF_SWIM_SYNC};
        if (s->at[i] != s->self && wf_swim_present(s->at[i]) && send_message(s, s->at[i]->node, &m, s->self)) told++;
    }
}

static struct wf_swim_options complete(const struct wf_swim_options *given)
{
    struct wf_swim_options o = *given;
    if (o.period <= 0) o.period = WEFT_SEC(1);
    if (o.patience <= 0) o.patience = o.period / 3;
    if (o.indirect == 0) o.indirect = 3;
    o.indirect = WF_MIN(o.indirect, (uint32_t)WF_SWIM_INDIRECT_MAX);
    if (o.suspicion == 0) o.suspicion = 4;
    if (o.stretch == 0) o.stretch = 6;
    if (o.spread == 0) o.spread = 3;
    if (o.keep <= 0) o.keep = 60 * o.period;
    return o;
}

struct wf_swim *wf_swim_new(const struct wf_swim_options *o, const struct wf_swim_user *user, void *arg,
                            uint64_t self, weft_text record, int64_t now)
{
    struct wf_swim *s = calloc(1, sizeof *s);
    if (s == NULL) return NULL;
    s->o = complete(o);
    s->user = user;
    s->arg = arg;
    s->random = o->seed;
    s->secret = wf_mix(o->seed);
    s->ask_at = s->period_end = s->ordinary_end = s->due = WEFT_FOREVER;
    if (wf_swim_table_init(s)) s->self = wf_swim_add(s, self, 0, record, now);
    if (s->self == NULL) {
        wf_swim_free(s);
        return NULL;
    }
    wf_swim_update(s, s->self);
    return s;
}

void wf_swim_free(struct wf_swim *s)
{
    if (s == NULL) return;
    wf_swim_table_finish(s);
    free(s);
}
