/* transport/link/table_sync.c -- the links' side of actors/names/tables.h: which peers get snapshots and changes, and
 * receiving theirs. */
#include "table_sync.h"

#include "channel.h"
#include "frame_tables.h"
#include "hash.h"
#include "cluster_event.h"
#include "send_queue.h"
#include "queue_groups.h"
#include "peer_link.h"
#include "transport.h"

#include <stdlib.h>
#include <string.h>

/* A link whose peer keeps copies of this node's tables. */
struct peer {
    struct wf_list_node in_transport; /* wf_transport.table_peers */
    struct wf_hashed by_node;         /* wf_transport.table_nodes */
    struct wf_link *link;             /* a reference */
    struct wf_copies copies;          /* of the peer's entries */
    uint32_t entries;                 /* the number of them since its last snapshot began */
    bool clearing;                    /* older entries may be left: note (5) */
    bool stale;                       /* note (2) */
    struct wf_tables_part part;       /* the next part of the snapshot to be sent */
    bool behind;                      /* retained messages are still to be sent */
    struct wf_retained sent_mark;     /* note (3) */
    int64_t acked, acked_at;          /* a mark that it has acknowledged, and when it counts: note (7) */
};

/* A claim does not wait for so long behind an acknowledgement. */
#define CLAIM_WAITS WEFT_SEC(30)

enum {
    ENTRY_MAX = WF_FRAME_SPARE + WF_TOPIC_MAX + WF_QUEUE_MAX,
    SOME_MOST = 32,
    PAST_MAX = 1024,     /* nodes whose last mark is kept */
    CLEARED_AT_ONCE = 2, /* old entries removed for each new one, so that their number falls */
};

/* Parts of a snapshot in one turn. */
#define PARTS_AT_ONCE WF_LIMIT("tables: parts of a snapshot in a turn", 4, 1)
/* Retained messages at a time, and how many times in one turn. */
#define SOME WF_LIMIT("retained: messages at a time", SOME_MOST, 1)
#define SOMES_AT_ONCE WF_LIMIT("retained: times in a turn", 128, 1)

static bool hears_of(const struct wf_link *l, const struct wf_entry *e)
{
    return e->table != WF_TABLE_QUEUES || wf_link_shares_topics(l);
}

static uint32_t node_hash(const struct wf_transport *t, uint64_t incarnation)
{
    return (uint32_t)wf_mix(incarnation ^ t->node->secret);
}

static struct peer *find_node(struct wf_transport *t, uint64_t incarnation)
{
    WF_HASHED_WITH(e, &t->table_nodes, node_hash(t, incarnation))
    {
        struct peer *p = WF_CONTAINER(e, struct peer, by_node);
        if (p->copies.node == incarnation) return p;
    }
    return NULL;
}

static struct peer *find(struct wf_transport *t, const struct wf_link *l)
{
    struct peer *p = find_node(t, l->incarnation);
    return p != NULL && p->link == l ? p : NULL;
}

/* ---- Sending entries ------------------------------------------------------------------------------------------- */

static bool send_entry(struct wf_link *l, enum wf_table_op op, const struct wf_entry *e)
{
    struct wf_batch *b = wf_batch_new(l, ENTRY_MAX);
    if (b == NULL) return false;
    weft_writer w = wf_batch_writer(b);
    wf_put_entry(&w, op, e);
    wf_link_send_in_order(l, b, &w);
    return true;
}

struct snapshot {
    struct wf_link *link;
    struct wf_batch *first, *last; /* of the part */
    bool failed;
};

static struct wf_batch *batch_with_space(struct snapshot *shot)
{
    struct wf_batch *b = shot->last;
    if (b != NULL && b->capacity - b->size >= ENTRY_MAX) return b;
    b = wf_batch_new(shot->link, WF_BATCH_BYTES);
    if (b == NULL) return NULL;
    b->order = WF_ORDER_ALL;
    if (shot->last == NULL) shot->first = b;
    else shot->last->next = b;
    return shot->last = b;
}

static void add_to_snapshot(const struct wf_entry *e, void *arg)
{
    struct snapshot *shot = arg;
    if (e != NULL && !hears_of(shot->link, e)) return;
    struct wf_batch *b = shot->failed ? NULL : batch_with_space(shot);
    if (b == NULL) {
        shot->failed = true;
        return;
    }
    weft_writer w = wf_batch_writer(b);
    if (e == NULL) wf_put_table_begin(&w);
    else wf_put_entry(&w, WF_TABLE_SET, e);
    WF_ASSERT(w.error == 0);
    b->size += w.size;
    b->frames++;
}

