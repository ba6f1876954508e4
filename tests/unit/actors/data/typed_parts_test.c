/* Tests of actors/data/typed.c: structs within structs, lists, maps, optional values and enumerations; two versions
 * of one schema; the texts of errors; hostile input. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <weft/typed.h>

#include "../random.h"
#include "../../../suite.h"

#define STATE(E) E(STATE_OPEN, 0, "open") E(STATE_PAID, 1, "paid") E(STATE_LOST, -7, "lost")
WEFT_ENUM(state, STATE)
#define ITEM(F) F(str, name) F(real, price) F(list(int), sizes)
WEFT_STRUCT(item, ITEM)
/* clang-format off */
#define ORDER(F) \
    F(uint, id) F(state, now) F(item, first) F(list(item), items) F(map(item), named) F(map(int), stock) \
    F(maybe(item), gift) F(maybe(int), table) F(list(bool), flags) F(list(pid), buyers) F(list(str), tags) \
    F(map(bin), blobs) F(list(state), states) F(maybe(pid), waiter) F(list(uint), ids) F(list(real), weights)
/* clang-format on */
WEFT_MESSAGE(order, 5, ORDER)
#define TREE(F) F(int, value) F(list(tree), children)
WEFT_MESSAGE(tree, 6, TREE)

static uint8_t buffer[1 << 16];

static bool text_is(weft_text t, const char *expected)
{
    return t.size == strlen(expected) && memcmp(t.data, expected, t.size) == 0;
}

static size_t pack(const struct weft_type_info *type, const void *v)
{
    weft_writer w = weft_writer_on(NULL, 0);
    weft_typed_put(&w, type, v);
    ck_assert_int_eq(w.error, 0);
    size_t size = w.size;
    ck_assert_uint_le(size, sizeof buffer);
    w = weft_writer_on(buffer, size);
    weft_typed_put(&w, type, v);
    ck_assert_int_eq(w.error, 0);
    ck_assert_uint_eq(w.size, size);
    ck_assert_int_eq(weft_pack_check(buffer, size, WEFT_ELEMENTS_MAX, NULL), 0);
    return size;
}

/* An order with something in every field; what it points to is static. */
static struct order full(void)
{
    static int64_t sizes[] = {1, -2, INT64_MAX};
    static struct item items[2];
    static weft_entry_item named[1];
    static weft_entry_int stock[3];
    static bool flags[] = {true, false, true};
    static weft_pid buyers[] = {{1, 2}, {0, 0}};
    static weft_text tags[2];
    static weft_entry_bin blobs[2];
    static int64_t states[] = {STATE_PAID, 99};
    static uint64_t ids[] = {0, UINT64_MAX};
    static double weights[] = {0.5, -1e300};
    items[0].name = weft_cstr("tea");
    items[0].price = 3.5;
    items[0].sizes = weft_int_list(sizes, 3);
    items[1].name = weft_cstr("salt");
    named[0].key = weft_cstr("best");
    named[0].value = items[0];
    stock[0].key = weft_cstr("tea");
    stock[0].value = 7;
    stock[1].key = weft_cstr("");
    stock[1].value = -1;
    stock[2].key = weft_cstr("tea");
    stock[2].value = 8;
    tags[0] = weft_cstr("a");
    tags[1] = weft_cstr("");
    blobs[0].key = weft_cstr("x");
    blobs[0].value = weft_str("\0\xFF", 2);
    blobs[1].key = weft_cstr("y");
    blobs[1].value = weft_str("", 0);
    struct order o;
    memset(&o, 0, sizeof o);
    o.id = UINT64_MAX;
    o.now = STATE_LOST;
    o.first = items[0];
    o.items = item_list(items, 2);
    o.named = item_map(named, 1);
    o.stock = weft_int_map(stock, 3);
    o.gift.present = true;
    o.gift.value = items[1];
    o.table.present = true;
    o.flags = weft_bool_list(flags, 3);
    o.buyers = weft_pid_list(buyers, 2);
    o.tags = weft_str_list(tags, 2);
    o.blobs = weft_bin_map(blobs, 2);
    o.states = state_list(states, 2);
    o.waiter.present = true;
    o.waiter.value = buyers[0];
    o.ids = weft_uint_list(ids, 2);
    o.weights = weft_real_list(weights, 2);
    return o;
}

