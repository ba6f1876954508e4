%% Supervisors. "+a" is the start of child a, "-a" its end.
-module(rows_supervisor).
-compile([export_all, nowarn_export_all]).
-behaviour(supervisor).
-import(rows, [say/1, say_mail/0, attempt/1, silence/0]).

init(Spec) -> {ok, Spec}.

child(Id) -> child(Id, #{}).
child(Id, More) -> child(Id, More, fun() -> run(Id) end).

child(Id, More, F) ->
    Collector = get(collector),
    maps:merge(#{id => Id, start => {?MODULE, start_child, [Collector, F]}}, More).

%% F runs in the child until {up, Loop}; then it has started.
start_child(Collector, F) ->
    Self = self(),
    Pid = spawn_link(fun() ->
        put(collector, Collector),
        process_flag(trap_exit, true),
        Loop = F(),
        Self ! {up, self()},
        Loop()
    end),
    receive
        {up, Pid} -> {ok, Pid};
        {'EXIT', Pid, Why} -> {error, Why}
    end.

run(Id) ->
    say(["+", atom_to_list(Id)]),
    fun() ->
        Why = receive {'EXIT', _, W} -> W; {exit, W} -> W end,
        say(["-", atom_to_list(Id)]),
        exit(Why)
    end.

does_not_start(Id) -> say(["?", atom_to_list(Id)]), exit(17).

plain() -> fun() -> process_flag(trap_exit, false), rows:idle() end.

%% The row's process starts the supervisor and monitors it; its link is taken back once it runs.
top(Children) -> top(#{}, Children).

top(Flags, Children) ->
    process_flag(trap_exit, true),
    case supervisor:start_link(?MODULE, {Flags, Children}) of
        {ok, S} -> unlink(S), monitor(process, S), S;
        {error, {shutdown, {failed_to_start_child, _, Why}}} -> receive {'EXIT', _, _} -> say(["DOWN ", rows:word(Why)]) end;
        {error, Why} -> receive {'EXIT', _, _} -> say({error, Why}) end
    end.

pid(S, Id) ->
    case lists:keyfind(Id, 1, supervisor:which_children(S)) of {_, Pid, _, _} -> Pid; false -> gone end.

quiet() -> receive never -> ok after silence() -> ok end.

child_exits(S, Id, Why) -> pid(S, Id) ! {exit, Why}, quiet().

stop(S) -> exit(S, shutdown), say_mail().

strategy(Strategy) ->
    S = top(#{strategy => Strategy}, [child(a), child(b), child(c)]),
    say('|'),
    child_exits(S, b, 17),
    say('|').

kind(Restart, Why) ->
    S = top([child(a, #{restart => Restart})]),
    child_exits(S, a, Why),
    say('|').

%% A supervisor is stopped by its parent; for others there is sys:terminate, which does the same.
supervisor_order() -> S = top([child(a), child(b), child(c)]), sys:terminate(S, shutdown), say_mail().
supervisor_one_for_one() -> strategy(one_for_one).
supervisor_one_for_all() -> strategy(one_for_all).
supervisor_rest_for_one() -> strategy(rest_for_one).
supervisor_permanent_normal() -> kind(permanent, normal).
supervisor_transient_normal() -> kind(transient, normal).
supervisor_transient_stopped() -> kind(transient, shutdown).
supervisor_transient_failed() -> kind(transient, 17).
supervisor_temporary_failed() -> kind(temporary, 17).

supervisor_child_stopped_by_another() ->
    S = top([child(a)]),
    exit(pid(S, a), shutdown),
    quiet(),
    say('|').

supervisor_child_killed() ->
    S = top([child(a, #{}, fun plain/0)]),
    A = pid(S, a),
    exit(A, kill),
    quiet(),
    say(case pid(S, a) of A -> same; B when is_pid(B) -> another; _ -> gone end).

supervisor_intensity() ->
    S = top(#{intensity => 1, period => 5}, [child(a), child(b)]),
    child_exits(S, b, 17),
    child_exits(S, b, 17),
    say_mail().

supervisor_intensity_default() ->
    S = top([child(a)]),
    pid(S, a) ! {exit, 17},
    again(S, 7),
    say_mail().

%% As soon as there is a new child.
again(_, 0) -> ok;
again(S, N) ->
    case catch pid(S, a) of
        A when is_pid(A) -> A ! {exit, 17}, R = monitor(process, A), receive {'DOWN', R, _, _, _} -> again(S, N - 1) end;
        _ -> ok
    end.

supervisor_intensity_none() ->
    S = top(#{intensity => 0, period => 5}, [child(a)]),
    child_exits(S, a, 17),
    say_mail().

supervisor_start_fails() -> top([child(a), child(b, #{}, fun() -> does_not_start(b) end), child(c)]).

supervisor_restart_fails() ->
    Starts = counters:new(1, []),
    S = top(#{intensity => 2, period => 5}, [child(a), child(b, #{}, fun() ->
        counters:add(Starts, 1, 1),
        case counters:get(Starts, 1) of 1 -> run(b); _ -> does_not_start(b) end
    end)]),
    child_exits(S, b, 17),
    say_mail().

supervisor_restart_keeps_name() ->
    S = top([child(a, #{}, fun() -> register(?FUNCTION_NAME, self()), run(a) end)]),
    One = whereis(?FUNCTION_NAME),
    child_exits(S, a, 17),
    say(case whereis(?FUNCTION_NAME) of undefined -> gone; One -> 'same-pid'; _ -> 'another-pid' end).

supervisor_killed() ->
    S = top([child(a, #{}, fun plain/0)]),
    R = monitor(process, pid(S, a)),
    exit(S, kill),
    receive {'DOWN', R, _, _, Why} -> say(Why) end.

supervisor_child_lingers() ->
    S = top([child(a, #{shutdown => 50}, fun() -> say("+a"), fun rows:idle/0 end)]),
    monitor(process, pid(S, a)),
    sys:terminate(S, shutdown),
    say_mail().

supervisor_same_name_twice() -> top([child(a), child(a)]).

add(S) -> attempt(fun() -> supervisor:start_child(S, child(b)) end).

supervisor_add_child() -> S = top([child(a)]), add(S), sys:terminate(S, shutdown), say_mail().
supervisor_add_twice() -> S = top([child(a)]), add(S), add(S).

supervisor_add_again() ->
    S = top([child(a)]),
    add(S),
    attempt(fun() -> supervisor:terminate_child(S, b) end),
    add(S).

supervisor_add_fails() ->
    S = top([child(a)]),
    attempt(fun() -> supervisor:start_child(S, child(b, #{}, fun() -> does_not_start(b) end)) end),
    say(case pid(S, a) of A when is_pid(A) -> there; _ -> gone end).

supervisor_take_off_missing() -> S = top([child(a)]), attempt(fun() -> supervisor:terminate_child(S, b) end).
