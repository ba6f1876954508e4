/* One member and its behaviour, rule by rule: which updates about which members it sends, how often, and in which
 * form. */
#include "frame.h"
#include "hash.h"
#include "swim_one.h"
#include "../../../suite.h"
#include "swim_table.h"

/* ---- News ------------------------------------------------------------------------------------------------------ */

START_TEST(news_are_told_a_bounded_number_of_times)
{
    told(3, update(2, WF_SWIM_SUSPECT, 0, 3));
    uint32_t count = 0;
    for (uint32_t i = 0; i < 30; i++) {
        forget_sent();
        hear(4, (struct wf_swim_message){.kind = WF_SWIM_PING, .digest = s->digest}, NULL, 0);
        count += says((uint32_t)find_sent(WF_SWIM_ACK, 0), 2, WF_SWIM_SUSPECT, 0);
    }
    ck_assert_uint_eq(count, 3 * wf_swim_logarithm(5));
}
END_TEST

START_TEST(the_updates_in_a_message_are_bounded_and_the_rest_comes_later)
{
    for (uint64_t node = 100; node < 140; node++) told(2, update(node, WF_SWIM_ALIVE, 0, 0));
    forget_sent();
    hear(4, (struct wf_swim_message){.kind = WF_SWIM_PING, .digest = s->digest}, NULL, 0);
    ck_assert_uint_eq(sent[0].m.count, WF_SWIM_UPDATES);
    struct wf_swim_update first, u;
    weft_reader r = sent[0].m.items;
    wf_swim_read_update(&r, &first);
    hear(4, (struct wf_swim_message){.kind = WF_SWIM_PING, .digest = s->digest}, NULL, 0);
    r = sent[1].m.items;
    for (uint32_t i = 0; i < sent[1].m.count; i++) { /* the least told first: others than before */
        wf_swim_read_update(&r, &u);
        ck_assert_uint_ne(u.node, first.node);
    }
}
END_TEST

START_TEST(tables_that_differ_are_sent_whole)
{
    for (int i = 0; i < 40; i++)
        hear(4, (struct wf_swim_message){.kind = WF_SWIM_PING, .digest = s->digest}, NULL, 0);
    forget_sent();
    hear(4, (struct wf_swim_message){.kind = WF_SWIM_PING, .digest = s->digest}, NULL, 0);
    ck_assert_int_lt(find_sent(WF_SWIM_SYNC, 0), 0);
    hear(4, (struct wf_swim_message){.kind = WF_SWIM_PING, .digest = 1}, NULL, 0);
    int at = find_sent(WF_SWIM_SYNC, 0);
    ck_assert_int_ge(at, 0);
    ck_assert_uint_eq(sent[at].m.count, 5);
    ck_assert_uint_eq(sent[at].m.flags, WF_SWIM_ANSWER);
    forget_sent();
    hear(4, (struct wf_swim_message){.kind = WF_SWIM_PING, .digest = 1}, NULL, 0);
    ck_assert_int_lt(find_sent(WF_SWIM_SYNC, 0), 0); /* not twice in a period */
    hear(99, (struct wf_swim_message){.kind = WF_SWIM_PING, .digest = 1, .flags = WF_SWIM_GREETING}, NULL, 0);
    ck_assert_int_ge(find_sent(WF_SWIM_SYNC, 0), 0); /* but to a newcomer always */
}
END_TEST

/* ---- Records, names, leaving ----------------------------------------------------------------------------------- */

START_TEST(a_new_record_spreads_with_a_new_number)
{
    forget_sent();
    ck_assert_int_eq(wf_swim_describe(s, record("m1", "blue"), now), 0);
    hear(4, (struct wf_swim_message){.kind = WF_SWIM_PING, .digest = 0}, NULL, 0);
    weft_reader r = sent[0].m.items;
    struct wf_swim_update u;
    wf_swim_read_update(&r, &u);
    ck_assert_uint_eq(u.node, ME);
    ck_assert_uint_eq(u.number, 1);
    struct wf_swim_record got = wf_swim_record_of(u.record);
    ck_assert_int_eq(memcmp(got.value[0].data, "blue", 4), 0);
    struct wf_swim_update other = update(3, WF_SWIM_ALIVE, 1, 0);
    other.record = record("m3", "green");
    forget_sent();
    told(3, other);
    ck_assert_uint_eq(change_count, 1);
    ck_assert_int_eq(memcmp(wf_swim_record_of(wf_swim_find(s, 3)->record).value[0].data, "green", 5), 0);
}
END_TEST

