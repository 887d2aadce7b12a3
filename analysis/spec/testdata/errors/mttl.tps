thread teller = start t
thread first = 1 of teller
event e = call f
local n : int = 0 { on e : n := n + 1 }
mttl self = @first (n > @first n)
mttl loose = forall i : teller . n > 0
mttl many = forall a : teller, b : teller, c : teller, d : teller, x : teller . @a (n > 0)
mttl outer = exists i : teller . @i (n > 0)
mttl inner = @first (forall i : teller, i != first . @i (n > 0) && interval(n > 1, e))
mttl unbound = forall i : teller . @i ((forall i != first . n > 0))
