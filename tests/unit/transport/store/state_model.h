/* tests/unit/transport/store/state_model.h -- what two states of actors have, in memory: programs.h compares
 * the store with it. It is a part of that file, which has `m` and MUST.
 *
 * Each state has an owner, and earlier owners that keep writing: all their writes are refused. */
#ifndef WF_STATE_MODEL_H
#define WF_STATE_MODEL_H

enum { STATES = 2, EVENTS_MAX = 200, STATE_CHANGES = 6, OWNERS = 4 };

#define NOBODY UINT64_MAX

static const char *const state_of[STATES] = {"account.ann", "b"};

struct model_state {
    bool exists, has_snapshot;
    uint64_t opening, owner, first, last;
    uint32_t snapshot, event[EVENTS_MAX]; /* numbers, from which the bytes follow; event i is first + i */
};

static struct {
    struct model_state is[STATES], doubt[STATES]; /* doubt: if the last batch was stored */
    uint64_t old_owner[STATES][OWNERS];           /* of earlier openings */
    size_t appended, refused, opened;
} states;

static int model_append(struct model_state *s, const struct wf_store_state_change *x)
{
    if (x->number != s->last + 1) return WEFT_ECLOSED;
    MUST(s->last + 1 - s->first < EVENTS_MAX, "too many events");
    s->event[++s->last - s->first] = x->tag;
    return WEFT_OK;
}

static int model_save(struct model_state *s, const struct wf_store_state_change *x)
{
    if (x->number != s->last) return WEFT_ECLOSED;
    s->first = s->last + 1;
    s->snapshot = x->tag;
    s->has_snapshot = true;
    return WEFT_OK;
}

/* What a change does, and its error. */
static int model_change_state(struct model_state *s, const struct wf_store_state_change *x)
{
    if (x->kind != WF_STATE_OPEN && (!s->exists || x->owner != s->owner)) return WEFT_ECLOSED;
    switch (x->kind) {
    case WF_STATE_OPEN:
        if (!s->exists) *s = (struct model_state){.exists = true, .first = 1};
        s->opening++;
        s->owner = x->state.owner != 0 ? x->state.owner : NOBODY; /* nobody was told: the batch is in doubt */
        return WEFT_OK;
    case WF_STATE_APPEND: return model_append(s, x);
    case WF_STATE_SAVE: return model_save(s, x);
    case WF_STATE_REMOVE: s->exists = false; return WEFT_OK;
    }
    return WEFT_EINVAL;
}

/* ---- Batches --------------------------------------------------------------------------------------------------- */

/* Mostly the owner, now and then one of those before. The state is as after the changes before this one. */
static struct wf_store_state_change random_state_change(const struct model_state *s, int which, uint8_t *body)
{
    struct wf_store_state_change x = {.key = state_of[which], .owner = s->owner, .number = s->last + 1, .now = 5};
    uint64_t kind = program_random(40);
    x.kind = kind < 3 ? WF_STATE_OPEN : kind < 4 ? WF_STATE_REMOVE : kind < 10 ? WF_STATE_SAVE : WF_STATE_APPEND;
    if (s->last + 2 - s->first >= EVENTS_MAX) x.kind = WF_STATE_SAVE;
    if (x.kind == WF_STATE_SAVE) x.number = s->last;
    if (program_random(5) == 0) x.owner = states.old_owner[which][program_random(OWNERS)];
    if (program_random(20) == 0) x.number += program_random(3) - 1;
    if (x.kind == WF_STATE_APPEND || x.kind == WF_STATE_SAVE) {
        x.tag = ++m.numbers;
        x.data = body;
        x.size = body_of(x.tag, body);
    }
    return x;
}

static void note_change(const struct wf_store_state_change *x, int which, int error)
{
    states.appended += x->kind == WF_STATE_APPEND && error == WEFT_OK;
    states.refused += error == WEFT_ECLOSED;
    if (x->kind != WF_STATE_OPEN) return;
    states.opened++;
    states.old_owner[which][program_random(OWNERS)] = states.is[which].owner;
}

/* Returns true if the program goes on. */
static bool change_some_states(void)
{
    static uint8_t body[STATE_CHANGES][BODY_MAX];
    struct wf_store_state_change batch[STATE_CHANGES];
    struct model_state guess[STATES];
    size_t count = 1 + (size_t)program_random(STATE_CHANGES);
    int which[STATE_CHANGES], expected;
    memcpy(guess, states.is, sizeof guess);
    for (size_t i = 0; i < count; i++) {
        which[i] = (int)program_random(STATES);
        batch[i] = random_state_change(&guess[which[i]], which[i], body[i]);
        if (batch[i].kind != WF_STATE_OPEN) (void)model_change_state(&guess[which[i]], &batch[i]);
    }
    int rc = engine->change_states(m.store, batch, count);
    memcpy(states.doubt, states.is, sizeof states.doubt);
    for (size_t i = 0; i < count; i++) {
        expected = model_change_state(&states.doubt[which[i]], &batch[i]);
        if (rc == WEFT_OK)
            MUST(batch[i].error == expected, "change %d of %s: %d, not %d", batch[i].kind, batch[i].key,
                 batch[i].error, expected);
        if (rc == WEFT_OK) note_change(&batch[i], which[i], expected);
    }
    if (rc == WEFT_OK) memcpy(states.is, states.doubt, sizeof states.is);
    return rc == WEFT_OK || rc == WEFT_ENOSPC;
}

