/* Any bytes as a batch of frames: every read stays within the bytes, items that were checked can be read, and a
 * message that is written again is the same. */
#include "fuzz.h"
#include "frame.h"
#include "frame_chunks.h"
#include "frame_tables.h"
#include "names.h"
#include "swim_wire.h"
#include "topic_trie.h"

static const char *from, *to;

static void check_view(weft_text t)
{
    if (t.size > 0) MUST(t.data >= from && t.data + t.size <= to);
}

static void check_same(weft_text a, weft_text b)
{
    MUST(a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0));
}

static void check_items(struct wf_frame *f)
{
    struct wf_frame_peer p;
    weft_text pattern;
    for (uint32_t i = 0; i < f->count && f->kind == WF_FRAME_PEERS; i++) {
        wf_frame_next_peer(f, &p);
        check_view(p.name);
        MUST(p.incarnation != 0 && p.url_count <= WF_FRAME_URLS);
        for (uint32_t k = 0; k < p.url_count; k++) check_view(p.url[k]);
    }
    for (uint32_t i = 0; i < f->count && f->kind == WF_FRAME_INTEREST; i++)
        MUST(wf_pattern_check(weft_get_str(&f->items)) == 0);
    for (uint32_t i = 0; i < f->count && f->kind == WF_FRAME_PUBLISH_TO; i++) {
        MUST(wf_name_check(wf_frame_next_queue(f, &pattern)) == 0);
        MUST(wf_pattern_check(pattern) == 0);
    }
    MUST(f->items.error == 0);
}

/* Written by the encoder it has to be what was read. */
static void check_again(const struct wf_frame *f)
{
    int kind = wf_frame_message(f->kind);
    size_t space = WF_FRAME_SPARE + (kind < 0 ? f->name.size : 0) + f->body.size;
    uint8_t *bytes = malloc(space);
    MUST(bytes != NULL);
    weft_writer w = weft_writer_on(bytes, space);
    if (kind >= 0)
        wf_put_to_actor(&w, (unsigned)kind, f->to, f->from, f->tag, f->ref, f->body.data, f->body.size, f->number);
    else if (f->kind == WF_FRAME_PUBLISH || f->kind == WF_FRAME_GROUP_SEND)
        wf_put_to_all(&w, (enum wf_frame_kind)f->kind, f->name, f->from, f->tag, f->body.data, f->body.size);
    else
        wf_put_to_name(&w, f->kind == WF_FRAME_CALL_NAME, f->name, f->from, f->tag, f->ref, f->body.data,
                       f->body.size, f->number);
    MUST(w.error == 0 && w.size <= space);
    struct wf_frame again;
    weft_reader r = weft_reader_on(bytes, w.size);
    MUST(wf_frame_next(&r, &again) == 1 && r.at == r.end);
    MUST(again.kind == f->kind && again.counted == f->counted && again.from == f->from);
    MUST(again.tag == f->tag && again.ref == f->ref && (kind < 0 || again.to == f->to));
    if (kind < 0) check_same(again.name, f->name);
    check_same(again.body, f->body);
    free(bytes);
}

static void check_frame(struct wf_frame *f, bool within)
{
    struct wf_frame part;
    switch (f->kind) {
    case WF_FRAME_HELLO:
        MUST(f->hello.incarnation != 0 && f->hello.newest >= f->hello.version);
        check_view(f->hello.name);
        check_view(f->hello.cluster);
        for (uint32_t i = 0; i < f->hello.url_count; i++) check_view(f->hello.url[i]);
        break;
    case WF_FRAME_REFUSED:
    case WF_FRAME_BYE: check_view(f->name); break;
    case WF_FRAME_PEERS:
    case WF_FRAME_INTEREST: check_items(f); break;
    case WF_FRAME_PUBLISH_TO:
        check_items(f);
        check_view(f->body);
        break;
    case WF_FRAME_CHUNK: {
        if (f->number == 0) {
            check_view(f->body);
            break;
        }
        weft_reader inside = f->items;
        if (!within && wf_frame_next(&inside, &part) == 1) check_frame(&part, true);
        break;
    }
    case WF_FRAME_TABLE: {
        if (f->number != WF_TABLE_SET && f->number != WF_TABLE_UNSET && f->number != WF_TABLE_TAKEN) break;
        struct wf_entry e = wf_frame_entry(f);
        check_view(e.key);
        if (e.table == WF_TABLE_QUEUES) check_view(e.queue);
        break;
    }
    default:
        if (!wf_frame_has_body(f->kind) || f->kind == WF_FRAME_RETAINED) break;
        check_view(f->body);
        check_again(f);
    }
}

int fuzz_one_input(const uint8_t *data, size_t size)
{
    weft_reader r = weft_reader_on(data, size);
    struct wf_frame f;
    char why[64];
    int got;
    from = (const char *)data;
    to = from + size;
    while ((got = wf_frame_next(&r, &f)) == 1) {
        MUST(r.at > data && r.at <= data + size);
        check_frame(&f, false);
    }
    MUST(got == 0 || got == WEFT_EFORMAT || got == WEFT_ETOOBIG);
    MUST((got == 0) == (r.at == r.end && r.error == 0));
    if (got < 0) wf_frame_fault(&r, &f, why, sizeof why);
    return 0;
}
