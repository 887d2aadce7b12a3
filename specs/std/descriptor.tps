// Descriptors: nothing is done with one after it was closed.
//
// The C library opens and closes some without calls that are seen, as for streams and directories. So a number that comes
// again after it was closed is another descriptor, also if no function that opens one has returned it. A negative number,
// the result of a call that failed, is none.
typestate descriptor (fd : int) reborn at next use {
  by_open          = return open -> fd when fd >= 0 && fd < 1048576
  by_open64        = return open64 -> fd when fd >= 0 && fd < 1048576
  by_openat        = return openat -> fd when fd >= 0 && fd < 1048576
  by_openat64      = return openat64 -> fd when fd >= 0 && fd < 1048576
  by_creat         = return creat -> fd when fd >= 0 && fd < 1048576
  by_creat64       = return creat64 -> fd when fd >= 0 && fd < 1048576
  by_socket        = return socket -> fd when fd >= 0 && fd < 1048576
  by_accept        = return accept -> fd when fd >= 0 && fd < 1048576
  by_accept4       = return accept4 -> fd when fd >= 0 && fd < 1048576
  new_dup          = return dup -> fd when fd >= 0 && fd < 1048576
  by_dup2          = return dup2 -> fd when fd >= 0 && fd < 1048576
  by_dup3          = return dup3 -> fd when fd >= 0 && fd < 1048576
  by_eventfd       = return eventfd -> fd when fd >= 0 && fd < 1048576
  by_epoll_create  = return epoll_create -> fd when fd >= 0 && fd < 1048576
  by_epoll_create1 = return epoll_create1 -> fd when fd >= 0 && fd < 1048576
  by_timerfd_create = return timerfd_create -> fd when fd >= 0 && fd < 1048576
  by_signalfd      = return signalfd -> fd when fd >= 0 && fd < 1048576
  by_memfd_create  = return memfd_create -> fd when fd >= 0 && fd < 1048576
  by_inotify_init1 = return inotify_init1 -> fd when fd >= 0 && fd < 1048576
  by_mkstemp       = return mkstemp -> fd when fd >= 0 && fd < 1048576
  by_mkstemp64     = return mkstemp64 -> fd when fd >= 0 && fd < 1048576
  pipe_r           = return pipe(fd[0] : int) -> rc when rc == 0
  pipe_w           = return pipe(fd[1] : int) -> rc when rc == 0
  pipe2_r          = return pipe2(fd[0] : int) -> rc when rc == 0
  pipe2_w          = return pipe2(fd[1] : int) -> rc when rc == 0
  read             = call read(fd)
  pread            = call pread(fd)
  pread64          = call pread64(fd)
  readv            = call readv(fd)
  write            = call write(fd)
  pwrite           = call pwrite(fd)
  pwrite64         = call pwrite64(fd)
  writev           = call writev(fd)
  lseek            = call lseek(fd)
  lseek64          = call lseek64(fd)
  fstat            = call fstat(fd)
  fstat64          = call fstat64(fd)
  fsync            = call fsync(fd)
  fdatasync        = call fdatasync(fd)
  ftruncate        = call ftruncate(fd)
  ftruncate64      = call ftruncate64(fd)
  fchmod           = call fchmod(fd)
  flock            = call flock(fd)
  fcntl            = call fcntl(fd)
  fcntl64          = call fcntl64(fd)
  ioctl            = call ioctl(fd)
  sendfile         = call sendfile(fd)
  sendfile64       = call sendfile64(fd)
  copied           = call sendfile(_, fd)
  copied64         = call sendfile64(_, fd)
  send             = call send(fd)
  sendto           = call sendto(fd)
  sendmsg          = call sendmsg(fd)
  recv             = call recv(fd)
  recvfrom         = call recvfrom(fd)
  recvmsg          = call recvmsg(fd)
  connect          = call connect(fd)
  bind             = call bind(fd)
  listen           = call listen(fd)
  setsockopt       = call setsockopt(fd)
  shutdown         = call shutdown(fd)
  events           = call epoll_wait(fd)
  close            = call close(fd) when fd >= 0 && fd < 1048576

  state fresh {
    by_open -> opened; by_open64 -> opened; by_openat -> opened; by_openat64 -> opened; by_creat -> opened
    by_creat64 -> opened; by_socket -> opened; by_accept -> opened; by_accept4 -> opened; new_dup -> opened
    by_dup2 -> opened; by_dup3 -> opened; by_eventfd -> opened; by_epoll_create -> opened; by_epoll_create1 -> opened
    by_timerfd_create -> opened; by_signalfd -> opened; by_memfd_create -> opened; by_inotify_init1 -> opened
    by_mkstemp -> opened; by_mkstemp64 -> opened; pipe_r -> opened; pipe_w -> opened; pipe2_r -> opened
    pipe2_w -> opened
  }
  state opened {
    read -> opened; pread -> opened; pread64 -> opened; readv -> opened; write -> opened; pwrite -> opened
    pwrite64 -> opened; writev -> opened; lseek -> opened; lseek64 -> opened; fstat -> opened; fstat64 -> opened
    fsync -> opened; fdatasync -> opened; ftruncate -> opened; ftruncate64 -> opened; fchmod -> opened
    flock -> opened; fcntl -> opened; fcntl64 -> opened; ioctl -> opened; sendfile -> opened; sendfile64 -> opened
    copied -> opened; copied64 -> opened; send -> opened; sendto -> opened; sendmsg -> opened; recv -> opened
    recvfrom -> opened; recvmsg -> opened; connect -> opened; bind -> opened; listen -> opened; setsockopt -> opened
    shutdown -> opened; events -> opened; close -> closed
  }
  state closed { }
}