/* ---- After a crash --------------------------------------------------------------------------------------------- */

static bool note_state(void *arg, const struct wf_store_state *s)
{
    struct wf_store_state *found = arg;
    for (int i = 0; i < STATES; i++)
        if (strcmp(s->key, state_of[i]) == 0) found[i] = *s;
    return true;
}

static bool note_tag(void *arg, const struct wf_store_item *item)
{
    *(uint32_t *)arg = item->tag;
    return true;
}

/* The number of the snapshot. A snapshot that replaces one, without an event in between, changes nothing else. */
static uint32_t snapshot_of(const struct wf_store_state *found, const char *when)
{
    uint32_t number = 0;
    if (found->key[0] == '\0' || !found->has_snapshot) return 0;
    int rc = engine->read_state(m.store, found->key, found->owner, 0, 1, 30000, note_tag, &number);
    MUST(rc == 1, "%s: reading the snapshot of %s: %d", when, found->key, rc);
    return number;
}

/* An opening in doubt has a number that nobody was told. */
static bool has_state(const struct model_state *s, const struct wf_store_state *found, uint32_t snapshot)
{
    bool exists = found->key[0] != '\0';
    if (!s->exists || !exists) return s->exists == exists;
    return s->opening == found->opening && s->first == found->first && s->last == found->last &&
           s->has_snapshot == found->has_snapshot && (!s->has_snapshot || s->snapshot == snapshot);
}

struct state_reading {
    const struct model_state *state;
    uint64_t next;
    const char *when;
};

static bool compare_item(void *arg, const struct wf_store_item *item)
{
    struct state_reading *r = arg;
    static uint8_t body[BODY_MAX];
    const struct model_state *s = r->state;
    bool is_snapshot = r->next == 0 && s->has_snapshot;
    if (r->next == 0) r->next = is_snapshot ? s->first - 1 : s->first;
    MUST(item->number == r->next && item->is_snapshot == is_snapshot && r->next <= s->last, "%s: item %llu, not %llu",
         r->when, (unsigned long long)item->number, (unsigned long long)r->next);
    uint32_t number = is_snapshot ? s->snapshot : s->event[item->number - s->first];
    MUST(item->tag == number && item->size == body_of(number, body) && memcmp(item->data, body, item->size) == 0,
         "%s: item %llu has other bytes", r->when, (unsigned long long)item->number);
    r->next++;
    return true;
}

/* `may_stop`: a bit was flipped. */
static void read_model_state(int which, const char *when, bool may_stop)
{
    const struct model_state *s = &states.is[which];
    struct state_reading r = {s, 0, when};
    int rc;
    while (s->exists && (rc = engine->read_state(m.store, state_of[which], s->owner, r.next,
                                                 1 + (size_t)program_random(20), 30000, compare_item, &r)) != 0) {
        if (may_stop && rc == WEFT_EFORMAT) return;
        MUST(rc > 0, "%s: reading the state %s: %d", when, state_of[which], rc);
    }
    uint64_t end = r.next == 0 ? s->first : r.next;
    MUST(!s->exists || end == s->last + 1, "%s: %s ends at %llu", when, state_of[which], (unsigned long long)end);
}

/* A batch in doubt is there as a whole, or not at all. */
static void decide_states(const char *when)
{
    struct wf_store_state found[STATES] = {0};
    bool is_old = true, is_new = true;
    int rc = engine->states(m.store, NULL, note_state, found);
    MUST(rc == 0, "%s: states: %d", when, rc);
    for (int i = 0; i < STATES; i++) {
        bool same = states.is[i].owner == found[i].owner || !states.is[i].exists;
        uint32_t snapshot = snapshot_of(&found[i], when);
        is_old = is_old && same && has_state(&states.is[i], &found[i], snapshot);
        is_new = is_new && has_state(&states.doubt[i], &found[i], snapshot);
    }
    MUST(is_old || is_new, "%s: %s has %llu-%llu, acknowledged: %llu-%llu; %s has %llu-%llu, acknowledged: %llu-%llu",
         when, state_of[0], (unsigned long long)found[0].first, (unsigned long long)found[0].last,
         (unsigned long long)states.is[0].first, (unsigned long long)states.is[0].last, state_of[1],
         (unsigned long long)found[1].first, (unsigned long long)found[1].last,
         (unsigned long long)states.is[1].first, (unsigned long long)states.is[1].last);
    if (!is_old) memcpy(states.is, states.doubt, sizeof states.is);
    for (int i = 0; i < STATES; i++) {
        states.is[i].owner = found[i].owner;
        read_model_state(i, when, false);
    }
    memcpy(states.doubt, states.is, sizeof states.doubt);
}

/* After a flipped bit: what is served is as it was, and no state begins anew. */
__attribute__((unused)) static void read_flipped_states(void)
{
    for (int i = 0; i < STATES; i++) {
        struct wf_store_state_change x = {.kind = WF_STATE_OPEN, .key = state_of[i]};
        struct model_state *s = &states.is[i];
        if (engine->change_states(m.store, &x, 1) < 0 || x.error < 0) continue;
        MUST(x.state.opening == (s->exists ? s->opening + 1 : 1), "after a flip: another opening of %s", x.key);
        MUST(!s->exists || (x.state.first == s->first && x.state.last == s->last), "after a flip: other events of %s",
             x.key);
        s->owner = x.state.owner;
        if (s->exists) read_model_state(i, "after a flip", true);
    }
}

#endif
