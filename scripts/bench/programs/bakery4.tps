// Bounded waiting, which the paper states in words: whoever has a number enters before any other enters twice. The formula is
// made up. Such a process enters with one of the next entries, of which there are as many as processes.
var entries : int = entries
event served = write entries
thread process = start process
thread first = 1 of process
thread second = 2 of process
thread third = 3 of process
thread fourth = 4 of process
event ask1 = call bakery_wait by first
event enter1 = call critical_section by first
event ask2 = call bakery_wait by second
event enter2 = call critical_section by second
event ask3 = call bakery_wait by third
event enter3 = call critical_section by third
event ask4 = call bakery_wait by fourth
event enter4 = call critical_section by fourth

scope section (served) {
  property asks1 on first(ask1) is F(ask1)
  property enters1 on first(enter1) is F(enter1)
  property asks2 on second(ask2) is F(ask2)
  property enters2 on second(enter2) is F(enter2)
  property asks3 on third(ask3) is F(ask3)
  property enters3 on third(enter3) is F(enter3)
  property asks4 on fourth(ask4) is F(ask4)
  property enters4 on fourth(enter4) is F(enter4)

  atom asked1 = any(asks1)
  atom entered1 = any(enters1)
  atom asked2 = any(asks2)
  atom entered2 = any(enters2)
  atom asked3 = any(asks3)
  atom entered3 = any(enters3)
  atom asked4 = any(asks4)
  atom entered4 = any(enters4)

  check "process 1 waits for more turns than there are others" always (asked1 -> next (entered1 || next (entered1 || next (entered1 || next (entered1)))))
  check "process 2 waits for more turns than there are others" always (asked2 -> next (entered2 || next (entered2 || next (entered2 || next (entered2)))))
  check "process 3 waits for more turns than there are others" always (asked3 -> next (entered3 || next (entered3 || next (entered3 || next (entered3)))))
  check "process 4 waits for more turns than there are others" always (asked4 -> next (entered4 || next (entered4 || next (entered4 || next (entered4)))))
}