static bool push_part(struct snapshot *shot)
{
    if (shot->failed) wf_batch_free(shot->first);
    else if (shot->first != NULL) wf_link_push(shot->link, shot->first);
    return !shot->failed;
}

/* Sets a mark if the peer has been sent all entries: note (7). */
static void mark_sent(struct peer *p)
{
    bool all = !p->stale && p->part.next == WF_PART_NONE;
    if (all) wf_link_mark(p->link, wf_transport_now(p->link->t));
}

static void look_at_marks(struct peer *p)
{
    int64_t now = wf_transport_now(p->link->t);
    if (p->link->number == 0 || now < p->acked_at) return;
    if (p->acked != 0) p->copies.known = WF_MAX(p->copies.known, p->acked);
    p->acked = wf_link_marked(p->link);
    p->acked_at = now + CLAIM_WAITS;
}

/* Sends parts while there is space; wf_tables_go_on sends the rest. A turn sends no more than some thousand entries. */
static void send_parts(struct peer *p)
{
    for (int i = 0; !p->stale && p->part.next != WF_PART_NONE; i++) {
        if (i == PARTS_AT_ONCE) wf_link_make_turn(p->link, 0);
        WF_SOMETIMES("tables: a snapshot takes several turns", i == PARTS_AT_ONCE);
        if (i == PARTS_AT_ONCE || !wf_link_has_space(p->link, 0)) return;
        struct snapshot shot = {.link = p->link};
        wf_tables_some(p->link->t->node, &p->part, add_to_snapshot, &shot);
        WF_SOMETIMES("tables: there is no memory for a snapshot", shot.failed);
        p->stale = !push_part(&shot);
    }
    mark_sent(p);
}

static void send_all(struct peer *p)
{
    struct snapshot shot = {.link = p->link};
    add_to_snapshot(NULL, &shot);
    p->part = (struct wf_tables_part){.names = 0};
    p->stale = !push_part(&shot);
    send_parts(p);
}

/* ---- Retained messages ----------------------------------------------------------------------------------------- */

static bool is_linked(struct wf_transport *t, uint64_t node)
{
    const struct peer *p = find_node(t, node);
    return p != NULL && wf_link_shares_topics(p->link);
}

/* False: no memory. */
static bool send_one(struct peer *p, const struct wf_kept *kept, uint64_t live)
{
    struct wf_link *l = p->link;
    struct wf_body *body = kept->body;
    uint64_t node = body->from.node;
    if (node == l->incarnation || is_linked(l->t, node)) return true;
    struct wf_batch *b = wf_batch_new(l, WF_FRAME_SPARE + strlen(wf_body_topic(body)) + body->size);
    if (b == NULL) return false;
    weft_writer w = wf_batch_writer(b);
    int64_t gone = kept->gone_at == WEFT_FOREVER ? 0 : wf_transport_now(l->t) - kept->gone_at;
    wf_put_retained(&w, body, kept->stamp, body->retained == live, (uint64_t)WF_MAX(gone, 0) / WEFT_MS(1));
    wf_link_send_of(l, b, &w, node == l->t->node->incarnation ? body->from.actor : 0);
    return true;
}

/* `live`: the number of the message that is being published now; 0: none. */
static void send_retained(struct peer *p, uint64_t live)
{
    struct wf_topics *topics = wf_topics_of(p->link->t->node);
    struct wf_kept kept[SOME_MOST];
    p->behind = wf_link_shares_topics(p->link);
    for (int k = 0; p->behind; k++) {
        if (k == SOMES_AT_ONCE) {
            wf_link_make_turn(p->link, 0);
            return;
        }
        size_t count = wf_topics_after(topics, &p->sent_mark, kept, (size_t)SOME);
        uint64_t sent = 0;
        bool ok = true;
        for (size_t i = 0; i < count; i++) {
            ok = ok && wf_link_has_space(p->link, 0) && send_one(p, &kept[i], live);
            if (ok) sent = kept[i].body->retained;
            wf_body_drop(NULL, kept[i].body);
        }
        if (sent > 0) wf_topics_pass(topics, &p->sent_mark, sent);
        WF_SOMETIMES("retained: the remaining messages wait for space in the link", !ok);
        if (!ok) return;
        p->behind = count > 0;
    }
}

