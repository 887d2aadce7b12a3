// The paper's formula of atomic blocks, for any number of threads.
thread customers = start customer
event enter = call buy
event leave = return buy
local buying : bool = false { on enter : buying := true; on leave : buying := false }

mttl alone "a customer saw the inside of another one's purchase" =
    forall i : customers, j : customers, i != j . @i (buying -> !@j @i (buying))
