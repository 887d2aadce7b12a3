// Descriptors, as far as the C library's calls make and close them.
typestate descriptor (d : int) {
  open    = return open64 -> d when d >= 0
  openat  = return openat64 -> d when d >= 0
  accept4 = return accept4 -> d when d >= 0
  accept  = return accept -> d when d >= 0
  socket  = return socket -> d when d >= 0
  epoll   = return epoll_create1 -> d when d >= 0
  read    = call read(d)
  write   = call write(d)
  writev  = call writev(d)
  recv    = call recv(d)
  send    = call send(d)
  pread   = call pread64(d)
  pwrite  = call pwrite64(d)
  close   = call close(d)

  state fresh  { open -> opened; openat -> opened; accept4 -> opened; accept -> opened; socket -> opened; epoll -> opened }
  state opened { read -> opened; write -> opened; writev -> opened; recv -> opened; send -> opened; pread -> opened; pwrite -> opened; close -> closed }
  state closed { }
}
