/* actors/data/typed.c -- packs, reads and compares values that a description describes. See include/weft/typed.h.
 *
 * Design notes.
 * (1) Nothing allocates. A received list or map is a view: its items have been read once without storing them, so a
 *     bad item is reported at once, and taking an item later cannot fail.
 * (2) The work is bounded by the number of bytes and the depth: a count is compared with the bytes left, and values
 *     are nested WEFT_NEST_MAX deep at most; so is the recursion of these functions.
 * (3) The path of a fault is a chain of steps on the stack, which becomes text only if a value does not match. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "typed.h"

#include "base.h"
#include "pack.h"
#include "typed_tags.h"
#include <weft/error.h>

#define SCALAR(type, KIND)                                                                              \
    const struct weft_type_info *weft_type_##type(void)                                                 \
    {                                                                                                   \
        static const struct weft_type_info info = {#type, KIND, WEFT_TYPED_SIZES(type), NULL, NULL, 0}; \
        return &info;                                                                                   \
    }
SCALAR(str, WEFT_KIND_STR)
SCALAR(bin, WEFT_KIND_BIN)
SCALAR(int, WEFT_KIND_INT)
SCALAR(uint, WEFT_KIND_UINT)
SCALAR(real, WEFT_KIND_REAL)
SCALAR(pid, WEFT_KIND_PID)

const struct weft_type_info *weft_type_bool(void) /* `bool` is a macro */
{
    static const struct weft_type_info info = {"bool",
                                               WEFT_KIND_BOOL,
                                               sizeof(bool),
                                               offsetof(weft_maybe_bool, value),
                                               offsetof(weft_entry_bool, value),
                                               sizeof(weft_entry_bool),
                                               NULL,
                                               NULL,
                                               0};
    return &info;
}

/* ---- Writing --------------------------------------------------------------------------------------------------- */

static void put_value(weft_writer *w, const struct weft_type_info *type, enum weft_kind kind, const void *value,
                      uint32_t depth);

/* Whether a container may be written inside of `depth` others; if not, the writer fails. */
static bool put_deeper(weft_writer *w, uint32_t depth)
{
    if (depth < WEFT_NEST_MAX) return true;
    if (w->error == 0) w->error = WEFT_ETOOBIG;
    return false;
}

static void put_many(weft_writer *w, const struct weft_field_info *f, const void *value, uint32_t depth)
{
    const struct weft_type_info *type = f->type();
    struct wf_many many;
    memcpy(&many, value, sizeof many);
    bool map = f->shape == WEFT_SHAPE_MAP;
    if (!put_deeper(w, depth)) return;
    if (many.count > UINT32_MAX) {
        if (w->error == 0) w->error = WEFT_ETOOBIG;
        return;
    }
    map ? weft_put_map(w, (uint32_t)many.count) : weft_put_array(w, (uint32_t)many.count);
    if (many.packed != NULL) {
        wf_pack_raw(w, many.packed, (size_t)(many.end - many.packed));
        return;
    }
    WF_ASSERT(many.count == 0 || many.items != NULL);
    const uint8_t *at = many.items;
    for (size_t i = 0; i < many.count && w->error == 0; i++) {
        if (map) weft_put_str(w, *(const weft_text *)(const void *)at);
        put_value(w, type, f->kind, at + (map ? type->entry_at : 0), depth + 1);
        at += map ? type->entry_size : type->size;
    }
}

static void put_field(weft_writer *w, const struct weft_field_info *f, const uint8_t *value, uint32_t depth)
{
    switch (f->shape) {
    case WEFT_SHAPE_ONE: put_value(w, f->kind < WEFT_KIND_ENUM ? NULL : f->type(), f->kind, value, depth); break;
    case WEFT_SHAPE_MAYBE:
        if (*(const bool *)(const void *)value) {
            put_value(w, f->type(), f->kind, value + f->type()->maybe_at, depth);
        } else {
            weft_put_nil(w);
        }
        break;
    default: put_many(w, f, value, depth);
    }
}

