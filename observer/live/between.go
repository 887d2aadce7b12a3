package live

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
	"github.com/tracepredict/tracepredict/probes"
	"github.com/tracepredict/tracepredict/probes/between"
	"github.com/tracepredict/tracepredict/probes/elf"
)

// readings keeps the answers of ReadsNothing.
type readings struct {
	examiners map[int]*examiner // by process
	budget    int               // instructions that may still be examined for all processes
	answers   map[readingKey]reading
}

type readingKey struct {
	from, to              event.StackID
	last, writes, decides bool
	passes                bool // the question of PassesNothingOn about from
	differs, initially    bool // that of Differs about from, and what it reads
	seen, other           uint64
}

type reading struct {
	ok  bool
	why string
}

// examiner is an Examiner of one process.
type examiner struct {
	*between.Examiner
	link *Link
	pid  int
	// calls has, for each file, the entries of its functions that make an event whenever they are
	// called.
	calls map[*elf.File]map[uint64]bool
	// inlined has, for each file, its instructions that make an event without a call.
	inlined map[*elf.File]map[uint64]between.Inlined
}

// ReadsNothing reports whether the code that a thread executed between two consecutive events, at
// these call stacks, depends on no memory that another thread may have written, so that the thread
// would execute the same code in any schedule. The first event is a successful operation of a
// synchronisation function; both are calls of such functions. A to of 0 stands for the next event,
// whichever it is: releases have no call stacks. why says what the code depends on, or
// why that is not known.
func (l *Link) ReadsNothing(from, to event.StackID) (ok bool, why string) {
	return l.answer(readingKey{from: from, to: to})
}

// ReadsNothingBefore is ReadsNothing for a thread that executes nothing after the second event: what
// the code between the two reads and keeps for later does not matter.
func (l *Link) ReadsNothingBefore(from, to event.StackID) (ok bool, why string) {
	return l.answer(readingKey{from: from, to: to, last: true})
}

// WritesNothing reports whether the code that a thread executed between two consecutive events, as
// for ReadsNothing, writes no memory that another thread may read. A critical section all of whose
// code writes nothing can be left out of a schedule, whatever the others read.
func (l *Link) WritesNothing(from, to event.StackID) (ok bool, why string) {
	return l.answer(readingKey{from: from, to: to, writes: true})
}

// DecidesNothing reports whether a thread comes from the first of two consecutive events, as for
// ReadsNothing, to the second whatever other threads have written.
func (l *Link) DecidesNothing(from, to event.StackID) (ok bool, why string) {
	return l.answer(readingKey{from: from, to: to, decides: true})
}

// PassesNothingOn reports whether the function that waited on a condition at a call stack can only wait
// again if it is woken for something else: it notifies no condition, and calls no code that may.
func (l *Link) PassesNothingOn(wait event.StackID) (ok bool, why string) {
	return l.answer(readingKey{from: wait, passes: true})
}

// Differs reports whether the code that made a read at a call stack certainly takes another branch where it reads
// another value than the one that it has seen. If initially, that is the value which the variable has when the
// program begins, and other is 0.
func (l *Link) Differs(read event.StackID, seen, other uint64, initially bool) bool {
	ok, _ := l.answer(readingKey{from: read, differs: true, initially: initially, seen: seen, other: other})
	return ok
}

func (l *Link) answer(key readingKey) (ok bool, why string) {
	r := &l.readings
	if r.answers == nil {
		*r = readings{examiners: map[int]*examiner{}, answers: map[readingKey]reading{}, budget: between.DefaultBudget}
	}
	a, known := r.answers[key]
	if !known {
		if a.ok, a.why = l.examine(key); a.ok {
			a.why = ""
		}
		r.answers[key] = a
	}
	return a.ok, a.why
}

// Readings returns the answers that ReadsNothing, ReadsNothingBefore, DecidesNothing, PassesNothingOn and Differs
// have given.
func (l *Link) Readings() []run.Reading {
	var all []run.Reading
	for key, a := range l.readings.answers {
		if !key.writes {
			all = append(all, run.Reading{From: key.from, To: key.to, Last: key.last, Decides: key.decides, Passes: key.passes,
				Differs: key.differs, Initially: key.initially, Seen: key.seen, Other: key.other, Why: a.why})
		}
	}
	slices.SortFunc(all, func(a, b run.Reading) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), strings.Compare(a.Why, b.Why), compareBools(a.Differs, b.Differs), compareBools(a.Initially, b.Initially), cmp.Compare(a.Seen, b.Seen), cmp.Compare(a.Other, b.Other), compareBools(a.Last, b.Last), compareBools(a.Decides, b.Decides), compareBools(a.Passes, b.Passes))
	})
	return all
}

// compareBools orders false before true.
func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

const notExamined = "not examined"

// examine answers a query.
func (l *Link) examine(key readingKey) (ok bool, why string) {
	if l.Session == nil || l.readings.budget <= 0 {
		return false, notExamined
	}
	from, known := l.observed.StackOf(key.from)
	to, known2 := l.observed.StackOf(key.to)
	if key.to == 0 {
		to, known2 = from, true
	}
	if !known || !known2 || from.Call > 0 || to.Call > 0 || from.TGID != to.TGID {
		return false, notExamined
	}
	if key.differs {
		return l.differs(key, from), "nothing shows that it does"
	}
	if site := l.Session.Site(from.Site); site != nil && site.Internal && !key.passes {
		return true, "" // what the section reads decides nothing of the program
	}
	x := l.examiner(int(from.TGID))
	q := between.Query{From: l.callStack(key.from, from), Last: key.last,
		Unrecorded: l.Observer.InnerAcquisitions() > 0 || l.Observer.Stats().Lost > 0 || l.Observer.FormerLocks() > 0}
	if key.to != 0 {
		if q.To = l.callStack(key.to, to); len(q.To) == 0 {
			return false, notExamined
		}
	}
	x.Budget = l.readings.budget
	if key.passes {
		ok, reason := x.PassesNothingOn(q.From)
		l.readings.budget = x.Budget
		return ok, reason.Text(func(addr uint64) string { return l.sourceLocation(x.pid, addr) })
	}
	ask := x.ReadsNothing
	switch {
	case key.writes:
		ask = x.WritesNothing
	case key.decides:
		ask = x.DecidesNothing
	}
	ok, reason := ask(q)
	l.readings.budget = x.Budget
	return ok, reason.Text(func(addr uint64) string { return l.sourceLocation(x.pid, addr) })
}

