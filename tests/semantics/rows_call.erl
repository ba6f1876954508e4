%% Calls, by gen_server:call: what the caller hears.
-module(rows_call).
-compile([export_all, nowarn_export_all]).
-import(rows, [say/1, say_mail/0, say_alive/1, start/1, puppet/0, do_exit/2]).

server() ->
    receive
        {'$gen_call', From, What} -> serve(From, What), server();
        4 -> exit(17);
        _ -> server()
    end.

serve(_, 3) -> ok;
serve(_, 4) -> exit(17);
serve(From, 2) ->
    gen_server:reply(From, 42),
    receive never -> ok after 300 -> gen_server:reply(From, 43) end;
serve({Pid, _} = From, 7) -> Pid ! 1, gen_server:reply(From, 42);
serve(From, 5) -> receive never -> ok after 300 -> gen_server:reply(From, 42) end;
serve(From, _) -> gen_server:reply(From, 42).

%% A time limit of seconds is one that is not to be reached.
ask(Who, What, Limit) ->
    try say(gen_server:call(Who, What, Limit)) catch exit:Why -> say(Why) end.

call_answer() -> ask(start(fun server/0), 1, 30000).
call_gone() -> S = puppet(), do_exit(S, 17), ask(S, 1, 30000).
call_server_fails() -> ask(start(fun server/0), 4, 30000).

%% Suspended until it has both requests.
call_server_fails_before() ->
    S = start(fun server/0),
    true = erlang:suspend_process(S),
    start(fun() -> ask(S, 4, 30000) end),
    wait_for_mail(S, 1),
    start(fun() -> ask(S, 1, 30000) end),
    wait_for_mail(S, 2),
    erlang:resume_process(S),
    receive never -> ok after 1000 -> ok end.

wait_for_mail(S, N) ->
    case process_info(S, message_queue_len) of
        {_, N} -> ok;
        _ -> erlang:yield(), wait_for_mail(S, N)
    end.

call_not_answered() -> ask(start(fun server/0), 3, 10).
call_timeout() -> ask(start(fun server/0), 5, 10).
call_late_answer() -> ask(start(fun server/0), 5, 10), say_mail().
call_self() -> ask(self(), 1, 10).

call_cycle() ->
    ask(start(fun() ->
        receive {'$gen_call', {Caller, _} = From, 1} -> ask(Caller, 1, 10), gen_server:reply(From, 42) end
    end), 1, 30000).

call_missing_name() -> ask(?FUNCTION_NAME, 1, 30000).
call_answered_twice() -> ask(start(fun server/0), 2, 30000), say_mail().
call_past_mail() -> ask(start(fun server/0), 7, 30000), say_mail().

pass(To) -> receive M -> To ! M end.
pass_all(To) -> pass(To), pass_all(To).

call_passed_on() -> S = start(fun server/0), ask(start(fun() -> pass_all(S) end), 1, 30000).

call_passed_on_by_one_who_ends() ->
    S = start(fun server/0),
    P = start(fun() -> pass(S) end),
    ask(P, 5, 30000),
    say_alive(P).
call_unknown_node() -> ask({anybody, 'nobody@nowhere'}, 1, 30000).

call_in_order_with_mail() ->
    S = start(fun server/0),
    [S ! 1 || _ <- [1, 2, 3]],
    S ! 4,
    ask(S, 1, 30000).