/* `type` is needed for structs only. */
static void put_value(weft_writer *w, const struct weft_type_info *type, enum weft_kind kind, const void *value,
                      uint32_t depth)
{
    switch (kind) {
    case WEFT_KIND_STR: weft_put_str(w, *(const weft_text *)value); break;
    case WEFT_KIND_BIN: weft_put_bin(w, ((const weft_text *)value)->data, ((const weft_text *)value)->size); break;
    case WEFT_KIND_BOOL: weft_put_bool(w, *(const bool *)value); break;
    case WEFT_KIND_INT:
    case WEFT_KIND_ENUM: weft_put_int(w, *(const int64_t *)value); break;
    case WEFT_KIND_UINT: weft_put_uint(w, *(const uint64_t *)value); break;
    case WEFT_KIND_REAL: weft_put_real(w, *(const double *)value); break;
    case WEFT_KIND_PID:
        if (!put_deeper(w, depth)) return;
        weft_put_array(w, 2);
        weft_put_uint(w, ((const weft_pid *)value)->node);
        weft_put_uint(w, ((const weft_pid *)value)->actor);
        break;
    default:
        if (!put_deeper(w, depth)) return;
        weft_put_array(w, (uint32_t)type->count);
        for (size_t i = 0; i < type->count; i++) {
            const struct weft_field_info *f = &type->fields[i];
            put_field(w, f, (const uint8_t *)value + f->offset, depth + 1);
        }
    }
}

void weft_typed_put(weft_writer *w, const struct weft_type_info *type, const void *value)
{
    put_value(w, type, type->kind, value, 0);
}

/* ---- Reading --------------------------------------------------------------------------------------------------- */

/* One step on the path from the whole value to the value being read: a name, a key, or an index. */
struct step {
    const struct step *up;
    const char *name;
    weft_text key; /* .data NULL: an index */
    size_t index;
};

struct reading {
    weft_reader *r;
    struct weft_why *why;
    uint32_t depth;
};

static void append(struct weft_why *why, const char *text, size_t size)
{
    size_t used = strlen(why->text), space = sizeof why->text - 1 - used;
    if (size > space) size = space;
    for (size_t i = 0; i < size; i++) { /* a key may contain any bytes */
        why->text[used + i] = (char)(text[i] >= ' ' && text[i] < 127 ? text[i] : '?');
    }
    why->text[used + size] = 0;
}

static void append_path(struct weft_why *why, const struct step *s)
{
    const struct step *steps[4 * WEFT_NEST_MAX];
    size_t n = 0;
    for (; s != NULL && n < sizeof steps / sizeof *steps; s = s->up) steps[n++] = s;
    for (bool first = true; n-- > 0; first = false) {
        char number[32];
        if (steps[n]->name != NULL) {
            if (!first) append(why, ".", 1);
            append(why, steps[n]->name, strlen(steps[n]->name));
        } else if (steps[n]->key.data != NULL) {
            append(why, "[\"", 2);
            append(why, steps[n]->key.data, steps[n]->key.size < 32 ? steps[n]->key.size : 32);
            append(why, "\"]", 2);
        } else {
            int size = snprintf(number, sizeof number, "[%zu]", steps[n]->index);
            append(why, number, (size_t)size);
        }
    }
}

/* Describes the value that was found instead of `expected`. */
static const char *what_is_there(const weft_reader *r, const char *expected)
{
    static const char *const names[] = {"nil", "bool", "int", "uint", "real", "str", "bin", "array", "map", "ext"};
    weft_reader at = *r;
    at.error = 0;
    int type = weft_peek_type(&at);
    if (at.at == at.end) return "the end";
    if (type < 0) return "malformed or cut off data";
    if (type == WEFT_INT && strcmp(expected, "uint") == 0) return "a negative number";
    if (type == WEFT_UINT && strcmp(expected, "int") == 0) return "a number beyond it";
    return names[type];
}

/* Sets the reader's error and writes its text: "path: expected X, got Y" or "path: problem". This happens once for a
 * message, because reading stops at the first fault. */
static void explain(struct reading *rd, const struct step *path, const char *expected, const char *problem)
{
    rd->r->error = WEFT_EFORMAT;
    struct weft_why *why = rd->why;
    if (why == NULL) return;
    WF_ASSERT(why->error == 0);
    why->error = WEFT_EFORMAT;
    why->offset = (size_t)(rd->r->at - rd->r->start);
    append_path(why, path);
    append(why, ": ", 2);
    if (problem == NULL) {
        append(why, "expected ", 9);
        append(why, expected, strlen(expected));
        append(why, ", got ", 6);
        problem = what_is_there(rd->r, expected);
    }
    append(why, problem, strlen(problem));
}

static const char too_deep[] = "nested too deep";

static weft_pid get_pid(weft_reader *r)
{
    const uint8_t *start = r->at;
    weft_pid p = weft_nobody();
    if (weft_get_array(r) == 2) {
        p.node = weft_get_uint(r);
        p.actor = weft_get_uint(r);
        if (r->error == 0) return p;
    }
    r->at = start;
    r->error = WEFT_EFORMAT;
    return weft_nobody();
}

