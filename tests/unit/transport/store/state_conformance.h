/* tests/unit/transport/store/state_conformance.h -- tests of the promises of every engine about states of actors: a
 * part of conformance.h, which has `fixture` and `store`. */
#ifndef WF_STORE_STATE_CONFORMANCE_H
#define WF_STORE_STATE_CONFORMANCE_H

static struct wf_store_state_change change_state(struct wf_store_state_change x)
{
    int rc = fixture.engine->change_states(store, &x, 1);
    if (rc < 0) ck_assert_int_eq(x.error, rc);
    return x;
}

/* Opens the state, and expects that it has these events, and was opened so often. */
static struct wf_store_state open_state(const char *key, uint64_t opening, uint64_t first, uint64_t last)
{
    struct wf_store_state_change x = change_state((struct wf_store_state_change){.kind = WF_STATE_OPEN, .key = key});
    ck_assert_msg(x.error == WEFT_OK, "%s", weft_strerror(x.error));
    ck_assert_str_eq(x.state.key, key);
    ck_assert_uint_ne(x.state.owner, 0);
    ck_assert_uint_eq(x.state.opening, opening);
    ck_assert_uint_eq(x.state.first, first);
    ck_assert_uint_eq(x.state.last, last);
    return x.state;
}

static int write_state(enum wf_store_state_kind kind, struct wf_store_state s, uint64_t number, const char *text)
{
    return change_state((struct wf_store_state_change){.kind = kind,
                                                       .key = s.key,
                                                       .owner = s.owner,
                                                       .number = number,
                                                       .now = 5,
                                                       .tag = 7,
                                                       .version = 2,
                                                       .data = text,
                                                       .size = strlen(text)})
        .error;
}

static void append_event(struct wf_store_state s, uint64_t number, const char *text)
{
    int rc = write_state(WF_STATE_APPEND, s, number, text);
    ck_assert_msg(rc == WEFT_OK, "%s", weft_strerror(rc));
}

static bool add_item(void *arg, const struct wf_store_item *item)
{
    struct text_of *t = arg;
    ck_assert(item->time == 5 && item->tag == 7 && item->version == 2);
    t->size += (size_t)snprintf(t->text + t->size, sizeof t->text - t->size, "%llu%s%.*s ",
                                (unsigned long long)item->number, item->is_snapshot ? ":" : "=", (int)item->size,
                                (const char *)item->data);
    return --t->stop_after != 0;
}

/* "2:snapshot 3=event 4=event " */
static const char *state_text(struct wf_store_state s, uint64_t from, size_t count, size_t bytes)
{
    static struct text_of t;
    t = (struct text_of){0};
    int rc = fixture.engine->read_state(store, s.key, s.owner, from, count, bytes, add_item, &t);
    return rc < 0 ? weft_error_name(rc) : t.text;
}

static bool add_state(void *arg, const struct wf_store_state *s)
{
    char text[300];
    snprintf(text, sizeof text, "%s=%d/%d-%d/%d/%d ", s->key, (int)s->opening, (int)s->first, (int)s->last,
             (int)s->bytes, s->has_snapshot ? (int)s->size : -1);
    strcat(arg, text);
    return true;
}

/* "key=openings/first-last/bytes/snapshot " */
static void expect_states(const char *after, const char *expected)
{
    char text[2000] = "";
    ck_assert_int_eq(fixture.engine->states(store, after, add_state, text), WEFT_OK);
    ck_assert_str_eq(text, expected);
}

START_TEST(a_state_is_a_snapshot_and_events)
{
    struct wf_store_state s = open_state("a.b", 1, 1, 0);
    ck_assert_str_eq(state_text(s, 0, 9, 99), "");
    append_event(s, 1, "one");
    append_event(s, 2, "");
    ck_assert_str_eq(state_text(s, 0, 9, 99), "1=one 2= ");
    ck_assert_int_eq(write_state(WF_STATE_SAVE, s, 2, "both"), WEFT_OK);
    append_event(s, 3, "three");
    reopen();
    ck_assert_str_eq(state_text(s, 0, 9, 99), "2:both 3=three ");
    append_event(s, 4, "four"); /* it is still the owner */
    ck_assert_int_eq(write_state(WF_STATE_SAVE, s, 4, ""), WEFT_OK);
    ck_assert_str_eq(state_text(s, 0, 9, 99), "4: ");
    ck_assert_int_eq(write_state(WF_STATE_SAVE, s, 4, "again"), WEFT_OK);
    ck_assert_str_eq(state_text(s, 0, 9, 99), "4:again ");
    ck_assert_str_eq(state_text(s, 5, 9, 99), "");
    ck_assert_int_eq(fixture.engine->check(store, no_fault, NULL), 0);
}
END_TEST

