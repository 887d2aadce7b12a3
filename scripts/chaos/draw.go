package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// happening is what happens in a round.
type happening string

// The happenings. killed is about the tool, which is killed at some moment: planning is any time after its start,
// attaching is when the first probe is in, observing is when all are, and leaving is after SIGINT.
const (
	interrupted     happening = "SIGINT"
	durationOver    happening = "--duration"
	killedPlanning  happening = "SIGKILL while planning"
	killedAttaching happening = "SIGKILL while attaching"
	killedObserving happening = "SIGKILL while observing"
	killedLeaving   happening = "SIGKILL while leaving"
	toolStopped     happening = "SIGSTOP of tracepredict"
	serverStopped   happening = "SIGSTOP of the server"
	workerKilled    happening = "SIGKILL of a worker"
	diskFull        happening = "trace on a full disk"
	groupKilled     happening = "cgroup.kill"
)

// happenings are all of them, in the order of the table.
var happenings = []happening{
	interrupted, durationOver, killedPlanning, killedAttaching, killedObserving, killedLeaving, toolStopped, serverStopped,
	workerKilled, diskFull, groupKilled,
}

// kills reports whether the tool is killed.
func (h happening) kills() bool {
	return h == killedPlanning || h == killedAttaching || h == killedObserving || h == killedLeaving || h == groupKilled
}

// plan is what is drawn for a round.
type plan struct {
	server string
	exec   bool // the tool starts the server; otherwise it attaches to one that runs
	what   happening
	shared string // --watch-shared
	ring   int    // --ring
	lossy  bool
	follow bool
	parent bool          // under exec, the process that waits is killed or stopped, not the one that observes
	after  time.Duration // until it happens
	pause  time.Duration // of a stop
}

// smallRing is a ring buffer in MiB that a server fills within milliseconds, which only --lossy allows.
const smallRing = 1

// draw draws the plan of a round. The same seed and number draw the same.
func draw(seed uint64, round int, servers []string) plan {
	r := rand.New(rand.NewPCG(seed, uint64(round)))
	among := func(choices ...string) string { return choices[r.IntN(len(choices))] }
	p := plan{server: among(servers...), exec: r.IntN(3) == 0, what: happenings[r.IntN(len(happenings))], ring: 64}
	if p.what == workerKilled {
		p.server = forks // the others have no workers
	}
	if p.what == killedLeaving || p.what == groupKilled {
		p.exec = false // under exec SIGINT is the server's, and cgroup.kill would end the server too
	}
	p.shared = among("off", "off", "auto", "all")
	switch r.IntN(3) {
	case 0:
		p.ring, p.lossy = smallRing, true
	case 1:
		p.ring = 16
	}
	p.follow = p.server == forks && r.IntN(3) > 0
	p.parent = r.IntN(3) == 0
	p.after, p.pause = milliseconds(r, 1500), milliseconds(r, 800)
	switch p.what {
	case killedPlanning:
		p.after = milliseconds(r, 500)
	case killedAttaching, killedLeaving:
		p.after = milliseconds(r, 150)
	}
	return p
}

func milliseconds(r *rand.Rand, n int) time.Duration {
	return time.Duration(r.IntN(n)) * time.Millisecond
}

// String describes the plan.
func (p plan) String() string {
	return fmt.Sprintf("%s after %v (stops: %v), %s", p.what, p.after, p.pause, strings.Join(p.words(), " "))
}

// words are the command and its flags, and the server.
func (p plan) words() []string {
	words := append([]string{p.command()}, p.flags()...)
	if p.parent && p.exec {
		words = append(words, "(the process that waits)")
	}
	return append(words, p.server)
}

func (p plan) command() string {
	if p.exec {
		return "exec"
	}
	return "attach"
}

// flags are those of the tool that the plan chooses.
func (p plan) flags() []string {
	flags := []string{"--watch-shared=" + p.shared, fmt.Sprintf("--ring=%d", p.ring)}
	if p.lossy {
		flags = append(flags, "--lossy")
	}
	if p.follow {
		flags = append(flags, "--follow")
	}
	if p.what == durationOver {
		flags = append(flags, fmt.Sprintf("--duration=%v", p.after+time.Second))
	}
	return flags
}
