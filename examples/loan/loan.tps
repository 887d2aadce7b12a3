// A clerk who pays a loan must know that the manager has approved it.
thread managers = start manager
thread boss = 1 of managers
thread teller = start clerk
event approved = call approve
event pays = call pay
local approvals : int = 0 { on approved : approvals := approvals + 1 }

mttl told "a clerk pays a loan without knowing that it was approved" =
    forall c : teller . @c (pays -> @boss (approvals > 0))
