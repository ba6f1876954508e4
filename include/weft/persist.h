/* weft/persist.h -- actors that remember: the state of an actor is on disk, and is loaded when the actor starts again,
 * on this node or on another one.
 *
 * This is a part of libweft-store: link with `pkg-config --libs weft-store`. weft.h does not include this header.
 * docs/store.md has examples, and examples/bank.c is a program.
 *
 * The options of the node that runs the store (weft/store.h) say which states it takes: weft_store_options.states, or
 * `weft run --store sqlite:FILE --states 'account.>'`. A state has a key. It consists of a snapshot, if the actor has
 * saved one, and of the events that were appended after it, in order.
 *
 *     static int load(void *arg, const struct weft_persisted *is)           -- called for the snapshot and each event
 *     {
 *         struct account *a = arg;
 *         struct deposit d;
 *         if (is->kind == WEFT_PERSISTED_SNAPSHOT) return account_load(is, a);
 *         int rc = weft_typed_read(deposit_type(), is->data, is->size, &d, NULL);
 *         if (rc == WEFT_OK) a->balance += d.amount;
 *         return rc;
 *     }
 *
 *     weft_persist p;
 *     struct account a = {.balance = 0};
 *     const weft_persist_options options = {.load = load, .arg = &a};
 *     rc = weft_persist_open(&p, "account.ann", &options, weft_after(WEFT_SEC(10)));
 *     ... for each request that changes something:
 *     rc = weft_persist_append(&p, DEPOSIT_TAG, data, size, by);
 *     ... rc == 0: it is on disk. Now change `a`, and answer
 *     ... now and then, so that there are few events to load:
 *     rc = weft_persist_save(&p, ACCOUNT_TAG, data, size, by);
 *
 * A state has one owner at a time: the actor that opened it, until that actor ends. An opening by another actor waits
 * until then. So a supervisor can start the actor again at once, and a second node cannot start it twice. If the
 * owner's node is lost, other actors can open the state, although the owner may still live behind a broken network.
 * Therefore each opening draws a new secret number, the store keeps the number with the state, and each write presents
 * the number of its opening. The store refuses a write of an earlier owner with WEFT_ECLOSED. An earlier owner may
 * still answer from its memory, and such an answer may be old. If an answer has to be right at its moment, append an
 * event first, which may be empty, and answer when that has returned 0. */
#ifndef WEFT_PERSIST_H
#define WEFT_PERSIST_H

#include <weft/api.h>
#include <weft/message.h>
#include <weft/reload.h>
#include <weft/time.h>
#include <weft/typed_desc.h>
WEFT_BEGIN

enum {
    WEFT_PERSIST_MAX = 1024 * 1024,            /* bytes of a snapshot, and of an event */
    WEFT_PERSIST_EVENTS_MAX = 10 * 1000,       /* events since the last snapshot of one state */
    WEFT_PERSIST_BYTES_MAX = 16 * 1024 * 1024, /* bytes of these events */
    WEFT_PERSIST_STATES_MAX = 1000 * 1000,     /* states of one store */
    WEFT_PERSIST_OWNERS_MAX = 100 * 1000,      /* states of one store that have an owner at a time */
    WEFT_PERSIST_WAITING_MAX = 10 * 1000,      /* openings that wait in one store; at most 2,000 from one node */
};

/* ---- Opening --------------------------------------------------------------------------------------------------- */

/* A state that the calling actor has opened. It belongs to the actor, and needs no clean-up. */
typedef struct {
    char key[256];
    /* How often the state was opened, this time included: 1, 2, 3, ... A later owner has a higher number. Send it with
     * requests to other systems if those should refuse an earlier owner, too. */
    uint64_t opening;
    uint64_t last;  /* the number of the last event: 1, 2, 3, ... since the state began; 0: none */
    uint64_t first; /* the first event that is not in the snapshot */
    uint64_t owner; /* for weft only */
    uint32_t version;
    bool is_open; /* events and snapshots can be stored */
} weft_persist;