START_TEST(every_kind_of_part_comes_back_as_it_was_packed)
{
    struct order sent = full(), got;
    size_t size = pack(order_type(), &sent);
    struct weft_why why;
    ck_assert_msg(weft_typed_read(order_type(), buffer, size, &got, &why) == 0, "%s", why.text);
    ck_assert(order_equal(&sent, &got));
    ck_assert(order_equal(&got, &sent));
    ck_assert(order_equal(&got, &got));
    ck_assert_uint_eq(got.id, UINT64_MAX);
    ck_assert_int_eq(got.now, STATE_LOST);
    ck_assert(text_is(got.first.name, "tea"));
    ck_assert_uint_eq(got.items.count, 2);

    struct item it;
    int64_t n, sum = 0;
    ck_assert(item_next(&got.items, &it));
    ck_assert(text_is(it.name, "tea") && it.price == 3.5);
    ck_assert_uint_eq(it.sizes.count, 3);
    weft_list_int again = it.sizes;
    while (weft_int_next(&it.sizes, &n)) sum += n == INT64_MAX ? 100 : n;
    ck_assert_int_eq(sum, 99);
    ck_assert(weft_int_next(&again, &n));
    ck_assert_int_eq(n, 1);
    ck_assert(item_next(&got.items, &it));
    ck_assert(text_is(it.name, "salt"));
    ck_assert_uint_eq(it.sizes.count, 0);
    ck_assert(!item_next(&got.items, &it));
    ck_assert_uint_eq(got.items.count, 0);

    ck_assert(item_find(&got.named, weft_cstr("best"), &it));
    ck_assert(text_is(it.name, "tea"));
    ck_assert(!item_find(&got.named, weft_cstr("bes"), &it));
    ck_assert(text_is(it.name, "tea"));                         /* as it was */
    ck_assert(weft_int_find(&got.stock, weft_cstr("tea"), &n)); /* the first of two */
    ck_assert_int_eq(n, 7);
    weft_entry_int e;
    uint32_t entries = 0;
    while (weft_int_next_entry(&got.stock, &e)) {
        ck_assert(text_is(e.key, entries == 1 ? "" : "tea"));
        ck_assert_int_eq(e.value, entries == 0 ? 7 : entries == 1 ? -1 : 8);
        entries++;
    }
    ck_assert_uint_eq(entries, 3);
    ck_assert(got.gift.present && text_is(got.gift.value.name, "salt"));
    ck_assert(got.table.present && got.table.value == 0);
    ck_assert(got.waiter.present && got.waiter.value.actor == 2);
    weft_text t;
    ck_assert(weft_bin_find(&got.blobs, weft_cstr("x"), &t));
    ck_assert_uint_eq(t.size, 2);
    ck_assert_mem_eq(t.data, "\0\xFF", 2);
    weft_pid p;
    ck_assert(weft_pid_next(&got.buyers, &p) && p.node == 1);
    ck_assert(weft_pid_next(&got.buyers, &p) && weft_pid_is_nobody(p));
    ck_assert(state_next(&got.states, &n) && n == STATE_PAID);
    ck_assert(state_next(&got.states, &n) && n == 99); /* without a name, but kept */
    bool flag;
    ck_assert(weft_bool_next(&got.flags, &flag) && flag);
    ck_assert(weft_bool_next(&got.flags, &flag) && !flag);
    uint64_t u;
    double r;
    ck_assert(weft_uint_next(&got.ids, &u) && u == 0 && weft_uint_next(&got.ids, &u) && u == UINT64_MAX);
    ck_assert(weft_real_next(&got.weights, &r) && weft_real_next(&got.weights, &r) && r == -1e300);
}
END_TEST

