// Properties of each object of a type.
event use = call conn_use(c)
event close = call conn_close(c)
event shut = call shutdown(fd, _)
var limit : int = limit
property referenced (c : struct conn *) "a connection is used that nobody holds" = always (use -> c.refs > 0)
property flags (c : const struct conn *) = always (close -> c.stats.flags & 4 == 4 && c.refs <= limit)
property closed (c : struct conn *) = ere bad { }* { close } { !close }* { use, c.open } { }*
property once_only (fd : int) = always (shut -> Z historically !shut)
property state (k : ns::Queue<int>) = always (k.state == 1 -> k.refs > 0)
