// zlib: a z_stream is used between its initialisation and its end, and a gzFile until it is closed.
//
// deflateInit and inflateInit are macros for the functions with an underscore. A stream may be ended again: that does
// nothing.
typestate deflating (z : z_stream *) {
  init   = call deflateInit_(z)
  init2  = call deflateInit2_(z)
  copy   = call deflateCopy(z)
  source = call deflateCopy(_, z)
  data   = call deflate(z)
  reset  = call deflateReset(z)
  keep   = call deflateResetKeep(z)
  params = call deflateParams(z)
  tune   = call deflateTune(z)
  dict   = call deflateSetDictionary(z)
  getdict = call deflateGetDictionary(z)
  header = call deflateSetHeader(z)
  prime  = call deflatePrime(z)
  end    = call deflateEnd(z)

  state fresh { init -> ready; init2 -> ready; copy -> ready }
  state ready {
    data -> ready; source -> ready; reset -> ready; keep -> ready; params -> ready; tune -> ready; dict -> ready; getdict -> ready
    header -> ready; prime -> ready; end -> ended
  }
  state ended { end -> ended }
}

typestate inflating (z : z_stream *) {
  init   = call inflateInit_(z)
  init2  = call inflateInit2_(z)
  back   = call inflateBackInit_(z)
  copy   = call inflateCopy(z)
  source = call inflateCopy(_, z)
  data   = call inflate(z)
  pull   = call inflateBack(z)
  reset  = call inflateReset(z)
  reset2 = call inflateReset2(z)
  keep   = call inflateResetKeep(z)
  dict   = call inflateSetDictionary(z)
  getdict = call inflateGetDictionary(z)
  header = call inflateGetHeader(z)
  prime  = call inflatePrime(z)
  sync   = call inflateSync(z)
  end    = call inflateEnd(z)
  backend = call inflateBackEnd(z)

  state fresh { init -> ready; init2 -> ready; back -> ready; copy -> ready }
  state ready {
    data -> ready; source -> ready; pull -> ready; reset -> ready; reset2 -> ready; keep -> ready; dict -> ready; getdict -> ready
    header -> ready; prime -> ready; sync -> ready; end -> ended; backend -> ended
  }
  state ended { end -> ended; backend -> ended }
}

typestate gzfile (f : gzFile) {
  open   = return gzopen -> f when f != 0
  open64 = return gzopen64 -> f when f != 0
  fd     = return gzdopen -> f when f != 0
  read   = call gzread(f)
  fread  = call gzfread(_, _, _, f)
  write  = call gzwrite(f)
  fwrite = call gzfwrite(_, _, _, f)
  print  = call gzprintf(f)
  puts   = call gzputs(f)
  gets   = call gzgets(f)
  putc   = call gzputc(f)
  getc   = call gzgetc(f)
  getc_  = call gzgetc_(f)
  ungetc = call gzungetc(_, f)
  flush  = call gzflush(f)
  seek   = call gzseek(f)
  seek64 = call gzseek64(f)
  rewind = call gzrewind(f)
  tell   = call gztell(f)
  tell64 = call gztell64(f)
  eof    = call gzeof(f)
  params = call gzsetparams(f)
  buffer = call gzbuffer(f)
  error  = call gzerror(f)
  clear  = call gzclearerr(f)
  close   = call gzclose(f) when f != 0
  close_r = call gzclose_r(f) when f != 0
  close_w = call gzclose_w(f) when f != 0

  state fresh  { open -> opened; open64 -> opened; fd -> opened }
  state opened {
    read -> opened; fread -> opened; write -> opened; fwrite -> opened; print -> opened; puts -> opened; gets -> opened
    putc -> opened; getc -> opened; getc_ -> opened; ungetc -> opened; flush -> opened; seek -> opened; seek64 -> opened
    rewind -> opened; tell -> opened; tell64 -> opened; eof -> opened; params -> opened; buffer -> opened; error -> opened
    clear -> opened; close -> closed; close_r -> closed; close_w -> closed
  }
  state closed { close_r -> closed; close_w -> closed } // gzclose calls them
}
