%% How processes end.
-module(rows_life).
-compile([export_all, nowarn_export_all]).
-import(rows, [say/1, say_mail/0, say_alive/1, attempt/1, start/1, watch/1, settle/1]).

life_return() -> watch(fun() -> ok end), say_mail().
life_exit() -> watch(fun() -> exit(17) end), say_mail().
life_assertion() -> watch(fun rows:fails/0), say_mail().

life_stop() -> ended_by(fun rows:idle/0, shutdown).

life_stop_trapped() ->
    ended_by(fun() ->
        process_flag(trap_exit, true),
        receive {'EXIT', _, shutdown} -> say(message), exit(17) end
    end, shutdown).

life_stop_trapping_exits() ->
    ended_by(fun() ->
        process_flag(trap_exit, true),
        receive {'EXIT', _, shutdown} -> say(message) end
    end, shutdown).

life_stop_other_reason() ->
    ended_by(fun() ->
        process_flag(trap_exit, true),
        receive {'EXIT', _, shutdown} -> exit(17) end
    end, shutdown).

life_kill() -> ended_by(fun rows:idle/0, kill).
life_kill_trapping() -> ended_by(fun() -> process_flag(trap_exit, true), rows:idle() end, kill).

life_cleanup_return() -> ended_by(fun cleans/0, shutdown).
life_cleanup_kill() -> ended_by(fun cleans/0, kill).
life_cleanup_exit() -> watch(fun() -> try exit(17) after say(cleaned) end end), say_mail().
life_exit_in_cleanup() -> watch(fun() -> try try exit(17) after exit(18) end after say(cleaned) end end), say_mail().
life_cleanup_hangs() -> watch(fun() -> try exit(17) after rows:idle() end end), say_mail().

cleans() -> try rows:idle() after say(cleaned) end.

%% F waits when it is sent the signal.
ended_by(F, Why) ->
    Pid = watch(F),
    waits(Pid),
    exit(Pid, Why),
    say_mail().

waits(Pid) ->
    case process_info(Pid, status) of
        {status, waiting} -> ok;
        _ -> erlang:yield(), waits(Pid)
    end.

life_stop_gone() -> attempt(fun() -> exit(gone(), shutdown) end).
life_kill_gone() -> attempt(fun() -> exit(gone(), kill) end).

gone() ->
    {Pid, Ref} = spawn_monitor(fun() -> ok end),
    receive {'DOWN', Ref, process, _, _} -> Pid end.

%% A process that is suspended from the start is one that has not run yet.
unborn(Why) ->
    Collector = get(collector),
    {Pid, _} = spawn_opt(fun() -> put(collector, Collector), say(ran), rows:idle() end, [monitor, {priority, low}]),
    exit(Pid, Why),
    say_mail().

life_stop_unborn() -> unborn(shutdown).
life_kill_unborn() -> unborn(kill).

life_stop_self() -> watch(fun() -> exit(self(), shutdown), say('goes-on') end), say_mail().
life_kill_self() -> watch(fun() -> exit(self(), kill), say('goes-on') end), say_mail().

life_parent_ends() ->
    Self = self(),
    start(fun() -> Self ! {child, start(fun rows:idle/0)} end),
    receive {child, Child} -> say_alive(Child) end.
