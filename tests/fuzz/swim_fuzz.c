/* Messages of other members to one member, while time passes: an operation, the sender, a size, a frame. After each
 * step the table is consistent, and all messages of the member are well-formed. */
#include "fuzz.h"
#include "swim.h"
#include "swim_table.h"

enum { ME = 1, OTHERS = 4, MEMBERS_CHECKED = 512 };

static void check_message(const void *frame, size_t size)
{
    struct wf_swim_message m;
    MUST(wf_swim_read_frame(frame, size, &m) == 0 && size <= WF_SWIM_MESSAGE_MAX);
    for (uint32_t i = 0; i < m.count; i++) {
        struct wf_swim_update u;
        wf_swim_read_update(&m.items, &u);
        MUST(m.items.error == 0 && u.state <= WF_SWIM_LEFT && u.number <= WF_SWIM_NUMBER_MAX);
        if (u.record.size > 0) MUST(wf_swim_record_of(u.record).name.size > 0);
    }
}

static bool on_send(void *arg, uint64_t to, const void *frame, size_t size)
{
    (void)arg;
    MUST(to != ME);
    check_message(frame, size);
    return to % 5 != 0;
}

static void on_changed(void *arg, const struct wf_swim_member *m, enum wf_swim_state before)
{
    (void)arg;
    MUST(m->state <= WF_SWIM_LEFT && before <= WF_SWIM_LEFT);
}

static weft_text record_of(const char *name, uint8_t bytes[128])
{
    struct wf_swim_record r = {.name = weft_cstr(name), .url = {weft_cstr("tcp://127.0.0.1:1")}, .url_count = 1};
    weft_writer w = weft_writer_on(bytes, 128);
    wf_put_swim_record(&w, &r);
    MUST(w.error == 0);
    return (weft_text){(const char *)bytes, w.size};
}

static void check_table(const struct wf_swim *s)
{
    uint32_t present = 0;
    MUST(wf_swim_find(s, ME) == s->self && (s->leaving || s->self->state == WF_SWIM_ALIVE));
    for (uint32_t i = 0; i < s->count; i++) {
        const struct wf_swim_member *m = s->at[i];
        present += wf_swim_present(m);
        MUST(m->place == i && (i > MEMBERS_CHECKED || wf_swim_find(s, m->node) == m));
        MUST(m->state != WF_SWIM_SUSPECT || m->accuser_count > 0);
    }
    MUST(s->present == present && s->count <= WF_SWIM_MEMBERS_MAX);
}

int fuzz_one_input(const uint8_t *data, size_t size)
{
    static const struct wf_swim_user user = {.send = on_send, .changed = on_changed};
    struct input in = {data, data + size};
    struct wf_swim_options o = {.seed = 1};
    uint8_t bytes[128];
    int64_t now = WEFT_SEC(10);
    struct wf_swim *s = wf_swim_new(&o, &user, NULL, ME, record_of("me", bytes), now);
    MUST(s != NULL);
    for (uint64_t i = 0; i < OTHERS; i++) {
        char name[] = {'m', (char)('a' + i), '\0'};
        struct wf_swim_update u = {.node = 2 + i, .record = record_of(name, bytes)};
        wf_swim_learn(s, &u, now);
    }
    while (input_left(&in) > 0) {
        unsigned operation = input_byte(&in), who = input_byte(&in);
        uint64_t node = who % 8 + 1;
        if (operation < 128) {
            size_t n = input_size(&in);
            uint8_t *frame = input_copy(&in, &n);
            struct wf_swim_message m;
            int read = wf_swim_read_frame(frame, n, &m);
            if (node != ME) MUST((wf_swim_receive(s, node, frame, n, now) == 0) == (read == 0));
            free(frame);
        } else if (operation < 160) now += WEFT_MS(10) * (who + 1);
        else if (operation < 176) wf_swim_greet(s, node);
        else if (operation < 192) wf_swim_recheck(s, node, now);
        else if (operation < 208 && node != ME)
            wf_swim_declare(s, node, operation % 2 == 0 ? WF_SWIM_DOWN : WF_SWIM_LEFT, now);
        else if (operation < 224) MUST(wf_swim_describe(s, record_of("me", bytes), now) == 0);
        else if (operation == 255) wf_swim_leave(s, now);
        MUST(wf_swim_tick(s, now) >= now);
        check_table(s);
    }
    wf_swim_free(s);
    return 0;
}
