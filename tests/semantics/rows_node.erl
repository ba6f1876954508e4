%% Two nodes in two processes; the other one halts.
-module(rows_node).
-compile([export_all, nowarn_export_all]).
-import(rows, [say/1, say_mail/0, say_message/1, attempt/1, watch/1]).

%% What the other node runs.
peer() ->
    register(peer, self()),
    served().

served() ->
    receive
        {echo, From} -> [From ! I || I <- [1, 2, 3]], served();
        {exit, Why} -> exit(Why);
        _ -> served()
    end.

%% The process on the other node, a function that ends that node.
meet(Row) ->
    Folder = os:getenv("ROWS_FOLDER"),
    {ok, _, Node} = peer:start(#{name => Row, host => "127.0.0.1", connection => standard_io, args =>
        ["-start_epmd", "false", "-epmd_module", "rows_epmd", "-pa", Folder, "-setcookie", "rows",
         "-kernel", "inet_dist_use_interface", "{127,0,0,1}"]}),
    true = net_kernel:connect_node(Node),
    A = spawn(Node, fun rows_node:peer/0),
    {A, fun() -> erpc:cast(Node, erlang, halt, [0]) end}.

say_down() -> receive {'DOWN', _, _, _, _} = Down -> say_message(Down) end.

node_monitor_exit() ->
    {A, Halt} = meet(?FUNCTION_NAME),
    monitor(process, A),
    A ! {exit, 17},
    say_down(),
    Halt().

node_monitor_lost() -> {A, Halt} = meet(?FUNCTION_NAME), monitor(process, A), Halt(), say_down().

node_link_lost() ->
    process_flag(trap_exit, true),
    {A, Halt} = meet(?FUNCTION_NAME),
    link(A),
    Halt(),
    receive {'EXIT', A, _} = Exit -> say_message(Exit) end.

node_link_lost_untrapped() ->
    {A, Halt} = meet(?FUNCTION_NAME),
    watch(fun() -> link(A), Halt(), rows:idle() end),
    say_down().

node_call_lost() ->
    {A, Halt} = meet(?FUNCTION_NAME),
    try spawn(Halt), gen_server:call(A, never, 30000) catch exit:Why -> say(Why) end.

node_send_lost() ->
    {A, Halt} = meet(?FUNCTION_NAME),
    monitor(process, A),
    Halt(),
    say_down(),
    attempt(fun() -> A ! 1 end).

node_order() ->
    {A, Halt} = meet(?FUNCTION_NAME),
    monitor(process, A),
    A ! {echo, self()},
    A ! {exit, 17},
    [receive M -> say_message(M) end || _ <- [1, 2, 3, 4]],
    Halt().

node_name_missing() ->
    {A, Halt} = meet(?FUNCTION_NAME),
    attempt(fun() -> {nobody, node(A)} ! 1 end),
    try gen_server:call({nobody, node(A)}, 1, 30000) catch exit:Why -> say(Why) end,
    Halt().
