%% Where nodes find each other's ports: files in a folder. So no epmd is started, and nothing but 127.0.0.1 is used.
-module(rows_epmd).
-export([start_link/0, register_node/2, register_node/3, address_please/3, port_please/2, port_please/3, names/1,
         listen_port_please/2]).

file(Name) -> filename:join(os:getenv("ROWS_FOLDER"), ["port-", Name]).

start_link() -> ignore.
listen_port_please(_, _) -> {ok, 0}.
register_node(Name, Port) -> register_node(Name, Port, inet).
register_node(Name, Port, _) ->
    ok = prim_file:write_file(file(Name), integer_to_list(Port)),
    {ok, rand:uniform(1000)}.

port_please(Name, Address) -> port_please(Name, Address, infinity).
port_please(Name, _, _) ->
    case prim_file:read_file(file(Name)) of
        {ok, Port} -> {port, binary_to_integer(Port), 6};
        _ -> noport
    end.

address_please(Name, _, _) ->
    case port_please(Name, local) of
        {port, Port, Version} -> {ok, {127, 0, 0, 1}, Port, Version};
        noport -> {error, nxdomain}
    end.

names(_) -> {ok, []}.
