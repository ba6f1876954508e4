/* Pools. */
#include "rows.h"

ACTOR(member)
{
    for (weft_msg *m; weft_recv(&m, WEFT_FOREVER) == 0; weft_msg_free(m)) {
        if (weft_tag(m) == 4) weft_exit(17);
        weft_reply(m, 42, NULL, 0);
    }
}

static weft_pid pool_of(weft_pool_options o)
{
    weft_pid p = weft_nobody();
    if (weft_spawn_pool(&p, member, NULL, 0, &o) != 0) say("error");
    return p;
}

static void ask(weft_pid who, uint32_t what)
{
    weft_msg *answer;
    int rc = weft_call(who, what, NULL, 0, &answer, weft_after(WEFT_SEC(1)));
    if (rc == 0) say_message(answer);
    else say_result(rc);
}

ROW(pool_member_fails)
{
    weft_pid p = pool_of((weft_pool_options){.count = 1});
    ask(p, 4);
    ask(p, 1);
}

ROW(pool_without_members)
{
    weft_pid p = pool_of((weft_pool_options){.count = 1, .replace = WEFT_POOL_REPLACE_NEVER});
    ask(p, 4);
    ask(p, 1);
}

ROW(pool_fails_too_often)
{
    weft_pid p = pool_of((weft_pool_options){.count = 1, .replacements_max = 1});
    weft_monitor(p, NULL);
    ask(p, 4);
    ask(p, 4);
    say_mail();
}

ROW(pool_stopped)
{
    weft_pid p = pool_of((weft_pool_options){.count = 2});
    weft_monitor(p, NULL);
    say_result(weft_pool_stop(p, WEFT_FOREVER));
    say_mail();
}
