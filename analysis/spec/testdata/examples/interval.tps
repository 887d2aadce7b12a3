// JMPaX 2.0, Section 3.3: where x is positive, y has been 0 and not above z since.
var x : int = x
var y : int = y
var z : int = z

property interval = always (x > 0 -> [y == 0, y > z))

// The same with an expression, which says what must not come.
prop a = x > 0
prop b = y == 0
prop c = y > z
property interval_again = ere bad ((({ }* { a }) & ~({ }* { b, !c } { !c }*)) { }*)
