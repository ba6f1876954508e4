/* tests/unit/transport/store/queue_model.h -- what two queues have, in memory: programs.h compares the
 * store with it. It is a part of that file, which has `m` and MUST. */
#ifndef WF_QUEUE_MODEL_H
#define WF_QUEUE_MODEL_H

enum {
    QUEUES = 2,
    JOBS_MAX = 40,
    MODEL_JOBS_MAX = 2 * JOBS_MAX + 8,
    KEYS = 5,
    CHANGES = 5,
    LEASE = 30,
    ATTEMPTS = 3
};
enum { KEY_AGE = 60, UNKNOWN = 1 };

static const char *const queue_of[QUEUES] = {"jobs", "other.jobs"};
static const char *const key_of[KEYS] = {"a", "b", "c", "d", "e"};

struct model_job {
    int queue;
    uint32_t number; /* its bytes follow from it */
    struct wf_store_job is;
    int reminder; /* 0: none, else the number of its key plus 1 */
    int64_t at, period;
};

struct queue_model {
    struct model_job job[MODEL_JOBS_MAX];
    size_t count;
    uint64_t last_id;
    struct {
        uint64_t id;
        int64_t until;
    } key[QUEUES][KEYS];
};

static struct {
    struct queue_model is, doubt; /* doubt: if the last batch was stored */
    int64_t now;
    size_t given, done, died, set, repeated, counted, seen;
} queues;

/* ---- What a change does ---------------------------------------------------------------------------------------- */

static int queue_number(const char *name)
{
    return strcmp(name, queue_of[0]) == 0 ? 0 : 1;
}

static struct model_job *model_find(struct queue_model *q, uint64_t id)
{
    for (size_t i = 0; i < q->count; i++)
        if (q->job[i].is.id == id) return &q->job[i];
    return NULL;
}

static size_t model_size(const struct queue_model *q, int queue)
{
    size_t count = 0;
    for (size_t i = 0; i < q->count; i++) count += q->job[i].queue == queue;
    return count;
}

static bool comes_before(const struct wf_store_job *a, const struct wf_store_job *b)
{
    if (a->due != b->due) return a->due < b->due;
    return a->lease != b->lease ? a->lease < b->lease : a->id < b->id;
}

/* The job that has to be taken next. Those that were taken too often die. */
static struct model_job *model_due(struct queue_model *q, int queue, int64_t now)
{
    for (;;) {
        struct model_job *first = NULL;
        for (size_t i = 0; i < q->count; i++) {
            struct model_job *j = &q->job[i];
            if (j->queue != queue || j->is.dead || j->is.due > now) continue;
            if (first == NULL || comes_before(&j->is, &first->is)) first = j;
        }
        if (first == NULL || first->is.attempts < ATTEMPTS) return first;
        first->is.dead = true;
        first->is.lease = 0;
        first->is.due = now;
    }
}

static int key_number(const char *key)
{
    int k = 0;
    while (strcmp(key_of[k], key) != 0) k++;
    return k;
}

static struct model_job *model_reminder(struct queue_model *q, const struct wf_store_change *x)
{
    for (size_t i = 0; i < q->count; i++)
        if (q->job[i].queue == queue_number(x->queue) && q->job[i].reminder == key_number(x->key) + 1)
            return &q->job[i];
    return NULL;
}

static int model_put(struct queue_model *q, const struct wf_store_change *x, uint64_t *id)
{
    int queue = queue_number(x->queue), k = x->key == NULL ? 0 : key_number(x->key);
    *id = x->key != NULL && q->key[queue][k].until > x->now ? q->key[queue][k].id : 0;
    if (*id != 0) return WEFT_OK;
    if (model_size(q, queue) >= JOBS_MAX) return WEFT_EFULL;
    *id = ++q->last_id;
    struct model_job *j = &q->job[q->count++];
    *j = (struct model_job){
        .queue = queue, .number = x->tag, .is = {.id = *id, .due = x->now + x->delay, .time = x->now, .tag = x->tag}};
    if (x->key != NULL) {
        q->key[queue][k].id = *id;
        q->key[queue][k].until = x->now + KEY_AGE;
    }
    return WEFT_OK;
}

static int model_set(struct queue_model *q, const struct wf_store_change *x, uint64_t *id)
{
    struct model_job *j = model_reminder(q, x);
    if (j == NULL && model_size(q, queue_number(x->queue)) >= JOBS_MAX) return WEFT_EFULL;
    if (j == NULL) j = &q->job[q->count++];
    *id = ++q->last_id;
    *j = (struct model_job){queue_number(x->queue), x->tag, {.id = *id, .due = x->at, .time = x->now, .tag = x->tag},
                            key_number(x->key) + 1, x->at,  x->period};
    return WEFT_OK;
}

