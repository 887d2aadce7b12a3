// SQLite: connections, statements, blobs and backups are used until they are closed or finalized.
//
// sqlite3_close fails while statements are left, and the connection stays open. After sqlite3_close_v2 the library itself
// may still call its functions, for statements that are left: of what it calls, nothing is said then. sqlite3_exec may make
// and finalize its statements without calls: the next statement at the address of one need not be seen to be made.
typestate connection (db : sqlite3 *) {
  open     = return sqlite3_open(_, *db) when db != 0
  open16   = return sqlite3_open16(_, *db) when db != 0
  open_v2  = return sqlite3_open_v2(_, *db) when db != 0
  exec     = call sqlite3_exec(db)
  table    = call sqlite3_get_table(db)
  prepare  = call sqlite3_prepare(db)
  prepare2 = call sqlite3_prepare_v2(db)
  prepare3 = call sqlite3_prepare_v3(db)
  wide     = call sqlite3_prepare16(db)
  wide2    = call sqlite3_prepare16_v2(db)
  wide3    = call sqlite3_prepare16_v3(db)
  blob     = call sqlite3_blob_open(db)
  backup   = call sqlite3_backup_init(db)
  source   = call sqlite3_backup_init(_, _, db)
  function = call sqlite3_create_function(db)
  function2 = call sqlite3_create_function_v2(db)
  collation = call sqlite3_create_collation(db)
  collation2 = call sqlite3_create_collation_v2(db)
  module   = call sqlite3_create_module(db)
  module2  = call sqlite3_create_module_v2(db)
  rowid    = call sqlite3_last_insert_rowid(db)
  changes  = call sqlite3_changes(db)
  changes64 = call sqlite3_changes64(db)
  total    = call sqlite3_total_changes(db)
  total64  = call sqlite3_total_changes64(db)
  errcode  = call sqlite3_errcode(db)
  errmore  = call sqlite3_extended_errcode(db)
  errmsg   = call sqlite3_errmsg(db)
  busy     = call sqlite3_busy_timeout(db)
  handler  = call sqlite3_busy_handler(db)
  progress = call sqlite3_progress_handler(db)
  interrupt = call sqlite3_interrupt(db)
  autocommit = call sqlite3_get_autocommit(db)
  config   = call sqlite3_db_config(db)
  limit    = call sqlite3_limit(db)
  wal      = call sqlite3_wal_checkpoint(db)
  wal2     = call sqlite3_wal_checkpoint_v2(db)
  column   = call sqlite3_table_column_metadata(db)
  update   = call sqlite3_update_hook(db)
  commit   = call sqlite3_commit_hook(db)
  rollback = call sqlite3_rollback_hook(db)
  next     = call sqlite3_next_stmt(db)
  close    = call sqlite3_close(db) when db != 0
  failed   = return sqlite3_close(db) -> rc when rc != 0
  leave    = call sqlite3_close_v2(db) when db != 0

  state fresh { open -> alive; open16 -> alive; open_v2 -> alive }
  state alive {
    exec -> alive; table -> alive; prepare -> alive; prepare2 -> alive; prepare3 -> alive; wide -> alive; wide2 -> alive
    wide3 -> alive; blob -> alive; backup -> alive; source -> alive; function -> alive; function2 -> alive
    collation -> alive; collation2 -> alive; module -> alive; module2 -> alive; rowid -> alive; changes -> alive
    changes64 -> alive; total -> alive; total64 -> alive; errcode -> alive; errmore -> alive; errmsg -> alive
    busy -> alive; handler -> alive; progress -> alive; interrupt -> alive; autocommit -> alive; config -> alive
    limit -> alive; wal -> alive; wal2 -> alive; column -> alive; update -> alive; commit -> alive; rollback -> alive
    next -> alive; failed -> alive; close -> closed; leave -> left
  }
  state closed { failed -> alive }
  state left {
    exec -> left; table -> left; prepare -> left; prepare2 -> left; prepare3 -> left; wide -> left; wide2 -> left
    wide3 -> left; blob -> left; function -> left; function2 -> left; collation -> left; collation2 -> left
    module -> left; module2 -> left; rowid -> left; changes -> left; changes64 -> left; total -> left; total64 -> left
    errcode -> left; errmore -> left; errmsg -> left; autocommit -> left; config -> left; limit -> left; column -> left
    next -> left; interrupt -> left
  }
}

