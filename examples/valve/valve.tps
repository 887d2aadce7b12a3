// What must hold of the reservoir (JMPaX 2.0, Example 1). The two properties say
// the same, F1 as a formula and F2 as an expression of the bad prefixes.
var w : int = water
var v : int = opening

prop p = w > 26
prop q = w > 30
prop r = v > 55

property f1 "the valve opens too late" =
    always (q -> ((r && p) since start(p)))

property f2 "the valve opens too late" =
    ere bad ({ }* { !p } { p }+ ({ p, !r } { p }* { q } | { q, !r }) { }* | { p }* { q } { }*)
