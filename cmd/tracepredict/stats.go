package main

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/analysis/replay"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/stats"
	"github.com/tracepredict/tracepredict/loader"
)

// ownUsage measures what the tool takes.
type ownUsage struct {
	began time.Time
	cpu   time.Duration
}

func startUsage() ownUsage { return ownUsage{time.Now(), cpuOf(unix.RUSAGE_SELF)} }

// since gives the use since the start, and the peak of the process's life.
func (u ownUsage) since() report.Usage {
	return report.Usage{CPUTime: report.CPUTime{CPU: cpuOf(unix.RUSAGE_SELF) - u.cpu}, Elapsed: time.Since(u.began), Peak: peakMemory()}
}

// cpuOf gives the processor time of unix.RUSAGE_SELF or RUSAGE_CHILDREN; 0 if it cannot be had.
func cpuOf(who int) time.Duration {
	var u unix.Rusage
	if unix.Getrusage(who, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// peakMemory is the most that was resident, in bytes. The kernel's ru_maxrss would be
// that of the process that started the tool, where this was larger.
func peakMemory() uint64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(status, []byte("VmHWM:"))
	fields := bytes.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	kB, err := strconv.ParseUint(string(fields[0]), 10, 54)
	if err != nil {
		return 0
	}
	return kB << 10
}

// liveStats collects the figures of a live run, for --stats. It is a loader.Handler that
// looks at a found program's processor time now and then. Nil collects nothing.
type liveStats struct {
	loader.Handler
	counter stats.Counter
	latency *stats.Latency
	own     ownUsage
	found   bool // the program was, and its time from then on counts
	first   time.Duration
	last    time.Duration
	looked  time.Time
	session func() *loader.Session
}

func newLiveStats(attached bool, session func() *loader.Session) *liveStats {
	return &liveStats{latency: stats.NewLatency(monotonic), own: startUsage(), found: attached, session: session}
}

// verdicts is what measures their latency.
func (l *liveStats) verdicts() *stats.Latency {
	if l == nil {
		return nil
	}
	return l.latency
}

// Idle implements loader.Handler.
func (l *liveStats) Idle() {
	l.Handler.Idle()
	const pause = 10 * time.Millisecond // the kernel adds up the threads of the program
	if now := time.Now(); l.found && now.Sub(l.looked) >= pause {
		l.looked = now
		l.look()
	}
}

// look takes the processor time of a found process, while it is there.
func (l *liveStats) look() {
	if t, ok := processTime(l.session().PID()); ok {
		l.last = t
	}
}

// begin is called when a found process has its probes.
func (l *liveStats) begin() {
	if l != nil {
		l.look()
		l.first = l.last
	}
}

// processTime is the processor time of all threads that a process has had.
func processTime(pid int) (time.Duration, bool) {
	clock := int32(^pid<<3 | 2) // as clock_getcpuclockid(3) makes it
	var t unix.Timespec
	if unix.ClockGettime(clock, &t) != nil {
		return 0, false
	}
	return time.Duration(t.Nano()), true
}

// program is what the program took: a started one with the children that it awaited,
// whom the kernel counts with ours; commands are the tool's other children.
func (l *liveStats) program(commands time.Duration) report.CPUTime {
	if !l.found {
		return report.CPUTime{CPU: cpuOf(unix.RUSAGE_CHILDREN) - commands}
	}
	l.look()
	return report.CPUTime{CPU: l.last - l.first}
}

// stats are the figures of the run; nil if they were not asked for.
func (r *observation) stats() *report.Stats {
	l := r.figures
	if l == nil {
		return nil
	}
	s := replay.Stats(&l.counter, r.suite, r.bound, l.latency)
	ring, program := r.live.Session.RingUse(), l.program(r.actor.cpu())
	s.Ring = &report.RingStats{Bytes: ring.Bytes, HighWater: ring.HighWater, Waits: ring.Waits, Waited: ring.Waited}
	s.Program, s.Tool = &program, l.own.since()
	return s
}
