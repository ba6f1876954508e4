/* transport/wire/swim_wire.h -- reads and writes the frames of membership: 50 to 53 in docs/wire.md. */
#ifndef WF_SWIM_WIRE_H
#define WF_SWIM_WIRE_H

#include "base.h"

#include <weft/pack.h>

enum {
    WF_SWIM_PING = 50, /* [50, sequence, digest, flags, [update, ...]] asks the receiver whether it is alive */
    /* [51, sequence, digest, there, [update, ...]] answers PING or ASK; `there` 0: the node of ASK did not answer */
    WF_SWIM_ACK = 51,
    WF_SWIM_ASK = 52,  /* [52, sequence, node, [update, ...]] asks the receiver to probe `node` */
    WF_SWIM_SYNC = 53, /* [53, flags, [update, ...]] a part of the sender's table */
};
enum { WF_SWIM_GREETING = 1 }; /* in PING: the first one on a connection; the receiver may answer with its table */
enum { WF_SWIM_ANSWER = 1 };   /* in SYNC: the receiver answers with its table */

/* If the numbers of two updates are equal, the higher state overrules the lower one. They travel: append only. */
enum wf_swim_state { WF_SWIM_ALIVE, WF_SWIM_SUSPECT, WF_SWIM_DOWN, WF_SWIM_LEFT };

enum {
    WF_SWIM_UPDATES = 12,        /* in one PING, ACK or ASK */
    WF_SWIM_MESSAGE_MAX = 16384, /* bytes of a frame that this node writes */
    WF_SWIM_SYNC_MAX = 4096,     /* updates in one frame that this node accepts */
    WF_SWIM_RECORD_MAX = 3072,   /* bytes of a record */
    WF_SWIM_META_MAX = 16,       /* entries of the metadata of one member */
    WF_SWIM_META_KEY = 32,       /* bytes */
    WF_SWIM_META_VALUE = 128,    /* bytes */
    WF_SWIM_META_BYTES = 512,    /* keys and values of one member together */
    WF_SWIM_MEMBERS_MAX = 4096,
};
#define WF_SWIM_NUMBER_MAX (UINT64_C(1) << 48)

/* One update about a member: [node, state, number, by] and, if the receiver may not have it, its record. */
struct wf_swim_update {
    uint64_t node; /* the incarnation of its process */
    enum wf_swim_state state;
    uint64_t number;  /* SWIM's incarnation number: counts the member's refutations and new records */
    uint64_t by;      /* the member that suspects it or has declared it down; 0: none */
    weft_text record; /* [name, [url, ...], {key: value}]: msgpack, checked; size 0: none */
};

/* A decoded record; its texts point into the record. */
struct wf_swim_record {
    weft_text name;
    weft_text url[8];
    uint32_t url_count;
    weft_text key[WF_SWIM_META_MAX], value[WF_SWIM_META_MAX];
    uint32_t meta_count;
};

struct wf_swim_message {
    uint32_t kind;
    uint64_t sequence; /* PING, ACK, ASK */
    uint64_t digest;   /* PING, ACK: of the sender's table */
    uint64_t node;     /* ASK */
    uint64_t flags;    /* PING, SYNC: see above; ACK: `there` */
    uint32_t count;    /* the number of updates, which are still in `items` */
    weft_reader items;
};

/* Reads the values behind the kind; returns how many it has read. Everything is checked, the updates too; a fault puts
 * an error into `r`. */
uint32_t wf_swim_read(weft_reader *r, uint32_t kind, struct wf_swim_message *out);
/* The same for a whole frame: 0 or WEFT_EFORMAT. */
int wf_swim_read_frame(const void *data, size_t size, struct wf_swim_message *out);
void wf_swim_read_update(weft_reader *r, struct wf_swim_update *out);
/* `record` is a wf_swim_update.record, or was written by wf_put_swim_record. */
struct wf_swim_record wf_swim_record_of(weft_text record);

/* The head of a frame; `count` updates follow. */
void wf_put_swim(weft_writer *w, const struct wf_swim_message *m);
void wf_put_swim_update(weft_writer *w, const struct wf_swim_update *u);
void wf_put_swim_record(weft_writer *w, const struct wf_swim_record *r);
/* 0, WEFT_EINVAL (empty or repeated key, a control character), WEFT_ETOOBIG. */
int wf_swim_meta_check(const struct wf_swim_record *r);

#endif
