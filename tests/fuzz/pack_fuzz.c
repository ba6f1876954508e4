/* Any bytes at all: the check and the reader must agree on whether they are msgpack, and where they stop being so. */
#include <stdlib.h>

#include <weft/pack.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads one value, whatever it is, through the typed calls. */
static void read_value(weft_reader *r, int depth)
{
    if (depth > WEFT_NEST_MAX) {
        weft_skip(r);
        return;
    }
    switch (weft_peek_type(r)) {
    case WEFT_NIL: (void)weft_get_nil(r); break;
    case WEFT_BOOL: (void)weft_get_bool(r); break;
    case WEFT_INT: (void)weft_get_int(r); break;
    case WEFT_UINT: (void)weft_get_uint(r); break;
    case WEFT_REAL: (void)weft_get_real(r); break;
    case WEFT_TEXT: (void)weft_get_str(r); break;
    case WEFT_BIN: (void)weft_get_bin(r); break;
    case WEFT_ARRAY:
        for (uint32_t left = weft_get_array(r); left > 0 && r->error == 0; left--) read_value(r, depth + 1);
        break;
    case WEFT_MAP:
        for (uint64_t left = 2 * (uint64_t)weft_get_map(r); left > 0 && r->error == 0; left--)
            read_value(r, depth + 1);
        break;
    default: weft_skip(r); break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t where = 0;
    int checked = weft_pack_check(data, size, SIZE_MAX, &where);
    if (checked != 0 && where > size) abort();

    weft_reader typed = weft_reader_on(data, size), skipped = typed;
    read_value(&typed, 0);
    weft_skip(&skipped);
    if (checked == 0) {
        if (skipped.error != 0 || skipped.at != skipped.end) abort();
        if (typed.error != 0 || typed.at != typed.end) abort();
    }
    return 0;
}
