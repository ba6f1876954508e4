%% Links. Most rows have two puppets, A linked to B, and say how B took the end of A.
-module(rows_link).
-compile([export_all, nowarn_export_all]).
-import(rows, [say/1, say_mail/0, say_message/1, say_alive/1, attempt/1, start/1, watch/1, puppet/0, do/2, do_exit/2,
               do_link/2, do_trap/2, do_send/3]).

linked() ->
    A = puppet(),
    B = puppet(),
    monitor(process, B),
    do_link(B, A),
    {A, B}.

%% The row's own process traps and is linked to A.
trapped() ->
    process_flag(trap_exit, true),
    A = puppet(),
    link(A),
    A.

link_normal() -> {A, B} = linked(), do_exit(A, normal), say_alive(B).
link_failed() -> {A, _} = linked(), do_exit(A, 17), say_mail().

link_other_way() ->
    A = puppet(),
    B = puppet(),
    monitor(process, B),
    do_link(A, B),
    do_exit(A, 17),
    say_mail().

link_stopped() -> {A, _} = linked(), exit(A, shutdown), say_mail().
link_killed() -> {A, _} = linked(), exit(A, kill), say_mail().

link_chain() ->
    {A, B} = linked(),
    C = puppet(),
    D = puppet(),
    do_link(C, B),
    do_link(D, C),
    monitor(process, D),
    do_exit(A, 17),
    say_mail().

link_chain_normal_in_between() -> {A, B} = linked(), do_exit(B, normal), do_exit(A, 17), say_mail().

link_twice_unlink_once() ->
    A = puppet(),
    link(A),
    link(A),
    unlink(A),
    process_flag(trap_exit, true),
    do_exit(A, 17),
    say_mail().

link_twice() -> A = trapped(), attempt(fun() -> link(A) end), do_exit(A, 17), say_mail().
link_trap() -> do_exit(trapped(), 17), say_mail().
link_trap_normal() -> do_exit(trapped(), normal), say_mail().
link_trap_killed() -> exit(trapped(), kill), say_mail().
link_trap_last_message() -> A = trapped(), do_send(A, self(), 1), do_exit(A, 17), say_mail().

link_trap_off_again() ->
    {A, B} = linked(),
    do_trap(B, true),
    do_trap(B, false),
    do_exit(A, 17),
    say_mail().

link_trap_off_after() -> do_exit(trapped(), 17), process_flag(trap_exit, false), say_mail().
link_unlink() -> A = trapped(), attempt(fun() -> unlink(A) end), do_exit(A, 17), say_mail().
link_unlink_after_exit() -> A = trapped(), do_exit(A, 17), unlink(A), say_mail().
link_unlink_none() -> attempt(fun() -> unlink(puppet()) end).

link_unlink_by_the_other() ->
    A = trapped(),
    B = puppet(),
    link(B),
    unlink(A),
    do_exit(B, 18),
    do_exit(A, 17),
    say_mail().

link_gone() ->
    A = puppet(),
    B = puppet(),
    monitor(process, B),
    do_exit(A, 17),
    do_link(B, A),
    say_mail().

link_gone_trapping() ->
    A = puppet(),
    do_exit(A, 17),
    process_flag(trap_exit, true),
    attempt(fun() -> link(A) end),
    say_mail().

link_self() -> attempt(fun() -> link(self()) end), process_flag(trap_exit, true), say_mail().
link_at_spawn() -> process_flag(trap_exit, true), spawn_link(fun() -> exit(17) end), say_mail().

link_and_monitor() ->
    A = trapped(),
    R = monitor(process, A),
    do_exit(A, 17),
    receive {'DOWN', R, _, _, _} = Down -> say_message(Down) end,
    say_mail().

victim(F) ->
    A = puppet(),
    Self = self(),
    watch(fun() -> link(A), Self ! linked, F() end),
    receive linked -> ok end,
    do_exit(A, 17),
    say_mail().

link_victim() -> victim(fun() -> try rows:idle() after say(cleaned) end end).

link_victim_own_reason() ->
    victim(fun() -> process_flag(trap_exit, true), receive {'EXIT', _, 17} -> exit(18) end end).

link_node_unknown() ->
    process_flag(trap_exit, true),
    link(binary_to_term(<<131, 88, 119, 9, "nobody@no", 1:32, 0:32, 1:32>>)),
    say_mail().
