// The blocks whose analyses are not there yet: they are checked.
thread teller = start teller_main
event enter = call transfer
event leave = return transfer
local blocks : int = 0 { on enter : blocks := blocks + 1 }
local atomic : int = 0 { on enter : atomic := blocks;  on leave : atomic := 0 }

mttl isolated "another thread saw the inside of an atomic block" =
    forall i : teller, j : teller, i != j .
        @i ( atomic > 0 -> !( atomic == @j @i (atomic) ) )

typestate download_queue (q : struct queue *) {
  create = return queue_new -> q
  put    = call queue_put(q, _)
  take   = call queue_take(q)
  close  = call queue_close(q)
  free   = call queue_free(q)

  state fresh  { create -> open }
  state open   { put -> open; take -> open; close -> closed }   // 214 objects, 9,118 calls
  state closed { free -> gone }
  state gone   { }
}

lock resource_lock = resource_lock
event AR    = acquire resource_lock
thread reader = start reader_main
thread writer = start writer_main
event read  = call shared_read  by reader
event write = call shared_write by writer

scope s0 (AR) {
  property s0r on reader(read)  is F(read)          // LTL₃ on the thread's events since the last AR: true, false or ?
  property s0w on writer(write) is F(write)

  atom activereader = count(s0r, T) > 0
  atom activewriter = count(s0w, T) > 0
  atom onewriter    = count(s0w, T) == 1
  atom allreaders   = count(s0r, T) == size(reader)

  check always ((activereader xor activewriter) && (activewriter -> onewriter) && (activereader -> allreaders))
}
check atomicity(transfer)