typedef enum {
    WEFT_PERSISTED_SNAPSHOT = 0,
    WEFT_PERSISTED_EVENT = 1,
} weft_persisted_kind;

/* The stored snapshot or event. */
struct weft_persisted {
    weft_persisted_kind kind;
    uint64_t number;  /* the number of the event; of a snapshot, that of the last event in it */
    int64_t time;     /* when it was stored: ns since 1970, UTC, by the clock of the store's node */
    uint32_t tag;     /* the tag with which it was stored */
    uint32_t version; /* weft_persist_options.version of the actor that stored it */
    const void *data; /* valid during the call; not aligned. A typed message is read with weft_typed_read */
    size_t size;
};
/* Gets the snapshot or one event, in the actor that opens the state. Returns 0, or an error, with which
 * weft_persist_open then fails. */
typedef int weft_persist_load(void *arg, const struct weft_persisted *is);

typedef struct {
    weft_persist_load *load; /* NULL: nothing is loaded */
    void *arg;
    /* The version of the format in which this actor stores. A typed message needs no versions as long as its fields
     * change by the rules of weft/typed.h: older snapshots and events can be read as they are. */
    uint32_t version;
    /* With other changes, `version` is raised and `migrate` says how an older snapshot becomes a newer one: the same
     * hook that `weft reload` calls in a new module (weft/reload.h). It is called if the snapshot has another version.
     * It gets that version, the bytes and `kind`, and may call weft_handover_state with new bytes; which body or
     * handler it chooses does not matter. `load` then gets the new bytes. Events are not given to the hook: `load` has
     * their version. NULL: `load` gets the old bytes. */
    weft_migrate *migrate;
    const char *kind; /* passed to the hook; NULL: "" */
} weft_persist_options;

/* [A, W] Opens the state with that key for the calling actor, which becomes its owner. Keys follow the rules for topics
 * (weft/topic.h). A state that does not exist is created, without a snapshot and without events. Calls `load` for the
 * snapshot, if there is one, and then for each event after it. `options` may be NULL. Returns 0, and `*p` is open. The
 * weft_persist of an earlier opening is closed by this.
 *
 * While another actor is the owner, the call waits until that actor ends or closes the state, or its node is lost. With
 * WEFT_FOREVER an actor stands by to take over. The owner itself can open the state again at once. A store that was
 * opened again knows the owner of a state only after the owner's next write; until then any actor can open the state.
 *
 * After these errors the caller is not the owner:
 *     WEFT_EINVAL
 *     WEFT_ETIMEDOUT  also: another actor was the owner all the time
 *     WEFT_ECANCELED
 *     WEFT_ENOACTOR   no store is known in the cluster
 *     WEFT_EACCESS    the store does not take this key
 *     WEFT_EFULL      too many states, owners or waiting openings; or those of weft_send
 *     WEFT_ENOTSUP    the store's node has an older weft, without states
 *     WEFT_ENONODE, WEFT_ENOREPLY, WEFT_ENOSPC, WEFT_ENOMEM, WEFT_ESYSTEM
 * After these errors the caller is the owner, and can only remove, close, or open the state again:
 *     WEFT_EFORMAT    the snapshot or an event is damaged or missing (`weft store check` says which); or the entry of
 *                     the state itself is, and then the state cannot be removed either
 *     an error of `load` or of `migrate` */
WEFT_API WEFT_CHECKED int weft_persist_open(weft_persist *p, const char *key, const weft_persist_options *options,
                                            int64_t deadline);

/* [A] Gives up the state: the next actor that waits for it becomes its owner. The snapshot and the events stay. An
 * actor that ends need not call this. */
WEFT_API void weft_persist_close(weft_persist *p);

/* ---- Storing --------------------------------------------------------------------------------------------------- */