/* Reads a value that is no struct. `out` has space for a value of that kind. */
void wf_typed_get_scalar(weft_reader *r, enum weft_kind kind, void *out)
{
    switch (kind) {
    case WEFT_KIND_STR: *(weft_text *)out = weft_get_str(r); break;
    case WEFT_KIND_BIN: *(weft_text *)out = weft_get_bin(r); break;
    case WEFT_KIND_BOOL: *(bool *)out = weft_get_bool(r); break;
    case WEFT_KIND_INT:
    case WEFT_KIND_ENUM: *(int64_t *)out = weft_get_int(r); break;
    case WEFT_KIND_UINT: *(uint64_t *)out = weft_get_uint(r); break;
    case WEFT_KIND_REAL: *(double *)out = weft_get_real(r); break;
    default: *(weft_pid *)out = get_pid(r);
    }
}

static void get_struct(struct reading *rd, const struct step *path, const struct weft_type_info *type, uint8_t *out);

/* Reads the next value, which must not be nil. If `out` is NULL, it only checks the value. */
static void get_value(struct reading *rd, const struct step *path, const struct weft_type_info *type,
                      enum weft_kind kind, uint8_t *out)
{
    static const char *const names[] = {"str", "bin", "bool", "int", "uint", "real", "pid", "int"};
    if (kind == WEFT_KIND_STRUCT) {
        get_struct(rd, path, type, out);
    } else if (kind == WEFT_KIND_PID && rd->depth == WEFT_NEST_MAX) {
        explain(rd, path, NULL, too_deep);
    } else {
        union wf_scalar unused;
        wf_typed_get_scalar(rd->r, kind, out != NULL ? (void *)out : &unused);
        if (rd->r->error != 0) explain(rd, path, names[kind], NULL);
    }
}

/* Reads all items without storing them; `out` becomes the view. */
static void get_many(struct reading *rd, const struct step *path, const struct weft_field_info *f, uint8_t *out)
{
    weft_reader *r = rd->r;
    const struct weft_type_info *type = f->type();
    bool map = f->shape == WEFT_SHAPE_MAP;
    if (rd->depth == WEFT_NEST_MAX) {
        explain(rd, path, NULL, too_deep);
        return;
    }
    uint32_t count = map ? weft_get_map(r) : weft_get_array(r);
    if (r->error != 0) {
        explain(rd, path, map ? "map" : "array", NULL);
        return;
    }
    struct wf_many many = {NULL, count, r->at, NULL};
    struct step step = {path, NULL, {NULL, 0}, 0};
    rd->depth++;
    for (; step.index < count && r->error == 0; step.index++) {
        if (map) {
            step.key.data = NULL;
            weft_text key = weft_get_str(r);
            if (r->error != 0) explain(rd, &step, "str as key", NULL);
            step.key = key;
        }
        if (r->error == 0 && !weft_get_nil(r)) get_value(rd, &step, type, f->kind, NULL);
    }
    rd->depth--;
    many.end = r->at;
    if (out != NULL && r->error == 0) memcpy(out, &many, sizeof many);
}

static void get_field(struct reading *rd, const struct step *path, const struct weft_field_info *f, uint8_t *out)
{
    if (f->shape == WEFT_SHAPE_ONE) {
        get_value(rd, path, f->kind < WEFT_KIND_ENUM ? NULL : f->type(), f->kind, out);
    } else if (f->shape == WEFT_SHAPE_MAYBE) {
        const struct weft_type_info *type = f->type();
        if (out != NULL) *(bool *)(void *)out = true;
        get_value(rd, path, type, f->kind, out == NULL ? NULL : out + type->maybe_at);
    } else {
        get_many(rd, path, f, out);
    }
}

/* `out` is zeroed before the call. */
static void get_struct(struct reading *rd, const struct step *path, const struct weft_type_info *type, uint8_t *out)
{
    weft_reader *r = rd->r;
    if (rd->depth == WEFT_NEST_MAX) {
        explain(rd, path, NULL, too_deep);
        return;
    }
    uint32_t left = weft_get_array(r);
    if (r->error != 0) {
        explain(rd, path, type->name, NULL);
        return;
    }
    struct step step = {path, NULL, {NULL, 0}, 0};
    rd->depth++;
    for (size_t i = 0; i < type->count && left > 0 && r->error == 0; i++, left--) {
        const struct weft_field_info *f = &type->fields[i];
        step.name = f->name;
        if (!weft_get_nil(r)) get_field(rd, &step, f, out == NULL ? NULL : out + f->offset);
    }
    for (; left > 0 && r->error == 0; left--) {
        wf_pack_skip(r, WEFT_NEST_MAX - rd->depth);
        if (r->error != 0) explain(rd, path, NULL, "malformed data after the fields known here");
    }
    rd->depth--;
}

