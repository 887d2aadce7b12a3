// Bounded waiting, which the paper states in words: whoever has a number enters before any other enters twice. The formula is
// made up. Such a process enters with one of the next entries, of which there are as many as processes.
var entries : int = entries
event served = write entries
thread process = start process
thread first = 1 of process
thread second = 2 of process
event ask1 = call bakery_wait by first
event enter1 = call critical_section by first
event ask2 = call bakery_wait by second
event enter2 = call critical_section by second

scope section (served) {
  property asks1 on first(ask1) is F(ask1)
  property enters1 on first(enter1) is F(enter1)
  property asks2 on second(ask2) is F(ask2)
  property enters2 on second(enter2) is F(enter2)

  atom asked1 = any(asks1)
  atom entered1 = any(enters1)
  atom asked2 = any(asks2)
  atom entered2 = any(enters2)

  check "process 1 waits for more turns than there are others" always (asked1 -> next (entered1 || next (entered1)))
  check "process 2 waits for more turns than there are others" always (asked2 -> next (entered2 || next (entered2)))
}
