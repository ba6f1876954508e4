/* One member and its behaviour, rule by rule: which members it probes, suspects and declares down. */
#include "swim_table.h"
#include "swim_one.h"
#include "../../../suite.h"

/* ---- What overrules what (section 4.2 of the paper) ------------------------------------------------------------ */

START_TEST(suspicion_overrules_the_same_number_and_life_a_lower_one)
{
    told(3, update(2, WF_SWIM_SUSPECT, 0, 3));
    ck_assert_int_eq(state_of(2), WF_SWIM_SUSPECT);
    told(3, update(2, WF_SWIM_ALIVE, 0, 0)); /* that is what it refuted */
    ck_assert_int_eq(state_of(2), WF_SWIM_SUSPECT);
    told(3, update(2, WF_SWIM_ALIVE, 1, 0));
    ck_assert_int_eq(state_of(2), WF_SWIM_ALIVE);
    told(3, update(2, WF_SWIM_SUSPECT, 0, 3)); /* old */
    ck_assert_int_eq(state_of(2), WF_SWIM_ALIVE);
    told(3, update(2, WF_SWIM_SUSPECT, 1, 3));
    ck_assert_int_eq(state_of(2), WF_SWIM_SUSPECT);
    ck_assert_uint_eq(wf_swim_find(s, 2)->by[0], 3);
}
END_TEST

START_TEST(down_is_overruled_only_by_what_the_member_says_later)
{
    told(3, update(2, WF_SWIM_DOWN, 0, 3));
    ck_assert_int_eq(state_of(2), WF_SWIM_DOWN);
    ck_assert_uint_eq(s->present, 4);
    told(3, update(2, WF_SWIM_ALIVE, 0, 0));
    told(3, update(2, WF_SWIM_SUSPECT, 0, 4));
    ck_assert_int_eq(state_of(2), WF_SWIM_DOWN);
    told(3, update(2, WF_SWIM_ALIVE, 1, 0));
    ck_assert_int_eq(state_of(2), WF_SWIM_ALIVE);
    told(3, update(2, WF_SWIM_DOWN, 0, 3)); /* old */
    ck_assert_int_eq(state_of(2), WF_SWIM_ALIVE);
}
END_TEST

START_TEST(leaving_is_not_a_crash)
{
    told(2, update(2, WF_SWIM_LEFT, 0, 0));
    ck_assert_int_eq(state_of(2), WF_SWIM_LEFT);
    told(3, update(2, WF_SWIM_DOWN, 0, 3));
    told(3, update(2, WF_SWIM_ALIVE, 0, 0));
    ck_assert_int_eq(state_of(2), WF_SWIM_LEFT);
    ck_assert_uint_eq(change_count, 1);
}
END_TEST

START_TEST(an_unknown_member_is_learnt_only_with_its_record)
{
    told(2, update(77, WF_SWIM_DOWN, 0, 3));
    ck_assert_ptr_null(wf_swim_find(s, 77));
    told(2, update(77, WF_SWIM_SUSPECT, 0, 3));
    ck_assert_int_eq(state_of(77), WF_SWIM_SUSPECT);
}
END_TEST

/* ---- Refuting -------------------------------------------------------------------------------------------------- */

START_TEST(a_member_refutes_what_is_said_of_it)
{
    told(2, update(ME, WF_SWIM_SUSPECT, 0, 3));
    ck_assert_uint_eq(s->self->number, 1);
    told(2, update(ME, WF_SWIM_SUSPECT, 0, 3)); /* that has been refuted */
    ck_assert_uint_eq(s->self->number, 1);
    told(2, update(ME, WF_SWIM_DOWN, 7, 3));
    ck_assert_uint_eq(s->self->number, 8);
    ck_assert_uint_eq(s->refuted, 2);
    forget_sent();
    hear(3, (struct wf_swim_message){.kind = WF_SWIM_PING, .sequence = 1}, NULL, 0);
    ck_assert(says((uint32_t)find_sent(WF_SWIM_ACK, 0), ME, WF_SWIM_ALIVE, 8));
}
END_TEST

