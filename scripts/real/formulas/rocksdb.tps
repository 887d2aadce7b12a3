// What a leader of writers does to the log, the schedule of background jobs, for which the lock of the database is held, and the
// writing of a new version, for which that lock is given up in the middle.
check atomicity(`rocksdb::DBImpl::WriteToWAL`)
check atomicity(`rocksdb::DBImpl::MaybeScheduleFlushOrCompaction`)
check atomicity(`rocksdb::VersionSet::ProcessManifestWrites`)