/* Whether there are peers to send to. Earlier messages of this worker are sent first. */
static bool begin_to_tell(weft_node *node)
{
    const struct wf_transport *t = node->transport;
    if (t == NULL || wf_list_empty(&t->table_peers)) return false;
    struct wf_worker *w = wf_here;
    if (w != NULL && wf_node_of(w) == node) node->route->flush(w);
    return true;
}

void wf_tables_retained(weft_node *node, uint64_t number)
{
    struct wf_transport *t = node->transport;
    if (!begin_to_tell(node)) return;
    WF_LIST_EACH(k, &t->table_peers) {
        struct peer *p = WF_CONTAINER(k, struct peer, in_transport);
        WF_SOMETIMES("retained: a message changes while a peer has not been sent all of them", p->behind);
        if (!p->behind) send_retained(p, number);
    }
}

/* Removes at most `most` old entries; other turns remove the rest. */
static void clear_some(struct peer *p, uint32_t most)
{
    if (!p->clearing) return;
    p->clearing = wf_tables_clear(p->link->t->node, &p->copies, most);
    if (p->clearing) wf_link_make_turn(p->link, 0);
}

void wf_tables_go_on(struct wf_link *l)
{
    if (!wf_link_shares_tables(l)) return;
    wf_tables_begin(l->t->node);
    struct peer *p = find(l->t, l);
    if (p != NULL) clear_some(p, WF_TABLES_AT_ONCE);
    if (p != NULL) send_parts(p);
    if (p != NULL && p->behind) send_retained(p, 0);
    wf_tables_end(l->t->node);
}

/* ---- Changes --------------------------------------------------------------------------------------------------- */

void wf_tables_route_tell(weft_node *node, int op, const struct wf_entry *e)
{
    struct wf_transport *t = node->transport;
    if (!begin_to_tell(node)) return;
    WF_LIST_EACH(k, &t->table_peers) {
        struct peer *p = WF_CONTAINER(k, struct peer, in_transport);
        WF_SOMETIMES("tables: an entry changes while a snapshot is being sent",
                     p->part.next != WF_PART_NONE && !p->stale);
        WF_SOMETIMES("tables: an entry changes while a peer needs a new snapshot", p->stale);
        WF_SOMETIMES("tables: an entry changes while the link has no connection", p->link->channel == NULL);
        if (!hears_of(p->link, e)) continue;
        if (p->stale) {
            send_all(p); /* the snapshot includes the change */
        } else {
            p->stale = !send_entry(p->link, (enum wf_table_op)op, e);
            mark_sent(p);
        }
    }
}

void wf_tables_retry(struct wf_transport *t)
{
    wf_tables_begin(t->node);
    WF_LIST_EACH(k, &t->table_peers) {
        struct peer *p = WF_CONTAINER(k, struct peer, in_transport);
        if (p->stale) send_all(p);
        look_at_marks(p);
        send_parts(p);
        if (p->behind) send_retained(p, 0);
    }
    wf_tables_end(t->node);
}

/* ---- Which names a node knew: note (7) ------------------------------------------------------------------------- */

/* A node whose link has ended. */
struct acquaintance {
    struct wf_list_node in_order; /* wf_transport.table_past, in the order in which the links ended */
    struct wf_hashed by_name;     /* wf_transport.table_past_names */
    int64_t known;                /* wf_copies.known */
    char name[WF_NODE_NAME_MAX + 1];
};

static uint32_t name_hash(const struct wf_transport *t, const char *name)
{
    return wf_hash(name, strlen(name), t->node->secret);
}

static struct acquaintance *find_past(const struct wf_transport *t, const char *name)
{
    WF_HASHED_WITH(e, &t->table_past_names, name_hash(t, name))
    {
        struct acquaintance *a = WF_CONTAINER(e, struct acquaintance, by_name);
        if (strcmp(a->name, name) == 0) return a;
    }
    return NULL;
}

static void forget(struct wf_transport *t, struct acquaintance *a)
{
    WF_ASSERT(wf_linked(&a->in_order));
    wf_unlink(&a->in_order);
    wf_hash_table_remove(&t->table_past_names, &a->by_name);
    free(a);
}

