%% Groups: the module pg. A group for each row.
-module(rows_group).
-compile([export_all, nowarn_export_all]).
-import(rows, [silence/0, say/1, say_mail/0, say_message/1, attempt/1, start/1]).
-define(G, ?FUNCTION_NAME).

joined(Group) ->
    A = start(fun rows:idle/0),
    ok = pg:join(Group, A),
    A.

count(Group) -> say(length(pg:get_members(Group))).

%% pg has dealt with what it was sent before.
settle() -> sys:get_state(pg).

news() ->
    receive {_, What, _, Pids} when is_list(Pids) -> [say(What) || _ <- Pids], news_more()
    after silence() -> say(nothing)
    end.

news_more() ->
    receive {_, What, _, Pids} when is_list(Pids) -> [say(What) || _ <- Pids], news_more()
    after silence() -> ok
    end.

group_join_twice() ->
    attempt(fun() -> pg:join(?G, self()) end),
    attempt(fun() -> pg:join(?G, self()) end),
    count(?G).

group_leave_once() -> pg:join(?G, self()), pg:join(?G, self()), pg:leave(?G, self()), count(?G).
group_leave_none() -> attempt(fun() -> pg:leave(?G, self()) end).
group_empty() -> count(?G).

group_member_ends() ->
    A = joined(?G),
    count(?G),
    R = monitor(process, A),
    exit(A, kill),
    receive {'DOWN', R, _, _, _} -> gone(?G) end,
    count(?G).

%% pg hears of the end by a DOWN of its own, whenever that comes.
gone(Group) ->
    settle(),
    case pg:get_members(Group) of [] -> ok; _ -> gone(Group) end.

group_watch_news() -> pg:monitor(?G), exit(joined(?G), kill), news().

group_watch_existing() ->
    joined(?G),
    joined(?G),
    {_, Members} = pg:monitor(?G),
    [say(join) || _ <- Members],
    receive {_, What, _, _} -> say(What) after silence() -> ok end.

group_watch_leave() -> pg:monitor(?G), pg:join(?G, self()), pg:leave(?G, self()), news().

group_unwatch() ->
    {R, _} = pg:monitor(?G),
    pg:join(?G, self()),
    pg:demonitor(R),
    news().

group_watch_twice() ->
    attempt(fun() -> pg:monitor(?G) end),
    attempt(fun() -> pg:monitor(?G) end),
    pg:join(?G, self()),
    news().
