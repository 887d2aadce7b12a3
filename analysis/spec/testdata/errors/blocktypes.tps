thread teller = start t
event e = call f(q)
var v : int = v
var b : bool = vb
var f : float = vf
mttl types = exists i : teller . @i (b + 1 > 0) || (b < 1 since v) || f % 2 == 1 || start(v) || @i (v) == null || v == OPEN
mttl names = forall i : teller, i : teller . @e (v > 1) || teller > 1 || next (v > 1)
scope kinds (e) {
  property a on teller(e) is e until 3
  property c on teller(e) is e > 1
  atom n = count(a, T)
  atom m = any(a) + 1 > 0
  atom o = count(a, T) == any(c)
  check n == m && 7
}
