/* actors/data/typed_json.c -- writes values of a description as JSON, and compares them. See include/weft/typed.h.
 *
 * Design notes.
 * (1) A value is in memory (a struct of the program), or still packed (an item of a received list), or was left out,
 *     which means zero. `struct source` is any of the three; no value is unpacked into memory that would have to be
 *     allocated. Packed values have been checked before.
 * (2) Values that JSON cannot represent are written as text, so that any JSON reader accepts them and none rounds
 *     them silently: integers beyond 2^53, NaN and the infinities, bytes (base64), pids. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base.h"
#include "text.h"
#include "typed.h"
#include <weft/error.h>

struct source {
    const uint8_t *memory; /* or NULL */
    weft_reader *r;        /* or NULL; it stands at the value and is moved past it. Both NULL: zero */
};

static bool next_is_nil(struct source s)
{
    return s.r == NULL || weft_get_nil(s.r);
}

static void load_scalar(struct source s, const struct weft_type_info *type, union wf_scalar *out)
{
    memset(out, 0, sizeof *out);
    if (s.memory != NULL) {
        memcpy(out, s.memory, type->size);
    } else if (!next_is_nil(s)) {
        wf_typed_get_scalar(s.r, type->kind, out);
    }
}

/* ---- Fields and items of a source ------------------------------------------------------------------------------ */

struct fields {
    struct source s;
    uint32_t left; /* values that are still to be read, if packed */
};

static struct fields fields_of(struct source s)
{
    struct fields f = {s, 0};
    if (s.memory == NULL && !next_is_nil(s)) f.left = weft_get_array(s.r);
    return f;
}

static struct source next_field(struct fields *f, const struct weft_field_info *info)
{
    struct source s = {NULL, NULL};
    if (f->s.memory != NULL) {
        s.memory = f->s.memory + info->offset;
    } else if (f->left > 0) {
        f->left--;
        s.r = f->s.r;
    }
    return s;
}

static void end_fields(struct fields *f)
{
    for (; f->left > 0; f->left--) weft_skip(f->s.r);
}

/* Whether a maybe() has a value; if so, `*s` becomes that value. */
static bool is_present(struct source *s, const struct weft_type_info *type)
{
    if (s->memory == NULL) return !next_is_nil(*s);
    if (!*(const bool *)(const void *)s->memory) return false;
    s->memory += type->maybe_at;
    return true;
}

struct items {
    const struct weft_type_info *type;
    size_t count;
    const uint8_t *memory; /* or NULL */
    weft_reader own, *r;
    bool map;
};

static void open_items(struct items *it, struct source s, const struct weft_field_info *f)
{
    struct wf_many many = {NULL, 0, NULL, NULL};
    *it = (struct items){.type = f->type(), .map = f->shape == WEFT_SHAPE_MAP};
    if (s.memory == NULL) {
        if (next_is_nil(s)) return;
        it->count = it->map ? weft_get_map(s.r) : weft_get_array(s.r);
        it->r = s.r;
        return;
    }
    memcpy(&many, s.memory, sizeof many);
    it->count = many.count;
    it->memory = many.items;
    if (many.packed != NULL) {
        it->own = weft_reader_on(many.packed, (size_t)(many.end - many.packed));
        it->r = &it->own;
    }
}

static bool next_item(struct items *it, weft_text *key, struct source *out)
{
    if (it->count == 0 || (it->r != NULL && it->r->error != 0)) return false;
    it->count--;
    *out = (struct source){NULL, it->r};
    *key = weft_str("", 0);
    if (it->r != NULL) {
        if (it->map) *key = weft_get_str(it->r);
        return true;
    }
    if (it->map) memcpy(key, it->memory, sizeof *key);
    out->memory = it->memory + (it->map ? it->type->entry_at : 0);
    it->memory += it->map ? it->type->entry_size : it->type->size;
    return true;
}

/* ---- JSON ------------------------------------------------------------------------------------------------------ */

struct json {
    char *out;
    size_t capacity; /* without the NUL */
    size_t size;
};

static void add(struct json *j, const char *text, size_t size)
{
    if (j->size < j->capacity)
        memcpy(j->out + j->size, text, size < j->capacity - j->size ? size : j->capacity - j->size);
    j->size += size;
}

static void add_text(struct json *j, const char *text)
{
    add(j, text, strlen(text));
}

