/* actors/data/typed_tags.c -- a table of the messages of include/weft/typed.h that this process has, by tag. Each
 * file with a WEFT_MESSAGE adds it before main(), or when its module is loaded. The entries are copies, which stay
 * when a module is unloaded: the table only grows. */
#include "typed_tags.h"

#include "hash.h"
#include "typed.h"

#include <weft/log.h>
#include <weft/message.h>

#include <stdatomic.h>
#include <stdlib.h>

enum { BUCKETS = 64, SAID_MAX = 16 };

struct known {
    struct known *next;
    const struct known *same_tag; /* an earlier one with another name; NULL: none */
    uint32_t tag;
    char name[];
};

/* The thread that adds an entry stores with release; readers load with acquire. */
static _Atomic(struct known *) known[BUCKETS];
static _Atomic uint32_t conflicts; /* relaxed: the number of conflicts found */
static _Atomic bool nodes;         /* relaxed: whether each conflict is logged at once, as a node has started */

static _Atomic(struct known *) *bucket_of(uint32_t tag)
{
    return &known[wf_mix(tag) % BUCKETS];
}

const char *wf_typed_name_of_tag(uint32_t tag)
{
    const struct known *k = atomic_load_explicit(bucket_of(tag), memory_order_acquire), *first = NULL;
    for (; k != NULL; k = k->next)
        if (k->tag == tag) first = k;
    return first == NULL ? NULL : first->name;
}

static const char *system_tag(uint32_t tag)
{
    switch (tag) {
    case WEFT_TAG_NODE_UP: return "WEFT_TAG_NODE_UP";
    case WEFT_TAG_NODE_DOWN: return "WEFT_TAG_NODE_DOWN";
    case WEFT_TAG_DOWN: return "WEFT_TAG_DOWN";
    case WEFT_TAG_EXIT: return "WEFT_TAG_EXIT";
    case WEFT_TAG_GROUP_JOIN: return "WEFT_TAG_GROUP_JOIN";
    case WEFT_TAG_GROUP_LEAVE: return "WEFT_TAG_GROUP_LEAVE";
    case WEFT_TAG_SUBSCRIPTION: return "WEFT_TAG_SUBSCRIPTION";
    case WEFT_TAG_STOP: return "WEFT_TAG_STOP";
    case WEFT_TAG_NODE_SUSPECT: return "WEFT_TAG_NODE_SUSPECT";
    case WEFT_TAG_MINORITY: return "WEFT_TAG_MINORITY";
    case WEFT_TAG_MAJORITY: return "WEFT_TAG_MAJORITY";
    case WEFT_TAG_RELOAD: return "WEFT_TAG_RELOAD";
    case WEFT_TAG_DRAIN: return "WEFT_TAG_DRAIN";
    case WEFT_TAG_UNDRAIN: return "WEFT_TAG_UNDRAIN";
    case WEFT_TAG_NAME_LOST: return "WEFT_TAG_NAME_LOST";
    case WEFT_TAG_EXCLUSIVE_LOST: return "WEFT_TAG_EXCLUSIVE_LOST";
    default: return NULL;
    }
}

const char *wf_tag_name(uint32_t tag)
{
    return tag < WEFT_TAG_SYSTEM ? wf_typed_name_of_tag(tag) : system_tag(tag);
}

static void say(const struct known *k)
{
    weft_log(WEFT_WARN,
             "the messages %s and %s have the same tag, %u: an actor that gets both cannot tell which is which; give "
             "one of them another number in its WEFT_MESSAGE",
             k->same_tag->name, k->name, k->tag);
}

/* Searches the list that begins at `first` for the tag of `k`, and sets k->same_tag to the oldest entry with another
 * name. True: the message is in the list already. */
static bool is_there(struct known *k, const struct known *first)
{
    k->same_tag = NULL;
    for (; first != NULL; first = first->next) {
        if (first->tag != k->tag) continue;
        if (strcmp(first->name, k->name) == 0) return true;
        k->same_tag = first;
    }
    return false;
}

void weft_typed_message(const char *name, uint32_t tag)
{
    size_t size = strlen(name) + 1;
    struct known *k = malloc(sizeof *k + size);
    if (k == NULL) return; /* without memory a conflict is not detected */
    k->tag = tag;
    memcpy(k->name, name, size);
    _Atomic(struct known *) *bucket = bucket_of(tag);
    struct known *first = atomic_load_explicit(bucket, memory_order_acquire);
    do {
        if (is_there(k, first)) {
            free(k);
            return;
        }
        k->next = first;
    } while (!atomic_compare_exchange_weak_explicit(bucket, &first, k, memory_order_acq_rel, memory_order_acquire));
    if (k->same_tag == NULL) return;
    if (atomic_fetch_add_explicit(&conflicts, 1, memory_order_relaxed) < SAID_MAX &&
        atomic_load_explicit(&nodes, memory_order_relaxed))
        say(k);
}

/* Conflicts found before the first node starts are logged when it starts, because the log is set up then. */
void wf_typed_say_conflicts(void)
{
    if (atomic_exchange_explicit(&nodes, true, memory_order_relaxed) ||
        atomic_load_explicit(&conflicts, memory_order_relaxed) == 0)
        return;
    uint32_t said = 0;
    for (size_t i = 0; i < BUCKETS; i++) {
        const struct known *k = atomic_load_explicit(&known[i], memory_order_acquire);
        for (; k != NULL && said < SAID_MAX; k = k->next) {
            if (k->same_tag == NULL) continue;
            say(k);
            said++;
        }
    }
}
