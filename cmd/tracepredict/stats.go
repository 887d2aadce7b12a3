package main

import (
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/stats"
	"github.com/tracepredict/tracepredict/loader"
	"github.com/tracepredict/tracepredict/loader/procfs"
)

// ownUsage is the point from which the tool's use of time is measured.
type ownUsage struct {
	began time.Time
	cpu   time.Duration
}

func startUsage() ownUsage { return ownUsage{time.Now(), cpuOf(unix.RUSAGE_SELF)} }

// since returns the use of time since that point, and the peak of memory since the process
// began.
func (u ownUsage) since() report.Usage {
	return report.Usage{CPUTime: report.CPUTime{CPU: cpuOf(unix.RUSAGE_SELF) - u.cpu}, Elapsed: time.Since(u.began), Peak: peakMemory()}
}

// cpuOf returns the processor time of unix.RUSAGE_SELF or RUSAGE_CHILDREN; 0 if it cannot be
// read.
func cpuOf(who int) time.Duration {
	var u unix.Rusage
	if unix.Getrusage(who, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// peakMemory returns the largest resident memory so far, in bytes; 0 if it cannot be read. The
// kernel's ru_maxrss would be that of the process that started the tool, if that was larger.
func peakMemory() uint64 {
	status, err := procfs.Status("self")
	if err != nil {
		return 0
	}
	kB, err := strconv.ParseUint(strings.TrimSuffix(status["VmHWM"], " kB"), 10, 54)
	if err != nil {
		return 0
	}
	return kB << 10
}

// liveStats collects the figures of a live run, for --stats. It is a loader.Handler that reads
// the processor time of an attached program from time to time. A nil liveStats collects nothing.
type liveStats struct {
	loader.Handler
	latency    *stats.Latency
	own        ownUsage      // the tool's, from the start
	attached   bool          // the program was attached to; its processor time counts from cpuAtBegin
	cpuAtBegin time.Duration // processor time of the attached program when its probes were in
	cpuNow     time.Duration // its processor time when it was last read
	readAt     time.Time     // when that was
	session    func() *loader.Session
}

func newLiveStats(attached bool, session func() *loader.Session) *liveStats {
	return &liveStats{latency: stats.NewLatency(monotonic), own: startUsage(), attached: attached, session: session}
}

// verdicts returns the measurement of the latency of verdicts; nil without --stats.
func (l *liveStats) verdicts() *stats.Latency {
	if l == nil {
		return nil
	}
	return l.latency
}

// Idle implements loader.Handler.
func (l *liveStats) Idle() {
	l.Handler.Idle()
	const pause = 10 * time.Millisecond // the kernel adds up all threads at each reading
	if now := time.Now(); l.attached && now.Sub(l.readAt) >= pause {
		l.readAt = now
		l.readCPU()
	}
}

// readCPU reads the processor time of an attached process, if the process still exists.
func (l *liveStats) readCPU() {
	if t, ok := procfs.ProcessorTime(l.session().PID()); ok {
		l.cpuNow = t
	}
}

// begin is called when the probes of an attached process are in.
func (l *liveStats) begin() {
	if l != nil {
		l.readCPU()
		l.cpuAtBegin = l.cpuNow
	}
}

// program returns the processor time of the program. That of a started program includes the
// children that it waited for. The kernel adds it to the times of the tool's other children, the
// commands of --on-violation; commands is their part.
func (l *liveStats) program(commands time.Duration) report.CPUTime {
	if !l.attached {
		return report.CPUTime{CPU: cpuOf(unix.RUSAGE_CHILDREN) - commands}
	}
	l.readCPU()
	return report.CPUTime{CPU: l.cpuNow - l.cpuAtBegin}
}

// stats returns the figures of the run; nil without --stats.
func (r *observation) stats() *report.Stats {
	l := r.figures
	if l == nil {
		return nil
	}
	s := r.engine.Stats(l.latency)
	ring, program := r.live.Session.RingUse(), l.program(r.actor.cpu())
	s.RingBuffer = &report.RingBufferStats{Bytes: ring.Bytes, HighWater: ring.HighWater, Waits: ring.Waits, Waited: ring.Waited, Late: ring.Late}
	plans := r.live.Session.Plans()
	s.Plans = &report.PlanStats{Made: plans.Made, Cached: plans.Cached, Time: plans.Time}
	s.Monitors = r.flags.monitored()
	s.Program, s.Tool = &program, l.own.since()
	return s
}
