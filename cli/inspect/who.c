/* cli/inspect/who.c -- see who.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "who.h"
#include "control.h"

enum { BATCH = 256 }; /* a node takes this many actors in one question */

static struct cli_who *find(const struct cli_whos *all, weft_text asked)
{
    for (size_t i = 0; i < all->count; i++)
        if (weft_text_equal(asked, all->at[i].asked)) return &all->at[i];
    return NULL;
}

const struct cli_who *cli_who_of(const struct cli_whos *all, weft_text asked)
{
    return find(all, asked);
}

void cli_who_add(struct cli_whos *all, weft_text asked)
{
    if (asked.size == 0 || asked.size >= CLI_WHO_ASKED || all->count == CLI_WHOS_MAX || find(all, asked) != NULL)
        return;
    if (all->count == all->capacity) {
        size_t capacity = all->capacity == 0 ? 64 : 2 * all->capacity;
        struct cli_who *more = realloc(all->at, capacity * sizeof *more);
        if (more == NULL) return;
        all->at = more;
        all->capacity = capacity;
    }
    struct cli_who *w = &all->at[all->count++];
    *w = (struct cli_who){.waits_ns = 0};
    memcpy(w->asked, asked.data, asked.size);
}

void cli_who_free(struct cli_whos *all)
{
    free(all->at);
    *all = (struct cli_whos){.at = NULL};
}

/* ---- Asking ---------------------------------------------------------------------------------------------------- */

static void copy(char *out, size_t size, weft_text text)
{
    snprintf(out, size, "%.*s", WEFT_STR(text));
}

static bool read_row(weft_reader *r, struct cli_whos *all)
{
    uint32_t fields = weft_get_array(r);
    weft_text asked = weft_get_str(r), text[7];
    for (size_t i = 0; i < 7; i++) text[i] = weft_get_str(r);
    int64_t waits = weft_get_int(r);
    bool needs_all = weft_get_bool(r);
    uint64_t asks = weft_get_uint(r);
    weft_text ask = weft_get_str(r);
    for (; fields > 12 && r->error == 0; fields--) weft_skip(r); /* a newer node says more */
    if (r->error != 0) return false;
    struct cli_who *w = find(all, asked);
    if (w == NULL) return true;
    copy(w->node, sizeof w->node, text[0]);
    copy(w->why, sizeof w->why, text[1]);
    copy(w->pid, sizeof w->pid, text[2]);
    copy(w->kind, sizeof w->kind, text[3]);
    copy(w->name, sizeof w->name, text[4]);
    copy(w->state, sizeof w->state, text[5]);
    copy(w->waits_for, sizeof w->waits_for, text[6]);
    copy(w->ask, sizeof w->ask, ask);
    w->waits_ns = waits;
    w->needs_all = needs_all;
    w->asks = asks;
    return true;
}

static int ask_some(struct cli_client *k, struct cli_whos *all, size_t count)
{
    static const size_t capacity = 16 + BATCH * CLI_WHO_ASKED;
    weft_msg *m;
    uint8_t *request = malloc(capacity);
    if (request == NULL) return cli_fail(k->c, CLI_FAILED, "out of memory");
    weft_writer w = weft_writer_on(request, capacity);
    weft_put_array(&w, 2);
    weft_put_bool(&w, true);
    weft_put_array(&w, (uint32_t)count);
    for (size_t i = 0; i < count; i++) weft_put_str(&w, weft_cstr(all->at[all->asked + i].asked));
    if (!k->c->has_timeout) k->deadline = weft_after(WEFT_SEC(5)); /* each question has this time */
    int rc = cli_control_or_error(k, WF_CONTROL_WHO, request, w.size, &m);
    free(request);
    if (rc != CLI_OK) return rc;
    all->asked += count;
    weft_reader r = weft_reader_on(weft_data(m), weft_size(m));
    uint32_t rows = weft_tag(m) == WF_CONTROL_WHO ? weft_get_array(&r) : 0;
    while (rows-- > 0)
        if (!read_row(&r, all)) break;
    if (r.error != 0) rc = cli_cannot_decode(k);
    weft_msg_free(m);
    return rc;
}

int cli_who_ask(struct cli_client *k, struct cli_whos *all)
{
    int rc = CLI_OK;
    while (rc == CLI_OK && all->asked < all->count) {
        size_t left = all->count - all->asked;
        rc = ask_some(k, all, left < BATCH ? left : BATCH);
    }
    return rc;
}

/* ---- Showing --------------------------------------------------------------------------------------------------- */

const char *cli_span(int64_t ns, char out[32])
{
    if (ns < WEFT_MS(1)) snprintf(out, 32, "%.1f us", (double)ns / 1e3);
    else if (ns < WEFT_SEC(1)) snprintf(out, 32, "%.1f ms", (double)ns / 1e6);
    else snprintf(out, 32, "%.1f s", (double)ns / 1e9);
    return out;
}

const char *cli_who_text(const struct cli_who *w, const char *here, char out[CLI_WHO_TEXT])
{
    const char *number = w->pid[0] != '\0' ? w->pid : w->asked;
    int digits = (int)strcspn(number, "@");
    bool away = w->node[0] != '\0' && strcmp(w->node, here) != 0, named = w->name[0] != '\0';
    char inside[200];
    if (w->asked[0] == '\0' && w->pid[0] == '\0') return "nobody known";
    snprintf(inside, sizeof inside, "%s%s%.*s%s%s", w->kind, named && w->kind[0] != '\0' ? " " : "",
             named ? digits : 0, number, w->why[0] != '\0' && (named || w->kind[0] != '\0') ? ", " : "", w->why);
    snprintf(out, CLI_WHO_TEXT, "%s%s%.*s%s%s%s", away ? w->node : "", away ? "/" : "",
             named ? (int)sizeof w->name : digits, named ? w->name : number, inside[0] != '\0' ? " (" : "", inside,
             inside[0] != '\0' ? ")" : "");
    return out;
}

const char *cli_who_text_of(const struct cli_whos *all, weft_text asked, const char *here, char out[CLI_WHO_TEXT])
{
    const struct cli_who *w = find(all, asked);
    struct cli_who unknown = {.waits_ns = 0};
    copy(unknown.asked, sizeof unknown.asked, asked);
    return cli_who_text(w != NULL ? w : &unknown, here, out);
}

void cli_who_json(const char *prefix, const struct cli_who *w)
{
    const struct {
        const char *key, *value;
    } fields[] = {{"node", w->node}, {"kind", w->kind}, {"name", w->name}};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        printf(", \"%s%s\": ", prefix, fields[i].key);
        cli_print_string(stdout, fields[i].value, strlen(fields[i].value));
    }
}
