// Between two acquires of the board's lock, either the writer writes or all readers read.
lock board_lock = board_lock
event turn  = acquire board_lock
thread reader = start *_reader
thread writer = start writer
event read  = call board_read by reader
event write = call board_write by writer

scope board (turn) {
  property reads  on reader(read)  is F(read)
  property writes on writer(write) is F(write)

  atom reading  = any(reads)
  atom writing  = any(writes)
  atom all_read = all(reads)

  check "a reader and the writer have the board at once" always !(reading && writing)
  check "a reader missed a notice" always (reading -> all_read)
}
