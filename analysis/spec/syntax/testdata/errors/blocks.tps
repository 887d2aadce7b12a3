property f = automaton {
  state a { {p} => b }
  state b { {p} -> a
  bad stat c
}
typestate q (x) {
}
typestate q (x : int) {
  put = call f(x)
  stte open { put -> open }
  state closed { put open }
}
mttl m = forall i, j : t . p
mttl m = forall i : t p
scope s AR { }
scope s (AR) {
  property p on reader is F(read)
  atom a = count(p) > 0
  chek always a
}
var after = here
selectors { event A on "f" when "lockname == x" }
selectors { event A on "f" when "%lockname == x" }
types { reader { spawn "f" } }
prop tail = 1 @ 2
