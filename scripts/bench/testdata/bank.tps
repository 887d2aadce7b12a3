// The paper's formula of atomic blocks, in the counter form, for the two methods of the bank.
var checking : int = checking
var saving : int = saving
thread tellers = start teller
thread auditors = start auditor
event pays = call transfer
event paid = return transfer
event looks = call balance
event looked = return balance
local calls : int = 0 { on pays : calls := calls + 1; on looks : calls := calls + 1 }
local atomic : int = 0 { on pays : atomic := calls; on paid : atomic := 0; on looks : atomic := calls; on looked : atomic := 0 }

mttl transfers "another thread saw the inside of a transfer" =
    forall i : tellers, j : auditors . @i (atomic > 0 -> !(atomic == @j @i (atomic)))
mttl balances "another thread saw the inside of a balance" =
    forall i : auditors, j : tellers . @i (atomic > 0 -> !(atomic == @j @i (atomic)))