START_TEST(own_arrays_are_taken_apart_the_same_way)
{
    struct order o = full();
    struct item it;
    uint32_t count = 0;
    while (item_next(&o.items, &it)) count++;
    ck_assert_uint_eq(count, 2);
    ck_assert(text_is(it.name, "salt"));
    ck_assert(item_find(&o.named, weft_cstr("best"), &it) && text_is(it.name, "tea"));
    weft_entry_bin b;
    ck_assert(weft_bin_next_entry(&o.blobs, &b) && text_is(b.key, "x") && b.value.size == 2);
    ck_assert(weft_bin_next_entry(&o.blobs, &b) && !weft_bin_next_entry(&o.blobs, &b));
    struct order nothing;
    memset(&nothing, 0, sizeof nothing);
    ck_assert(!item_next(&nothing.items, &it));
    ck_assert(!item_find(&nothing.named, weft_cstr(""), &it));
}
END_TEST

START_TEST(received_lists_are_sent_on)
{
    struct order sent = full(), got, again;
    static uint8_t first[4096];
    size_t size = pack(order_type(), &sent);
    memcpy(first, buffer, size);
    ck_assert_int_eq(weft_typed_read(order_type(), first, size, &got, NULL), 0);
    ck_assert_uint_eq(pack(order_type(), &got), size);
    ck_assert_mem_eq(buffer, first, size);
    struct item it;
    ck_assert(item_next(&got.items, &it)); /* the rest of a list */
    size = pack(order_type(), &got);
    ck_assert_int_eq(weft_typed_read(order_type(), buffer, size, &again, NULL), 0);
    ck_assert_uint_eq(again.items.count, 1);
    ck_assert(order_equal(&got, &again));
    ck_assert(!order_equal(&sent, &again));
}
END_TEST

START_TEST(equality_sees_every_difference)
{
    struct order a = full(), b;
    struct item it[2] = {{{"tea", 3}, 3.5, {NULL, 0, NULL, NULL}}, {{"salt", 4}, 0, {NULL, 0, NULL, NULL}}};
    weft_entry_int e[3] = {{{"tea", 3}, 7}, {{"", 0}, -1}, {{"tea", 3}, 9}};
    b = a, b.id--, ck_assert(!order_equal(&a, &b));
    b = a, b.now = 3, ck_assert(!order_equal(&a, &b));
    b = a, b.first.name.size--, ck_assert(!order_equal(&a, &b));
    b = a, b.items.count--, ck_assert(!order_equal(&a, &b));
    b = a, b.items = item_list(it, 2), ck_assert(!order_equal(&a, &b));
    b = a, b.stock = weft_int_map(e, 3), ck_assert(!order_equal(&a, &b));
    e[2].value = 8, ck_assert(order_equal(&a, &b));
    e[1].key = weft_cstr("x"), ck_assert(!order_equal(&a, &b));
    b = a, b.gift.present = false, ck_assert(!order_equal(&a, &b));
    b = a, b.table.value = 1, ck_assert(!order_equal(&a, &b));
    b.table.present = a.table.present = false, ck_assert(order_equal(&a, &b)); /* what is absent is not compared */
    b = a, b.first.price = (double)NAN, ck_assert(!order_equal(&a, &b));
    a.first.price = (double)NAN, ck_assert(order_equal(&a, &b));
    b.waiter.value.actor++, ck_assert(!order_equal(&a, &b));
}
END_TEST

START_TEST(enumerations_have_names)
{
    ck_assert_str_eq(state_name(STATE_OPEN), "open");
    ck_assert_str_eq(state_name(-7), "lost");
    ck_assert_ptr_null(state_name(2));
}
END_TEST

/* ---- Two versions of one schema ---- */

#define OLD_LEVEL(E) E(OLD_LOW, 0, "low")
WEFT_ENUM(old_level, OLD_LEVEL)
#define OLD_PART(F) F(str, name)
WEFT_STRUCT(old_part, OLD_PART)
#define OLD(F) F(uint, id) F(old_level, level) F(old_part, part) F(list(old_part), parts) F(map(old_part), by_name)
WEFT_MESSAGE(old, 9, OLD)

