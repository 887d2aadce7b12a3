// JMPaX 2.0, Example 1: a controller opens a valve when the water rises. The valve
// must be open far enough (r) since the water passed the first mark (p), before it
// passes the second (q).
var w : int = water
var v : int = valve_opening

prop p = w > 26
prop q = w > 30
prop r = v > 55

property high_water "the valve opens too late" =
    always (q -> ((r && p) since start(p)))

// The same by its bad prefixes, where q implies p.
property high_water_again "the valve opens too late" =
    ere bad ({ }* { !p } { p }+ ( { p, !r } { p }* { q } | { q, !r } ) { }* | { p }* { q } { }*)
