/* cli/stored_none.c -- a weft that was built without SQLite. */
#include "stored.h"

static int none(const struct cli *c)
{
    return cli_fail(c, CLI_FAILED, "this weft was built without SQLite: install libsqlite3-dev and build weft again");
}

const char *cli_store_shown(const char *url)
{
    (void)url;
    return "";
}

static bool check_url(const char *url, char why[CLI_WHY])
{
    (void)url;
    snprintf(why, CLI_WHY, "this weft was built without SQLite: install libsqlite3-dev and build weft again");
    return false;
}

const struct cli_store_rules cli_stored_rules = {check_url, cli_store_shown};

void cli_store_hide(struct cli *c, int count, char **words)
{
    (void)c, (void)count, (void)words;
}

int cli_store_topics(const struct cli *c)
{
    return none(c);
}

int cli_store_read(const struct cli *c)
{
    return none(c);
}

int cli_store_check(const struct cli *c)
{
    return none(c);
}

int cli_store_cursors(const struct cli *c)
{
    return none(c);
}

int cli_store_queues(const struct cli *c)
{
    return none(c);
}

int cli_store_reminders(const struct cli *c)
{
    return none(c);
}

int cli_store_states(const struct cli *c)
{
    return none(c);
}

int cli_store_dead(const struct cli *c)
{
    return none(c);
}

int cli_store_retry(const struct cli *c)
{
    return none(c);
}

int cli_store_drop(const struct cli *c)
{
    return none(c);
}

int cli_store_export(const struct cli *c)
{
    return none(c);
}

int cli_store_import(const struct cli *c)
{
    return none(c);
}

int cli_publish_stored(struct cli_client *k)
{
    return none(k->c);
}

int cli_subscribe_stored(struct cli_client *k)
{
    return none(k->c);
}

int cli_follow_cursor(struct cli_client *k)
{
    return none(k->c);
}

int cli_store_first(const struct cli *c, weft_actor **first)
{
    (void)first;
    return c->store == NULL && c->stored_topics.count == 0 && c->queues.count == 0 && c->states.count == 0 ? CLI_OK
                                                                                                           : none(c);
}
