/* transport/wire/swim_wire.c -- writes and reads the frames of membership. */
#include "swim_wire.h"

#include "frame.h"
#include "frame_read.h"
#include "pack.h"
#include "typed.h"

#include <string.h>

_Static_assert(WF_COUNT(((struct wf_swim_record *)0)->url) == WF_FRAME_URLS, "as many as a HELLO has");
_Static_assert(WF_NODE_NAME_MAX + WF_FRAME_URLS * (WF_FRAME_URL_MAX + 3) + WF_SWIM_META_BYTES + WF_SWIM_META_MAX * 4 +
                       16 <=
                   WF_SWIM_RECORD_MAX,
               "the largest record there is");
_Static_assert(2 * (WF_SWIM_RECORD_MAX + 64) < WF_SWIM_MESSAGE_MAX, "a frame has space for at least two");

/* ---- Reading --------------------------------------------------------------------------------------------------- */

static bool is_plain(weft_text t)
{
    for (size_t i = 0; i < t.size; i++)
        if ((unsigned char)t.data[i] < ' ' || t.data[i] == 127) return false;
    return true;
}

static weft_text get_plain(weft_reader *r, size_t max, bool spaces)
{
    weft_text t = weft_get_str(r);
    if (t.size > max || !is_plain(t) || (!spaces && t.size > 0 && memchr(t.data, ' ', t.size) != NULL))
        wf_read_fault(r);
    return t;
}

int wf_swim_meta_check(const struct wf_swim_record *r)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < r->meta_count; i++) {
        weft_text k = r->key[i], v = r->value[i];
        bytes += k.size + v.size;
        if (k.size > WF_SWIM_META_KEY || v.size > WF_SWIM_META_VALUE || bytes > WF_SWIM_META_BYTES)
            return WEFT_ETOOBIG;
        if (k.size == 0 || !is_plain(k) || !is_plain(v)) return WEFT_EINVAL;
        for (uint32_t j = 0; j < i; j++)
            if (r->key[j].size == k.size && memcmp(r->key[j].data, k.data, k.size) == 0) return WEFT_EINVAL;
    }
    return WEFT_OK;
}

static void get_meta(weft_reader *r, struct wf_swim_record *out)
{
    uint32_t count = weft_get_map(r);
    if (count > WF_SWIM_META_MAX) wf_read_fault(r);
    for (uint32_t i = 0; i < count && r->error == 0; i++) {
        out->key[i] = weft_get_str(r);
        out->value[i] = weft_get_str(r);
        out->meta_count = i + 1;
    }
    if (r->error == 0 && wf_swim_meta_check(out) < 0) wf_read_fault(r);
}

/* A record from another node may be bad: see r->error. */
static void read_record(weft_reader *r, struct wf_swim_record *out)
{
    const uint8_t *start = r->at;
    uint32_t count = wf_read_array(r, 3);
    out->name = wf_read_name(r);
    out->url_count = weft_get_array(r);
    out->meta_count = 0;
    if (out->url_count > WF_FRAME_URLS) wf_read_fault(r);
    for (uint32_t i = 0; i < out->url_count && r->error == 0; i++)
        out->url[i] = get_plain(r, WF_FRAME_URL_MAX, false);
    if (r->error == 0) get_meta(r, out);
    wf_read_skip(r, count - 3);
    if ((size_t)(r->at - start) > WF_SWIM_RECORD_MAX) wf_read_fault(r);
    if (r->error != 0) out->url_count = out->meta_count = 0;
}

struct wf_swim_record wf_swim_record_of(weft_text record)
{
    struct wf_swim_record out;
    weft_reader r = weft_reader_on(record.data, record.size);
    read_record(&r, &out);
    WF_ASSERT(r.error == 0);
    return out;
}