static int model_cancel(struct queue_model *q, const struct wf_store_change *x)
{
    struct model_job *j = model_reminder(q, x);
    if (j == NULL) return WEFT_ENOTFOUND;
    *j = q->job[--q->count];
    return WEFT_OK;
}

static int model_take(struct queue_model *q, const struct wf_store_change *x, uint64_t *id)
{
    struct model_job *j = model_due(q, queue_number(x->queue), x->now);
    if (j == NULL) return WEFT_ENOTFOUND;
    j->is.attempts++;
    j->is.due = x->now + x->delay;
    j->is.lease = x->body != NULL ? x->job.lease : UNKNOWN;
    *id = j->is.id;
    return WEFT_OK;
}

static int model_taken(struct queue_model *q, const struct wf_store_change *x)
{
    struct model_job *j = model_find(q, x->id);
    if (j == NULL || j->queue != queue_number(x->queue) || j->is.dead || j->is.lease == 0 || j->is.lease != x->lease)
        return WEFT_ECLOSED;
    bool dies = x->kind == WF_JOB_RETURN && j->is.attempts >= ATTEMPTS;
    if (x->kind == WF_JOB_DONE && j->reminder > 0 && j->period > 0) {
        while (j->at <= x->now) j->at += j->period;
        j->is.due = j->at;
        j->is.lease = j->is.attempts = 0;
        return WEFT_OK;
    }
    if (x->kind == WF_JOB_DONE) {
        *j = q->job[--q->count];
        return WEFT_OK;
    }
    if (x->kind != WF_JOB_EXTEND) j->is.lease = 0;
    if (x->kind == WF_JOB_UNTAKE) j->is.attempts--;
    j->is.dead = dies;
    j->is.due = dies || x->kind == WF_JOB_UNTAKE ? x->now : x->now + x->delay;
    return WEFT_OK;
}

static int model_revive(struct queue_model *q, const struct wf_store_change *x)
{
    size_t count = 0;
    for (size_t i = 0; i < q->count; i++) {
        struct model_job *j = &q->job[i];
        if (j->queue != queue_number(x->queue) || !j->is.dead || (x->id != 0 && x->id != j->is.id)) continue;
        j->is.dead = false;
        j->is.attempts = 0;
        j->is.due = x->now;
        count++;
    }
    return count > 0 ? WEFT_OK : WEFT_ENOTFOUND;
}

static int model_change(struct queue_model *q, const struct wf_store_change *x, uint64_t *id)
{
    *id = 0;
    switch (x->kind) {
    case WF_JOB_PUT: return model_put(q, x, id);
    case WF_JOB_TAKE: return model_take(q, x, id);
    case WF_JOB_REVIVE: return model_revive(q, x);
    case WF_JOB_SET: return model_set(q, x, id);
    case WF_JOB_CANCEL: return model_cancel(q, x);
    default: return model_taken(q, x);
    }
}

/* ---- Batches --------------------------------------------------------------------------------------------------- */

static void check_taken(const struct wf_store_change *x)
{
    static uint8_t body[BODY_MAX];
    const struct model_job *j = model_find(&queues.doubt, x->job.id);
    size_t size = body_of(j->number, body);
    MUST(x->job.size == size && memcmp(x->body, body, size) == 0 && x->job.tag == j->number,
         "job %llu is not what was put", (unsigned long long)x->job.id);
    MUST(x->job.attempts == j->is.attempts && x->job.due == j->is.due && x->job.time == j->is.time,
         "job %llu is in another state", (unsigned long long)x->job.id);
    const char *key = j->reminder == 0 ? NULL : key_of[j->reminder - 1];
    MUST((key == NULL) == (x->reminder == NULL), "job %llu is, or is not, of a reminder",
         (unsigned long long)x->job.id);
    MUST(key == NULL || (strcmp(x->reminder, key) == 0 && x->at == j->at && x->period == j->period),
         "job %llu is of another reminder", (unsigned long long)x->job.id);
}

static void check_change(const struct wf_store_change *x, bool stored)
{
    uint64_t id;
    size_t before = queues.doubt.count;
    int expected = model_change(&queues.doubt, x, &id);
    if (!stored) return;
    MUST(x->error == expected, "change %d of %s: %d, not %d", x->kind, x->queue, x->error, expected);
    MUST(id == 0 || x->job.id == id, "change %d of %s: job %llu, not %llu", x->kind, x->queue,
         (unsigned long long)x->job.id, (unsigned long long)id);
    if (x->kind == WF_JOB_TAKE && x->error == WEFT_OK) check_taken(x);
    queues.given += x->kind == WF_JOB_TAKE && x->error == WEFT_OK;
    queues.done += queues.doubt.count < before;
    queues.set += x->kind == WF_JOB_SET && x->error == WEFT_OK;
    queues.repeated += x->kind == WF_JOB_DONE && x->error == WEFT_OK && x->next_due != 0;
    queues.died += x->kind == WF_JOB_RETURN && x->job.dead;
}