typestate statement (s : sqlite3_stmt *) reborn at next use {
  prepare  = return sqlite3_prepare(_, _, _, *s) when s != 0
  prepare2 = return sqlite3_prepare_v2(_, _, _, *s) when s != 0
  prepare3 = return sqlite3_prepare_v3(_, _, _, _, *s) when s != 0
  wide     = return sqlite3_prepare16(_, _, _, *s) when s != 0
  wide2    = return sqlite3_prepare16_v2(_, _, _, *s) when s != 0
  wide3    = return sqlite3_prepare16_v3(_, _, _, _, *s) when s != 0
  step     = call sqlite3_step(s)
  reset    = call sqlite3_reset(s) when s != 0
  clear    = call sqlite3_clear_bindings(s)
  blob     = call sqlite3_bind_blob(s)
  blob64   = call sqlite3_bind_blob64(s)
  double   = call sqlite3_bind_double(s)
  int      = call sqlite3_bind_int(s)
  int64    = call sqlite3_bind_int64(s)
  null     = call sqlite3_bind_null(s)
  text     = call sqlite3_bind_text(s)
  text16   = call sqlite3_bind_text16(s)
  text64   = call sqlite3_bind_text64(s)
  value    = call sqlite3_bind_value(s)
  zero     = call sqlite3_bind_zeroblob(s)
  params   = call sqlite3_bind_parameter_count(s) when s != 0
  index    = call sqlite3_bind_parameter_index(s) when s != 0
  named    = call sqlite3_bind_parameter_name(s) when s != 0
  columns  = call sqlite3_column_count(s) when s != 0
  data     = call sqlite3_data_count(s) when s != 0
  name     = call sqlite3_column_name(s)
  decltype = call sqlite3_column_decltype(s)
  type     = call sqlite3_column_type(s)
  bytes    = call sqlite3_column_bytes(s)
  bytes16  = call sqlite3_column_bytes16(s)
  asblob   = call sqlite3_column_blob(s)
  asdouble = call sqlite3_column_double(s)
  asint    = call sqlite3_column_int(s)
  asint64  = call sqlite3_column_int64(s)
  astext   = call sqlite3_column_text(s)
  astext16 = call sqlite3_column_text16(s)
  asvalue  = call sqlite3_column_value(s)
  sql      = call sqlite3_sql(s) when s != 0
  expanded = call sqlite3_expanded_sql(s) when s != 0
  finalize = call sqlite3_finalize(s) when s != 0

  state fresh {
    prepare -> alive; prepare2 -> alive; prepare3 -> alive; wide -> alive; wide2 -> alive; wide3 -> alive
  }
  state alive {
    step -> alive; reset -> alive; clear -> alive; blob -> alive; blob64 -> alive; double -> alive; int -> alive
    int64 -> alive; null -> alive; text -> alive; text16 -> alive; text64 -> alive; value -> alive; zero -> alive
    params -> alive; index -> alive; named -> alive; columns -> alive; data -> alive; name -> alive; decltype -> alive
    type -> alive; bytes -> alive; bytes16 -> alive; asblob -> alive; asdouble -> alive; asint -> alive
    asint64 -> alive; astext -> alive; astext16 -> alive; asvalue -> alive; sql -> alive; expanded -> alive; finalize -> finalized
  }
  state finalized { }
}

typestate blob (b : sqlite3_blob *) {
  open   = return sqlite3_blob_open(_, _, _, _, _, _, *b) when b != 0
  read   = call sqlite3_blob_read(b)
  write  = call sqlite3_blob_write(b)
  bytes  = call sqlite3_blob_bytes(b)
  reopen = call sqlite3_blob_reopen(b)
  close  = call sqlite3_blob_close(b) when b != 0

  state fresh  { open -> opened }
  state opened { read -> opened; write -> opened; bytes -> opened; reopen -> opened; close -> closed }
  state closed { }
}

typestate backup (b : sqlite3_backup *) {
  init   = return sqlite3_backup_init -> b when b != 0
  step   = call sqlite3_backup_step(b)
  left   = call sqlite3_backup_remaining(b)
  pages  = call sqlite3_backup_pagecount(b)
  finish = call sqlite3_backup_finish(b) when b != 0

  state fresh    { init -> begun }
  state begun    { step -> begun; left -> begun; pages -> begun; finish -> finished }
  state finished { }
}