static bool is_named(uint64_t node, const char *name)
{
    const struct wf_swim_member *m = wf_swim_find(s, node);
    return m != NULL && wf_text_equal(m->name, weft_cstr(name)) && wf_swim_named(s, m->name) == m;
}

/* Only the member raises its number, so a wrong name that others have reported gives way to a higher number. */
START_TEST(a_name_that_was_reported_gives_way_to_a_higher_number)
{
    struct wf_swim_update u = update(3, WF_SWIM_ALIVE, 0, 0);
    u.record = record("other", "red");
    told(4, u);
    ck_assert(is_named(3, "m3"));
    u.number = 1;
    told(4, u);
    ck_assert(is_named(3, "other") && !wf_swim_find(s, 3)->own);
    ck_assert_ptr_null(wf_swim_named(s, weft_cstr("m3")));
    u = update(3, WF_SWIM_ALIVE, 2, 0);
    told(3, u);
    ck_assert(is_named(3, "m3") && wf_swim_find(s, 3)->own);
    ck_assert_ptr_null(wf_swim_named(s, weft_cstr("other")));
    u.number = 3;
    u.record = record("m3", "green");
    told(4, u);
    ck_assert(!wf_swim_find(s, 3)->own);
}
END_TEST

START_TEST(a_name_that_a_member_has_shown_is_for_life)
{
    forget_sent();
    ck_assert_int_eq(wf_swim_show(s, 3, record("shown", "red")), 0);
    shown = 3;
    ck_assert(is_named(3, "shown"));
    ck_assert_uint_eq(change_count, 1);
    struct wf_swim_update u = update(3, WF_SWIM_ALIVE, 1, 0);
    told(4, u);
    u.state = WF_SWIM_SUSPECT;
    told(4, u);
    ck_assert(is_named(3, "shown"));
    ck_assert_int_eq(state_of(3), WF_SWIM_ALIVE);
    ck_assert_uint_eq(wf_swim_find(s, 3)->number, 0);
    ck_assert_uint_eq(s->unbelieved, 2);
    u.state = WF_SWIM_ALIVE;
    u.record = record("shown", "blue");
    told(4, u);
    ck_assert_uint_eq(wf_swim_find(s, 3)->number, 1);
    ck_assert_int_eq(wf_swim_show(s, 3, record("shown", "red")), 0); /* it keeps what is known of it */
    ck_assert_int_eq(memcmp(wf_swim_record_of(wf_swim_find(s, 3)->record).value[0].data, "blue", 4), 0);
    ck_assert_int_eq(wf_swim_show(s, 77, record("m77", "red")), 0); /* not a member: its own words make it one */
    ck_assert_ptr_null(wf_swim_find(s, 77));
}
END_TEST

START_TEST(another_record_of_itself_is_refuted)
{
    struct wf_swim_update u = update(ME, WF_SWIM_ALIVE, 0, 0);
    told(4, u);
    ck_assert_uint_eq(s->self->number, 0); /* this is its record */
    u.record = record("ghost", "red");
    told(4, u);
    ck_assert_uint_eq(s->self->number, 1);
    ck_assert(is_named(ME, "m1"));
}
END_TEST

START_TEST(a_successor_of_the_same_name_ends_a_suspect)
{
    told(3, update(2, WF_SWIM_SUSPECT, 0, 3));
    struct wf_swim_update again = update(90, WF_SWIM_ALIVE, 0, 0);
    again.record = record("m2", "red");
    told(3, again);
    ck_assert_int_eq(state_of(2), WF_SWIM_DOWN);
    ck_assert_int_eq(state_of(90), WF_SWIM_ALIVE);
    again.node = 91;
    again.record = record("m4", "red");
    forget_sent();
    told(3, again);
    ck_assert_int_eq(state_of(4), WF_SWIM_ALIVE); /* it is only asked next */
    ck_assert(wf_swim_find(s, 4)->recheck || s->target == wf_swim_find(s, 4));
    run_until(4, WF_SWIM_DOWN, WEFT_SEC(5));
    ck_assert_int_eq(state_of(4), WF_SWIM_DOWN); /* as soon as it does not answer */
}
END_TEST

