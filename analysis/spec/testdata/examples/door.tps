// Calls of functions and a lock, an automaton, and ready-made analyses.
var level : int = tank.level
lock guard = tank_lock
thread worker = start worker_main

event open = call door_open(which) by worker when which == 1
event shut = return door_shut(_) -> ok when ok == 0
event lock_taken = acquire guard
prop high = level * 2 / 3 > 10

property door "opened while the tank was high, and the lock not taken since" = automaton {
  state idle  { { high } -> armed; { } -> idle }
  state armed { { open, !lock_taken } -> wrong; { shut } -> idle; { } -> armed }
  bad state wrong
}
property alternate = ere good ({!open, !shut}* ({open} {!open, !shut}* {shut} {!open, !shut}*)* ({open} {!open, !shut}*)?)

check races(level)
check deadlocks