START_TEST(an_earlier_owner_is_refused)
{
    struct wf_store_state first = open_state("a", 1, 1, 0);
    append_event(first, 1, "one");
    struct wf_store_state second = open_state("a", 2, 1, 1);
    ck_assert_uint_ne(first.owner, second.owner);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(write_state(WF_STATE_APPEND, first, 2, "late"), WEFT_ECLOSED);
        ck_assert_int_eq(write_state(WF_STATE_SAVE, first, 1, "late"), WEFT_ECLOSED);
        ck_assert_int_eq(write_state(WF_STATE_REMOVE, first, 0, ""), WEFT_ECLOSED);
        ck_assert_str_eq(state_text(first, 0, 9, 99), "WEFT_ECLOSED");
        ck_assert_str_eq(state_text(second, 0, 9, 99), "1=one ");
        reopen();
    }
    append_event(second, 2, "two");
    ck_assert_str_eq(state_text(second, 0, 9, 99), "1=one 2=two ");
    ck_assert_int_eq(fixture.engine->check(store, no_fault, NULL), 0);
}
END_TEST

START_TEST(events_have_no_holes)
{
    struct wf_store_state s = open_state("a", 1, 1, 0);
    ck_assert_int_eq(write_state(WF_STATE_APPEND, s, 2, "x"), WEFT_ECLOSED);
    ck_assert_int_eq(write_state(WF_STATE_APPEND, s, 0, "x"), WEFT_ECLOSED);
    append_event(s, 1, "one");
    ck_assert_int_eq(write_state(WF_STATE_APPEND, s, 1, "x"), WEFT_ECLOSED);
    ck_assert_int_eq(write_state(WF_STATE_SAVE, s, 0, "x"), WEFT_ECLOSED);
    ck_assert_int_eq(write_state(WF_STATE_SAVE, s, 2, "x"), WEFT_ECLOSED);
    ck_assert_str_eq(state_text(s, 0, 9, 99), "1=one ");
}
END_TEST

START_TEST(a_removed_state_begins_anew)
{
    struct wf_store_state s = open_state("a", 1, 1, 0), other = open_state("b", 1, 1, 0);
    append_event(s, 1, "one");
    ck_assert_int_eq(write_state(WF_STATE_SAVE, s, 1, "all"), WEFT_OK);
    append_event(s, 2, "two");
    append_event(other, 1, "theirs");
    ck_assert_int_eq(write_state(WF_STATE_REMOVE, s, 0, ""), WEFT_OK);
    ck_assert_int_eq(write_state(WF_STATE_REMOVE, s, 0, ""), WEFT_ECLOSED);
    ck_assert_int_eq(write_state(WF_STATE_APPEND, s, 3, "x"), WEFT_ECLOSED);
    expect_states(NULL, "b=1/1-1/6/-1 ");
    reopen();
    struct wf_store_state fresh = open_state("a", 1, 1, 0);
    ck_assert_int_eq(write_state(WF_STATE_APPEND, s, 1, "x"), WEFT_ECLOSED);
    ck_assert_str_eq(state_text(fresh, 0, 9, 99), "");
    ck_assert_str_eq(state_text(other, 0, 9, 99), "1=theirs ");
    ck_assert_int_eq(fixture.engine->check(store, no_fault, NULL), 0);
}
END_TEST

START_TEST(a_batch_of_states)
{
    char *large = calloc(1, WF_STORE_RECORD_MAX + 1);
    struct wf_store_state s = open_state("a", 1, 1, 0);
    struct wf_store_state_change batch[] = {
        {.kind = WF_STATE_APPEND, .key = "a", .owner = s.owner, .number = 1, .data = "1", .size = 1},
        {.kind = WF_STATE_APPEND, .key = "a.>", .owner = s.owner, .number = 2, .data = "x", .size = 1},
        {.kind = WF_STATE_APPEND, .key = "a", .number = 2, .owner = s.owner + 1, .data = "x", .size = 1},
        {.kind = WF_STATE_APPEND, .key = "a", .number = 2, .owner = s.owner, .data = NULL, .size = 1},
        {.kind = WF_STATE_SAVE,
         .key = "a",
         .number = 1,
         .owner = s.owner,
         .data = large,
         .size = WF_STORE_RECORD_MAX + 1},
        {.kind = WF_STATE_OPEN, .key = "b"},
        {.kind = WF_STATE_APPEND, .key = "c", .owner = s.owner, .number = 1, .data = "x", .size = 1},
        {.kind = WF_STATE_APPEND,
         .key = "a",
         .owner = s.owner,
         .number = 2,
         .data = large,
         .size = WF_STORE_RECORD_MAX},
        {.kind = WF_STATE_OPEN, .key = "a"},
        {.kind = WF_STATE_APPEND, .key = "a", .owner = s.owner, .number = 3, .data = "x", .size = 1},
    };
    static const int expected[] = {WEFT_OK, WEFT_EINVAL,  WEFT_ECLOSED, WEFT_EINVAL, WEFT_ETOOBIG,
                                   WEFT_OK, WEFT_ECLOSED, WEFT_OK,      WEFT_OK,     WEFT_ECLOSED};
    size_t count = sizeof batch / sizeof *batch;
    ck_assert_int_eq(fixture.engine->change_states(store, batch, count), WEFT_OK);
    for (size_t i = 0; i < count; i++)
        ck_assert_msg(batch[i].error == expected[i], "%u: %s", (unsigned)i, weft_error_name(batch[i].error));
    ck_assert_uint_eq(batch[8].state.opening, 2);
    expect_states(NULL, "a=2/1-2/1048577/-1 b=1/1-0/0/-1 ");
    expect_states("a", "b=1/1-0/0/-1 ");
    ck_assert_int_eq(fixture.engine->change_states(store, batch, 0), WEFT_EINVAL);
    free(large);
}
END_TEST