void wf_swim_read_update(weft_reader *r, struct wf_swim_update *out)
{
    uint32_t count = wf_read_array(r, 4);
    out->node = weft_get_uint(r);
    uint64_t state = weft_get_uint(r);
    out->number = weft_get_uint(r);
    out->by = weft_get_uint(r);
    out->record = (weft_text){0};
    if (out->node == 0 || state > WF_SWIM_LEFT || out->number >= WF_SWIM_NUMBER_MAX) wf_read_fault(r);
    out->state = (enum wf_swim_state)state;
    if (count == 4 || r->error != 0) return;
    const uint8_t *start = r->at;
    struct wf_swim_record checked;
    read_record(r, &checked);
    if (r->error == 0) out->record = (weft_text){(const char *)start, (size_t)(r->at - start)};
    wf_read_skip(r, count - 5);
}

static void get_updates(weft_reader *r, struct wf_swim_message *m)
{
    m->count = weft_get_array(r);
    if (m->count > WF_SWIM_SYNC_MAX) wf_read_fault(r);
    m->items = *r;
    struct wf_swim_update u;
    for (uint32_t i = 0; i < m->count && r->error == 0; i++) wf_swim_read_update(r, &u);
}

uint32_t wf_swim_read(weft_reader *r, uint32_t kind, struct wf_swim_message *out)
{
    *out = (struct wf_swim_message){.kind = kind};
    if (kind == WF_SWIM_SYNC) {
        out->flags = weft_get_uint(r);
        get_updates(r, out);
        return 2;
    }
    out->sequence = weft_get_uint(r);
    if (kind == WF_SWIM_ASK) {
        out->node = weft_get_uint(r);
        if (out->node == 0) wf_read_fault(r);
    } else {
        out->digest = weft_get_uint(r);
        out->flags = weft_get_uint(r);
    }
    get_updates(r, out);
    return kind == WF_SWIM_ASK ? 3 : 4;
}

int wf_swim_read_frame(const void *data, size_t size, struct wf_swim_message *out)
{
    weft_reader r = weft_reader_on(data, size);
    uint32_t count = wf_read_array(&r, 1);
    uint64_t kind = weft_get_uint(&r);
    if (kind < WF_SWIM_PING || kind > WF_SWIM_SYNC) wf_read_fault(&r);
    if (r.error < 0) return r.error;
    uint32_t read = wf_swim_read(&r, (uint32_t)kind, out);
    if (count - 1 < read) wf_read_fault(&r);
    else wf_read_skip(&r, count - 1 - read);
    return r.error;
}

/* ---- Writing --------------------------------------------------------------------------------------------------- */

void wf_put_swim(weft_writer *w, const struct wf_swim_message *m)
{
    uint32_t values = m->kind == WF_SWIM_SYNC ? 2 : m->kind == WF_SWIM_ASK ? 3 : 4;
    weft_put_array(w, values + 1);
    weft_put_uint(w, m->kind);
    if (m->kind != WF_SWIM_SYNC) weft_put_uint(w, m->sequence);
    if (m->kind == WF_SWIM_ASK) weft_put_uint(w, m->node);
    if (m->kind == WF_SWIM_PING || m->kind == WF_SWIM_ACK) weft_put_uint(w, m->digest);
    if (m->kind != WF_SWIM_ASK) weft_put_uint(w, m->flags);
    weft_put_array(w, m->count);
}

void wf_put_swim_update(weft_writer *w, const struct wf_swim_update *u)
{
    weft_put_array(w, u->record.size > 0 ? 5 : 4);
    weft_put_uint(w, u->node);
    weft_put_uint(w, u->state);
    weft_put_uint(w, u->number);
    weft_put_uint(w, u->by);
    wf_pack_raw(w, u->record.data, u->record.size); /* msgpack already; size 0: nothing */
}

void wf_put_swim_record(weft_writer *w, const struct wf_swim_record *r)
{
    weft_put_array(w, 3);
    weft_put_str(w, r->name);
    weft_put_array(w, r->url_count);
    for (uint32_t i = 0; i < r->url_count; i++) weft_put_str(w, r->url[i]);
    weft_put_map(w, r->meta_count);
    for (uint32_t i = 0; i < r->meta_count; i++) {
        weft_put_str(w, r->key[i]);
        weft_put_str(w, r->value[i]);
    }
}
