// A transfer, and a balance, are atomic: no other thread sees the inside of a call and then shows that to its thread.
event pays = call transfer
event paid = return transfer
event looks = call balance
event looked = return balance
thread clerks = start teller
thread auditors = start auditor
local calls : int = 0 { on pays : calls := calls + 1; on looks : calls := calls + 1 }
local atomic : int = 0 { on pays : atomic := calls; on paid : atomic := 0; on looks : atomic := calls; on looked : atomic := 0 }

mttl transfers "an auditor saw the inside of a transfer" =
    forall i : clerks, j : auditors . @i (atomic > 0 -> !(atomic == @j @i (atomic)))
mttl balances "a teller saw the inside of a balance" =
    forall i : auditors, j : clerks . @i (atomic > 0 -> !(atomic == @j @i (atomic)))
