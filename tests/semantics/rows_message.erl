%% Messages and mailboxes.
-module(rows_message).
-compile([export_all, nowarn_export_all]).
-import(rows, [say/1, say_mail/0, say_message/1, attempt/1, start/1, watch/1, puppet/0, do_exit/2, do_send/3,
               settle/1]).

gone() -> A = puppet(), do_exit(A, 17), A.

to_self(Messages) -> [self() ! M || M <- Messages].

take(Message) -> receive Message -> say_message(Message) after 0 -> say(nothing) end.

message_order() -> A = puppet(), [do_send(A, self(), I) || I <- [1, 2, 3]], say_mail().
message_to_gone() -> A = gone(), attempt(fun() -> A ! 1 end).
message_to_self() -> attempt(fun() -> self() ! 1 end), say_mail().
message_to_missing_name() -> attempt(fun() -> ?FUNCTION_NAME ! 1 end).
message_to_unknown_node() -> attempt(fun() -> {anybody, 'nobody@nowhere'} ! 1 end).
message_selective() -> to_self([1, 2, 3, 4]), take(3), say_mail().
message_selective_same() -> to_self([5, 6, 5]), take(5), say_mail().

message_timeout_zero() ->
    receive _ -> ok after 0 -> say(timeout) end,
    self() ! 1,
    receive M -> say_message(M) after 0 -> ok end.

message_timeout_zero_other() -> self() ! 1, take(2), say_mail().
message_timeout() -> receive 1 -> ok after 10 -> say(timeout) end.

message_unread_at_end() ->
    A = puppet(),
    monitor(process, A),
    exit(A, kill),
    attempt(fun() -> A ! 1 end),
    say_mail().

message_bound() ->
    A = start(fun rows:idle/0),
    [A ! I || I <- lists:seq(1, 10)],
    {message_queue_len, N} = process_info(A, message_queue_len),
    say(N).

message_forged_news() ->
    attempt(fun() -> self() ! {'DOWN', make_ref(), process, self(), 17} end),
    say_mail().

message_too_big() ->
    Big = binary:copy(<<0>>, 16 * 1024 * 1024 + 1),
    attempt(fun() -> self() ! Big end).

message_passed_over() ->
    [self() ! I || I <- lists:seq(1, 10)],
    receive never -> ok after 10 -> say(timeout) end.

message_passed_over_stays() ->
    to_self([1, 2, 3]),
    receive never -> ok after 10 -> say(timeout) end,
    say_mail().

message_copied() ->
    Text = before,
    self() ! Text,
    receive M -> say(M) after 0 -> ok end.

message_wait_stopped() ->
    A = watch(fun() -> catch receive never -> ok end, say(canceled) end),
    settle(A),
    exit(A, shutdown),
    say_mail().