// differs answers the question of Differs.
func (l *Link) differs(key readingKey, from observer.Stack) bool {
	site := l.Session.Site(from.Site)
	if site == nil || site.Array != nil || from.Found != nil {
		return false
	}
	v, named := l.Session.Variable(site)
	if named && (v.Bits.Size > 0 || v.Array != nil) {
		return false // the instruction loads more than the value
	}
	if key.initially {
		known := false
		if named && !l.Observer.Attached() && int(from.TGID) == l.Session.PID() {
			key.other, known = v.File.Initial(v.Addr, v.Size)
		}
		if !known {
			return false
		}
	}
	x := l.examiner(int(from.TGID))
	x.Budget = l.readings.budget
	differs := x.Differ(l.callStack(key.from, from), key.seen, key.other)
	l.readings.budget = x.Budget
	return differs
}

func (l *Link) examiner(pid int) *examiner {
	x := l.readings.examiners[pid]
	if x == nil {
		x = &examiner{link: l, pid: pid, calls: map[*elf.File]map[uint64]bool{}, inlined: map[*elf.File]map[uint64]between.Inlined{}}
		x.Examiner = between.New(x)
		l.readings.examiners[pid] = x
	}
	return x
}

// sourceLocation returns the source location of an instruction as file:line, or the function.
func (r *Names) sourceLocation(pid int, addr uint64) string {
	frames := r.at(pid, addr, false)
	switch f := frames[0]; {
	case f.File != "" && f.Line > 0:
		return fmt.Sprintf("%s:%d", path.Base(f.File), f.Line)
	case f.Function != "":
		return f.Function
	}
	return fmt.Sprintf("%#x", addr)
}

// Code implements between.Process. Of code that was unloaded, and other code loaded there, it is not
// known which of them was executed.
func (x *examiner) Code(addr uint64) (*elf.File, uint64, bool) {
	seg, ok := x.link.process.Segment(x.pid, addr)
	if !ok || x.link.process.Overlaid(x.pid, addr) {
		return nil, 0, false
	}
	return seg.Module.Bin, seg.Bias, true
}

// Synchronises implements between.Process.
func (x *examiner) Synchronises(f *elf.File, entry uint64) bool { return x.entries(f)[entry] }

// Imports implements between.Process.
func (x *examiner) Imports(name string) bool {
	for _, seg := range x.link.process.Segments(x.pid) {
		for _, s := range seg.Module.Bin.Lookup(name) {
			if x.Synchronises(seg.Module.Bin, s.Addr) {
				return true
			}
		}
	}
	return false
}

func (x *examiner) entries(f *elf.File) map[uint64]bool {
	if known, ok := x.calls[f]; ok {
		return known
	}
	entries := map[uint64]bool{}
	x.calls[f] = entries
	for _, seg := range x.link.process.Segments(x.pid) {
		if seg.Module.Bin != f || seg.Module.Plan == nil {
			continue
		}
		for i := range seg.Module.Plan.Sites {
			s := &seg.Module.Plan.Sites[i]
			if fn, ok := f.FunctionAt(s.At); ok && isCall(s) {
				entries[fn.Lo] = true
			}
		}
	}
	return entries
}

// Inlined implements between.Process.
func (x *examiner) Inlined(f *elf.File, pc uint64) between.Inlined {
	all, known := x.inlined[f]
	if !known {
		all = map[uint64]between.Inlined{}
		x.inlined[f] = all
		for _, seg := range x.link.process.Segments(x.pid) {
			if seg.Module.Bin != f || seg.Module.Plan == nil {
				continue
			}
			for i := range seg.Module.Plan.Sites {
				if s := &seg.Module.Plan.Sites[i]; inlinedEvent(s) > all[s.At] {
					all[s.At] = inlinedEvent(s)
				}
			}
		}
	}
	return all[pc]
}

// inlinedEvent returns which event a site observes that no call makes, if the site is sure to observe it.
func inlinedEvent(s *probes.Site) between.Inlined {
	switch {
	case s.Program != probes.ProgramAtomic && s.Program != probes.ProgramPointerAtomic || s.Conditional || s.Array != nil:
	case s.Lock != probes.LockNone && s.Lock != probes.LockKeeps:
		return between.InlinedLock
	case !s.ResultUnused:
		return between.InlinedAccess
	}
	return between.InlinedNone
}

// isCall reports whether a site observes the calls of a function that synchronises, and that calls
// no other code of the program.
func isCall(s *probes.Site) bool {
	if s.Program != probes.ProgramNamed || s.Variable != "" || s.Method != nil {
		return false
	}
	switch bpf.Op(s.BPF.Op) {
	case bpf.OpAcquire, bpf.OpAcquireRead, bpf.OpRelease, bpf.OpWait, bpf.OpSignal, bpf.OpBroadcast, bpf.OpBarrier, bpf.OpSemPost,
		bpf.OpSemWait, bpf.OpInit, bpf.OpDestroy, bpf.OpCreate, bpf.OpJoin, bpf.OpDetach:
		return true
	}
	return false
}
