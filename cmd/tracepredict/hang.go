package main

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/loader/procfs"
	"github.com/tracepredict/tracepredict/observer/live"
	"github.com/tracepredict/tracepredict/observer/run"
)

// What --on-hang does.
const (
	hangReport = "report"
	hangKill   = "kill"
	hangCore   = "core"
)

// hangTeller looks for hangs while the program runs, tells of them at once, and does
// what --on-hang asks.
type hangTeller struct {
	run    *observation
	stderr io.Writer
	stop   chan struct{}
	busy   sync.WaitGroup
	looked func([]run.Seen) // nil: nobody wants to know what the threads are at when the observation begins
	// attached: the program is not ours to end.
	attached bool
	// Of the goroutine that reads records: how many findings have been told, and whether it was said what could end the program.
	told    int
	advised bool
}

func newHangTeller(r *observation, attached bool, stderr io.Writer) *hangTeller {
	return &hangTeller{run: r, attached: attached, stderr: stderr, stop: make(chan struct{})}
}

// start begins to look, when there is a session.
func (h *hangTeller) start() {
	h.watch(live.Hangs{Threads: h.run.live.Session, Observer: h.run.live.Observer, Told: h.tell, Looked: h.looked})
}

// watch looks until end is called.
func (h *hangTeller) watch(by live.Hangs) {
	h.busy.Go(func() { by.Watch(h.stop) })
}

// end returns when nobody looks any more.
func (h *hangTeller) end() {
	close(h.stop)
	h.busy.Wait()
}

// standing says in a line what the threads of a process are at that was found, where some
// of them wait for locks and nothing was told yet of why.
func (h *hangTeller) standing(seen []run.Seen) {
	forLock := func(s run.Seen) bool { return s.Op.IsAcquire() }
	if h.told > 0 || !slices.ContainsFunc(seen, forLock) {
		return
	}
	var rep report.Report
	rep.AddSeen(seen, h.run.live)
	fmt.Fprintf(h.stderr, "tracepredict: now %s\n", report.Standing(rep.Doing))
}

// tell prints the hangs that are new.
func (h *hangTeller) tell() {
	all := h.run.suite.Hangs()
	var fresh []finding.Finding
	for _, f := range all[h.told:] {
		resolved := report.Resolve(f, h.run.live)
		if !h.run.flags.set.Suppresses(&resolved) {
			fresh = append(fresh, f)
		}
	}
	h.told = len(all)
	rep := report.Build(report.Run{Summary: run.Summary{Processes: h.processes()}}, fresh, h.run.live).AtLeast(finding.Confidence(h.run.flags.confidence))
	if len(rep.Findings) == 0 {
		return
	}
	var text bytes.Buffer
	if err := report.WriteHangs(&text, rep, h.run.printer.layoutOf(h.stderr)); err == nil {
		_, _ = h.stderr.Write(text.Bytes()) // what cannot be written is in the report too
	}
	for _, f := range fresh {
		if f.Confidence == finding.Observed && !f.Bounded {
			h.act(&f)
			return
		}
	}
}

// processes are those that are observed, where there are several: a hang is of one of them.
func (h *hangTeller) processes() []run.Process {
	all := h.run.live.Session.Processes()
	if len(all) < 2 {
		return nil
	}
	out := make([]run.Process, 0, len(all))
	for _, p := range all {
		out = append(out, run.Process{PID: p.PID, Program: p.Program})
	}
	return out
}

// act ends the program, where that is asked for.
func (h *hangTeller) act(f *finding.Finding) {
	if h.run.flags.onHang == hangReport {
		h.advise()
		return
	}
	if err := h.finish(f); err != nil {
		fmt.Fprintf(h.stderr, "tracepredict: --on-hang: %s\n", report.Plain(err.Error()))
	}
}

// advise says, once, that a program that tracepredict started goes on hanging: who reads that in the
// log of a job which does not end wants to know how it would.
func (h *hangTeller) advise() {
	if h.attached || h.advised {
		return
	}
	h.advised = true
	fmt.Fprintln(h.stderr, "tracepredict: the program is left as it is; --on-hang kill or core ends one that hangs")
}

func (h *hangTeller) finish(f *finding.Finding) error {
	s := h.run.live.Session
	pid, sig := s.PID(), unix.SIGKILL
	if t, ok := h.run.live.Observer.ThreadInfo(f.Threads[0]); ok {
		pid = int(t.TGID)
	}
	if h.run.flags.onHang == hangCore {
		sig = unix.SIGABRT
		fmt.Fprintf(h.stderr, "tracepredict: core dump: %s\n", report.Plain(procfs.CorePlace(pid)))
	}
	fmt.Fprintf(h.stderr, "tracepredict: ending process %d with %s, as --on-hang %s says\n", pid, unix.SignalName(sig), h.run.flags.onHang)
	switch {
	case pid != s.PID(): // a child: it alone hangs
		return unix.Kill(pid, sig)
	case sig == unix.SIGABRT:
		return s.DumpCore()
	}
	return s.Signal(sig)
}