#define NEW_LEVEL(E) E(NEW_LOW, 0, "low") E(NEW_HIGH, 1, "high")
WEFT_ENUM(new_level, NEW_LEVEL)
#define NEW_PART(F) F(str, name) F(list(int), sizes) F(maybe(new_level), level)
WEFT_STRUCT(new_part, NEW_PART)
/* clang-format off */
#define NEW(F) \
    F(uint, id) F(new_level, level) F(new_part, part) F(list(new_part), parts) F(map(new_part), by_name) \
    F(maybe(int), table) F(maybe(new_part), gift) F(map(int), stock) F(new_part, last) F(list(str), tags)
/* clang-format on */
WEFT_MESSAGE(new, 9, NEW)

START_TEST(an_old_reader_reads_a_new_message)
{
    int64_t sizes[] = {1, 2};
    struct new_part parts[2] = {{{"a", 1}, weft_int_list(sizes, 2), {true, NEW_HIGH}},
                                {{"b", 1}, {NULL, 0, NULL, NULL}, {false, 0}}};
    weft_entry_new_part named[1] = {{{"k", 1}, parts[0]}};
    struct new sent = {.id = 4, .level = NEW_HIGH, .part = parts[0], .parts = new_part_list(parts, 2)};
    sent.by_name = new_part_map(named, 1);
    sent.table.present = sent.gift.present = true;
    sent.gift.value = sent.last = parts[1];
    struct old got;
    struct old_part part;
    size_t size = pack(new_type(), &sent);
    ck_assert_int_eq(weft_typed_read(old_type(), buffer, size, &got, NULL), 0);
    ck_assert_uint_eq(got.id, 4);
    ck_assert_int_eq(got.level, NEW_HIGH); /* a number without a name here */
    ck_assert_ptr_null(old_level_name(got.level));
    ck_assert(text_is(got.part.name, "a"));
    ck_assert(old_part_next(&got.parts, &part) && text_is(part.name, "a"));
    ck_assert(old_part_find(&got.by_name, weft_cstr("k"), &part) && text_is(part.name, "a"));
    /* Sent on by the old one, what it does not know in the items of lists it has not taken is still there. */
    static uint8_t first[1024];
    memcpy(first, buffer, size);
    ck_assert_int_eq(weft_typed_read(old_type(), first, size, &got, NULL), 0);
    struct new back;
    struct new_part young;
    size = pack(old_type(), &got);
    ck_assert_int_eq(weft_typed_read(new_type(), buffer, size, &back, NULL), 0);
    ck_assert_uint_eq(back.part.sizes.count, 0);
    ck_assert(new_part_next(&back.parts, &young));
    ck_assert_uint_eq(young.sizes.count, 2);
    ck_assert(young.level.present && young.level.value == NEW_HIGH);
}
END_TEST

START_TEST(a_new_reader_reads_an_old_message)
{
    struct old_part parts[1] = {{{"a", 1}}};
    struct old sent = {.id = 4, .part = parts[0], .parts = old_part_list(parts, 1)};
    struct new got;
    struct new_part part;
    memset(&got, 0xEE, sizeof got);
    size_t size = pack(old_type(), &sent);
    ck_assert_int_eq(weft_typed_read(new_type(), buffer, size, &got, NULL), 0);
    ck_assert(text_is(got.part.name, "a"));
    ck_assert_uint_eq(got.part.sizes.count, 0);
    ck_assert(!got.part.level.present && !got.table.present && !got.gift.present);
    ck_assert_uint_eq(got.stock.count, 0);
    ck_assert_uint_eq(got.tags.count, 0);
    ck_assert_uint_eq(got.last.name.size, 0);
    memset(&part, 0xEE, sizeof part);
    ck_assert(new_part_next(&got.parts, &part));
    ck_assert(text_is(part.name, "a") && part.sizes.count == 0 && !part.level.present);
    ck_assert(!new_part_next(&got.parts, &part));
}
END_TEST

/* ---- Faults ---- */

/* Puts an order's fields before `index` as nils, so that what follows is field `index`. */
static weft_writer up_to_field(uint32_t index)
{
    weft_writer w = weft_writer_on(buffer, sizeof buffer);
    weft_put_array(&w, index + 1);
    while (index-- > 0) weft_put_nil(&w);
    return w;
}

