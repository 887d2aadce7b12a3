// A connection is used only while somebody holds a reference to it.
event use = call conn_use(c)
property referenced (c : struct conn *) "a connection is used that nobody holds" = always (use -> c.refs > 0)
