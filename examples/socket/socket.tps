// A connection is connected once, then written to and read from, and closed at the end.
typestate conn (c : struct conn *) {
  make    = return conn_new -> c
  connect = call conn_connect(c)
  write   = call conn_write(c, _, _)
  read    = call conn_read(c, _, _)
  close   = call conn_close(c)

  state fresh     { make -> made }
  state made      { connect -> connected }
  state connected { write -> connected; read -> connected; close -> closed }
  state closed    { }
}