static void check_fault(const weft_writer *w, const char *text)
{
    struct order got;
    struct weft_why why;
    ck_assert_int_eq(weft_typed_read(order_type(), buffer, w->size, &got, &why), WEFT_EFORMAT);
    ck_assert_str_eq(why.text, text);
    ck_assert_int_eq(weft_typed_read(order_type(), buffer, w->size, NULL, NULL), WEFT_EFORMAT);
    ck_assert_int_eq(weft_packed_json(order_type(), buffer, w->size, NULL, 0), WEFT_EFORMAT);
    ck_assert_uint_eq(got.items.count, 0);
}

START_TEST(an_error_names_the_path_to_its_field)
{
    weft_writer w = up_to_field(3); /* items */
    weft_put_array(&w, 4);
    weft_put_array(&w, 0);
    weft_put_nil(&w);
    weft_put_array(&w, 1);
    weft_put_str(&w, weft_cstr("tea"));
    weft_put_array(&w, 2);
    weft_put_nil(&w);
    weft_put_str(&w, weft_cstr("3.5"));
    check_fault(&w, "order.items[3].price: expected real, got str");
    w = up_to_field(3);
    weft_put_map(&w, 0);
    check_fault(&w, "order.items: expected array, got map");
    w = up_to_field(4); /* named */
    weft_put_map(&w, 1);
    weft_put_str(&w, weft_cstr("b\n\"st"));
    weft_put_array(&w, 3);
    weft_put_nil(&w);
    weft_put_int(&w, 1);
    weft_put_array(&w, 2);
    weft_put_int(&w, 1);
    weft_put_uint(&w, UINT64_MAX);
    check_fault(&w, "order.named[\"b?\"st\"].sizes[1]: expected int, got a number beyond it");
    w = up_to_field(5); /* stock */
    weft_put_map(&w, 1);
    weft_put_int(&w, 1);
    weft_put_int(&w, 1);
    check_fault(&w, "order.stock[0]: expected str as key, got int");
    w = up_to_field(6); /* gift */
    weft_put_array(&w, 1);
    weft_put_bool(&w, true);
    check_fault(&w, "order.gift.name: expected str, got bool");
    w = up_to_field(1); /* now */
    weft_put_str(&w, weft_cstr("open"));
    check_fault(&w, "order.now: expected int, got str");
}
END_TEST

START_TEST(long_paths_and_keys_are_cut_off)
{
    static char key[5000];
    memset(key, 'k', sizeof key);
    weft_writer w = up_to_field(4);
    weft_put_map(&w, 1);
    weft_put_str(&w, weft_str(key, sizeof key));
    weft_put_bool(&w, true);
    check_fault(&w, "order.named[\"kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk\"]: expected item, got bool");
    struct weft_why why;
    w = weft_writer_on(buffer, sizeof buffer);
    for (int i = 0; i < 15; i++) {
        weft_put_array(&w, 2);
        weft_put_nil(&w);
        weft_put_array(&w, 1);
    }
    weft_put_bool(&w, true);
    ck_assert_int_eq(weft_typed_read(tree_type(), buffer, w.size, NULL, &why), WEFT_EFORMAT);
    ck_assert_uint_eq(strlen(why.text), sizeof why.text - 1);
    ck_assert_int_eq(strncmp(why.text, "tree.children[0].children[0].", 29), 0);
}
END_TEST

START_TEST(nesting_has_a_limit)
{
    struct tree chain[40], got;
    memset(chain, 0, sizeof chain);
    for (int i = 0; i < 39; i++) chain[i].children = tree_list(&chain[i + 1], 1);
    weft_writer w = weft_writer_on(buffer, sizeof buffer);
    tree_put(&w, &chain[0]);
    ck_assert_int_eq(w.error, WEFT_ETOOBIG);
    char json[4000];
    ck_assert_uint_lt(tree_json(&chain[0], json, sizeof json), sizeof json); /* ends */
    ck_assert(!tree_equal(&chain[0], &chain[0]));
    /* 16 trees and the 15 lists between them, and the empty list of the last: 32 levels */
    size_t size = pack(tree_type(), &chain[24]);
    struct weft_why why;
    ck_assert_msg(weft_typed_read(tree_type(), buffer, size, &got, &why) == 0, "%s", why.text);
    ck_assert(tree_equal(&got, &chain[24]));
    w = weft_writer_on(buffer, sizeof buffer);
    tree_put(&w, &chain[23]);
    ck_assert_int_eq(w.error, WEFT_ETOOBIG);
    w = weft_writer_on(buffer, sizeof buffer);
    for (int i = 0; i < 20; i++) { /* two more levels each */
        weft_put_array(&w, 2);
        weft_put_int(&w, 1);
        weft_put_array(&w, 1);
    }
    weft_put_array(&w, 0);
    ck_assert_int_eq(weft_typed_read(tree_type(), buffer, w.size, &got, &why), WEFT_EFORMAT);
    ck_assert(strstr(why.text, "children[0]") != NULL);
}
END_TEST

