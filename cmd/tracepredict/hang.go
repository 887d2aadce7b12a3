package main

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
	textreport "github.com/tracepredict/tracepredict/analysis/report/text"
	"github.com/tracepredict/tracepredict/internal/safely"
	"github.com/tracepredict/tracepredict/loader/procfs"
	"github.com/tracepredict/tracepredict/observer/live"
	"github.com/tracepredict/tracepredict/observer/run"
)

// The values of --on-hang.
const (
	hangReport = "report"
	hangKill   = "kill"
	hangCore   = "core"
)

// hangWatcher looks for hangs while the program runs, prints them at once, and does what
// --on-hang asks for.
type hangWatcher struct {
	run      *observation
	stderr   io.Writer
	stop     chan struct{} // closed: stop looking
	watching safely.Group
	// onStates is called with what the threads do when the observation begins; nil: not
	// called.
	onStates func([]run.ThreadState)
	// attached means that tracepredict did not start the program.
	attached bool
	// The goroutine that reads records alone uses these. reported is the number of findings
	// of hangs that have been handled; advised means that advise has printed its line.
	reported int
	advised  bool
	// coreOf is the hang that ends with a core dump whatever --on-hang says; nil: none does. core says where the kernel
	// puts that.
	coreOf *hang
	core   string
	// bounded: a hang that ends when a thread gives up waiting is handled as one that lasts.
	bounded bool
	// takes handles a hang in place of --on-hang, and returns false if it does not; nil: it handles none.
	takes func(*finding.Finding) bool
}

func newHangWatcher(r *observation, attached bool, stderr io.Writer) *hangWatcher {
	return &hangWatcher{run: r, attached: attached, stderr: stderr, stop: make(chan struct{})}
}

// start starts to look for hangs. The session must exist.
func (h *hangWatcher) start() {
	h.watch(live.Hangs{Threads: h.run.live.Session, Observer: h.run.live.Observer, OnHangs: h.reportNew, OnStates: h.onStates})
}

// watch starts a goroutine that looks for hangs until end is called.
func (h *hangWatcher) watch(by live.Hangs) {
	h.watching.Go(func() { by.Watch(h.stop) })
}

// end stops looking for hangs.
func (h *hangWatcher) end() {
	close(h.stop)
	h.watching.Wait()
}

// reportWaits prints in one line what the threads of an attached process do, if some of them
// wait for locks and no hang that explains it has been printed.
func (h *hangWatcher) reportWaits(seen []run.ThreadState) {
	forLock := func(s run.ThreadState) bool { return s.Op.IsAcquire() }
	if h.reported > 0 || !slices.ContainsFunc(seen, forLock) {
		return
	}
	var rep report.Report
	rep.AddThreadStates(seen, h.run.live)
	fmt.Fprintf(h.stderr, "tracepredict: now %s\n", report.StateCounts(rep.ThreadStates))
}

// reportNew prints the new hangs.
func (h *hangWatcher) reportNew() {
	all := h.run.engine.Hangs()
	var fresh []finding.Finding
	for _, f := range all[h.reported:] {
		resolved := report.Resolve(f, h.run.live)
		if !h.run.flags.set.Suppresses(&resolved) {
			fresh = append(fresh, f)
		}
	}
	h.reported = len(all)
	rep := report.Build(report.Run{Summary: run.Summary{Processes: h.run.live.Processes()}}, fresh, h.run.live).AtLeast(finding.Confidence(h.run.flags.confidence))
	if len(rep.Findings) == 0 {
		return
	}
	var text bytes.Buffer
	if err := textreport.WriteHangs(&text, rep, h.run.printer.layoutOf(h.stderr)); err == nil {
		_, _ = h.stderr.Write(text.Bytes()) // if this fails, the report still has the hang
	}
	for _, f := range fresh {
		if f.Confidence == finding.Observed && (h.bounded || !f.HasTimeout) {
			h.act(&f)
			return
		}
	}
}

// over prints that a hang which was printed has gone on. The goroutine that reads records calls it.
func (h *hangWatcher) over(f *finding.Finding) {
	resolved := report.Resolve(*f, h.run.live)
	if f.Confidence.AtLeast(finding.Confidence(h.run.flags.confidence)) && !h.run.flags.set.Suppresses(&resolved) {
		fmt.Fprintln(h.stderr, "tracepredict: the threads of this hang went on, so it is none:", report.Sanitize(resolved.Message))
	}
}

// act ends the program if --on-hang asks for it.
func (h *hangWatcher) act(f *finding.Finding) {
	if h.takes != nil && h.takes(f) {
		return
	}
	if h.run.flags.onHang == hangReport {
		h.advise()
		return
	}
	if err := h.endProgram(f); err != nil {
		fmt.Fprintf(h.stderr, "tracepredict: --on-hang: %s\n", report.Sanitize(err.Error()))
	}
}

// advise prints, once, that a program which tracepredict started and which hangs is left
// running, and how to have such a program ended: the log of a job that never ends should show
// that.
func (h *hangWatcher) advise() {
	if h.attached || h.advised {
		return
	}
	h.advised = true
	fmt.Fprintln(h.stderr, "tracepredict: the program is left as it is; --on-hang kill or core ends one that hangs")
}

// endProgram ends the process that hangs, with a core dump if --on-hang asks for one.
func (h *hangWatcher) endProgram(f *finding.Finding) error {
	s := h.run.live.Session
	pid, sig := s.PID(), unix.SIGKILL
	if t, ok := h.run.live.Observer.ThreadInfo(f.Threads[0]); ok {
		pid = int(t.TGID)
	}
	if h.run.flags.onHang == hangCore || h.keepsCore(f) {
		sig, h.core = unix.SIGABRT, procfs.CoreDumpLocation(pid)
		fmt.Fprintf(h.stderr, "tracepredict: core dump: %s\n", report.Sanitize(h.core))
	}
	fmt.Fprintf(h.stderr, "tracepredict: ending process %d with %s, as --on-hang %s says\n", pid, unix.SignalName(sig), h.run.flags.onHang)
	switch {
	case pid != s.PID(): // only a child hangs
		return unix.Kill(pid, sig)
	case sig == unix.SIGABRT:
		return s.DumpCore()
	}
	return s.Signal(sig)
}

// keepsCore reports whether a core dump of a hang is kept whatever --on-hang says.
func (h *hangWatcher) keepsCore(f *finding.Finding) bool {
	if h.coreOf == nil {
		return false
	}
	resolved := report.Resolve(*f, h.run.live)
	happened := happenedAs(&resolved)
	return happened.is(h.coreOf)
}