static void add_string(struct json *j, weft_text t)
{
    static const char escapes[] = "\b\t\n\f\r\"\\", letters[] = "btnfr\"\\";
    const uint8_t *at = (const uint8_t *)t.data;
    add(j, "\"", 1);
    for (size_t i = 0; i < t.size;) {
        size_t size = wf_utf8_size(at + i, t.size - i);
        const char *escape = size == 1 && at[i] != 0 ? strchr(escapes, at[i]) : NULL;
        if (size == 0) { /* one U+FFFD for each byte that is not part of a character */
            add_text(j, "\xEF\xBF\xBD");
            size = 1;
        } else if (escape != NULL) {
            char two[2] = {'\\', letters[escape - escapes]};
            add(j, two, 2);
        } else if (at[i] < ' ' || at[i] == 0x7F) {
            char text[8];
            snprintf(text, sizeof text, "\\u%04x", (unsigned)at[i]);
            add_text(j, text);
        } else {
            add(j, t.data + i, size);
        }
        i += size;
    }
    add(j, "\"", 1);
}

static void add_base64(struct json *j, weft_text t)
{
    const uint8_t *at = (const uint8_t *)t.data;
    add(j, "\"", 1);
    for (size_t i = 0; i < t.size; i += 3) {
        char four[4];
        wf_base64(at + i, t.size - i, four);
        add(j, four, 4);
    }
    add(j, "\"", 1);
}

static const int64_t exact_max = INT64_C(1) << 53; /* up to this, doubles represent integers exactly */

static void add_integer(struct json *j, bool negative, uint64_t magnitude)
{
    char text[32];
    const char *quote = magnitude > (uint64_t)exact_max ? "\"" : "";
    snprintf(text, sizeof text, "%s%s%" PRIu64 "%s", quote, negative ? "-" : "", magnitude, quote);
    add_text(j, text);
}

static void add_real(struct json *j, double value)
{
    char text[40];
    if (!isfinite(value)) {
        add_text(j, isnan(value) ? "\"NaN\"" : value > 0 ? "\"Infinity\"" : "\"-Infinity\"");
        return;
    }
    /* Writes the shortest form that reads back as the same number; a form with neither point nor exponent gets
     * ".0". */
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    bool whole = true;
    for (char *c = text; *c != 0; c++) {
        if ((*c >= '0' && *c <= '9') || *c == '-' || *c == '+') continue;
        if (*c != 'e') *c = '.'; /* the decimal point of a locale may be another character */
        whole = false;
    }
    add_text(j, text);
    if (whole) add_text(j, ".0");
}

static void add_scalar(struct json *j, const struct weft_type_info *type, const union wf_scalar *v)
{
    char text[WEFT_PID_TEXT];
    const char *name = type->kind == WEFT_KIND_ENUM ? weft_typed_name(type, v->number) : NULL;
    switch (type->kind) {
    case WEFT_KIND_STR: add_string(j, v->text); break;
    case WEFT_KIND_BIN: add_base64(j, v->text); break;
    case WEFT_KIND_BOOL: add_text(j, v->flag ? "true" : "false"); break;
    case WEFT_KIND_UINT: add_integer(j, false, v->natural); break;
    case WEFT_KIND_REAL: add_real(j, v->real); break;
    case WEFT_KIND_PID:
        if (weft_pid_is_nobody(v->pid)) {
            add_text(j, "null");
        } else {
            add_string(j, weft_cstr(weft_pid_format(v->pid, text)));
        }
        break;
    default:
        if (name != NULL) {
            add_string(j, weft_cstr(name));
        } else {
            add_integer(j, v->number < 0, v->number < 0 ? 0 - (uint64_t)v->number : (uint64_t)v->number);
        }
    }
}

static void add_value(struct json *j, const struct weft_type_info *type, struct source s, uint32_t depth);

static void add_field(struct json *j, const struct weft_field_info *f, struct source s, uint32_t depth)
{
    struct items it;
    struct source item;
    weft_text key;
    if (f->shape == WEFT_SHAPE_ONE) {
        add_value(j, f->type(), s, depth);
    } else if (f->shape == WEFT_SHAPE_MAYBE) {
        if (is_present(&s, f->type())) {
            add_value(j, f->type(), s, depth);
        } else {
            add_text(j, "null");
        }
    } else {
        open_items(&it, s, f);
        add_text(j, it.map ? "{" : "[");
        for (bool first = true; next_item(&it, &key, &item); first = false) {
            if (!first) add_text(j, ", ");
            if (it.map) add_string(j, key);
            if (it.map) add_text(j, ": ");
            add_value(j, it.type, item, depth + 1);
        }
        add_text(j, it.map ? "}" : "]");
    }
}