START_TEST(leaving_is_told_and_then_silence)
{
    forget_sent();
    wf_swim_leave(s, now);
    ck_assert_uint_eq(sent_count, 4);
    for (uint32_t i = 0; i < 4; i++) ck_assert(says(i, ME, WF_SWIM_LEFT, 0));
    told(3, update(ME, WF_SWIM_SUSPECT, 5, 3));
    hear(3, (struct wf_swim_message){.kind = WF_SWIM_PING}, NULL, 0);
    ck_assert_uint_eq(sent_count, 4);
    ck_assert_int_eq(wf_swim_tick(s, now + WEFT_SEC(5)), WEFT_FOREVER);
}
END_TEST

START_TEST(a_declared_state_is_sent_like_an_update)
{
    wf_swim_declare(s, 2, WF_SWIM_LEFT, now);
    wf_swim_declare(s, 3, WF_SWIM_DOWN, now);
    wf_swim_declare(s, 99, WF_SWIM_DOWN, now);
    forget_sent();
    hear(4, (struct wf_swim_message){.kind = WF_SWIM_PING, .digest = s->digest}, NULL, 0);
    ck_assert(says(0, 2, WF_SWIM_LEFT, 0));
    ck_assert(says(0, 3, WF_SWIM_DOWN, 0));
}
END_TEST

START_TEST(members_that_are_down_are_forgotten)
{
    told(3, update(2, WF_SWIM_DOWN, 0, 3));
    int64_t start = now;
    while (now - start < s->o.keep + WEFT_SEC(1)) {
        answer_pings(0);
        now = WF_MAX(wf_swim_tick(s, now), now);
    }
    ck_assert_ptr_null(wf_swim_find(s, 2));
    ck_assert_uint_eq(s->count, 4);
}
END_TEST

START_TEST(a_member_without_others_has_no_timer)
{
    wf_swim_free(s);
    setup_with((struct wf_swim_options){0}, 0);
    ck_assert_int_eq(wf_swim_tick(s, now), WEFT_FOREVER);
    told(2, update(2, WF_SWIM_ALIVE, 0, 0));
    ck_assert_int_le(wf_swim_tick(s, now), now + s->o.period);
}
END_TEST

START_TEST(tables_grow_and_are_found_again)
{
    for (uint64_t node = 100; node < 5000; node++) {
        struct wf_swim_update u = update(node, WF_SWIM_ALIVE, 0, 0);
        wf_swim_learn(s, &u, now);
    }
    ck_assert_uint_eq(s->count, WF_SWIM_MEMBERS_MAX); /* later nodes are not added */
    for (uint64_t node = 100; node < 2000; node += 3) wf_swim_declare(s, node, WF_SWIM_DOWN, now);
    wf_swim_forget_old(s, now + s->o.keep);
    for (uint64_t node = 100; node < 2000; node++)
        ck_assert_int_eq(wf_swim_find(s, node) != NULL, (node - 100) % 3 != 0);
    for (uint32_t i = 0; i < s->count; i++) ck_assert_uint_eq(s->at[i]->place, i);
}
END_TEST

static uint64_t digest(void)
{
    uint64_t d = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        const struct wf_swim_member *m = s->at[i];
        if (wf_swim_present(m)) d ^= wf_mix(wf_mix(m->node) ^ (m->number * 2 + 1 + (m->state == WF_SWIM_SUSPECT)));
    }
    return d;
}

