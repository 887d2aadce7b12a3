package loader

import (
	"fmt"

	"github.com/tracepredict/tracepredict/loader/attach"
	"github.com/tracepredict/tracepredict/loader/procfs"
)

// The kernel limits probes to the memory of a process that it finds by the process ID, which is the ID of its first
// thread. One that has called pthread_exit has no memory any more. Probes for such a process can have no limit: the
// kernel puts breakpoints into every process that maps the file, whoever's it is, and into those that begin later.

// leaderless reports whether the first thread of a process has ended and others have not.
func leaderless(pid int) bool { return procfs.Dir(pid) != fmt.Sprintf("/proc/%d", pid) }

// errLeaderless is why a process without its first thread, or a file that it maps then, is not observed.
type errLeaderless int

// Error implements error.
func (pid errLeaderless) Error() string {
	return fmt.Sprintf("the first thread of process %d has ended by pthread_exit, so that the kernel cannot keep probes from other processes that map the same files; --touch-other-processes allows probes there too, and tracepredict hang %d looks at the process without any",
		int(pid), int(pid))
}

// linkTarget returns the target of links of the module's probes for the process. Once its first thread has ended, there
// is none, unless Options.TouchOthers allows a link that reaches all processes; the BPF program looks for the right one
// then.
func (s *Session) linkTarget(p *process, m *Module) (attach.LinkTarget, error) {
	to := attach.LinkTarget{File: m.file, Owner: p.pid, Unfiltered: leaderless(p.pid)}
	if to.Unfiltered && !s.opts.TouchOthers {
		return to, errLeaderless(p.pid)
	}
	return to, nil
}
