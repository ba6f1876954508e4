%% bench/peers/bench_peer.erl -- the workloads of bench/local.c and bench/remote.c in Erlang.
%%
%%     erl -noinput +P 4194304 +S THREADS:THREADS -pa FOLDER -run bench_peer main WORKLOAD NUMBER...
%%
%% Every answer is checked; a wrong one ends the emulator with an error.
-module(bench_peer).
-behaviour(gen_server).
-export([main/1, asleep/0, init/1, handle_call/3, handle_cast/2]).

main([Workload | Numbers]) ->
    Me = self(),
    {_, Ref} = spawn_monitor(fun() ->
        run(Workload, [list_to_integer(N) || N <- Numbers]),
        Me ! finished
    end),
    receive
        finished -> halt(0);
        {'DOWN', Ref, process, _, Why} -> io:format(standard_error, "peer: ~p~n", [Why]), halt(1)
    end.

now_ns() -> erlang:monotonic_time(nanosecond).
threads() -> erlang:system_info(schedulers_online).

report(Workload, Metric, Value, Format, Numbers) ->
    io:format("~s erlang ~s ~s ~.1f~n", [Workload, io_lib:format(Format, Numbers), Metric, float(Value)]).

wait(0, _) -> ok;
wait(N, Message) -> receive Message -> wait(N - 1, Message) end.

times(0, _) -> ok;
times(N, F) -> F(N), times(N - 1, F).

status(Word) ->
    {ok, Text} = file:read_file("/proc/self/status"),
    {match, [KiB]} = re:run(Text, Word ++ ":\\s+(\\d+)", [{capture, all_but_first, list}]),
    list_to_integer(KiB).

cpu_ms() ->
    {ok, Text} = file:read_file("/proc/self/stat"),
    Fields = string:lexemes(binary_to_list(Text), " "),
    10 * (list_to_integer(lists:nth(14, Fields)) + list_to_integer(lists:nth(15, Fields))).

%% Two kinds of message in one mailbox: it has no other sources. The one whose turn it is has to come.
either(N, N, _, _) -> ok;
either(Turn, N, Other, First) ->
    Kind = case Turn rem 2 of 0 -> message; 1 -> event end,
    First andalso (Other ! Kind),
    Kind = receive message -> message; event -> event end,
    First orelse (Other ! Kind),
    either(Turn + 1, N, Other, First).

%% What answers the calls.
init([]) -> {ok, []}.
handle_call(ask, _From, State) -> {reply, answer, State}.
handle_cast(_, State) -> {noreply, State}.

%% ---- local -------------------------------------------------------------------------------------------------------

run("yield", [N]) ->
    Me = self(),
    Start = now_ns(),
    [spawn_link(fun() -> times(N, fun(_) -> erlang:yield() end), Me ! done end) || _ <- [1, 2]],
    wait(2, done),
    report("ctxswitch", "ns_per_switch", (now_ns() - Start) / (2 * N), "yield,threads=~p,n=~p", [threads(), N]);
run("pingpong", [N]) ->
    Other = spawn_link(fun pong/0),
    Start = now_ns(),
    ping(Other, N),
    Took = now_ns() - Start,
    report("pingpong", "ns_per_msg", Took / (2 * N), "threads=~p,n=~p", [threads(), N]),
    report("pingpong", "msgs_per_s", 2.0e9 * N / Took, "threads=~p,n=~p", [threads(), N]);
run("either", [N]) ->
    Me = self(),
    Other = spawn_link(fun() -> either(0, N, Me, false) end),
    Start = now_ns(),
    either(0, N, Other, true),
    report("either", "ns_per_wake", (now_ns() - Start) / (2 * N), "threads=~p,n=~p", [threads(), N]);
run("call", [N]) ->
    {ok, Server} = gen_server:start_link(?MODULE, [], []),
    Start = now_ns(),
    times(N, fun(_) -> answer = gen_server:call(Server, ask, infinity) end),
    report("call", "ns_per_call", (now_ns() - Start) / N, "threads=~p,n=~p", [threads(), N]);
run("ring", [Actors, Hops]) ->
    Me = self(),
    First = spawn_link(fun() -> receive {next, P} -> member(0, P, Me) end end),
    Second = lists:foldl(fun(I, Next) -> spawn_link(fun() -> member(I, Next, Me) end) end, First,
                         lists:seq(Actors - 1, 1, -1)),
    First ! {next, Second},
    Start = now_ns(),
    First ! Hops,
    Last = receive {last, I} -> I end,
    Took = now_ns() - Start,
    Last = Hops rem Actors,
    report("ring", "ns_per_hop", Took / Hops, "threads=~p,actors=~p,hops=~p", [threads(), Actors, Hops]);
