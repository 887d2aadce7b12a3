// The threads for input and output of Redis. Each time before it waits for events, the main thread has them read from clients;
// only the main thread executes what they have read.
thread io = start IOThreadMain
thread main_thread = main
event handed_out = call handleClientsWithPendingReadsUsingThreads by main_thread
event reads = call readQueryFromClient by io
event runs  = call processCommand by io
event executes = call processCommand by main_thread

scope reading (handed_out) {
  property has_read on io(reads)              is F(reads)
  property has_run  on io(runs)               is F(runs)
  property executed on main_thread(executes)  is F(executes)

  atom read       = any(has_read)
  atom run        = any(has_run)
  atom served     = any(executed)

  check "a thread for input and output executes a command" always !run
  check "nothing is executed of what such a thread has read" always (read -> served)
}