START_TEST(a_member_that_speaks_for_itself_gets_a_place_in_a_full_table)
{
    enum { NEW = 9000 };
    told(3, update(3, WF_SWIM_ALIVE, 1, 0));
    for (uint64_t node = 100; node < 5000; node++) told(2, update(node, WF_SWIM_ALIVE, 0, 0));
    told(2, update(NEW, WF_SWIM_ALIVE, 0, 0));
    ck_assert_ptr_null(wf_swim_find(s, NEW));
    told(NEW, update(NEW, WF_SWIM_ALIVE, 0, 0));
    ck_assert(wf_swim_find(s, NEW)->own);
    for (uint64_t node = NEW + 1; node < NEW + 5000; node++) told(node, update(node, WF_SWIM_ALIVE, 0, 0));
    ck_assert_uint_eq(s->count, WF_SWIM_MEMBERS_MAX);
    ck_assert(wf_swim_find(s, 3)->own && wf_swim_find(s, NEW)->own); /* none of these gives its place away */
    ck_assert_ptr_null(wf_swim_find(s, NEW + 4999));
    ck_assert_uint_eq(s->digest, digest());
    for (uint32_t i = 0; i < s->count; i++) ck_assert_uint_eq(s->at[i]->place, i);
}
END_TEST

/* ---- Frames ---------------------------------------------------------------------------------------------------- */

START_TEST(cut_and_malformed_messages_are_refused)
{
    uint8_t frame[512];
    struct wf_swim_update u = update(2, WF_SWIM_SUSPECT, 1, 3);
    weft_writer w = weft_writer_on(frame, sizeof frame);
    struct wf_swim_message m = {.kind = WF_SWIM_PING, .sequence = 300, .digest = 1, .count = 2};
    wf_put_swim(&w, &m);
    wf_put_swim_update(&w, &u);
    wf_put_swim_update(&w, &u);
    ck_assert_int_eq(wf_swim_read_frame(frame, w.size, &m), 0);
    for (size_t cut = 0; cut < w.size; cut++) {
        uint8_t *exact = malloc(cut + 1);
        memcpy(exact, frame, cut);
        ck_assert_int_eq(wf_swim_read_frame(exact, cut, &m), WEFT_EFORMAT);
        free(exact);
    }
    uint64_t random = 7;
    for (int i = 0; i < 20000; i++) { /* no assertion, no read past the end */
        uint8_t flipped[512];
        memcpy(flipped, frame, w.size);
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
        flipped[(random >> 33) % w.size] ^= (uint8_t)(1u << (random >> 60 & 7));
        (void)wf_swim_receive(s, 2, flipped, w.size, now);
        tick();
    }
}
END_TEST

/* A PING with one update that is right, but for what is asked for. */
struct wrong {
    uint64_t node, state, number;
    size_t name, url, extra; /* bytes; extra: of a value that this version does not know */
    uint32_t urls, metas, news;
    const char *key, *text;
};

static int read_wrong(struct wrong x)
{
    static uint8_t frame[100000];
    static char filler[WF_SWIM_RECORD_MAX + 100];
    memset(filler, 'x', sizeof filler);
    weft_writer w = weft_writer_on(frame, sizeof frame);
    struct wf_swim_message m = {.kind = WF_SWIM_PING, .sequence = 1, .digest = 1, .count = x.news};
    wf_put_swim(&w, &m);
    for (uint32_t n = 0; n < x.news; n++) {
        weft_put_array(&w, 5);
        weft_put_uint(&w, x.node);
        weft_put_uint(&w, x.state);
        weft_put_uint(&w, x.number);
        weft_put_uint(&w, 3);
        weft_put_array(&w, x.extra > 0 ? 4 : 3);
        weft_put_str(&w, weft_str(filler, x.name));
        weft_put_array(&w, x.urls);
        for (uint32_t i = 0; i < x.urls; i++) weft_put_str(&w, x.text ? weft_cstr(x.text) : weft_str(filler, x.url));
        weft_put_map(&w, x.metas);
        for (uint32_t i = 0; i < x.metas; i++) {
            weft_put_str(&w, x.key ? weft_cstr(x.key) : weft_str(&"abcdefghijklmnopqrstuvwxyz"[i], 1));
            weft_put_str(&w, weft_cstr("v"));
        }
        if (x.extra > 0) weft_put_str(&w, weft_str(filler, x.extra));
    }
    ck_assert_int_eq(w.error, 0);
    return wf_swim_read_frame(frame, w.size, &m);
}