run("counting", [Producers, N]) ->
    Me = self(),
    Each = N div Producers,
    Start = now_ns(),
    %% off_heap: the better setting where many send to one
    Counter = spawn_opt(fun() -> wait(Each * Producers, count), Me ! done end,
                        [link, {message_queue_data, off_heap}]),
    [spawn_link(fun() -> times(Each, fun(_) -> Counter ! count end) end) || _ <- lists:seq(1, Producers)],
    wait(1, done),
    report("counting", "msgs_per_s", 1.0e9 * Each * Producers / (now_ns() - Start), "threads=~p,producers=~p,n=~p",
           [threads(), Producers, N]);
run("big", [Actors, Pings]) ->
    Me = self(),
    All = [spawn_link(fun() -> receive {all, T} -> ask(I, T, I * 7919, Pings, Me) end end)
           || I <- lists:seq(1, Actors)],
    Tuple = list_to_tuple(All),
    Start = now_ns(),
    [P ! {all, Tuple} || P <- All],
    wait(Actors, done),
    report("big", "msgs_per_s", 2.0e9 * Actors * Pings / (now_ns() - Start), "threads=~p,actors=~p,pings=~p",
           [threads(), Actors, Pings]);
run("create", [N]) ->
    Me = self(),
    Count = atomics:new(1, []),
    Start = now_ns(),
    times(N, fun(_) -> spawn(fun() -> receive go -> last(Count, N, Me) end end) ! go end),
    wait(1, done),
    report("spawn", "spawns_per_s", 1.0e9 * N / (now_ns() - Start), "create,threads=~p,n=~p", [threads(), N]),
    report("spawn", "peak_rss_mib", status("VmHWM") / 1024, "create,threads=~p,n=~p", [threads(), N]);
run("tree", [Leaves]) ->
    Me = self(),
    Start = now_ns(),
    spawn_link(fun() -> branch(0, Leaves, Me) end),
    Sum = sum(1, 0),
    Took = now_ns() - Start,
    Sum = Leaves * (Leaves - 1) div 2,
    report("spawn", "wall_ms", Took / 1.0e6, "tree,threads=~p,n=~p", [threads(), Leaves]),
    report("spawn", "peak_rss_mib", status("VmHWM") / 1024, "tree,threads=~p,n=~p", [threads(), Leaves]);
run("fanout", [Subscribers, Messages]) ->
    Me = self(),
    Count = atomics:new(1, []),
    All = [spawn_link(fun() -> subscriber(Messages), last(Count, Subscribers, Me) end)
           || _ <- lists:seq(1, Subscribers)],
    Start = now_ns(),
    times(Messages, fun(_) -> [P ! {news, <<"0123456789abcdef">>} || P <- All] end),
    wait(1, done),
    report("fanout", "deliveries_per_s", 1.0e9 * Subscribers * Messages / (now_ns() - Start),
           "topic,threads=~p,subs=~p,msgs=~p", [threads(), Subscribers, Messages]);
run("idle", [N]) -> idle("plain", N, fun asleep/0);
run("hibernate", [N]) -> idle("plain", N, fun() -> erlang:hibernate(?MODULE, asleep, []) end);
run("timers", [N, Base]) ->
    Me = self(),
    Late = counters:new(300000, []),
    Count = atomics:new(1, []),
    Cpu = cpu_ms(),
    Start = now_ns(),
    lists:foldl(fun(_, X) ->
        Next = (X * 1103515245 + 12345) band 16#7fffffff,
        Span = Base * 1000000 + ((Next bsr 8) rem 1000000 + 1) * 1000,
        From = if Base > 0 -> Start; true -> now_ns() end, % as in bench/timers.c
        spawn(fun() -> sleeper(From + Span, Late), last(Count, N, Me) end),
        Next
    end, 42, lists:seq(1, N)),
    Spawned = now_ns() - Start,
    wait(1, done),
    Values = [{"spawn_ms", Spawned / 1.0e6}, {"wall_ms", (now_ns() - Start) / 1.0e6}, {"cpu_ms", cpu_ms() - Cpu},
              {"late_p50_us", bin(Late, N * 0.5, 1, 0)}, {"late_p99_us", bin(Late, N * 0.99, 1, 0)},
              {"late_max_us", bin(Late, N, 1, 0)}],
    [report("timers", Metric, V, "base_ms=~p,threads=~p,n=~p", [Base, threads(), N]) || {Metric, V} <- Values];

%% ---- remote: the other node is started by ours, on 127.0.0.1 -----------------------------------------------------

run("serve", []) ->
    register(server, self()),
    serve();
run("rtt", [Size, N]) ->
    remote(fun(Server) ->
        Body = binary:copy(<<$x>>, Size),
        round_trips(Server, Body, 1000, []),
        Took = lists:sort(round_trips(Server, Body, N, [])),
        report("remote", "p50_us", lists:nth(N div 2, Took) / 1000, "rtt,size=~p,n=~p", [Size, N]),
        report("remote", "p99_us", lists:nth(max(1, N * 99 div 100), Took) / 1000, "rtt,size=~p,n=~p", [Size, N])
    end);
