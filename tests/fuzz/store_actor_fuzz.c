/* A peer's requests to a store, with SQLite on a disk in memory: any request of store_messages.h, with any fields, from several
 * actors of the peer and of the store's own node, which end or whose link breaks, while time passes and batches are stored. The
 * store answers good requests afterwards, and what the peer had is free again.
 *
 * An input consists of steps; fields are chosen from names and numbers that mean something, and from what the store has
 * answered. */
#include "../unit/transport/store/faulty_vfs.h"
#include "link_world.h"

#include <weft/queue.h>
#include <weft/store.h>

#include "store_messages.h"

enum { ME = 5, ACTORS = 4, WATCHES = 64, STEPS_MAX = 200, PATIENCE = 400 };

/* ---- In the place of runtime/wait/offload.c and its threads ---------------------------------------------------- */

struct disk_job {
    struct disk_job *next;
    weft_event done;
    bool has_run;
    weft_blocking *run, *drop;
    _Alignas(max_align_t) uint8_t block[64];
};
static struct disk_job *jobs, **jobs_end = &jobs;

int __wrap_weft_offload_start(weft_job *out, weft_blocking *run, weft_blocking *drop, const void *block, size_t size,
                              int64_t deadline);
int __wrap_weft_offload_take(weft_job job, void *block, size_t size, int64_t deadline);
int __wrap_weft_offload_drop(weft_job job);

int __wrap_weft_offload_start(weft_job *out, weft_blocking *run, weft_blocking *drop, const void *block, size_t size,
                              int64_t deadline)
{
    struct disk_job *j = calloc(1, sizeof *j);
    (void)deadline;
    MUST(j != NULL && size <= sizeof j->block);
    int rc = weft_event_open(&j->done);
    if (rc < 0) {
        free(j);
        return rc;
    }
    j->run = run;
    j->drop = drop;
    memcpy(j->block, block, size);
    *jobs_end = j;
    jobs_end = &j->next;
    out->done = j->done;
    return WEFT_OK;
}

static struct disk_job **find_job(weft_job job)
{
    struct disk_job **at = &jobs;
    while (*at != NULL && (*at)->done.id != job.done.id) at = &(*at)->next;
    return at;
}

static void end_job(struct disk_job **at)
{
    struct disk_job *j = *at;
    *at = j->next;
    if (jobs_end == &j->next) jobs_end = at;
    free(j);
}

int __wrap_weft_offload_take(weft_job job, void *block, size_t size, int64_t deadline)
{
    while (*find_job(job) != NULL && !(*find_job(job))->has_run) {
        int rc = weft_event_await(job.done, deadline);
        if (rc < 0) return rc;
    }
    struct disk_job **at = find_job(job);
    if (*at == NULL) return WEFT_ECLOSED;
    memcpy(block, (*at)->block, size);
    end_job(at);
    (void)weft_event_close(job.done);
    return WEFT_OK;
}

int __wrap_weft_offload_drop(weft_job job)
{
    struct disk_job **at = find_job(job);
    if (*at == NULL) return WEFT_ECLOSED;
    if ((*at)->drop != NULL) (*at)->drop((*at)->block);
    end_job(at);
    (void)weft_event_close(job.done);
    return WEFT_OK;
}

static void run_jobs(void)
{
    for (struct disk_job *j = jobs; j != NULL; j = j->next) {
        if (j->has_run) continue;
        j->run(j->block);
        j->has_run = true;
        (void)weft_event_set(j->done);
    }
}

static void drop_jobs(void)
{
    while (jobs != NULL) {
        if (jobs->drop != NULL) jobs->drop(jobs->block);
        end_job(&jobs);
    }
}

/* ---- What the node says ------------------------------------------------------------------------------------------ */

static struct {
    uint64_t id, lease, epoch, offset, owner, number; /* of the last answers */
    struct {
        uint64_t watcher, target, ref;
    } watch[WATCHES]; /* monitors of the peer's actors */
    size_t watches;
    uint64_t store; /* the actor's number */
} heard;