void weft_typed_get(weft_reader *r, const struct weft_type_info *type, void *out, struct weft_why *why)
{
    struct reading rd = {r, why, 0};
    struct step root = {NULL, type->name, {NULL, 0}, 0};
    if (why != NULL) {
        why->error = 0;
        why->offset = 0;
        why->text[0] = 0;
    }
    if (out != NULL) memset(out, 0, type->size);
    if (r->error == 0) get_value(&rd, &root, type, type->kind, out);
    if (r->error != 0 && out != NULL) memset(out, 0, type->size);
}

int weft_typed_read(const struct weft_type_info *type, const void *data, size_t size, void *out, struct weft_why *why)
{
    weft_reader r = weft_reader_on(data, size);
    weft_typed_get(&r, type, out, why);
    if (r.error == 0 && r.at != r.end) {
        struct reading rd = {&r, why, 0};
        struct step root = {NULL, type->name, {NULL, 0}, 0};
        explain(&rd, &root, NULL, "bytes are left over");
        if (out != NULL) memset(out, 0, type->size);
    }
    return r.error;
}

int weft_typed_other_tag(const struct weft_type_info *type, uint32_t tag, void *out, struct weft_why *why)
{
    memset(out, 0, type->size);
    if (why == NULL) return WEFT_EFORMAT;
    why->error = WEFT_EFORMAT;
    why->offset = 0;
    const char *other = wf_typed_name_of_tag(tag);
    snprintf(why->text, sizeof why->text,
             other == NULL ? "%s: the message has another tag, %" PRIu32
                           : "%s: the message has another tag, %" PRIu32 ", that of %s",
             type->name, tag, other);
    return WEFT_EFORMAT;
}

/* ---- Lists and maps -------------------------------------------------------------------------------------------- */

/* Takes the first item of a list or entry of a map. A view was checked when it was made. If its message has been
 * freed, the bytes may be anything, and an error ends the list. */
static bool take(const struct weft_type_info *type, struct wf_many *many, bool map, void *out)
{
    uint8_t *value = (uint8_t *)out + (map ? type->entry_at : 0);
    if (many->count == 0) return false;
    many->count--;
    if (many->packed == NULL) {
        size_t size = map ? type->entry_size : type->size;
        memcpy(out, many->items, size);
        many->items = (const uint8_t *)many->items + size;
        return true;
    }
    weft_reader r = weft_reader_on(many->packed, (size_t)(many->end - many->packed));
    if (map) *(weft_text *)out = weft_get_str(&r);
    memset(value, 0, type->size);
    if (r.error == 0 && !weft_get_nil(&r)) weft_typed_get(&r, type, value, NULL);
    many->packed = r.at;
    if (r.error != 0) many->count = 0;
    return r.error == 0;
}

static bool take_from(const struct weft_type_info *type, void *list, bool map, void *out)
{
    struct wf_many many;
    memcpy(&many, list, sizeof many);
    bool got = take(type, &many, map, out);
    memcpy(list, &many, sizeof many);
    return got;
}

bool weft_typed_next(const struct weft_type_info *type, void *list, void *out)
{
    return take_from(type, list, false, out);
}

bool weft_typed_next_entry(const struct weft_type_info *type, void *map, void *out)
{
    return take_from(type, map, true, out);
}

bool weft_typed_find(const struct weft_type_info *type, const void *map, weft_text key, void *out)
{
    struct wf_many many;
    memcpy(&many, map, sizeof many);
    const uint8_t *at = many.items;
    weft_reader r = weft_reader_on(many.packed, many.packed == NULL ? 0 : (size_t)(many.end - many.packed));
    for (; many.count > 0 && r.error == 0; many.count--) {
        if (many.packed == NULL) {
            if (wf_text_equal(*(const weft_text *)(const void *)at, key)) {
                memcpy(out, at + type->entry_at, type->size);
                return true;
            }
            at += type->entry_size;
        } else if (wf_text_equal(weft_get_str(&r), key) && r.error == 0) {
            memset(out, 0, type->size);
            if (!weft_get_nil(&r)) weft_typed_get(&r, type, out, NULL);
            return r.error == 0;
        } else {
            weft_skip(&r);
        }
    }
    return false;
}

const char *weft_typed_name(const struct weft_type_info *type, int64_t number)
{
    for (size_t i = 0; i < type->count; i++) {
        if (type->names[i].number == number) return type->names[i].name;
    }
    return NULL;
}