START_TEST(a_page_of_a_state_has_bounds)
{
    struct wf_store_state s = open_state("a", 1, 1, 0);
    for (uint64_t i = 1; i <= 3; i++) append_event(s, i, "12345");
    ck_assert_int_eq(write_state(WF_STATE_SAVE, s, 3, "12345"), WEFT_OK);
    for (uint64_t i = 4; i <= 6; i++) append_event(s, i, "12345");
    ck_assert_str_eq(state_text(s, 0, 2, 99), "3:12345 4=12345 ");
    ck_assert_str_eq(state_text(s, 0, 9, 10), "3:12345 4=12345 ");
    ck_assert_str_eq(state_text(s, 0, 9, 1), "3:12345 ");
    ck_assert_str_eq(state_text(s, 4, 9, 1), "4=12345 ");
    ck_assert_str_eq(state_text(s, 2, 9, 11), "4=12345 5=12345 ");
    ck_assert_str_eq(state_text(s, 7, 9, 99), "");
    ck_assert_str_eq(state_text(s, 0, 0, 99), "");
}
END_TEST

static int fill_with_events(struct wf_store_state *s, size_t count, const char *data, size_t size)
{
    struct wf_store_state_change batch[100];
    int rc = WEFT_OK;
    for (size_t done = 0; done < count && rc == WEFT_OK;) {
        size_t n = 0;
        for (; n < 100 && done + n < count && (n + 1) * size <= WF_STORE_BATCH_BYTES_MAX; n++)
            batch[n] = (struct wf_store_state_change){.kind = WF_STATE_APPEND,
                                                      .key = s->key,
                                                      .owner = s->owner,
                                                      .number = s->last + 1 + n,
                                                      .data = data,
                                                      .size = size};
        ck_assert_int_eq(fixture.engine->change_states(store, batch, n), WEFT_OK);
        for (size_t i = 0; i < n && rc == WEFT_OK; i++) rc = batch[i].error;
        if (rc == WEFT_OK) s->last += n;
        done += n;
    }
    return rc;
}

START_TEST(events_are_bounded)
{
    struct wf_store_state s = open_state("a", 1, 1, 0);
    ck_assert_int_eq(fill_with_events(&s, WF_STORE_EVENTS_MAX, "x", 1), WEFT_OK);
    ck_assert_int_eq(write_state(WF_STATE_APPEND, s, WF_STORE_EVENTS_MAX + 1, "x"), WEFT_EFULL);
    ck_assert_int_eq(write_state(WF_STATE_SAVE, s, WF_STORE_EVENTS_MAX, "all"), WEFT_OK);
    append_event(s, WF_STORE_EVENTS_MAX + 1, "x");
    char *large = calloc(1, WF_STORE_RECORD_MAX);
    s = open_state("b", 1, 1, 0);
    ck_assert_int_eq(fill_with_events(&s, WF_STORE_EVENT_BYTES_MAX / WF_STORE_RECORD_MAX, large, WF_STORE_RECORD_MAX),
                     WEFT_OK);
    ck_assert_int_eq(write_state(WF_STATE_APPEND, s, s.last + 1, "x"), WEFT_EFULL);
    ck_assert_int_eq(write_state(WF_STATE_APPEND, s, s.last + 1, ""), WEFT_OK);
    ck_assert_int_eq(fixture.engine->check(store, no_fault, NULL), 0);
    free(large);
}
END_TEST

static void add_state_tests(TCase *c)
{
    tcase_add_test(c, a_state_is_a_snapshot_and_events);
    tcase_add_test(c, an_earlier_owner_is_refused);
    tcase_add_test(c, events_have_no_holes);
    tcase_add_test(c, a_removed_state_begins_anew);
    tcase_add_test(c, a_batch_of_states);
    tcase_add_test(c, a_page_of_a_state_has_bounds);
    add_bound_test(c, events_are_bounded);
}

#endif
