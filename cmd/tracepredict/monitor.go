package main

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/spec"
	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/loader"
	"github.com/tracepredict/tracepredict/loader/attach"
)

// The values of --monitor.
const (
	monitorAuto   = "auto"
	monitorKernel = "kernel"
	monitorUser   = "user"
)

// formulaMonitor is where the formulas of a specification are evaluated.
type formulaMonitor struct {
	kernel  *spec.Kernel // nil: in user space alone
	formula *spec.Formula
	why     string // the reason
}

// chooseMonitor returns where the formulas are evaluated. The kernel does so if it is asked to, or a thread that violates
// one is to get a signal, which is not 0 then.
func (f *observeFlags) chooseMonitor(signal unix.Signal) (*formulaMonitor, error) {
	s := f.specification
	if s == nil || len(s.Formulas) == 0 {
		if f.monitor == monitorKernel && (s == nil || len(s.Scopes) == 0) {
			return nil, usage("--monitor=kernel is about the mttl formulas and the scopes of --spec, and the blocks of --check atomicity: there are none")
		}
		return nil, nil
	}
	m := &formulaMonitor{formula: s.Formulas[0]}
	switch {
	case f.monitor == monitorUser:
		m.why = "--monitor=user says so"
		return m, nil
	case f.monitor == monitorAuto && signal == 0:
		m.why = "neither --monitor=kernel nor --on-violation signal:NAME asks for the kernel"
		return m, nil
	}
	k, err := f.kernelMonitor(s.Spec)
	var not *spec.UserOnly
	switch {
	case errors.As(err, &not) && f.monitor == monitorKernel:
		return nil, usage("--monitor=kernel: %s cannot be evaluated in the kernel: %s", m.formula.Name, not.Why)
	case errors.As(err, &not):
		m.why = not.Why
		return m, nil
	case err != nil:
		return nil, err
	}
	k.Signal, m.kernel = uint32(signal), k
	if f.monitor == monitorAuto {
		m.why = "--on-violation signal:NAME asks for it"
		return m, nil
	}
	m.why = "--monitor=kernel says so"
	if shared := f.needsFormulaEvents(); shared != nil {
		m.why += ", and user space evaluates it too, since " + shared.Error()
	} else {
		k.Alone, s.outside = true, true
	}
	return m, nil
}

// alone reports whether only the kernel evaluates the formula.
func (m *formulaMonitor) alone() bool { return m != nil && m.kernel != nil && m.kernel.Alone }

// needsFormulaEvents returns an error if something besides the formula needs the events of it.
func (f *observeFlags) needsFormulaEvents() error {
	s := f.specification
	switch {
	case len(s.Properties)+len(s.Typestates)+len(s.Scopes) > 0:
		return errors.New("the specification has more than the formula")
	case s.Requests("races"):
		return errors.New("races on a variable are to be found")
	}
	return f.needsEvents()
}

// kernelMonitor returns the one formula for the kernel. The error is a *spec.UserOnly where the kernel lacks what it needs.
func (f *observeFlags) kernelMonitor(s *spec.Spec) (*spec.Kernel, error) {
	switch {
	case len(s.Formulas) > 1:
		return nil, &spec.UserOnly{Why: "there are several formulas"}
	case f.shared():
		return nil, &spec.UserOnly{Why: "--watch-shared lets knowledge pass through variables that have no names here"}
	case len(f.hw) > 0:
		return nil, &spec.UserOnly{Why: "--watch-hw sees an access when it is over"}
	case f.follow:
		return nil, &spec.UserOnly{Why: "--follow observes several processes"}
	}
	return s.Kernel(s.Formulas[0])
}

// options returns what the session needs to know.
func (m *formulaMonitor) options() loader.Knowledge {
	if m == nil || m.kernel == nil {
		return loader.Knowledge{}
	}
	return loader.Knowledge{Knowledge: &m.kernel.Knowledge, Events: m.kernel.Events}
}

// givenUp says why the kernel gave a formula up.
var givenUp = map[bpf.GivenUp]string{
	bpf.GivenUpThreads: fmt.Sprintf("there were more than %d threads", bpf.KnownThreads),
}

// doubts says, with their number, what made threads unsure.
var doubts = map[bpf.GivenUp]string{
	bpf.GivenUpObjects: fmt.Sprintf("%%d {use|uses} of objects beyond the first %d", bpf.KnownObjects),
	bpf.GivenUpClaim:   "%d {object|objects} that two threads used at the same time",
	bpf.GivenUpValues:  "%d {variable that had another value than was written last: another access came between an access and its probe|variables that had other values than were written last: other accesses came between an access and its probe}",
	bpf.GivenUpUnwound: "%d {thread in which an exception or longjmp ended a call|threads in which exceptions or longjmp ended calls}",
	bpf.GivenUpJoin:    "%d {join of a thread that is|joins of threads that are} not known",
}

// doubtsOf returns what made threads unsure.
func doubtsOf(k *attach.Knowledge) (all []string) {
	for why, n := range k.Doubts {
		if text := doubts[bpf.GivenUp(why)]; n > 0 && text != "" {
			all = append(all, plural.Sprintf(text, n))
		}
	}
	if k.Doubts[bpf.GivenUpOperation] > 0 {
		all = append(all, fmt.Sprintf("other synchronisation (%s first)", k.DoubtOp))
	}
	return all
}

// outcome returns the figures of the monitor, and notes on what the kernel did not judge.
func (m *formulaMonitor) outcome(s *loader.Session) (out *report.MonitorStats, notes []string, err error) {
	if m == nil {
		return nil, nil, nil
	}
	out = &report.MonitorStats{Formula: m.formula.Name, Where: monitorUser, Why: m.why}
	if m.kernel == nil {
		return out, nil, nil
	}
	k, err := s.Knowledge()
	if err != nil {
		return out, nil, err
	}
	out.Where, out.States, out.Violations, out.Threads, out.Unsure, out.Doubts = monitorKernel, k.States, k.Violations, k.Threads, k.Unsure, doubtsOf(&k)
	then := "from then on user space judged it, so that signals came later"
	if m.alone() {
		then = "from then on it was not evaluated: --monitor=user has no such limit"
	}
	if k.Unsure > 0 {
		notes = append(notes, plural.Sprintf("mttl %s: the kernel did not judge %d of %d {thread|threads} to the end, since it does not know all that they know after ", m.formula.Name, k.Unsure, k.Threads)+
			plural.Enumerated(out.Doubts)+"; "+then)
	}
	if k.GivenUp == bpf.GivenUpNot {
		return out, notes, nil
	}
	if out.GivenUp = givenUp[k.GivenUp]; out.GivenUp == "" {
		out.GivenUp = fmt.Sprintf("threads were ordered by %s", k.Op)
	}
	return out, append(notes, plural.Sprintf("mttl %s: the kernel gave it up after %d {state|states}: %s; %s", m.formula.Name, k.States, out.GivenUp, then)), nil
}
