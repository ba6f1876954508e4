%% The process dictionary.
-module(rows_local).
-compile([export_all, nowarn_export_all]).
-import(rows, [say/1, start/1, watch/1]).

%% What is not there counts as 0: weft gives zeroed memory.
value(Key) -> case get(Key) of undefined -> 0; Value -> Value end.

local_first() -> say(value(key)), put(key, 5), say(value(key)).
local_keys() -> put(key, 5), say(value(other_key)).
local_child() -> put(key, 5), ended(watch(fun() -> say(value(key)) end)).
local_in_cleanup() -> ended(watch(fun() -> put(key, 5), try ok after say(value(key)) end end)).
local_restart() -> [ended(watch(fun() -> put(key, value(key) + 1), say(value(key)), exit(17) end)) || _ <- [1, 2]].

ended(Pid) -> receive {'DOWN', _, _, Pid, _} -> ok end.
