thread teller = start t
event e = call f(q)
typestate t (q : int) {
  put = call put(x)
  take = call take(q)
  state open { take -> gone; pull -> open }
  state lost { take -> open }
}
mttl m = forall i : teller, j : banker . @i (k) && @teller (e) && eventually e
scope s (ee) {
  property a on teller(e) is F(x)
  property c on teller(e) is F(sync) across scopes
  atom n = count(b, T) > 0 && size(e) > z
  check always k
}