START_TEST(a_member_believed_down_is_told_so_when_it_sends)
{
    told(3, update(2, WF_SWIM_DOWN, 0, 3));
    for (int i = 0; i < 40; i++) /* until that is no news any more */
        hear(3, (struct wf_swim_message){.kind = WF_SWIM_PING, .digest = s->digest}, NULL, 0);
    ck_assert_uint_eq(s->update_count, 0);
    forget_sent();
    hear(2, (struct wf_swim_message){.kind = WF_SWIM_PING, .digest = s->digest}, NULL, 0);
    ck_assert(says((uint32_t)find_sent(WF_SWIM_ACK, 0), 2, WF_SWIM_DOWN, 0));
}
END_TEST

/* ---- Probing --------------------------------------------------------------------------------------------------- */

START_TEST(every_member_is_probed_once_a_round)
{
    for (int round = 0; round < 5; round++) {
        uint32_t seen = 0;
        for (int i = 0; i < 4; i++) {
            while (find_sent(WF_SWIM_PING, 0) < 0) now = WF_MAX(wf_swim_tick(s, now), now);
            seen |= 1u << sent[find_sent(WF_SWIM_PING, 0)].to;
            answer_pings(0);
        }
        ck_assert_uint_eq(seen, 0x3C);
    }
}
END_TEST

/* All members answer at once. */
static uint32_t probes_in(int64_t span)
{
    uint64_t before = s->pings;
    for (int64_t end = now + span; now < end;) {
        tick();
        answer_pings(0);
        now = WF_MIN(WF_MAX(wf_swim_tick(s, now), now), end);
    }
    return (uint32_t)(s->pings - before);
}

START_TEST(a_member_that_is_heard_is_seldom_probed)
{
    (void)probes_in(100 * s->o.period); /* all is told */
    ck_assert_uint_eq(s->update_count, 0);
    ck_assert_uint_ge(probes_in(100 * s->o.period), 99);
    silent = 99; /* none of the members */
    (void)probes_in(s->o.period);
    ck_assert_uint_le(probes_in(100 * s->o.period), 100 / WF_SWIM_QUIET + 1);
    /* A member to be rechecked is probed at once, and updates are sent as usual. */
    wf_swim_recheck(s, 5, now);
    tick();
    ck_assert_uint_eq(sent[find_sent(WF_SWIM_PING, 0)].to, 5);
    answer_pings(0);
    told(3, update(7, WF_SWIM_ALIVE, 0, 0));
    ck_assert_uint_ge(probes_in(4 * s->o.period), 3);
    /* While one of them is not heard of all are probed as ever. */
    (void)probes_in(100 * s->o.period);
    silent = 4;
    (void)probes_in(WF_SWIM_QUIET * s->o.period);
    ck_assert_uint_ge(probes_in(100 * s->o.period), 99);
}
END_TEST

START_TEST(a_quiet_member_that_dies_is_found)
{
    silent = 99;
    (void)probes_in(100 * s->o.period);
    silent = 4;
    wf_swim_recheck(s, 4, now); /* its link has been silent for two heartbeats */
    ck_assert_int_le(run_until(4, WF_SWIM_SUSPECT, WEFT_SEC(60)), s->o.period);
    ck_assert_int_le(run_until(4, WF_SWIM_DOWN, WEFT_SEC(60)), wf_swim_longest(s));
}
END_TEST

START_TEST(others_are_asked_before_anybody_is_suspected)
{
    int at;
    while ((at = find_sent(WF_SWIM_PING, 0)) < 0) now = WF_MAX(wf_swim_tick(s, now), now);
    uint64_t target = sent[at].to;
    forget_sent();
    let_pass(s->o.patience);
    tick();
    uint32_t asked = 0;
    for (at = -1; (at = find_sent(WF_SWIM_ASK, at + 1)) >= 0; asked++) {
        ck_assert_uint_eq(sent[at].m.node, target);
        ck_assert_uint_ne(sent[at].to, target);
    }
    ck_assert_uint_eq(asked, 3);
    at = find_sent(WF_SWIM_ASK, 0);
    hear(sent[at].to, (struct wf_swim_message){.kind = WF_SWIM_ACK, .sequence = sent[at].m.sequence, .flags = 1},
         NULL, 0);
    let_pass(s->o.period);
    ck_assert_int_eq(state_of(target), WF_SWIM_ALIVE);
}
END_TEST

