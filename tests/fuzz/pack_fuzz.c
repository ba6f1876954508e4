/* Any bytes: the check, the skip, the typed calls and msgpack-c must agree on whether they are msgpack. The values
 * are written again; the result must be readable, and stay the same when it is written once more. */
#include <msgpack.h>

#include <weft/error.h>
#include <weft/pack.h>

#include "fuzz.h"

/* Reads one value, whatever it is, through the typed calls, and writes it. An ext becomes a nil. */
static void copy_value(weft_reader *r, weft_writer *w, int depth)
{
    uint64_t left = 0;
    weft_text t;
    if (depth > WEFT_NEST_MAX) {
        weft_skip(r);
        return;
    }
    switch (weft_peek_type(r)) {
    case WEFT_NIL:
        MUST(weft_get_nil(r));
        weft_put_nil(w);
        break;
    case WEFT_BOOL: weft_put_bool(w, weft_get_bool(r)); break;
    case WEFT_INT: weft_put_int(w, weft_get_int(r)); break;
    case WEFT_UINT: weft_put_uint(w, weft_get_uint(r)); break;
    case WEFT_REAL: weft_put_real(w, weft_get_real(r)); break;
    case WEFT_TEXT: weft_put_str(w, weft_get_str(r)); break;
    case WEFT_BIN:
        t = weft_get_bin(r);
        weft_put_bin(w, t.data, t.size);
        break;
    case WEFT_ARRAY:
        left = weft_get_array(r);
        weft_put_array(w, (uint32_t)left);
        break;
    case WEFT_MAP:
        left = weft_get_map(r);
        weft_put_map(w, (uint32_t)left);
        left *= 2;
        break;
    default:
        weft_skip(r);
        weft_put_nil(w);
        break;
    }
    for (; left > 0 && r->error == 0; left--) copy_value(r, w, depth + 1);
}

/* Returns what `data` is when written by weft; *size gets its length. */
static uint8_t *rewrite(const uint8_t *data, size_t *size)
{
    weft_reader r = weft_reader_on(data, *size);
    weft_writer w = weft_writer_on(NULL, 0);
    copy_value(&r, &w, 0);
    MUST(r.error == 0 && r.at == r.end && w.error == 0);
    size_t space = w.size;
    uint8_t *out = malloc(space);
    MUST(out != NULL);
    r = weft_reader_on(data, *size);
    w = weft_writer_on(out, space);
    copy_value(&r, &w, 0);
    MUST(w.error == 0 && w.size == space);
    *size = space;
    return out;
}

int fuzz_one_input(const uint8_t *data, size_t size)
{
    size_t where = 0, fault = 0;
    int checked = weft_pack_check(data, size, SIZE_MAX, &where);
    MUST(checked == 0 || where <= size);
    int limited = weft_pack_check(data, size, 16, &fault);
    MUST(limited == checked || (limited == WEFT_ETOOBIG && (checked == 0 || fault <= where)));

    weft_reader typed = weft_reader_on(data, size), skipped = typed;
    weft_writer nowhere = weft_writer_on(NULL, 0);
    copy_value(&typed, &nowhere, 0);
    weft_skip(&skipped);
    MUST((checked == 0) == (skipped.error == 0 && skipped.at == skipped.end));
    if (checked != 0) return 0;

    msgpack_unpacked theirs;
    msgpack_unpacked_init(&theirs);
    MUST(msgpack_unpack_next(&theirs, (const char *)data, size, NULL) == MSGPACK_UNPACK_SUCCESS);
    msgpack_unpacked_destroy(&theirs);

    size_t once_size = size;
    uint8_t *once = rewrite(data, &once_size);
    MUST(weft_pack_check(once, once_size, SIZE_MAX, NULL) == 0);
    size_t twice_size = once_size;
    uint8_t *twice = rewrite(once, &twice_size);
    MUST(once_size == twice_size && memcmp(once, twice, once_size) == 0);
    free(once);
    free(twice);
    return 0;
}