/* If there is no memory, the node counts as one that was never linked. */
static void remember(struct wf_transport *t, const struct peer *p)
{
    if (p->copies.known == INT64_MIN) return;
    struct acquaintance *a = find_past(t, p->link->name);
    if (a != NULL) {
        wf_unlink(&a->in_order);
        a->known = WF_MAX(a->known, p->copies.known);
    } else {
        if (t->table_past_names.count == PAST_MAX)
            forget(t, WF_CONTAINER(wf_list_first(&t->table_past), struct acquaintance, in_order));
        a = calloc(1, sizeof *a);
        if (a == NULL) return;
        memcpy(a->name, p->link->name, sizeof a->name);
        a->known = p->copies.known;
        if (!wf_hash_table_add(&t->table_past_names, &a->by_name, name_hash(t, a->name))) {
            free(a);
            return;
        }
    }
    wf_list_push(&t->table_past, &a->in_order);
}

void wf_tables_finish(struct wf_transport *t)
{
    WF_ASSERT(wf_list_empty(&t->table_peers));
    for (struct wf_list_node *k; (k = wf_list_first(&t->table_past)) != NULL;)
        forget(t, WF_CONTAINER(k, struct acquaintance, in_order));
    wf_hash_table_finish(&t->table_nodes);
    wf_hash_table_finish(&t->table_past_names);
}

/* ---- Links come and go ----------------------------------------------------------------------------------------- */

int wf_tables_open(struct wf_link *l)
{
    WF_ASSERT(wf_is_cluster(l->t));
    if (!wf_link_shares_tables(l)) return WEFT_OK;
    struct wf_topics *topics = wf_topics_of(l->t->node);
    struct peer *p = calloc(1, sizeof *p);
    if (p == NULL || (wf_link_shares_topics(l) && wf_topics_linked(topics, l->incarnation, l->retained) < 0)) {
        free(p);
        return WEFT_ENOMEM;
    }
    p->link = l;
    wf_link_keep(l);
    wf_copies_init(&p->copies, l->incarnation);
    p->copies.guest = l->guest && !atomic_load_explicit(&l->t->guest, memory_order_relaxed);
    wf_tables_begin(l->t->node);
    WF_ASSERT(find(l->t, l) == NULL);
    const struct acquaintance *before = find_past(l->t, l->name);
    WF_SOMETIMES("tables: a node that was linked before comes back", before != NULL);
    if (before != NULL) p->copies.known = before->known;
    if (!wf_hash_table_add(&l->t->table_nodes, &p->by_node, node_hash(l->t, l->incarnation))) {
        wf_tables_end(l->t->node);
        wf_link_release(l);
        free(p);
        return WEFT_ENOMEM; /* wf_tables_close undoes wf_topics_linked */
    }
    wf_topics_mark(topics, &p->sent_mark);
    send_all(p);
    send_retained(p, 0);
    wf_list_push(&l->t->table_peers, &p->in_transport);
    wf_tables_end(l->t->node);
    return WEFT_OK;
}

/* Takes the peer out of the tables; NULL: it is not there. */
static struct peer *take_out(struct wf_link *l)
{
    weft_node *node = l->t->node;
    wf_tables_begin(node);
    struct peer *p = find(l->t, l);
    if (p != NULL) {
        wf_unlink(&p->in_transport);
        wf_hash_table_remove(&l->t->table_nodes, &p->by_node);
        wf_topics_unmark(wf_topics_of(node), &p->sent_mark);
        p->copies.round++;
        look_at_marks(p);
        remember(l->t, p);
    }
    wf_topics_unlinked(wf_topics_of(node), l->retained, wf_transport_now(l->t));
    wf_tables_end(node);
    return p;
}

/* Removes a part of the peer's entries (if it is not NULL), then of its retained messages. False: all are removed. */
static bool close_some(weft_node *node, struct peer *p)
{
    wf_tables_begin(node);
    WF_ASSERT(p == NULL || !wf_linked(&p->in_transport));
    bool more = p != NULL && wf_tables_clear(node, &p->copies, WF_TABLES_AT_ONCE);
    if (!more) more = wf_topics_trim(wf_topics_of(node));
    wf_tables_end(node);
    return more;
}

void wf_tables_close(struct wf_link *l)
{
    WF_ASSERT(wf_is_cluster(l->t));
    if (!wf_link_shares_tables(l)) return;
    struct peer *p = take_out(l);
    while (close_some(l->t->node, p)) {
        wf_cluster_pause();
    }
    if (p == NULL) return;
    WF_ASSERT(wf_copies_empty(&p->copies));
    wf_link_release(l);
    free(p);
}

