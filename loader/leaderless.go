package loader

import (
	"fmt"
	"time"

	"github.com/moby/sys/capability"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/loader/attach"
	"github.com/tracepredict/tracepredict/loader/need"
	"github.com/tracepredict/tracepredict/loader/procfs"
)

// The kernel limits the probes of a uprobe_multi link to the memory of a process that it finds by the process ID, which
// is the ID of its first thread. One that has called pthread_exit has no memory any more. Such a link can have no limit
// then: the kernel puts breakpoints into every process that maps the file, whoever's it is, and into those that begin
// later. The probes of perf events are limited to the memory of any thread, for as long as that thread lives.

// perfRemoval is how long the kernel takes to remove one perf event of a probe, from 25 to 110 ms on two processors: it
// waits until none runs its program, and removes the next one then.
const perfRemoval = 100 * time.Millisecond

// leaderless reports whether the first thread of a process has ended and others have not.
func leaderless(pid int) bool { return procfs.Dir(pid) != fmt.Sprintf("/proc/%d", pid) }

// errLeaderless is why a process without its first thread, or a file that it maps then, is not observed.
type errLeaderless struct {
	pid     int
	instead string // what would do
}

// Error implements error.
func (e errLeaderless) Error() string {
	return fmt.Sprintf("the first thread of process %d has ended by pthread_exit, so that the kernel cannot keep probes from other processes that map the same files; %s--touch-other-processes allows probes there too, and tracepredict hang %d looks at the process without any",
		e.pid, e.instead, e.pid)
}

// anchor returns the thread by whose memory the kernel is to filter the probes of a process whose first thread has ended:
// the oldest, since it may well be there for as long as the process is. It returns 0 if links find the process by its
// ID, or may be in all processes.
func anchor(pid int, opts Options) (tid uint32, err error) {
	if !leaderless(pid) || opts.TouchOthers || opts.NoProbes {
		return 0, nil
	}
	caps, err := need.OwnCapabilities()
	if err != nil {
		return 0, err
	}
	if !caps.Has(capability.CAP_SYS_ADMIN, false) {
		return 0, errLeaderless{pid, "with CAP_SYS_ADMIN, as root has it, it can for as long as one thread lives, "}
	}
	oldest, err := procfs.OldestThread(pid)
	if err != nil {
		return 0, fmt.Errorf("choose a thread of process %d, whose first one has ended: %w", pid, err)
	}
	return uint32(oldest), nil
}

// tieTo ties the probes of an attached process to a thread that anchor has returned.
func (s *Session) tieTo(tid uint32) {
	if tid == 0 {
		return
	}
	s.anchored = tid
	s.notes.say(fmt.Sprintf("the first thread had ended by pthread_exit before: the kernel keeps the probes to this process by the memory of thread %d, so that the observation ends when that thread does, and takes out the probes one by one", tid))
}

// anchorEnded ends the observation at the end of the thread that anchor has chosen, since the kernel removes the probes
// then.
func (s *Session) anchorEnded(r *bpf.Record) {
	if s.anchored == 0 || r.Tid != s.anchored || bpf.Op(r.Op) != bpf.OpExit || r.Flags&bpf.RecProcess != 0 {
		return
	}
	s.end.CompareAndSwap(0, r.Time)
	s.notes.say(fmt.Sprintf("thread %d has ended, and the observation with it; to go on, attach again", s.anchored))
	s.cancel()
}

// Leaving returns how long the kernel may take to remove the probes once the observation has ended, if that is more than
// a moment; otherwise 0.
func (s *Session) Leaving() time.Duration {
	if s.anchored == 0 {
		return 0
	}
	return time.Duration(s.tracer.PerfProbes()) * perfRemoval
}

// linkTarget returns the target of links of the module's probes for the process. Once its first thread has ended during
// the observation, there is none, unless Options.TouchOthers allows a link that reaches all processes; the BPF program
// looks for the right one then.
func (s *Session) linkTarget(p *process, m *Module) (attach.LinkTarget, error) {
	to := attach.LinkTarget{File: m.file, Owner: p.pid}
	switch {
	case !leaderless(p.pid):
	case s.anchored != 0 && p == s.first:
		to.Thread = int(s.anchored)
	case s.opts.TouchOthers:
		to.Unfiltered = true
	default:
		return to, errLeaderless{pid: p.pid}
	}
	return to, nil
}