START_TEST(updates_in_a_message_are_bounded)
{
    const struct wrong right = {.node = 2,
                                .state = WF_SWIM_LEFT,
                                .number = WF_SWIM_NUMBER_MAX - 1,
                                .name = 64,
                                .url = WF_FRAME_URL_MAX,
                                .urls = WF_FRAME_URLS,
                                .metas = WF_SWIM_META_MAX,
                                .extra = 10,
                                .news = 2};
    ck_assert_int_eq(read_wrong(right), 0);
    for (int i = 0; i < 12; i++) {
        struct wrong x = right;
        switch (i) {
        case 0: x.node = 0; break;
        case 1: x.state++; break;
        case 2: x.number++; break;
        case 3: x.name++; break;
        case 4: x.url++; break;
        case 5: x.urls++; break;
        case 6: x.metas++; break;
        case 7: x.extra = WF_SWIM_RECORD_MAX; break;
        case 8: x.key = "same"; break;
        case 9: x.key = "longer than the 32 bytes that a key may have"; break;
        case 10: x.text = "tcp://a b:1"; break;
        default: x.text = "tcp://a\x7f:1"; break;
        }
        ck_assert_msg(read_wrong(x) == WEFT_EFORMAT, "%d", i);
    }
    struct wrong small = {.node = 2, .name = 1, .news = WF_SWIM_SYNC_MAX};
    ck_assert_int_eq(read_wrong(small), 0);
    small.news++;
    ck_assert_int_eq(read_wrong(small), WEFT_EFORMAT);
}
END_TEST

START_TEST(metadata_is_bounded)
{
    static char text[600];
    memset(text, 'x', sizeof text);
    struct wf_swim_record r = {.name = weft_cstr("a"), .meta_count = 1};
    r.key[0] = weft_cstr("k");
    r.value[0] = weft_str(text, WF_SWIM_META_VALUE);
    ck_assert_int_eq(wf_swim_meta_check(&r), 0);
    r.value[0].size++;
    ck_assert_int_eq(wf_swim_meta_check(&r), WEFT_ETOOBIG);
    r.value[0].size = 1;
    r.key[0] = weft_str(text, WF_SWIM_META_KEY + 1);
    ck_assert_int_eq(wf_swim_meta_check(&r), WEFT_ETOOBIG);
    r.value[0].size = 1;
    r.key[0].size = 0;
    ck_assert_int_eq(wf_swim_meta_check(&r), WEFT_EINVAL);
    r.key[0] = weft_cstr("a\n");
    ck_assert_int_eq(wf_swim_meta_check(&r), WEFT_EINVAL);
    r.meta_count = 2;
    r.key[0] = r.key[1] = weft_cstr("same");
    r.value[1] = weft_cstr("");
    ck_assert_int_eq(wf_swim_meta_check(&r), WEFT_EINVAL);
    r.meta_count = 5;
    for (uint32_t i = 0; i < 5; i++) {
        r.key[i] = weft_str(&"abcde"[i], 1);
        r.value[i] = weft_str(text, 110);
    }
    ck_assert_int_eq(wf_swim_meta_check(&r), WEFT_ETOOBIG); /* all together */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("swim_news");
    TCase *t = tcase_create("rules");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, news_are_told_a_bounded_number_of_times);
    tcase_add_test(t, the_updates_in_a_message_are_bounded_and_the_rest_comes_later);
    tcase_add_test(t, tables_that_differ_are_sent_whole);
    tcase_add_test(t, a_new_record_spreads_with_a_new_number);
    tcase_add_test(t, a_name_that_was_reported_gives_way_to_a_higher_number);
    tcase_add_test(t, a_name_that_a_member_has_shown_is_for_life);
    tcase_add_test(t, another_record_of_itself_is_refuted);
    tcase_add_test(t, a_successor_of_the_same_name_ends_a_suspect);
    tcase_add_test(t, leaving_is_told_and_then_silence);
    tcase_add_test(t, a_declared_state_is_sent_like_an_update);
    tcase_add_test(t, members_that_are_down_are_forgotten);
    tcase_add_test(t, a_member_without_others_has_no_timer);
    tcase_add_test(t, tables_grow_and_are_found_again);
    tcase_add_test(t, a_member_that_speaks_for_itself_gets_a_place_in_a_full_table);
    tcase_add_test(t, cut_and_malformed_messages_are_refused);
    tcase_add_test(t, updates_in_a_message_are_bounded);
    tcase_add_test(t, metadata_is_bounded);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