struct wf_link *wf_tables_link(struct wf_transport *t, uint64_t incarnation)
{
    wf_tables_begin(t->node);
    struct peer *p = find_node(t, incarnation);
    struct wf_link *found = p == NULL ? NULL : p->link;
    if (found != NULL) wf_link_keep(found);
    wf_tables_end(t->node);
    return found;
}

/* ---- Receiving entries ----------------------------------------------------------------------------------------- */

static bool is_leaf(const struct peer *p)
{
    return p->link->url_count == 0;
}

static void send_taken(struct peer *to, weft_text name, weft_pid by, uint64_t stamp)
{
    struct wf_entry e = {.table = WF_TABLE_NAMES, .key = name, .actor = by.actor, .stamp = stamp, .node = by.node};
    if (!send_entry(to->link, WF_TABLE_TAKEN, &e))
        wf_link_fail(to->link, "out of memory"); /* the next link sends all entries again */
}

/* The leaf has set a name that other leaves may have: note (4). */
static void settle_leaves(struct peer *p, const struct wf_entry *set)
{
    struct wf_transport *t = p->link->t;
    struct wf_name_claim claim;
    if (!is_leaf(p) || wf_names_claims(wf_names_of(t->node), set->key) < 2) return;
    if (!wf_names_copy_of(wf_names_of(t->node), set->key, p->link->incarnation, &claim)) return;
    WF_LIST_EACH(k, &t->table_peers) {
        struct peer *other = WF_CONTAINER(k, struct peer, in_transport);
        struct wf_name_claim has;
        if (other == p || !is_leaf(other)) continue;
        if (!wf_names_copy_of(wf_names_of(t->node), set->key, other->link->incarnation, &has)) continue;
        if (wf_claim_wins(&has, &claim))
            send_taken(p, set->key, has.pid, WF_MIN(has.stamp, WF_MAX(set->stamp - 1, 1)));
        else send_taken(other, set->key, claim.pid, WF_MIN(claim.stamp, WF_MAX(has.stamp - 1, 1)));
    }
}

/* Under tables_lock. */
static int apply(struct wf_channel *ch, struct peer *p, const struct wf_frame *f)
{
    WF_ASSERT(p->link == ch->link); /* a link changes the entries of its own peer only */
    weft_node *node = ch->t->node;
    if (f->number == WF_TABLE_BEGIN) {
        WF_SOMETIMES("tables: a peer sends a new snapshot, and its old entries are removed", p->entries > 0);
        WF_SOMETIMES("tables: a peer sends a new snapshot before its old entries are removed", p->clearing);
        p->clearing = p->clearing || p->entries > 0;
        p->copies.round++;
        p->entries = 0;
        clear_some(p, WF_TABLES_AT_ONCE);
        return WEFT_OK;
    }
    clear_some(p, CLEARED_AT_ONCE);
    struct wf_entry e = wf_frame_entry(f);
    /* A linked holder announces its name itself, and a node that listens has links with all others. */
    if (f->number == WF_TABLE_TAKEN && (find_node(ch->t, e.node) != NULL || wf_transport_urls(ch->t) > 0))
        return WEFT_OK;
    if (f->number == WF_TABLE_SET && e.table == WF_TABLE_NAMES) look_at_marks(p);
    int more, rc = wf_tables_apply(node, &ch->in, &p->copies, (enum wf_table_op)f->number, &e, &more);
    if (rc < 0) return rc;
    p->entries += (uint32_t)more;
    if (f->number == WF_TABLE_SET && e.table == WF_TABLE_NAMES) settle_leaves(p, &e);
    return p->entries > WF_TABLE_ENTRIES_MAX ? WEFT_EFULL : WEFT_OK;
}

bool wf_tables_receive(struct wf_channel *ch, const struct wf_frame *f)
{
    struct wf_link *l = ch->link;
    if (!wf_link_shares_tables(l) || f->number == WF_TABLE_NONE) return true;
    wf_channel_post(ch); /* messages that were sent before the change are delivered before it is noticed */
    wf_tables_begin(l->t->node);
    struct peer *p = find(l->t, l);
    int rc = p == NULL ? WEFT_OK : apply(ch, p, f); /* NULL: the link is ending */
    wf_tables_end(l->t->node);
    if (rc == WEFT_OK) return true;
    wf_link_fail(l, rc == WEFT_EFULL ? "too many names, members of groups and queue groups" : "out of memory");
    return false;
}
