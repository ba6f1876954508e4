/* Any bytes as the body of a message: every read stays within them, the values are the same after they are written
 * again, and an older version of the schema reads the same values. */
#include <weft/typed.h>

#include "fuzz.h"

#define OLD(F) F(str, name) F(uint, count)
WEFT_MESSAGE(old, 1, OLD)

#define LEVEL(E) E(LEVEL_LOW, 0, "low") E(LEVEL_HIGH, 1, "high")
WEFT_ENUM(level, LEVEL)
#define PART(F) F(str, name) F(maybe(real), price) F(list(part), parts)
WEFT_STRUCT(part, PART)
#define YOUNG(F)    \
    F(str, name)    \
    F(uint, count)  \
    F(pid, owner)   \
    F(bool, urgent) \
    F(int, delta)   \
    F(real, weight) \
    F(bin, note) F(level, level) F(part, part) F(list(part), parts) F(map(int), numbers) F(maybe(part), extra)
WEFT_MESSAGE(young, 1, YOUNG)

static const uint8_t *from;
static size_t from_size;

static void check_view(weft_text t)
{
    const char *start = (const char *)from;
    if (t.size > 0) MUST(t.data > start && t.data + t.size <= start + from_size);
}

static bool same(weft_text a, weft_text b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

/* A list that was read holds as many as it says, all the way down. */
static void check_parts(weft_list_part parts)
{
    size_t count = parts.count;
    for (struct part p; part_next(&parts, &p); count--) {
        check_view(p.name);
        check_parts(p.parts);
    }
    MUST(count == 0);
}

static void check_json(const struct young *v, const uint8_t *data, size_t size)
{
    size_t space = young_json(v, NULL, 0) + 1;
    char *a = malloc(space), *b = malloc(space);
    MUST(a != NULL && b != NULL);
    MUST(young_json(v, a, space) == space - 1);
    MUST(weft_packed_json(young_type(), data, size, b, space) == (int64_t)space - 1);
    MUST(memcmp(a, b, space) == 0);
    free(a);
    free(b);
}

int fuzz_one_input(const uint8_t *data, size_t size)
{
    struct young v, again;
    struct old o;
    struct weft_why why;
    weft_reader r = weft_reader_on(data, size);
    young_get(&r, &v, &why);
    MUST(r.error == why.error && (r.error == 0 || r.error == WEFT_EFORMAT));
    MUST((why.text[0] == 0) == (r.error == 0) && why.offset <= size);
    if (r.error != 0) return 0;
    from = data;
    from_size = size;
    check_view(v.name);
    check_view(v.note);
    check_parts(v.parts);
    check_parts(v.extra.value.parts);
    weft_entry_int e;
    size_t entries = v.numbers.count;
    for (weft_map_int m = v.numbers; weft_int_next_entry(&m, &e); entries--) check_view(e.key);
    MUST(entries == 0);
    check_json(&v, data, (size_t)(r.at - data));

    weft_reader older = weft_reader_on(data, size);
    old_get(&older, &o, NULL);
    MUST(older.error == 0 && older.at == r.at);
    MUST(same(o.name, v.name) && o.count == v.count);

    weft_writer w = weft_writer_on(NULL, 0);
    young_put(&w, &v);
    MUST(w.error == 0);
    size_t space = w.size;
    uint8_t *copy = malloc(space);
    MUST(copy != NULL);
    w = weft_writer_on(copy, space);
    young_put(&w, &v);
    MUST(w.error == 0 && w.size == space);
    r = weft_reader_on(copy, space);
    young_get(&r, &again, NULL);
    MUST(r.error == 0 && r.at == r.end);
    MUST(young_equal(&v, &again));
    free(copy);
    return 0;
}
