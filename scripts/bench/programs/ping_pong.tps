// The alternation property of the paper, with the G that it lacks there. In the region after the last write nobody plays: so
// next to a ping is no ping, rather than a pong.
var turn : int = turn
event passed = write turn
thread pinger = start pinger
thread ponger = start ponger
event ping = call ping by pinger
event pong = call pong by ponger

scope alternation (passed) {
  property pings on pinger(ping) is F(ping)
  property pongs on ponger(pong) is F(pong)

  atom pinged = any(pings)
  atom ponged = any(pongs)

  check "ping and pong do not alternate" always ((pinged -> next (!pinged)) && (ponged -> next (!ponged)))
}