static void hear_answer(const struct wf_frame *f)
{
    struct store_changed changed;
    struct store_shared shared;
    struct store_state_answer state;
    struct store_appended appended;
    struct store_watched watched;
    const void *at = f->body.data;
    const size_t size = f->body.size;
    if (f->tag == WF_STORE_CHANGE && weft_typed_read(store_changed_type(), at, size, &changed, NULL) == WEFT_OK) {
        heard.id = changed.id;
        if (changed.lease != 0) heard.lease = changed.lease;
    } else if (f->tag == WF_STORE_SHARE && weft_typed_read(store_shared_type(), at, size, &shared, NULL) == WEFT_OK) {
        heard.id = shared.id;
        heard.lease = shared.lease;
    } else if (f->tag == WF_STORE_STATE &&
               weft_typed_read(store_state_answer_type(), at, size, &state, NULL) == WEFT_OK) {
        heard.owner = state.owner;
        heard.number = state.last;
    } else if (f->tag == WF_STORE_APPEND &&
               weft_typed_read(store_appended_type(), at, size, &appended, NULL) == WEFT_OK) {
        heard.epoch = appended.epoch;
        heard.offset = appended.offset;
    } else if (f->tag == WF_STORE_WATCH &&
               weft_typed_read(store_watched_type(), at, size, &watched, NULL) == WEFT_OK) {
        heard.number = watched.number;
    }
}

static void hear(const struct wf_frame *f)
{
    if (f->kind == wf_frame_of(WF_MSG_REPLY)) hear_answer(f);
    if (f->kind != wf_frame_of(WF_MSG_WATCH)) return;
    size_t at = heard.watches++ % WATCHES;
    heard.watch[at].watcher = f->from;
    heard.watch[at].target = f->to;
    heard.watch[at].ref = f->ref;
}

/* ---- Requests --------------------------------------------------------------------------------------------------- */

static const struct weft_type_info *type_of(unsigned tag)
{
    switch (tag) {
    case WF_STORE_APPEND: return store_append_type();
    case WF_STORE_READ:
    case WF_STORE_FIND: return store_read_type();
    case WF_STORE_LIST:
    case WF_STORE_QUEUES:
    case WF_STORE_STATES: return store_list_type();
    case WF_STORE_WATCH: return store_watch_type();
    case WF_STORE_CHANGE:
    case WF_STORE_UNTAKE:
    case WF_STORE_REMIND:
    case WF_STORE_DROP: return store_change_type();
    case WF_STORE_CURSOR:
    case WF_STORE_CURSORS: return store_cursors_from_type();
    case WF_STORE_ADVANCE: return store_advance_type();
    case WF_STORE_STATE:
    case WF_STORE_STATE_CLOSE: return store_state_ask_type();
    case WF_STORE_STATE_READ: return store_state_from_type();
    case WF_STORE_REMINDERS: return store_reminders_from_type();
    case WF_STORE_SHARE: return store_share_type();
    case WF_STORE_MARK: return store_mark_type();
    default: return NULL;
    }
}

static const char *const names[] = {"t.a",   "t.b",    "t.>",      "c",     "q",     "q.x",  "$shared.c",
                                    "s.1",   "s.2",    "",         "store", "a.b.*", "k",    "\x1b[2J",
                                    "$node", "t.\xff", "$shared.", ">",     "*",     "other"};

static uint64_t number_of(unsigned byte)
{
    const uint64_t known[] = {heard.id,          heard.lease,
                              heard.epoch,       heard.offset,
                              heard.offset + 1,  heard.owner,
                              heard.number,      heard.number + 1,
                              UINT64_MAX,        INT64_MAX,
                              UINT32_MAX,        1000,
                              UINT64_C(1) << 40, (UINT64_C(1) << 40) - 1,
                              1 << 20,           heard.id + 1};
    return byte < 224 ? byte % 16 : known[byte % 16];
}

union value {
    struct store_append append;
    struct store_read read;
    struct store_list list;
    struct store_watch watch;
    struct store_change change;
    struct store_cursors_from cursors;
    struct store_advance advance;
    struct store_state_ask state;
    struct store_state_from from;
    struct store_reminders_from reminders;
    struct store_share share;
    struct store_mark mark;
};

