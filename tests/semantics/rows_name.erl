%% Registered names.
-module(rows_name).
-compile([export_all, nowarn_export_all]).
-import(rows, [say/1, say_mail/0, say_message/1, attempt/1, watch/1, puppet/0, do/2, do_exit/2, do_name/2]).

find(Name) -> case whereis(Name) of undefined -> say(noproc); _ -> say(found) end.
name(Name) -> attempt(fun() -> register(Name, self()) end).

name_twice() -> name(?FUNCTION_NAME), name(?FUNCTION_NAME).
name_taken() -> do_name(puppet(), ?FUNCTION_NAME), do_name(puppet(), ?FUNCTION_NAME).
name_second_name() -> name(?FUNCTION_NAME), name(name_second_name_2).

name_free_at_down() ->
    A = puppet(),
    do_name(A, ?FUNCTION_NAME),
    monitor(process, A),
    exit(A, kill),
    receive Down -> say_message(Down) end,
    find(?FUNCTION_NAME),
    name(?FUNCTION_NAME).

name_missing() -> find(?FUNCTION_NAME).

name_given_back_by_another() ->
    do_name(puppet(), ?FUNCTION_NAME),
    attempt(fun() -> unregister(?FUNCTION_NAME) end),
    find(?FUNCTION_NAME).

name_given_back_missing() -> attempt(fun() -> unregister(?FUNCTION_NAME) end).
name_given_back() -> name(?FUNCTION_NAME), attempt(fun() -> unregister(?FUNCTION_NAME) end), find(?FUNCTION_NAME).
name_with_blank() -> name('name with blank').

name_looked_up_each_time() ->
    A = puppet(),
    do_name(A, ?FUNCTION_NAME),
    do_exit(A, 17),
    name(?FUNCTION_NAME),
    ?FUNCTION_NAME ! 1,
    say_mail().

name_pid_outlives() ->
    register(?FUNCTION_NAME, self()),
    A = whereis(?FUNCTION_NAME),
    unregister(?FUNCTION_NAME),
    A ! 1,
    say_mail().

name_in_cleanup() ->
    A = watch(fun() ->
        register(name_in_cleanup, self()),
        try receive stop -> ok end after find(name_in_cleanup) end
    end),
    A ! stop,
    receive {'DOWN', _, _, A, _} -> ok end.