/* [A, W] Appends a copy of `size` bytes as the next event and waits until it is on disk. `tag` is below
 * WEFT_TAG_SYSTEM. Events that arrive while others are being stored are stored together, in one commit.
 *
 * With these errors nothing was stored, and `p` stays open:
 *     WEFT_EINVAL, WEFT_ETOOBIG (more than WEFT_PERSIST_MAX)
 *     WEFT_EFULL      there are WEFT_PERSIST_EVENTS_MAX events, or WEFT_PERSIST_BYTES_MAX bytes of them, since the last
 *                     snapshot: save a snapshot. Or as for weft_send
 *     WEFT_ENOACTOR   no store is known in the cluster
 *     WEFT_ENOSPC, WEFT_ENOMEM
 * With these errors nothing was stored either, and `p` is closed:
 *     WEFT_ECLOSED    another actor has opened the state since, or it was removed, or `p` was closed before. Do not
 *                     confirm anything any more: end, or open it again
 *     WEFT_EACCESS, WEFT_ENOTSUP, WEFT_EFORMAT
 * With these errors it is not known whether the event was stored. `p` is closed, so that no later event follows it:
 *     WEFT_ETIMEDOUT, WEFT_ECANCELED, WEFT_ENONODE (the store's node is lost), WEFT_ENOREPLY (the store has ended),
 *     WEFT_ESYSTEM (the disk failed). Let the actor end, so that its supervisor starts it again, or open the state
 *     again: `load` says what is stored. */
WEFT_API WEFT_CHECKED int weft_persist_append(weft_persist *p, uint32_t tag, const void *data, size_t size,
                                              int64_t deadline);
/* [A, W] Replaces the snapshot by a copy of `size` bytes, and removes the events. So the bytes must include the effect
 * of all events so far. Returns 0 when that is on disk. Errors: those of weft_persist_append, without WEFT_EFULL of the
 * events. */
WEFT_API WEFT_CHECKED int weft_persist_save(weft_persist *p, uint32_t tag, const void *data, size_t size,
                                            int64_t deadline);

/* [A, W] The same with a typed value: weft_persist_append_typed(&p, DEPOSIT_TAG, deposit_type(), &d, deadline). Errors
 * besides: WEFT_ETOOBIG also if it nests deeper than WEFT_NEST_MAX. */
WEFT_API WEFT_CHECKED int weft_persist_append_typed(weft_persist *p, uint32_t tag, const struct weft_type_info *type,
                                                    const void *value, int64_t deadline);
WEFT_API WEFT_CHECKED int weft_persist_save_typed(weft_persist *p, uint32_t tag, const struct weft_type_info *type,
                                                  const void *value, int64_t deadline);

/* [A, W] Removes the state, with its snapshot and its events, and closes it. Returns 0 when that is on disk. A later
 * opening, or one that waits, creates a new state. Errors: those of weft_persist_append, without WEFT_EFULL of the
 * events. */
WEFT_API WEFT_CHECKED int weft_persist_remove(weft_persist *p, int64_t deadline);

/* ---- Looking after states -------------------------------------------------------------------------------------- */

struct weft_persist_state {
    char key[256];
    uint64_t opening;  /* how often it was opened */
    uint64_t last;     /* the number of its last event */
    uint64_t events;   /* events since the last snapshot, */
    uint64_t bytes;    /* and their bytes */
    uint64_t snapshot; /* bytes of the snapshot */
    bool has_snapshot;
};
/* [A, W] Asks the store for the states after the key `after` (NULL: the first ones), in the order of their keys. Writes
 * at most `max` to `out`. Returns their number, which is 0 after the last. A program can start its actors from this
 * list.
 * Errors: those of weft_subscribe_from; WEFT_ENOTSUP. */
WEFT_API WEFT_CHECKED int weft_persist_states(const char *after, struct weft_persist_state *out, size_t max,
                                              int64_t deadline);

WEFT_END
#endif
