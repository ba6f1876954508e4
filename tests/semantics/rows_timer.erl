%% Messages sent later: erlang:send_after, timer:send_interval.
-module(rows_timer).
-compile([export_all, nowarn_export_all]).
-import(rows, [say/1, say_mail/0, attempt/1, start/1, puppet/0, do/2, do_exit/2]).

later(In, To, Message) ->
    T = erlang:send_after(In, To, Message),
    say(ok),
    T.

cancel(T) -> attempt(fun() -> erlang:cancel_timer(T) end).
let_pass(Ms) -> receive never -> ok after Ms -> ok end.

timer_fires() -> later(10, self(), 1), say_mail().
timer_to_gone() -> A = puppet(), do_exit(A, 17), later(10, A, 1).
timer_now() -> later(0, self(), 1), say_mail().
timer_cancel_before() -> cancel(later(60000, self(), 1)), say_mail().

timer_cancel_after() ->
    T = later(10, self(), 1),
    receive 1 -> self() ! 1 end,
    cancel(T),
    say_mail().

timer_cancel_twice() -> T = later(60000, self(), 1), cancel(T), cancel(T).

timer_cancel_by_another() ->
    T = later(60000, self(), 1),
    do(puppet(), fun() -> cancel(T) end),
    say_mail().

timer_owner_ends() ->
    Self = self(),
    start(fun() -> later(100, Self, 1) end),
    say_mail().

timer_order() -> later(200, self(), 2), later(10, self(), 1), say_mail().

timer_interval_backlog() ->
    {ok, T} = timer:send_interval(5, 1),
    let_pass(500),
    timer:cancel(T),
    say(case count(0) of 0 -> none; 1 -> one; _ -> several end).

count(N) -> receive 1 -> count(N + 1) after 0 -> N end.

%% timer:cancel says ok of any timer.
timer_interval_receiver_ends() ->
    A = puppet(),
    {ok, T} = timer:send_interval(10, A, 1),
    do_exit(A, 17),
    let_pass(300),
    attempt(fun() -> timer:cancel(T) end).