/* A job that was taken, or now and then another one. */
static void choose_job(struct wf_store_change *x)
{
    const struct queue_model *q = &queues.is;
    size_t from = q->count == 0 ? 0 : (size_t)program_random(q->count);
    for (size_t i = 0; i < q->count; i++) {
        const struct model_job *j = &q->job[(from + i) % q->count];
        if (j->is.lease == 0 && program_random(20) > 0) continue;
        x->queue = queue_of[j->queue];
        x->id = j->is.id;
        x->lease = j->is.lease + (program_random(20) == 0);
        return;
    }
}

static struct wf_store_change random_change(uint8_t *body)
{
    static const enum wf_store_change_kind kinds[] = {
        WF_JOB_PUT,    WF_JOB_PUT,    WF_JOB_PUT,    WF_JOB_TAKE,   WF_JOB_TAKE, WF_JOB_TAKE, WF_JOB_DONE,
        WF_JOB_RETURN, WF_JOB_RETURN, WF_JOB_EXTEND, WF_JOB_UNTAKE, WF_JOB_SET,  WF_JOB_SET,  WF_JOB_CANCEL};
    struct wf_store_change x = {.kind = kinds[program_random(sizeof kinds / sizeof *kinds)],
                                .queue = queue_of[program_random(QUEUES)],
                                .now = queues.now,
                                .delay = (int64_t)program_random(2) * (int64_t)program_random(40),
                                .attempts = ATTEMPTS,
                                .jobs_max = JOBS_MAX};
    if (program_random(30) == 0) x.kind = WF_JOB_REVIVE;
    if (x.kind == WF_JOB_TAKE || x.kind == WF_JOB_EXTEND) x.delay = LEASE;
    if (x.kind == WF_JOB_PUT) {
        x.tag = ++m.numbers;
        x.data = body;
        x.size = body_of(x.tag, body);
        x.key = program_random(3) == 0 ? key_of[program_random(KEYS)] : NULL;
        x.key_age = KEY_AGE;
    } else if (x.kind == WF_JOB_SET || x.kind == WF_JOB_CANCEL) {
        x.tag = ++m.numbers;
        x.data = body;
        x.size = body_of(x.tag, body);
        x.key = key_of[program_random(KEYS)];
        x.at = queues.now / 2 + (int64_t)program_random((uint64_t)queues.now);
        x.period = (int64_t)program_random(2) * (1 + (int64_t)program_random(30));
        x.delay = 0;
    } else if (x.kind != WF_JOB_TAKE && x.kind != WF_JOB_REVIVE) {
        choose_job(&x);
    }
    return x;
}

static bool compare_counts(void *arg, const struct wf_store_queue *found)
{
    const int64_t now = *(const int64_t *)arg;
    struct wf_store_queue is = {.ready = 0};
    for (size_t i = 0; i < queues.is.count; i++) {
        const struct model_job *j = &queues.is.job[i];
        if (strcmp(queue_of[j->queue], found->name) != 0) continue;
        if (j->is.dead) is.dead++;
        else if (j->is.due <= now) is.ready++;
        else if (j->is.lease != 0) is.leased++;
        else is.delayed++;
    }
    MUST(is.ready == found->ready && is.delayed == found->delayed && is.leased == found->leased &&
             is.dead == found->dead,
         "%s at %d: %d ready, %d delayed, %d leased, %d dead, not %d, %d, %d, %d", found->name, (int)now,
         (int)found->ready, (int)found->delayed, (int)found->leased, (int)found->dead, (int)is.ready, (int)is.delayed,
         (int)is.leased, (int)is.dead);
    queues.seen += model_size(&queues.is, queue_number(found->name));
    return true;
}

/* The counts of all jobs, mostly as at this time, now and then as at an earlier or a later one. */
static void count_all(void)
{
    int64_t now = queues.now;
    if (program_random(4) == 0) now += (int64_t)program_random(120) - 60;
    queues.seen = 0;
    int rc = engine->queues(m.store, "", now, compare_counts, &now);
    MUST(rc < 0 || queues.seen == queues.is.count, "the counts are of %zu jobs, not %zu", queues.seen,
         queues.is.count);
    queues.counted += rc == 0;
}

/* Returns true if the program goes on. */
static bool change_some(void)
{
    static uint8_t body[CHANGES][BODY_MAX];
    struct wf_store_change batch[CHANGES];
    size_t count = 1 + (size_t)program_random(CHANGES);
    queues.now += (int64_t)program_random(20);
    for (size_t i = 0; i < count; i++) batch[i] = random_change(body[i]);
    int rc = engine->change(m.store, batch, count);
    queues.doubt = queues.is;
    for (size_t i = 0; i < count; i++) {
        check_change(&batch[i], rc == WEFT_OK);
        free(batch[i].body);
    }
    if (rc == WEFT_OK) queues.is = queues.doubt;
    if (rc == WEFT_ENOSPC) queues.doubt = queues.is;
    if ((rc == WEFT_OK || rc == WEFT_ENOSPC) && program_random(2) == 0) count_all();
    return rc == WEFT_OK || rc == WEFT_ENOSPC;
}