/* The fields, as a typed message has them. */
static void choose_fields(struct input *in, const struct weft_type_info *type, void *value)
{
    static const char body[4096];
    for (size_t i = 0; i < type->count; i++) {
        const struct weft_field_info *f = &type->fields[i];
        void *at = (char *)value + f->offset;
        unsigned byte = input_byte(in);
        uint64_t number = number_of(byte);
        const char *name = names[byte % (sizeof names / sizeof *names)];
        if (f->kind == WEFT_KIND_UINT) memcpy(at, &number, sizeof number);
        if (f->kind == WEFT_KIND_INT) memcpy(at, &number, sizeof number);
        if (f->kind == WEFT_KIND_BOOL) *(bool *)at = byte % 2 != 0;
        if (f->kind == WEFT_KIND_STR) *(weft_text *)at = weft_cstr(name);
        if (f->kind == WEFT_KIND_BIN) *(weft_text *)at = weft_str(body, byte * 16);
    }
}

/* Returns its size. */
static size_t write_request(struct input *in, unsigned tag, uint8_t *out, size_t size)
{
    union value value;
    const struct weft_type_info *type = type_of(tag);
    memset(&value, 0, sizeof value);
    unsigned how = input_byte(in);
    if (how >= 240 || type == NULL) { /* any bytes */
        size_t n = input_byte(in);
        uint8_t *bytes = input_copy(in, &n);
        memcpy(out, bytes, n);
        free(bytes);
        return n;
    }
    choose_fields(in, type, &value);
    weft_writer w = weft_writer_on(out, size);
    weft_typed_put(&w, type, &value);
    MUST(w.error == 0 && w.size <= size);
    return how >= 224 ? w.size * (how - 224) / 16 : w.size; /* cut */
}

static void say_request(struct link_world *w, struct input *in, bool calls)
{
    static uint8_t body[8192], frame[16384];
    static uint64_t refs;
    unsigned tag = input_byte(in) % 26, from = ME + input_byte(in) % ACTORS,
             times = 1 + (input_byte(in) >= 250 ? 40 : 0);
    size_t size = write_request(in, tag, body, sizeof body);
    for (unsigned i = 0; i < times; i++) {
        weft_writer out = weft_writer_on(frame, sizeof frame);
        wf_put_to_name(&out, calls, weft_cstr(WEFT_STORE_NAME), from, tag, calls ? ++refs : 0, body, size,
                       i % 2 == 0 ? WF_FRAME_NO_DEADLINE : 50000);
        if (out.error == 0) link_say(w, frame, out.size);
    }
}

/* An actor of the peer has ended, or the peer says so. */
static void say_down(struct link_world *w, struct input *in)
{
    uint8_t frame[256], reason[4];
    weft_writer out = weft_writer_on(frame, sizeof frame);
    size_t at = input_byte(in) % WATCHES;
    wf_put_u32(reason, (uint32_t)(int8_t)input_byte(in));
    wf_put_to_actor(&out, WF_MSG_DOWN, heard.watch[at].watcher, heard.watch[at].target, 0, heard.watch[at].ref,
                    reason, sizeof reason, WF_FRAME_NO_DEADLINE);
    if (out.error == 0 && heard.watch[at].ref != 0) link_say(w, frame, out.size);
}

/* ---- Actors of the store's node ---------------------------------------------------------------------------------- */

struct local {
    uint32_t tag;
    int64_t patience;
    bool stays; /* after its request has ended, as the owner of what it got */
    size_t size;
    uint8_t body[4096];
};

static void local_caller(const void *arg, size_t size)
{
    static struct local l;
    weft_msg *m = NULL;
    MUST(size <= sizeof l);
    memcpy(&l, arg, size);
    bool stays = l.stays;
    int rc = weft_call_name(WEFT_STORE_NAME, l.tag, l.body, l.size, &m, weft_after(l.patience));
    if (rc == WEFT_OK) weft_msg_free(m);
    if (stays) (void)weft_sleep(weft_after(WEFT_SEC(2)));
}

static void call_locally(struct link_world *w, struct input *in)
{
    static struct local l;
    static uint8_t body[8192];
    l.tag = input_byte(in) % 26;
    l.patience = WEFT_MS(input_byte(in));
    l.stays = l.patience % WEFT_MS(2) != 0;
    l.size = write_request(in, l.tag, body, sizeof body);
    if (l.size > sizeof l.body) return;
    memcpy(l.body, body, l.size);
    (void)weft_node_spawn(w->world.host[NODE].node, NULL, local_caller, &l, offsetof(struct local, body) + l.size,
                          NULL);
}

