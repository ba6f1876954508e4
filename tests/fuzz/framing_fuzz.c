/* The stream of a tcp:// or ipc:// connection arrives in pieces of any sizes: the messages read from it are the same
 * as when it arrives in one piece. The first two bytes choose the kind of socket and the sizes of the pieces. */
#include "fuzz.h"
#include "sp.h"

enum { MESSAGE_MAX = 512, MESSAGES = 512 };

struct cut {
    size_t count, at[MESSAGES], size[MESSAGES]; /* where a message's bytes are in the stream */
    bool greeted, broken;
    size_t taken; /* bytes of the stream */
};

static void run(const uint8_t *data, size_t size, bool local, unsigned pieces, struct cut *out)
{
    struct wf_sp s;
    size_t wanted = 0, fed = 0;
    char why[64] = "";
    memset(out, 0, sizeof *out);
    wf_sp_init(&s, local, 16, MESSAGE_MAX);
    for (unsigned turn = 0; fed < size && !out->broken; turn++) {
        MUST(wf_sp_reserve(&s, wanted));
        MUST(s.capacity - s.end >= 1 && s.capacity >= s.start + wanted);
        size_t n = pieces == 0 ? size : 1 + (pieces * (turn + 1)) % 37;
        n = WF_MIN(WF_MIN(n, size - fed), s.capacity - s.end);
        memcpy(s.buffer + s.end, data + fed, n);
        s.end += n;
        fed += n;
        for (;;) {
            const uint8_t *message = NULL;
            size_t message_size = 0;
            enum wf_sp_result r = wf_sp_next(&s, &message, &message_size, &wanted, why, sizeof why);
            out->greeted |= r == WF_SP_GREETED;
            out->broken |= r == WF_SP_BROKEN;
            if (r == WF_SP_MORE || r == WF_SP_BROKEN) break;
            if (r != WF_SP_MESSAGE) continue;
            MUST(message >= s.buffer && message + message_size <= s.buffer + s.end && message_size <= MESSAGE_MAX);
            size_t at = fed - (size_t)(s.buffer + s.end - message);
            MUST(memcmp(message, data + at, message_size) == 0);
            if (out->count == MESSAGES) continue;
            out->at[out->count] = at;
            out->size[out->count++] = message_size;
        }
        MUST(!out->broken || why[0] != '\0');
        MUST(wanted <= MESSAGE_MAX + WF_SP_PREFIX_MAX);
    }
    out->taken = fed - (s.end - s.start);
    wf_sp_finish(&s);
}

int fuzz_one_input(const uint8_t *data, size_t size)
{
    static struct cut whole, parts;
    uint8_t prefix[WF_SP_PREFIX_MAX];
    struct input in = {data, data + size};
    bool local = (input_byte(&in) & 1) != 0;
    unsigned pieces = input_byte(&in);
    run(in.at, input_left(&in), local, 0, &whole);
    run(in.at, input_left(&in), local, pieces, &parts);
    MUST(whole.count == parts.count && whole.broken == parts.broken && whole.greeted == parts.greeted);
    MUST(memcmp(whole.at, parts.at, sizeof whole.at) == 0 && memcmp(whole.size, parts.size, sizeof whole.size) == 0);
    MUST(whole.broken || whole.taken == parts.taken);
    for (size_t i = 0; i < whole.count; i++) {
        size_t n = wf_sp_prefix(prefix, local, whole.size[i]);
        MUST(memcmp(in.at + whole.at[i] - n, prefix, n) == 0);
    }
    return 0;
}