/* ---- After a crash --------------------------------------------------------------------------------------------- */

struct found {
    int queue;
    struct model_job job[MODEL_JOBS_MAX];
    size_t count;
    const char *when;
};

static bool add_found(void *arg, const struct wf_store_job *is, const void *data)
{
    static uint8_t body[BODY_MAX];
    struct found *f = arg;
    uint32_t number = is->tag;
    MUST(f->count < MODEL_JOBS_MAX, "%s: too many jobs", f->when);
    MUST(is->size == body_of(number, body) && memcmp(data, body, is->size) == 0, "%s: job %llu has other bytes",
         f->when, (unsigned long long)is->id);
    f->job[f->count++] = (struct model_job){.queue = f->queue, .number = number, .is = *is};
    return true;
}

static bool add_found_reminder(void *arg, const struct wf_store_reminder *r)
{
    struct found *f = arg;
    for (size_t i = 0; i < f->count; i++) {
        struct model_job *j = &f->job[i];
        if (j->is.id != r->job.id) continue;
        MUST(j->reminder == 0 && strcmp(r->queue, queue_of[j->queue]) == 0, "%s: job %llu is of two reminders",
             f->when, (unsigned long long)r->job.id);
        j->reminder = key_number(r->key) + 1;
        j->at = r->at;
        j->period = r->period;
        return true;
    }
    MUST(false, "%s: reminder %s has no job", f->when, r->key);
    return false;
}

static bool is_same(const struct model_job *a, const struct model_job *b)
{
    bool lease = a->is.lease == b->is.lease || (a->is.lease == UNKNOWN && b->is.lease != 0);
    bool reminder = a->reminder == b->reminder && a->at == b->at && a->period == b->period;
    return a->queue == b->queue && a->number == b->number && lease && reminder && a->is.due == b->is.due &&
           a->is.time == b->is.time && a->is.attempts == b->is.attempts && a->is.dead == b->is.dead;
}

static bool has_found(struct queue_model *q, const struct found *f)
{
    bool same = q->count == f->count;
    for (size_t i = 0; i < f->count && same; i++) {
        const struct model_job *j = model_find(q, f->job[i].is.id);
        same = j != NULL && is_same(j, &f->job[i]);
    }
    return same;
}

static void find_jobs(struct found *f)
{
    for (f->queue = 0; f->queue < QUEUES; f->queue++)
        for (int dead = 0; dead < 2; dead++) {
            int rc = engine->jobs(m.store, queue_of[f->queue], dead, add_found, f);
            MUST(rc == 0, "%s: the jobs of %s: %d", f->when, queue_of[f->queue], rc);
        }
    int rc = engine->reminders(m.store, "", "", add_found_reminder, f);
    MUST(rc == 0, "%s: the reminders: %d", f->when, rc);
}

/* A batch in doubt is there as a whole, or not at all. */
static void decide_queues(const char *when)
{
    struct found f = {.when = when};
    find_jobs(&f);
    bool is_old = has_found(&queues.is, &f), is_new = has_found(&queues.doubt, &f);
    MUST(is_old || is_new, "%s: %zu jobs, acknowledged: %zu, in doubt: %zu", when, f.count, queues.is.count,
         queues.doubt.count);
    if (!is_old) queues.is = queues.doubt;
    for (size_t i = 0; i < f.count; i++) model_find(&queues.is, f.job[i].is.id)->is.lease = f.job[i].is.lease;
    queues.doubt = queues.is;
}

/* After a flipped bit: a job that is given is as it was, and comes once. */
__attribute__((unused)) static void take_all(void)
{
    for (int queue = 0; queue < QUEUES; queue++)
        for (;;) {
            struct wf_store_change x = {
                .kind = WF_JOB_TAKE, .queue = queue_of[queue], .now = queues.now + 1000, .delay = 1000};
            if (engine->change(m.store, &x, 1) < 0 || x.error < 0) break;
            static uint8_t body[BODY_MAX];
            struct model_job *j = model_find(&queues.is, x.job.id);
            MUST(j != NULL && !j->is.dead && j->queue == queue, "after a flip: job %llu is given",
                 (unsigned long long)x.job.id);
            MUST(x.job.size == body_of(j->number, body) && memcmp(x.body, body, x.job.size) == 0,
                 "after a flip: job %llu has other bytes", (unsigned long long)x.job.id);
            j->is.dead = true; /* it does not come again */
            free(x.body);
        }
}

#endif
