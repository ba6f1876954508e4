%% Monitors.
-module(rows_monitor).
-compile([export_all, nowarn_export_all]).
-import(rows, [say/1, say_mail/0, say_message/1, attempt/1, start/1, puppet/0, do/2, do_exit/2, do_send/3]).

monitored() ->
    A = puppet(),
    {A, monitor(process, A)}.

monitor_gone() -> A = puppet(), do_exit(A, 17), monitor(process, A), say_mail().
monitor_at_spawn() -> spawn_monitor(fun() -> exit(17) end), say_mail().
monitor_twice() -> {A, _} = monitored(), monitor(process, A), do_exit(A, 17), say_mail().

monitor_twice_ended_once() ->
    {A, R} = monitored(),
    monitor(process, A),
    demonitor(R),
    do_exit(A, 17),
    say_mail().

monitor_ended_before() -> {A, R} = monitored(), attempt(fun() -> demonitor(R) end), do_exit(A, 17), say_mail().
monitor_ended_after() -> {A, R} = monitored(), do_exit(A, 17), attempt(fun() -> demonitor(R) end), say_mail().
monitor_flushed() -> {A, R} = monitored(), do_exit(A, 17), demonitor(R, [flush]), say_mail().

monitor_ended_twice() ->
    {_, R} = monitored(),
    attempt(fun() -> demonitor(R) end),
    attempt(fun() -> demonitor(R) end).

monitor_last_message() ->
    {A, _} = monitored(),
    do_send(A, self(), 1),
    do_send(A, self(), 2),
    do_exit(A, 17),
    say_mail().

monitor_selective() ->
    {A, R} = monitored(),
    do_send(A, self(), 1),
    do_exit(A, 17),
    receive {'DOWN', R, _, _, _} = Down -> say_message(Down) end,
    say_mail().

monitor_self() -> attempt(fun() -> monitor(process, self()) end), say_mail().
monitor_name_missing() -> attempt(fun() -> monitor(process, ?FUNCTION_NAME) end), say_mail().

%% A pid of a node that is not there, in the external term format.
monitor_node_unknown() ->
    monitor(process, binary_to_term(<<131, 88, 119, 9, "nobody@no", 1:32, 0:32, 1:32>>)),
    say_mail().

monitor_failure_stays_there() ->
    {A, _} = monitored(),
    {B, _} = monitored(),
    do_exit(A, 17),
    do_exit(B, 18),
    say_mail().

monitor_ended_by_another() ->
    {A, R} = monitored(),
    B = puppet(),
    do(B, fun() -> attempt(fun() -> demonitor(R) end) end),
    do_exit(A, 17),
    say_mail().
