// From one notice to the next, all readers read while the first of them has the board.
lock board_lock = board_lock
thread writer = start writer
thread first  = start first_reader
thread reader = start *_reader
event posted = acquire board_lock by writer
event opened = acquire board_lock by first
event read   = call board_read by reader

scope notice (posted) {
  scope opening (opened) {
    property reads on reader(read) is F(read)
    atom all_read = all(reads)
    check eventually all_read
  }
  atom read_by_all = any(opening, T)
  check "a notice was not read by all" next always read_by_all
}
