/* cli/options/values.c -- see values.h. */
#include "values.h"
#include "option_check.h"

#include <stdlib.h>
#include <string.h>
#include <weft.h>

/* Reads digits and perhaps k, M or G; returns the text after them; NULL: it is not such a number. */
static const char *read_units(const char *digits, uint64_t *out)
{
    char *end;
    uint64_t n = strtoull(digits, &end, 10);
    uint64_t unit = *end == 'k' ? 1000 : *end == 'M' ? 1000000 : *end == 'G' ? 1000000000 : 1;
    if (unit > 1) end++;
    if (digits[0] < '0' || digits[0] > '9') return NULL;
    if (n > 999999999999 / unit) return NULL; /* twelve digits, written out */
    *out = n * unit;
    return end;
}

bool cli_read_limits(const char *value, struct cli_limits *out)
{
    const struct {
        const char *name;
        uint64_t *value;
    } limits[] = {{"frames=", &out->frames}, {"bytes=", &out->bytes}, {"spawns=", &out->spawns}};
    for (const char *at = value; at[0] != '\0';) {
        size_t i = 0;
        while (i < 3 && strncmp(at, limits[i].name, strlen(limits[i].name)) != 0) i++;
        if (i == 3) return false;
        const char *end = read_units(at + strlen(limits[i].name), limits[i].value);
        if (end == NULL || (*end != ',' && *end != '\0')) return false;
        at = *end == ',' ? end + 1 : end;
    }
    return true;
}

bool cli_read_partition(const char *value, struct cli_partition *out)
{
    char *end;
    unsigned long quorum = strtoul(value, &end, 10);
    *out = (struct cli_partition){WEFT_PARTITION_NONE, 0};
    if (strcmp(value, "none") == 0) return true;
    if (strcmp(value, "majority") == 0) {
        out->policy = WEFT_PARTITION_MAJORITY;
        return true;
    }
    if (*value < '1' || *value > '9' || *end != '\0' || quorum > 4096) return false;
    *out = (struct cli_partition){WEFT_PARTITION_QUORUM, (uint32_t)quorum};
    return true;
}

/* A number of a pattern's rules: ":count=". */
struct rule {
    const char *name;
    uint64_t *value;
};

static bool read_rules(const char *value, char pattern[256], const struct rule *rules, size_t count)
{
    size_t size = strcspn(value, ":");
    if (size == 0 || size >= 256) return false;
    memcpy(pattern, value, size);
    pattern[size] = '\0';
    for (const char *at = value + size; at[0] != '\0';) {
        size_t i = 0;
        while (i < count && strncmp(at, rules[i].name, strlen(rules[i].name)) != 0) i++;
        at = i == count ? NULL : read_units(at + strlen(rules[i].name), rules[i].value);
        if (at == NULL || (at[0] != ':' && at[0] != '\0')) return false;
    }
    return true;
}

static bool to_ns(uint64_t seconds, int64_t *out)
{
    if (seconds > INT64_MAX / 1000000000) return false;
    *out = (int64_t)seconds * 1000000000;
    return true;
}

bool cli_read_stored(const char *value, struct cli_stored *out)
{
    uint64_t seconds = 0;
    const struct rule limits[] = {{":count=", &out->count}, {":bytes=", &out->bytes}, {":age=", &seconds}};
    return read_rules(value, out->pattern, limits, 3) && to_ns(seconds, &out->age);
}

bool cli_read_queues(const char *value, struct cli_queues *out)
{
    uint64_t seconds = 0;
    const struct rule rules[] = {{":lease=", &seconds}, {":attempts=", &out->attempts}, {":jobs=", &out->jobs}};
    return read_rules(value, out->pattern, rules, 3) && to_ns(seconds, &out->lease) && out->attempts <= UINT32_MAX &&
           out->jobs <= 1000000;
}

bool cli_read_position(const char *value, struct cli_position *out)
{
    const char *colon = strchr(value, ':'), *digits = colon == NULL ? value : colon + 1;
    char *end;
    *out = (struct cli_position){0, strcmp(value, "now") == 0 ? UINT64_MAX : 0};
    if (strcmp(value, "start") == 0 || strcmp(value, "now") == 0) return true;
    if (colon != NULL) {
        size_t size = (size_t)(colon - value);
        if (size == 0 || size > 16 || strspn(value, "0123456789abcdef") != size) return false;
        out->epoch = strtoull(value, NULL, 16);
    }
    out->offset = strtoull(digits, &end, 10);
    return digits[0] >= '0' && digits[0] <= '9' && *end == '\0' && end - digits <= 13;
}

bool cli_is_cluster_name(const char *name)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    size_t n = strlen(name);
    return n > 0 && n <= CLI_NODE_NAME_MAX && strspn(name, letters) == n;
}

bool cli_is_node_name(const char *name)
{
    return cli_is_cluster_name(name) && name[0] != '.';
}

int cli_check_node_name(const struct cli *c, const char *name)
{
    if (cli_is_node_name(name)) return CLI_OK;
    return cli_fail(c, CLI_USAGE, "%s is not a node's name: " CLI_NODE_NAME_RULE, CLI_QUOTE(name));
}

bool cli_is_cursor(const char *name)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
    size_t size = strlen(name);
    return size > 0 && size <= 64 && strspn(name, allowed) == size;
}

/* False, after a message about `shown`, of which `value` is a part. */
static bool is_right(const struct cli *c, enum wf_option option, const char *value, const char *shown)
{
    char why[WF_OPTION_WHY];
    const char *wrong = wf_option_check(option, value, why);
    if (wrong != NULL) cli_fail(c, 0, "%s: %s", CLI_QUOTE(shown), wrong);
    return wrong == NULL;
}

bool cli_is_topic(const struct cli *c, const char *topic)
{
    char why[WF_OPTION_WHY];
    if (wf_option_check(WF_OPTION_TOPIC, topic, why) == NULL) return true;
    if (wf_option_check(WF_OPTION_PATTERN, topic, why) != NULL) return is_right(c, WF_OPTION_TOPIC, topic, topic);
    cli_fail(c, 0, "%s is a pattern, which stands for many topics: give one topic", CLI_QUOTE(topic));
    return false;
}

bool cli_is_pattern(const struct cli *c, const char *pattern)
{
    return is_right(c, WF_OPTION_PATTERN, pattern, pattern);
}

bool cli_is_actor_name(const struct cli *c, const char *name)
{
    char actor[CLI_NODE_NAME_MAX + 2]; /* if it is cut, it is too long */
    const char *at = strchr(name, '@');
    snprintf(actor, sizeof actor, "%.*s", (int)(at == NULL ? strlen(name) : (size_t)(at - name)), name);
    if (at != NULL && !cli_is_node_name(at + 1)) return cli_check_node_name(c, at + 1) == CLI_OK;
    return is_right(c, WF_OPTION_NAME, actor, name);
}
