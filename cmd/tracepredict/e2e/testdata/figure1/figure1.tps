// Between two acquires, either the writer writes or all readers read.
lock room = lock
event turn  = acquire room
thread reader = start *_reader
thread writer = start writer
event read  = call do_read by reader
event write = call do_write by writer

scope figure (turn) {
  property reads  on reader(read)  is F(read)
  property writes on writer(write) is F(write)

  atom reading  = any(reads)
  atom writing  = any(writes)
  atom all_read = all(reads)

  check next always ((writing || reading) && !(writing && reading))
  check always (reading -> all_read)
}
