// Sockets: accepted from once they listen, sent on between connect and shutdown.
//
// Sockets that are not of the internet or local, as of netlink, send without being connected: of these nothing is said,
// but that they are not used once closed; nor of those that have copies, or that sendto or sendmsg may connect. A
// shutdown for receiving alone does not matter.
typestate socket (s : int) reborn at next use {
  make     = return socket(domain) -> s when s >= 0 && s < 1048576 && (domain == 1 || domain == 2 || domain == 10)
  other    = return socket -> s when s >= 0 && s < 1048576
  taken    = return accept -> s when s >= 0 && s < 1048576
  taken4   = return accept4 -> s when s >= 0 && s < 1048576
  over     = return dup2 -> s when s >= 0 && s < 1048576
  over3    = return dup3 -> s when s >= 0 && s < 1048576
  dup      = call dup(s)
  dup2     = call dup2(s)
  dup3     = call dup3(s)
  sendto   = call sendto(s)
  sendmsg  = call sendmsg(s)
  bind     = call bind(s)
  connect  = call connect(s)
  listen   = call listen(s)
  accept   = call accept(s)
  accept4  = call accept4(s)
  send     = call send(s)
  recv     = call recv(s)
  recvfrom = call recvfrom(s)
  recvmsg  = call recvmsg(s)
  end      = call shutdown(s, how) when how == 1 || how == 2
  close    = call close(s) when s >= 0 && s < 1048576

  state fresh { make -> made; other -> any; taken -> connected; taken4 -> connected; over -> any; over3 -> any }
  state made {
    bind -> made; connect -> connected; listen -> listening; recv -> made; recvfrom -> made; recvmsg -> made
    sendto -> any; sendmsg -> any; dup -> any; dup2 -> any; dup3 -> any; end -> any; close -> closed
  }
  state listening {
    listen -> listening; accept -> listening; accept4 -> listening; end -> any; dup -> any; dup2 -> any; dup3 -> any
    close -> closed
  }
  state connected {
    connect -> connected; bind -> connected; send -> connected; recv -> connected; recvfrom -> connected
    recvmsg -> connected; sendto -> connected; sendmsg -> connected; dup -> any; dup2 -> any; dup3 -> any; end -> ended
    close -> closed
  }
  state ended {
    recv -> ended; recvfrom -> ended; recvmsg -> ended; end -> ended; connect -> any; dup -> any; dup2 -> any
    dup3 -> any; close -> closed
  }
  state any {
    bind -> any; connect -> any; listen -> any; accept -> any; accept4 -> any; send -> any; recv -> any
    recvfrom -> any; recvmsg -> any; sendto -> any; sendmsg -> any; dup -> any; dup2 -> any; dup3 -> any; end -> any
    close -> closed
  }
  state closed { }
}