/* Skipped fields count for the limits, too, so that old and new readers accept the same messages. */
START_TEST(the_nesting_of_skipped_fields_is_limited_too)
{
    for (uint32_t depth = 31; depth <= 33; depth++) {
        weft_writer w = weft_writer_on(buffer, sizeof buffer);
        weft_put_array(&w, 11); /* ten fields that are nil, and one that is not known */
        for (int i = 0; i < 10; i++) weft_put_nil(&w);
        for (uint32_t i = 1; i < depth; i++) weft_put_array(&w, 1);
        weft_put_nil(&w);
        int expected = depth <= WEFT_NEST_MAX ? 0 : WEFT_EFORMAT;
        ck_assert_int_eq(weft_typed_read(old_type(), buffer, w.size, NULL, NULL), expected);
        ck_assert_int_eq(weft_typed_read(new_type(), buffer, w.size, NULL, NULL), expected);
        ck_assert_int_eq(weft_pack_check(buffer, w.size, 100, NULL), expected == 0 ? 0 : WEFT_ETOOBIG);
    }
}
END_TEST

START_TEST(cut_messages_and_false_counts_are_refused)
{
    struct order sent = full(), got;
    size_t size = pack(order_type(), &sent);
    for (size_t i = 0; i < size; i++) {
        uint8_t *cut = malloc(i + (i == 0)); /* of its exact size: a tool sees an overrun */
        memcpy(cut, buffer, i);
        ck_assert_int_eq(weft_typed_read(order_type(), cut, i, &got, NULL), WEFT_EFORMAT);
        free(cut);
    }
    static const uint8_t bomb[] = {0x94, 0xC0, 0xC0, 0xC0, 0xDD, 0x7F, 0xFF, 0xFF, 0xFF};
    ck_assert_int_eq(weft_typed_read(order_type(), bomb, sizeof bomb, &got, NULL), WEFT_EFORMAT);
    ck_assert_int_eq(weft_typed_read(order_type(), bomb, 0, &got, NULL), WEFT_EFORMAT);
    ck_assert_int_eq(weft_typed_read(order_type(), NULL, 0, &got, NULL), WEFT_EFORMAT);
}
END_TEST

/* Reads everything there is, as a user would. */
static void use(const struct order *o)
{
    struct order v = *o;
    struct item it;
    weft_entry_item e;
    int64_t n, sum = 0;
    size_t items = v.items.count, named = v.named.count;
    while (item_next(&v.items, &it)) {
        items--;
        size_t sizes = it.sizes.count;
        while (weft_int_next(&it.sizes, &n)) sum += n & 1, sizes--;
        ck_assert_uint_eq(sizes, 0);
    }
    while (item_next_entry(&v.named, &e)) named--;
    ck_assert_uint_eq(items, 0); /* a view that was given never fails */
    ck_assert_uint_eq(named, 0);
    ck_assert(sum >= 0);
}

