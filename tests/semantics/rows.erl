%% What the rows of docs/semantics.md share on the Erlang side, and their runner: see check.py.
%% A row is a function of no arguments: rows_life has life_*, and so on. It says what happened, with say/1.
-module(rows).
-export([main/3, silence/0, say/1, word/1, say_mail/0, say_message/1, say_alive/1, attempt/1, start/1, watch/1, idle/0, puppet/0, do/2,
         do_exit/2, do_link/2, do_trap/2, do_send/3, do_name/2, settle/1, fails/0]).

%% Runs the rows of that name, or all if there is none. `Silence`: for how many milliseconds nothing has to come for
%% "nothing". All rows run at the same time, so it counts only a few times in all.
main(Silence, Modules, Wanted) ->
    persistent_term:put(silence, Silence),
    logger:set_primary_config(level, none),
    {ok, _} = pg:start(pg),
    Self = self(),
    Rows = [{F, M} || M <- Modules, {F, 0} <- M:module_info(exports), is_row(M, F, Wanted)],
    Started = [{F, spawn_monitor(fun() -> run(Self, M, F) end)} || {F, M} <- Rows],
    lists:foreach(fun({F, {_, Ref}}) -> io:format("~s\t~s~n", [F, outcome(F, Ref)]) end, Started).

%% rows_life has life_*.
is_row(Module, F, Wanted) ->
    "rows_" ++ Prefix = atom_to_list(Module),
    lists:prefix(Prefix ++ "_", atom_to_list(F)) andalso (Wanted =:= [] orelse lists:member(F, Wanted)).

silence() -> persistent_term:get(silence).

outcome(Row, Ref) ->
    receive
        {outcome, Row, Words} -> lists:join(" ", Words);
        {'DOWN', Ref, process, _, Why} when Why =/= normal -> io_lib:format("[~0p]", [Why])
    end.

run(Main, Module, Row) ->
    put(collector, spawn(fun() -> collect([]) end)),
    Module:Row(),
    Main ! {outcome, Row, ask(finish)}.

collect(Words) ->
    receive
        {say, Word, From, Ref} -> From ! {Ref, ok}, collect([Word | Words]);
        {finish, From, Ref} -> From ! {Ref, lists:reverse(Words)}
    end.

ask(finish) ->
    Ref = make_ref(),
    get(collector) ! {finish, self(), Ref},
    receive {Ref, Words} -> Words end.

%% ---- What happened ------------------------------------------------------------------------------------------------

say(Term) ->
    Ref = make_ref(),
    get(collector) ! {say, word(Term), self(), Ref},
    receive {Ref, ok} -> ok end.

%% Reasons and results in the words of the page.
word(shutdown) -> "stopped";
word({shutdown, _}) -> "stopped";
word(noproc) -> "no-actor";
word({noproc, _}) -> "no-actor";
word(noconnection) -> "node-lost";
word({nodedown, _}) -> "node-lost";
word(timeout) -> "timed-out";
word(calling_self) -> "deadlock";
word(badarg) -> "error";
word({error, _}) -> "error";
word({_, {rows, fails, _}}) -> "failed";
word({{badmatch, _}, _}) -> "failed";
word({Why, {gen_server, call, _}}) -> word(Why);
word(Atom) when is_atom(Atom) -> atom_to_list(Atom);
word([C | _] = Words) when is_list(C); is_integer(C) -> Words;
word(Word) -> io_lib:format("~p", [Word]).

say_message({'DOWN', _, process, _, Why}) -> say(["DOWN ", word(Why)]);
say_message({'EXIT', _, Why}) -> say(["EXIT ", word(Why)]);
say_message(Other) -> say(Other).

say_mail() ->
    receive M -> say_message(M), say_more()
    after silence() -> say(nothing)
    end.

say_more() ->
    receive M -> say_message(M), say_more()
    after silence() -> ok
    end.

say_alive(Pid) ->
    settle(Pid),
    Ref = monitor(process, Pid),
    receive {'DOWN', Ref, process, _, _} -> say(ended)
    after silence() -> say(lives)
    end,
    demonitor(Ref, [flush]).

%% "ok", or why not.
attempt(F) ->
    try F() of
        {error, Why} -> say({error, Why});
        not_joined -> say(error);
        false -> say(closed);
        _ -> say(ok)
    catch
        _:Why -> say(Why)
    end.

%% ---- Processes ----------------------------------------------------------------------------------------------------

start(F) ->
    Collector = get(collector),
    spawn(fun() -> put(collector, Collector), F() end).

watch(F) ->
    Collector = get(collector),
    {Pid, _} = spawn_monitor(fun() -> put(collector, Collector), F() end),
    Pid.

idle() ->
    receive never -> ok end.

fails() ->
    0 = length(get()).

puppet() ->
    start(fun obey/0).

obey() ->
    receive
        {do, F, From, Ref} -> F(), From ! {Ref, done}, obey();
        _ -> obey()
    end.

%% A puppet does it, and has done it when this returns.
do(Puppet, F) ->
    Ref = monitor(process, Puppet),
    Puppet ! {do, F, self(), Ref},
    receive
        {Ref, done} -> demonitor(Ref, [flush]), ok;
        {'DOWN', Ref, process, _, _} -> ok
    end.

do_exit(Puppet, Why) -> do(Puppet, fun() -> exit(Why) end).
do_link(Puppet, Other) -> do(Puppet, fun() -> link(Other) end).
do_trap(Puppet, On) -> do(Puppet, fun() -> process_flag(trap_exit, On) end).
do_send(Puppet, To, Message) -> do(Puppet, fun() -> To ! Message end).
do_name(Puppet, Name) -> do(Puppet, fun() -> attempt(fun() -> register(Name, self()) end) end).

%% Signals of this process that were sent to Pid have arrived.
settle(Pid) ->
    _ = process_info(Pid, status),
    ok.
