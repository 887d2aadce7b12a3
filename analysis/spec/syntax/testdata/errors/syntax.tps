var = water
var v int = valve
var ok : int = valve_opening
vra w = water
lock = m
lock l m
thread t = whenever f
thread t = 0 of x
event e = cal f
event e = call f(x, x)
event e = call f -> r
event e = write v ->
prop p = w >
prop p = (w > 1
prop q = always w > 1
property f "message always p
property f = [p, q]
property f = ere bad {p} +{q
property f = ere bad (p
check racess
check atomicity
local n = 0 { on e : n = 1 }