/* ---- The store ---------------------------------------------------------------------------------------------------- */

static int opened, judged;
static weft_pid store_pid;

static void store_opener(const void *arg, size_t size)
{
    (void)arg, (void)size;
    const struct weft_stored_topics topics[] = {
        {.pattern = "t.a", .count = 3}, {.pattern = "t.>"}, {.pattern = "good.>"}};
    const struct weft_stored_queues queues[] = {{.pattern = "q.>", .lease = WEFT_SEC(1), .attempts = 2, .jobs = 10},
                                                {.pattern = "q", .lease = WEFT_MS(100)},
                                                {.pattern = "good"}};
    const struct weft_stored_states states[] = {{"s.>"}, {"good.>"}};
    const weft_store_options options = {.url = "sqlite:s.db",
                                        .topics = topics,
                                        .topic_count = 3,
                                        .queues = queues,
                                        .queue_count = 3,
                                        .states = states,
                                        .state_count = 2};
    opened = weft_store_open(&options, &store_pid, WEFT_FOREVER);
    if (opened == WEFT_OK) opened = 1;
}

/* Good requests of an honest actor. */
static void judge(const void *arg, size_t size)
{
    struct weft_position at;
    struct weft_queue_job job;
    weft_msg *m = NULL;
    uint64_t id;
    (void)arg, (void)size;
    int64_t by = weft_after(WEFT_SEC(30));
    int rc = weft_publish_stored("good.topic", 1, "x", 1, &at, by);
    if (rc == WEFT_OK) rc = weft_cursor_advance("judge", "good.topic", at, by);
    if (rc == WEFT_OK) rc = weft_queue_put("good", 1, "y", 1, NULL, &id, by);
    if (rc == WEFT_OK) rc = weft_queue_take("good", &m, &job, by);
    if (rc == WEFT_OK) rc = weft_queue_done(&job, by);
    weft_msg_free(m);
    judged = rc == WEFT_OK ? 1 : rc;
    if (judged < 0) fprintf(stderr, "a good request: %s\n", weft_strerror(judged));
}

static void await(struct link_world *w, weft_actor *body, const int *result)
{
    MUST(weft_node_spawn(w->world.host[NODE].node, NULL, body, NULL, 0, NULL) == WEFT_OK);
    for (int i = 0; i < PATIENCE && *result == 0; i++) link_pass(w, WEFT_MS(10));
    MUST(*result == 1);
}

/* ---- Inputs ------------------------------------------------------------------------------------------------------- */

static void take_step(struct link_world *w, struct input *in)
{
    unsigned what = input_byte(in);
    if (what < 160) say_request(w, in, true);
    else if (what < 180) say_request(w, in, false);
    else if (what < 200) say_down(w, in);
    else if (what < 220) call_locally(w, in);
    else if (what < 240) link_pass(w, WEFT_MS(input_byte(in)));
    else if (what < 250) link_pass(w, WEFT_MS(100) * input_byte(in) / 8);
    else {
        link_break(w);
        link_dial(w);
    }
}

int fuzz_one_input(const uint8_t *data, size_t size)
{
    struct input in = {data, data + size};
    static struct link_world w;
    unsigned mode = input_byte(&in) & LINK_FOREIGN;
    memset(&heard, 0, sizeof heard);
    opened = judged = 0;
    faulty_begin(1);
    link_world_init(&w, LINK_GREETS | mode);
    w.step = run_jobs;
    w.on_frame = hear;
    await(&w, store_opener, &opened);
    for (int i = 0; i < STEPS_MAX && input_left(&in) > 0; i++) take_step(&w, &in);
    link_pass(&w, WEFT_MS(50));
    await(&w, judge, &judged);
    MUST(((const struct wf_transport *)w.world.host[NODE].node->transport)->fatal[0] == '\0');
    link_break(&w);
    w.on_frame = NULL;
    link_world_finish(&w);
    drop_jobs();
    faulty_end();
    return 0;
}
