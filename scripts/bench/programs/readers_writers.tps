// Example 7 of the paper: readers and writers exclude each other, all readers read when one does, and one writer writes. The
// exclusive or is false in region 0, in which nobody has the lock yet, so that the check begins with region 1.
lock service = service
event turn  = acquire service
thread reader = start reader
thread writer = start writer
event read  = call resource_read by reader
event write = call resource_write by writer

scope resource (turn) {
  property reads  on reader(read)  is F(read)
  property writes on writer(write) is F(write)

  atom reading    = any(reads)
  atom writing    = any(writes)
  atom all_read   = all(reads)
  atom one_writes = count(writes, T) == 1

  check "readers and writers do not exclude each other"
    next always ((reading xor writing) && (writing -> one_writes) && (reading -> all_read))
}