run("oneway", [Size, N]) ->
    remote(fun(Server) ->
        Body = binary:copy(<<$x>>, Size),
        Start = now_ns(),
        times(N, fun(_) -> Server ! {count, Body} end),
        Server ! {counted, self()},
        N = receive {count, C} -> C end,
        report("remote", "msgs_per_s", 1.0e9 * N / (now_ns() - Start), "oneway,size=~p,n=~p", [Size, N])
    end).

ping(_, 0) -> ok;
ping(Other, N) -> Other ! {ping, self()}, receive {pong, Other} -> ping(Other, N - 1) end.
pong() -> receive {ping, From} -> From ! {pong, self()}, pong() end.

member(Index, Next, Boss) ->
    receive
        0 -> Boss ! {last, Index};
        Left -> Next ! Left - 1, member(Index, Next, Boss)
    end.

ask(Me, All, Random, 0, Boss) -> Boss ! done, answer(Me, All, Random, 0, Boss);
ask(Me, All, Random, Left, Boss) ->
    Next = (Random * 1103515245 + 12345) band 16#7fffffff,
    element((Next bsr 8) rem tuple_size(All) + 1, All) ! {ping, Me},
    answer(Me, All, Next, Left, Boss).
answer(Me, All, Random, Left, Boss) ->
    receive
        {ping, From} -> element(From, All) ! pong, answer(Me, All, Random, Left, Boss);
        pong -> ask(Me, All, Random, Left - 1, Boss)
    end.

last(Count, N, Boss) ->
    case atomics:add_get(Count, 1, 1) of
        N -> Boss ! done;
        _ -> ok
    end.

branch(Number, 1, Parent) -> Parent ! {sum, Number};
branch(Number, Leaves, Parent) ->
    Me = self(),
    Part = Leaves div 10,
    [spawn_link(fun() -> branch(Number + I * Part, Part, Me) end) || I <- lists:seq(0, 9)],
    Parent ! {sum, sum(10, 0)}.
sum(0, Sum) -> Sum;
sum(N, Sum) -> receive {sum, Part} -> sum(N - 1, Sum + Part) end.

subscriber(0) -> ok;
subscriber(N) -> receive {news, _} -> subscriber(N - 1) end.

asleep() -> receive stop -> ok end.
idle(Mode, N, Body) ->
    Before = status("VmRSS"),
    All = [spawn(Body) || _ <- lists:seq(1, N)],
    timer:sleep(300),
    Bytes = (status("VmRSS") - Before) * 1024 - 16 * N, % the list of pids does not count
    report("idle", "bytes_per_actor", Bytes / N, "~s,n=~p", [Mode, N]),
    [P ! stop || P <- All].

sleeper(Due, Late) ->
    timer:sleep(max(0, (Due - now_ns() + 999999) div 1000000)), % it counts in milliseconds
    Bin = (now_ns() - Due) div 10000,
    counters:add(Late, min(max(Bin, 0), 299999) + 1, 1).
bin(_, _, 300001, _) -> 3000000;
bin(Late, Wanted, I, Seen) ->
    case Seen + counters:get(Late, I) of
        Sum when Sum >= Wanted -> (I - 1) * 10;
        Sum -> bin(Late, Wanted, I + 1, Sum)
    end.

serve() ->
    receive
        {ping, From, Body} -> From ! {pong, Body}, serve();
        {count, _} -> serve(1);
        stop -> ok
    end.
serve(Count) ->
    receive
        {count, _} -> serve(Count + 1);
        {counted, From} -> From ! {count, Count}, serve()
    end.

remote(Client) ->
    Folder = filename:dirname(code:which(?MODULE)),
    [Name, Host] = string:lexemes(atom_to_list(node()), "@"),
    Other = Name ++ "_server@" ++ Host,
    Command = "erl -noinput -setcookie weft_bench -kernel inet_dist_use_interface '{127,0,0,1}' -pa " ++ Folder ++
              " -name " ++ Other ++ " -run bench_peer main serve",
    Port = open_port({spawn, Command}, []),
    Node = list_to_atom(Other),
    ok = reach(Node, 200),
    Client({server, Node}),
    {server, Node} ! stop,
    receive {nodedown, Node} -> ok after 1000 -> ok end,
    catch port_close(Port). % it may have ended by itself
reach(Node, Tries) when Tries > 0 ->
    Up = net_kernel:connect_node(Node) andalso rpc:call(Node, erlang, whereis, [server]),
    case Up of
        Pid when is_pid(Pid) -> monitor_node(Node, true), ok;
        _ -> timer:sleep(50), reach(Node, Tries - 1)
    end.

round_trips(_, _, 0, Took) -> Took;
round_trips(Server, Body, N, Took) ->
    Start = now_ns(),
    Server ! {ping, self(), Body},
    receive {pong, _} -> ok end,
    round_trips(Server, Body, N - 1, [now_ns() - Start | Took]).
