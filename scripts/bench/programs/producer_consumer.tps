// The precedence property of the paper: nothing is consumed before something has been produced.
lock queue_lock = queue_lock
event turn = acquire queue_lock
thread producer = start producer
thread consumer = start consumer
event p = call produce by producer
event c = call consume by consumer

scope queue (turn) {
  property produces on producer(p) is F(p)
  property consumes on consumer(c) is F(c)

  atom produced = any(produces)
  atom consumed = any(consumes)

  check "something is consumed before anything is produced" !consumed weak_until produced
}