START_TEST(every_byte_changed)
{
    static uint8_t good[4096];
    struct order sent = full(), got;
    size_t size = pack(order_type(), &sent), fits = 0;
    memcpy(good, buffer, size);
    uint8_t *changed = malloc(size);
    for (size_t i = 0; i < size; i++) {
        for (uint32_t byte = 0; byte < 256; byte += under_tools() ? 13 : 1 + byte % 3) {
            memcpy(changed, good, size);
            changed[i] = (uint8_t)byte;
            struct weft_why why;
            if (weft_typed_read(order_type(), changed, size, &got, &why) != 0) {
                ck_assert_uint_le(why.offset, size);
                ck_assert_int_eq(weft_packed_json(order_type(), changed, size, NULL, 0), WEFT_EFORMAT);
                continue;
            }
            fits++;
            use(&got);
            char a[4096], b[4096];
            ck_assert_int_eq(weft_packed_json(order_type(), changed, size, a, sizeof a), (int)strlen(a));
            order_json(&got, b, sizeof b);
            ck_assert_str_eq(a, b);
        }
    }
    ck_assert_uint_gt(fits, 100);
    free(changed);
}
END_TEST

START_TEST(random_orders)
{
    struct order got;
    uint64_t seed = 3;
    uint8_t data[32];
    for (int run = 0; run < repeats(100000); run++) {
        size_t size = random_below(&seed, sizeof data + 1);
        for (size_t i = 0; i < size; i++) {
            data[i] = (uint8_t)(0x80 + random_below(&seed, 0x20)); /* mostly containers */
            if (random_below(&seed, 3) == 0)
                data[i] = (uint8_t)(random_below(&seed, 2) ? 0xC0 : random_below(&seed, 256));
        }
        if (weft_typed_read(order_type(), data, size, &got, NULL) == 0) use(&got);
    }
}
END_TEST

/* Each struct has one byte of the message, so only views are stored. */
START_TEST(a_million_items_take_no_memory)
{
    enum { COUNT = 1 << 20 };
    uint8_t *data = malloc(COUNT + 16);
    ck_assert_ptr_nonnull(data);
    weft_writer w = weft_writer_on(data, 16);
    weft_put_array(&w, 4);
    for (int i = 0; i < 3; i++) weft_put_nil(&w);
    weft_put_array(&w, COUNT);
    memset(w.at, 0xC0, COUNT);
    struct order got;
    struct item it;
    ck_assert_int_eq(weft_typed_read(order_type(), data, w.size + COUNT, &got, NULL), 0);
    ck_assert_uint_eq(got.items.count, COUNT);
    size_t seen = 0;
    while (item_next(&got.items, &it)) seen += it.sizes.count == 0;
    ck_assert_uint_eq(seen, COUNT);
    ck_assert_int_eq(weft_typed_read(order_type(), data, w.size + COUNT - 1, &got, NULL), WEFT_EFORMAT);
    free(data);
}
END_TEST

START_TEST(a_list_longer_than_msgpack_allows_is_refused)
{
#if SIZE_MAX > UINT32_MAX
    struct order o = full();
    o.items.count = (size_t)UINT32_MAX + 1;
    weft_writer w = weft_writer_on(NULL, 0);
    order_put(&w, &o);
    ck_assert_int_eq(w.error, WEFT_ETOOBIG);
#endif
}
END_TEST

int main(void)
{
    Suite *s = suite_create("typed_parts");
    TCase *t = tcase_create("parts");
    tcase_add_test(t, every_kind_of_part_comes_back_as_it_was_packed);
    tcase_add_test(t, own_arrays_are_taken_apart_the_same_way);
    tcase_add_test(t, received_lists_are_sent_on);
    tcase_add_test(t, equality_sees_every_difference);
    tcase_add_test(t, enumerations_have_names);
    tcase_add_test(t, an_old_reader_reads_a_new_message);
    tcase_add_test(t, a_new_reader_reads_an_old_message);
    suite_add_tcase(s, t);
    t = tcase_create("faults");
    tcase_add_test(t, an_error_names_the_path_to_its_field);
    tcase_add_test(t, long_paths_and_keys_are_cut_off);
    tcase_add_test(t, nesting_has_a_limit);
    tcase_add_test(t, the_nesting_of_skipped_fields_is_limited_too);
    tcase_add_test(t, cut_messages_and_false_counts_are_refused);
    tcase_add_test(t, every_byte_changed);
    tcase_add_test(t, random_orders);
    tcase_add_test(t, a_million_items_take_no_memory);
    tcase_add_test(t, a_list_longer_than_msgpack_allows_is_refused);
    suite_add_tcase(s, t);
    return run_suite(s);
}
