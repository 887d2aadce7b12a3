// Streams of the C library: nothing is done with a stream (FILE *) after it was closed.
//
// A stream comes from fopen, fdopen, freopen, tmpfile, popen, fmemopen, open_memstream, fopencookie or setmntent, and goes with
// fclose; pclose and endmntent call that. exit closes no stream: it writes what is buffered. stdin, stdout, stderr and other
// streams that are not seen to be opened are in every state at first. What *_unlocked functions do is seen if the compiler has
// left them calls.
typestate stream (f : FILE *) {
  open   = return fopen -> f when f != 0
  open64 = return fopen64 -> f when f != 0
  fd     = return fdopen -> f when f != 0
  cookie = return fopencookie -> f when f != 0
  memory = return fmemopen -> f when f != 0
  grow   = return open_memstream -> f when f != 0
  wgrow  = return open_wmemstream -> f when f != 0
  temp   = return tmpfile -> f when f != 0
  temp64 = return tmpfile64 -> f when f != 0
  pipe   = return popen -> f when f != 0
  mounts = return setmntent -> f when f != 0
  again  = return freopen(_, _, _) -> f when f != 0
  again64 = return freopen64(_, _, _) -> f when f != 0

  freopen   = call freopen(_, _, f)
  freopen64 = call freopen64(_, _, f)

  getc      = call fgetc(f)
  getc_     = call getc(f)
  gets      = call fgets(_, _, f)
  gets_chk  = call __fgets_chk(_, _, _, f)
  getdelim  = call getdelim(_, _, _, f)
  getdelim_ = call __getdelim(_, _, _, f)
  getline   = call getline(_, _, f)
  ungetc    = call ungetc(_, f)
  read      = call fread(_, _, _, f)
  read_chk  = call __fread_chk(_, _, _, _, f)
  read_u    = call fread_unlocked(_, _, _, f)
  scan      = call fscanf(f)
  scan99    = call __isoc99_fscanf(f)
  scan23    = call __isoc23_fscanf(f)

  putc      = call fputc(_, f)
  putc_     = call putc(_, f)
  puts      = call fputs(_, f)
  puts_u    = call fputs_unlocked(_, f)
  write     = call fwrite(_, _, _, f)
  write_u   = call fwrite_unlocked(_, _, _, f)
  print     = call fprintf(f)
  print_chk = call __fprintf_chk(f)
  vprint    = call vfprintf(f)
  vprint_chk = call __vfprintf_chk(f)

  flush     = call fflush(f) when f != 0
  seek      = call fseek(f)
  seeko     = call fseeko(f)
  seeko64   = call fseeko64(f)
  tell      = call ftell(f)
  tello     = call ftello(f)
  tello64   = call ftello64(f)
  rewind    = call rewind(f)
  setpos    = call fsetpos(f)
  getpos    = call fgetpos(f)
  setvbuf   = call setvbuf(f)
  fileno    = call fileno(f)
  eof       = call feof(f)
  error     = call ferror(f)
  clearerr  = call clearerr(f)
  lock      = call flockfile(f)
  unlock    = call funlockfile(f)

  close     = call fclose(f)

  state fresh {
    open -> opened; open64 -> opened; fd -> opened; cookie -> opened; memory -> opened; grow -> opened; wgrow -> opened
    temp -> opened; temp64 -> opened; pipe -> opened; mounts -> opened; again -> opened; again64 -> opened
  }
  state opened {
    freopen -> opened; freopen64 -> opened
    getc -> opened; getc_ -> opened; gets -> opened; gets_chk -> opened; getdelim -> opened
    getdelim_ -> opened; getline -> opened; ungetc -> opened; read -> opened; read_chk -> opened; read_u -> opened
    scan -> opened; scan99 -> opened; scan23 -> opened
    putc -> opened; putc_ -> opened; puts -> opened; puts_u -> opened; write -> opened; write_u -> opened
    print -> opened; print_chk -> opened; vprint -> opened; vprint_chk -> opened
    flush -> opened; seek -> opened; seeko -> opened; seeko64 -> opened; tell -> opened; tello -> opened; tello64 -> opened
    rewind -> opened; setpos -> opened; getpos -> opened; setvbuf -> opened; fileno -> opened; eof -> opened
    error -> opened; clearerr -> opened; lock -> opened; unlock -> opened
    close -> closed
  }
  state closed { }
}
