selectors {
  event AR on "ReentrantLock.Acquire" when "%lockname == SharedArr.resourceLock"
}
types{
  reader {
    spawn on "Reader.Run"
    event read on "SharedArr.read"
  }
  writer {
    spawn on "Writer.Run"
    event write on "SharedArr.write"
  }
}
scope s0 (AR) {
  property s0r on reader(read) is "LTL=F(read)"
  property s0w on writer(write) is "LTL=F(write)"

  atom activereader : count(s0r, T) > 0,
  atom activewriter  : count(s0w, T) > 0,
  atom onewriter    : count(s0w, T) == 1,
  atom allreaders   : count(s0r, T) == size(reader)

  check "LTL=G(
    (activereader XOR activewriter) && (activewriter => onewriter )
    && (activereader => allreaders)
  )"
}
