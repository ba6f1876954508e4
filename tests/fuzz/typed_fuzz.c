/* Any bytes as the body of a message: what is read lies within them, comes back when it is written again, and an
 * older version of the list reads the same from them. */
#include <stdlib.h>
#include <string.h>

#include <weft/typed.h>

#define MUST(condition) ((condition) ? (void)0 : abort())

#define OLD(F) F(str, name) F(uint, count)
WEFT_MESSAGE(old, 1, OLD)
#define YOUNG(F) F(str, name) F(uint, count) F(pid, owner) F(bool, urgent) F(int, delta) F(real, weight) F(bin, note)
WEFT_MESSAGE(young, 1, YOUNG)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_view(weft_text t, const uint8_t *data, size_t size)
{
    const char *start = (const char *)data;
    if (t.size > 0) MUST(t.data > start && t.data + t.size <= start + size);
}

static bool same(weft_text a, weft_text b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct young v, again;
    struct old o;
    const char *field = "unset";
    weft_reader r = weft_reader_on(data, size);
    young_get(&r, &v, &field);
    MUST(r.error == 0 || r.error == WEFT_EFORMAT);
    MUST(r.error != 0 || field == NULL);
    if (r.error != 0) return 0;
    check_view(v.name, data, size);
    check_view(v.note, data, size);

    weft_reader older = weft_reader_on(data, size);
    old_get(&older, &o, NULL);
    MUST(older.error == 0 && older.at == r.at);
    MUST(same(o.name, v.name) && o.count == v.count);

    weft_writer w = weft_writer_on(NULL, 0);
    young_put(&w, &v);
    size_t room = w.size;
    uint8_t *copy = malloc(room);
    MUST(copy != NULL);
    w = weft_writer_on(copy, room);
    young_put(&w, &v);
    MUST(w.error == 0 && w.size == room);
    r = weft_reader_on(copy, room);
    young_get(&r, &again, NULL);
    MUST(r.error == 0 && r.at == r.end);
    MUST(same(v.name, again.name) && same(v.note, again.note) && weft_pid_equal(v.owner, again.owner));
    MUST(v.count == again.count && v.delta == again.delta && v.urgent == again.urgent);
    MUST(memcmp(&v.weight, &again.weight, sizeof v.weight) == 0);
    free(copy);
    return 0;
}