static void add_value(struct json *j, const struct weft_type_info *type, struct source s, uint32_t depth)
{
    union wf_scalar v;
    if (type->kind != WEFT_KIND_STRUCT) {
        load_scalar(s, type, &v);
        add_scalar(j, type, &v);
        return;
    }
    if (depth > WEFT_NEST_MAX) { /* a struct in memory may have a list that contains the struct itself */
        add_text(j, "null");
        return;
    }
    struct fields fields = fields_of(s);
    add_text(j, "{");
    for (size_t i = 0; i < type->count; i++) {
        const struct weft_field_info *f = &type->fields[i];
        if (i > 0) add_text(j, ", ");
        add_string(j, weft_cstr(f->name));
        add_text(j, ": ");
        add_field(j, f, next_field(&fields, f), depth + 1);
    }
    add_text(j, "}");
    end_fields(&fields);
}

static size_t print(const struct weft_type_info *type, struct source s, char *out, size_t size)
{
    struct json j = {out, size > 0 ? size - 1 : 0, 0};
    add_value(&j, type, s, 0);
    if (size > 0) out[j.size < size ? j.size : size - 1] = 0;
    return j.size;
}

size_t weft_typed_json(const struct weft_type_info *type, const void *value, char *out, size_t size)
{
    return print(type, (struct source){value, NULL}, out, size);
}

int64_t weft_packed_json(const struct weft_type_info *type, const void *data, size_t data_size, char *out,
                         size_t size)
{
    int rc = weft_typed_read(type, data, data_size, NULL, NULL);
    if (rc != 0) return rc;
    weft_reader r = weft_reader_on(data, data_size);
    return (int64_t)print(type, (struct source){NULL, &r}, out, size);
}

/* ---- Comparing ------------------------------------------------------------------------------------------------- */

static bool equal_value(const struct weft_type_info *type, struct source a, struct source b, uint32_t depth);

static bool equal_scalar(enum weft_kind kind, const union wf_scalar *a, const union wf_scalar *b)
{
    switch (kind) {
    case WEFT_KIND_STR:
    case WEFT_KIND_BIN: return wf_text_equal(a->text, b->text);
    case WEFT_KIND_BOOL: return a->flag == b->flag;
    case WEFT_KIND_REAL: return a->real == b->real || (isnan(a->real) && isnan(b->real));
    case WEFT_KIND_PID: return weft_pid_equal(a->pid, b->pid);
    default: return a->natural == b->natural;
    }
}

static bool equal_field(const struct weft_field_info *f, struct source a, struct source b, uint32_t depth)
{
    if (f->shape == WEFT_SHAPE_ONE) return equal_value(f->type(), a, b, depth);
    if (f->shape == WEFT_SHAPE_MAYBE) {
        bool in_a = is_present(&a, f->type()), in_b = is_present(&b, f->type());
        return in_a == in_b && (!in_a || equal_value(f->type(), a, b, depth));
    }
    struct items of_a, of_b;
    weft_text key_a, key_b;
    open_items(&of_a, a, f);
    open_items(&of_b, b, f);
    if (of_a.count != of_b.count) return false;
    while (next_item(&of_a, &key_a, &a) && next_item(&of_b, &key_b, &b)) {
        if (!wf_text_equal(key_a, key_b) || !equal_value(of_a.type, a, b, depth + 1)) return false;
    }
    return true;
}

static bool equal_value(const struct weft_type_info *type, struct source a, struct source b, uint32_t depth)
{
    union wf_scalar va, vb;
    if (type->kind != WEFT_KIND_STRUCT) {
        load_scalar(a, type, &va);
        load_scalar(b, type, &vb);
        return equal_scalar(type->kind, &va, &vb);
    }
    if (depth > WEFT_NEST_MAX) return false;
    struct fields of_a = fields_of(a), of_b = fields_of(b);
    for (size_t i = 0; i < type->count; i++) {
        const struct weft_field_info *f = &type->fields[i];
        a = next_field(&of_a, f);
        b = next_field(&of_b, f);
        if (!equal_field(f, a, b, depth + 1)) return false;
    }
    end_fields(&of_a);
    end_fields(&of_b);
    return true;
}

bool weft_typed_equal(const struct weft_type_info *type, const void *a, const void *b)
{
    return equal_value(type, (struct source){a, NULL}, (struct source){b, NULL}, 0);
}