START_TEST(members_that_were_asked_are_not_asked_again_when_the_target_is_suspected)
{
    told(2, update(5, WF_SWIM_DOWN, 0, 2)); /* so there are fewer than would be asked */
    int at;
    while ((at = find_sent(WF_SWIM_PING, 0)) < 0) now = WF_MAX(wf_swim_tick(s, now), now);
    uint64_t target = sent[at].to;
    let_pass(s->o.patience);
    tick();
    ck_assert_uint_eq(s->asked, 2);
    forget_sent();
    wf_swim_recheck(s, target, now);
    tick();
    ck_assert_int_lt(find_sent(WF_SWIM_ASK, 0), 0);
    ck_assert_uint_eq(s->asked, 2);
}
END_TEST

START_TEST(a_member_probes_for_others)
{
    hear(2, (struct wf_swim_message){.kind = WF_SWIM_ASK, .sequence = 55, .node = 4}, NULL, 0);
    int at = find_sent(WF_SWIM_PING, 0);
    ck_assert_uint_eq(sent[at].to, 4);
    hear(4, (struct wf_swim_message){.kind = WF_SWIM_ACK, .sequence = sent[at].m.sequence, .flags = 1}, NULL, 0);
    at = find_sent(WF_SWIM_ACK, 0);
    ck_assert_uint_eq(sent[at].to, 2);
    ck_assert_uint_eq(sent[at].m.sequence, 55);
    ck_assert_uint_eq(sent[at].m.flags, 1);
    forget_sent();
    hear(2, (struct wf_swim_message){.kind = WF_SWIM_ASK, .sequence = 56, .node = 4}, NULL, 0);
    let_pass(s->o.patience);
    tick();
    at = find_sent(WF_SWIM_ACK, 0);
    ck_assert_uint_eq(sent[at].m.sequence, 56);
    ck_assert_uint_eq(sent[at].m.flags, 0); /* it does not answer here either */
}
END_TEST

/* It never hears an answer to any of them. */
START_TEST(no_asker_takes_the_places_of_others)
{
    for (uint64_t i = 0; i < 4 * WF_SWIM_RELAYS; i++) {
        hear(2, (struct wf_swim_message){.kind = WF_SWIM_ASK, .sequence = i + 1, .node = 4}, NULL, 0);
        forget_sent();
    }
    ck_assert_uint_le(s->relay_count, WF_SWIM_RELAYS_OF_ONE);
    hear(3, (struct wf_swim_message){.kind = WF_SWIM_ASK, .sequence = 55, .node = 4}, NULL, 0);
    int at = find_sent(WF_SWIM_PING, 0);
    ck_assert_int_ge(at, 0);
    ck_assert_uint_eq(sent[at].to, 4);
}
END_TEST

START_TEST(a_member_that_is_asked_about_itself_is_alive)
{
    hear(2, (struct wf_swim_message){.kind = WF_SWIM_ASK, .sequence = 57, .node = ME}, NULL, 0);
    for (uint32_t i = 0; i < sent_count; i++) ck_assert_uint_ne(sent[i].to, ME);
    int at = find_sent(WF_SWIM_ACK, 0);
    ck_assert_int_ge(at, 0);
    ck_assert_uint_eq(sent[at].to, 2);
    ck_assert_uint_eq(sent[at].m.sequence, 57);
    ck_assert_uint_eq(sent[at].m.flags, 1);
    ck_assert_uint_eq(s->relay_count, 0);
}
END_TEST

START_TEST(without_a_way_others_are_asked_at_once)
{
    unreachable = 3;
    int at;
    while ((at = find_sent(WF_SWIM_ASK, 0)) < 0) {
        answer_pings(0);
        now = WF_MAX(wf_swim_tick(s, now), now);
    }
    ck_assert_uint_eq(sent[at].m.node, 3);
}
END_TEST

