// Directory streams: nothing is done with a stream (DIR *) after closedir.
typestate directory (d : DIR *) {
  open   = return opendir -> d when d != 0
  fd     = return fdopendir -> d when d != 0
  read   = call readdir(d)
  read64 = call readdir64(d)
  read_r = call readdir_r(d)
  read64_r = call readdir64_r(d)
  rewind = call rewinddir(d)
  seek   = call seekdir(d)
  tell   = call telldir(d)
  dirfd  = call dirfd(d)
  close  = call closedir(d) when d != 0

  state fresh  { open -> opened; fd -> opened }
  state opened {
    read -> opened; read64 -> opened; read_r -> opened; read64_r -> opened; rewind -> opened; seek -> opened
    tell -> opened; dirfd -> opened; close -> closed
  }
  state closed { }
}
