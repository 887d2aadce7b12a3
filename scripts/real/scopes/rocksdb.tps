// The thread pool of RocksDB. What it has to do is scheduled under the lock of the database, at the end of each job too: so
// between two schedulings no thread of the pool begins two jobs, and no two threads begin a flush, of which one may run.
event scheduled = call rocksdb::DBImpl::MaybeScheduleFlushOrCompaction
thread flusher   = name "rocksdb:high*"
thread compactor = name "rocksdb:low*"
event flush   = call rocksdb::DBImpl::BackgroundCallFlush by flusher
event compact = call rocksdb::DBImpl::BackgroundCallCompaction by compactor

scope jobs (scheduled) {
  property flushes  on flusher(flush)     is F(flush)
  property flushed  on flusher(flush)     is always (flush -> next always !flush)
  property compacts on compactor(compact) is always (compact -> next always !compact)

  atom two_flushes = count(flushes, T) > 1
  atom two_jobs    = any(flushed, F) || any(compacts, F)

  check "two threads begin a flush before anything is scheduled" always !two_flushes
  check "a thread begins two jobs before anything is scheduled" always !two_jobs
}