START_TEST(doubt_brings_a_member_to_the_front)
{
    let_pass(WEFT_MS(999));
    answer_pings(0);
    wf_swim_recheck(s, 5, now);
    tick();
    ck_assert_uint_eq(sent[find_sent(WF_SWIM_PING, 0)].to, 5);
    ck_assert(wf_swim_find(s, 5)->recheck);
    answer_pings(0);
    ck_assert(!wf_swim_find(s, 5)->recheck);
}
END_TEST

START_TEST(a_suspect_that_does_not_refute_is_down)
{
    run_until(2, WF_SWIM_SUSPECT, WEFT_SEC(60));
    ck_assert_int_eq(state_of(2), WF_SWIM_SUSPECT);
    int64_t took = run_until(2, WF_SWIM_DOWN, WEFT_SEC(60));
    ck_assert_int_ge(took, WEFT_SEC(24)); /* nobody else says so */
    ck_assert_int_lt(took, WEFT_SEC(25));
    ck_assert_uint_eq(wf_swim_find(s, 2)->by[0], ME);
    for (uint64_t other = 3; other <= 5; other++) ck_assert_int_eq(state_of(other), WF_SWIM_ALIVE);
}
END_TEST

START_TEST(a_further_accuser_shortens_the_suspicion)
{
    told(3, update(2, WF_SWIM_SUSPECT, 0, 3));
    int64_t alone = wf_swim_find(s, 2)->due - now;
    told(3, update(2, WF_SWIM_SUSPECT, 0, 3));
    ck_assert_int_eq(wf_swim_find(s, 2)->due - now, alone);
    told(3, update(2, WF_SWIM_SUSPECT, 0, 4));
    int64_t two = wf_swim_find(s, 2)->due - now;
    told(3, update(2, WF_SWIM_SUSPECT, 0, 5));
    told(3, update(2, WF_SWIM_SUSPECT, 0, ME));
    int64_t four = wf_swim_find(s, 2)->due - now;
    ck_assert_int_eq(alone, WEFT_SEC(24));
    ck_assert_int_eq(two, WEFT_SEC(14));
    ck_assert_int_eq(four, WEFT_SEC(4));
}
END_TEST

START_TEST(a_member_that_gets_no_answers_becomes_patient)
{
    int64_t before = now;
    while (s->health < WF_SWIM_HEALTH_MAX && now - before < WEFT_SEC(120)) {
        forget_sent();
        now = WF_MAX(wf_swim_tick(s, now), now);
    }
    ck_assert_uint_eq(s->health, WF_SWIM_HEALTH_MAX);
    uint32_t worst = s->health;
    for (int i = 0; i < 100 && s->health > 0; i++) {
        for (uint64_t node = 2; node <= 5; node++) told(node, update(node, WF_SWIM_ALIVE, 1 + (uint64_t)i, 0));
        now = WF_MAX(wf_swim_tick(s, now), now);
        answer_pings(0);
    }
    ck_assert_uint_lt(s->health, worst);
}
END_TEST

START_TEST(a_late_tick_accuses_nobody)
{
    int at;
    while ((at = find_sent(WF_SWIM_PING, 0)) < 0) now = WF_MAX(wf_swim_tick(s, now), now);
    told(3, update(2, WF_SWIM_SUSPECT, 0, 3));
    tick();
    now += WEFT_SEC(3600); /* the lid was closed */
    tick();
    ck_assert_int_eq(state_of(2), WF_SWIM_SUSPECT);
    for (uint64_t node = 3; node <= 5; node++) ck_assert_int_eq(state_of(node), WF_SWIM_ALIVE);
}
END_TEST

