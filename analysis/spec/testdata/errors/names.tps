include "nowhere.tps"
var v : int = valve_opening
var w : word = water
var v = again
var tid = x
prop p = valv > 55
prop p = v > 1
prop q = P && v > 1
prop loop = hoop
prop hoop = loop
event open = call door_open(which) when v == 1
event shut = call door_shut(which) by worker when whic == 1
event taken = acquire guard
lock guard = g
sem s = pool
event waits = wait s
thread one = 1 of nobody
thread two = 1 of one
property f = always (r -> opne)
property f = always guard
property g = automaton {
  state a { {p} -> b }
  state a { {p} -> idel }
  state idle
}
check races(v, u)
local n : int = v { on shut : m := 1; n := q }