/* Otherwise a member that sends the highest number for another member could not be refuted. */
START_TEST(an_impossible_number_is_ignored)
{
    number_most = 1000;
    told(2, update(ME, WF_SWIM_DOWN, 1001, 2));
    told(2, update(ME, WF_SWIM_DOWN, WF_SWIM_NUMBER_MAX - 1, 2));
    ck_assert_uint_eq(s->self->number, 0);
    told(2, update(ME, WF_SWIM_DOWN, 1000, 2));
    ck_assert_uint_eq(s->self->number, 1001);
    told(2, update(3, WF_SWIM_DOWN, 1001, 2));
    told(2, update(4, WF_SWIM_ALIVE, WF_SWIM_NUMBER_MAX - 1, 0));
    told(2, update(9, WF_SWIM_ALIVE, 1001, 0));
    ck_assert_int_eq(state_of(3), WF_SWIM_ALIVE);
    ck_assert_uint_eq(wf_swim_find(s, 4)->number, 0);
    ck_assert_ptr_null(wf_swim_find(s, 9));
    ck_assert_uint_eq(s->unbelieved, 5);
    told(2, update(3, WF_SWIM_DOWN, 1000, 2));
    ck_assert_int_eq(state_of(3), WF_SWIM_DOWN);
    told(3, update(3, WF_SWIM_ALIVE, 1001, 0)); /* too early, */
    ck_assert_int_eq(state_of(3), WF_SWIM_DOWN);
    number_most++;
    told(3, update(3, WF_SWIM_ALIVE, 1001, 0)); /* and it says it again */
    ck_assert_int_eq(state_of(3), WF_SWIM_ALIVE);
}
END_TEST

/* A member that was not asked cannot keep a dead member alive, nor say that there is no answer. */
START_TEST(a_probe_is_answered_by_those_who_were_asked)
{
    int at;
    s->o.indirect = 1;
    while ((at = find_sent(WF_SWIM_PING, 0)) < 0) now = WF_MAX(wf_swim_tick(s, now), now);
    uint64_t target = sent[at].to;
    struct wf_swim_message yes = {.kind = WF_SWIM_ACK, .sequence = sent[at].m.sequence, .flags = 1};
    struct wf_swim_message no = {.kind = WF_SWIM_ACK, .sequence = sent[at].m.sequence};
    hear(99, yes, NULL, 0);
    let_pass(s->o.patience);
    ck_assert_uint_eq(s->asked, 1);
    uint64_t asked = sent[find_sent(WF_SWIM_ASK, 0)].to;
    for (uint64_t from = 2; from <= 5; from++)
        if (from != target && from != asked) hear(from, yes, NULL, 0);
    ck_assert_ptr_nonnull(s->target);
    for (uint64_t from = 2; from <= 5; from++)
        for (int i = 0; i < 3; i++) hear(from, no, NULL, 0);
    ck_assert_uint_eq(s->no_answers, 1); /* of the one who was asked, once */
    hear(asked, yes, NULL, 0);
    ck_assert_ptr_nonnull(s->target);
    hear(target, yes, NULL, 0);
    ck_assert_ptr_null(s->target);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("swim");
    TCase *t = tcase_create("rules");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, suspicion_overrules_the_same_number_and_life_a_lower_one);
    tcase_add_test(t, down_is_overruled_only_by_what_the_member_says_later);
    tcase_add_test(t, leaving_is_not_a_crash);
    tcase_add_test(t, an_unknown_member_is_learnt_only_with_its_record);
    tcase_add_test(t, a_member_refutes_what_is_said_of_it);
    tcase_add_test(t, a_member_believed_down_is_told_so_when_it_sends);
    tcase_add_test(t, every_member_is_probed_once_a_round);
    tcase_add_test(t, a_member_that_is_heard_is_seldom_probed);
    tcase_add_test(t, a_quiet_member_that_dies_is_found);
    tcase_add_test(t, others_are_asked_before_anybody_is_suspected);
    tcase_add_test(t, members_that_were_asked_are_not_asked_again_when_the_target_is_suspected);
    tcase_add_test(t, a_member_probes_for_others);
    tcase_add_test(t, no_asker_takes_the_places_of_others);
    tcase_add_test(t, a_member_that_is_asked_about_itself_is_alive);
    tcase_add_test(t, without_a_way_others_are_asked_at_once);
    tcase_add_test(t, doubt_brings_a_member_to_the_front);
    tcase_add_test(t, a_suspect_that_does_not_refute_is_down);
    tcase_add_test(t, a_further_accuser_shortens_the_suspicion);
    tcase_add_test(t, a_member_that_gets_no_answers_becomes_patient);
    tcase_add_test(t, a_late_tick_accuses_nobody);
    tcase_add_test(t, an_impossible_number_is_ignored);
    tcase_add_test(t, a_probe_is_answered_by_those_who_were_asked);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
