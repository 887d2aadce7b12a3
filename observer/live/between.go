package live

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/loader"
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
	courses   map[string]run.Reading // by the question
	// locks are the sites that access variables which the run used as locks, and no other variables.
	locks map[uint32]bool
}

type readingKey struct {
	event.Span
	about              question
	passes             bool // the question of PassesNothingOn about From
	branches           bool // that of Branches about From
	differs, initially bool // that of Differs about From, and what it reads
	seen, other        uint64
}

// question is what is asked about a span.
type question uint8

const (
	readsNothing question = iota
	seesRecorded
	leavesRecorded
	decidesNothing
)

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
	// accesses has, for each file, the sites that observe what its instructions access.
	accesses map[*elf.File]map[uint64][]siteOf
}

// ReadsNothing reports whether the code that a thread executed between two events depends on no memory that
// another thread may have written, so that the thread would execute the same code in any schedule. The first
// event is a successful operation of a synchronisation function; both are calls of such functions. why says what
// the code depends on, or why that is not known.
func (l *Link) ReadsNothing(s event.Span) (ok bool, why string) {
	s.Since, s.Until = 0, 0 // it does not depend on them
	return l.answer(readingKey{Span: s})
}

// SeesRecorded reports whether the code depends on nothing that another thread may have written but for what was
// recorded, so that the thread executes the same code, and writes the same, if it reads what it read in the run
// as far as that was recorded.
func (l *Link) SeesRecorded(s event.Span) (ok bool, why string) {
	return l.answer(readingKey{Span: s, about: seesRecorded})
}

// LeavesRecorded reports whether all that the code writes, and that another thread may read, was recorded.
func (l *Link) LeavesRecorded(s event.Span) (ok bool, why string) {
	return l.answer(readingKey{Span: s, about: leavesRecorded})
}

// DecidesNothing reports whether a thread comes from the first of two consecutive events, as for
// ReadsNothing, to the second whatever other threads have written.
func (l *Link) DecidesNothing(from, to event.StackID) (ok bool, why string) {
	return l.answer(readingKey{Span: event.Span{From: from, To: to}, about: decidesNothing})
}

// PassesNothingOn reports whether the function that waited on a condition at a call stack can only wait
// again if it is woken for something else: it notifies no condition, and calls no code that may.
func (l *Link) PassesNothingOn(wait event.StackID) (ok bool, why string) {
	return l.answer(readingKey{Span: event.Span{From: wait}, passes: true})
}

// Differs reports whether the code that made a read at a call stack certainly takes another branch where it reads
// another value than the one that it has seen. If initially, that is the value which the variable has when the
// program begins, and other is 0.
func (l *Link) Differs(read event.StackID, seen, other uint64, initially bool) bool {
	ok, _ := l.answer(readingKey{Span: event.Span{From: read}, differs: true, initially: initially, seen: seen, other: other})
	return ok
}

// Branches reports whether a branch of the code that made a read at a call stack, or an address that it accesses, may
// depend on the value.
func (l *Link) Branches(read event.StackID) bool {
	ok, _ := l.answer(readingKey{Span: event.Span{From: read}, branches: true})
	return ok
}

func (l *Link) answer(key readingKey) (ok bool, why string) {
	r := l.given()
	a, known := r.answers[key]
	if !known && l.lost == nil && (key.about == seesRecorded || key.about == leavesRecorded) {
		return false, notExamined // what was lost is not known before the end
	}
	if !known {
		if a.ok, a.why = l.examine(key); a.ok {
			a.why = ""
		}
		r.answers[key] = a
	}
	return a.ok, a.why
}

// given returns what was answered so far.
func (l *Link) given() *readings {
	r := &l.readings
	if r.answers == nil {
		*r = readings{examiners: map[int]*examiner{}, answers: map[readingKey]reading{}, courses: map[string]run.Reading{}, budget: between.DefaultBudget}
	}
	return r
}

// Readings returns the answers about the code that were given, in a fixed order.
func (l *Link) Readings() []run.Reading {
	var all []run.Reading
	for key, a := range l.readings.answers {
		all = append(all, run.Reading{From: key.From, To: key.To, Last: key.Last, Releases: key.Releases, Since: key.Since, Until: key.Until,
			Sees: key.about == seesRecorded, Leaves: key.about == leavesRecorded, Decides: key.about == decidesNothing, Passes: key.passes, Branches: key.branches,
			Differs: key.differs, Initially: key.initially, Seen: key.seen, Other: key.other, Why: a.why})
	}
	slices.SortFunc(all, func(a, b run.Reading) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), strings.Compare(a.Why, b.Why), compareBools(a.Differs, b.Differs), compareBools(a.Initially, b.Initially), cmp.Compare(a.Seen, b.Seen), cmp.Compare(a.Other, b.Other), compareBools(a.Last, b.Last), compareBools(a.Decides, b.Decides), compareBools(a.Passes, b.Passes), compareBools(a.Branches, b.Branches),
			cmp.Compare(a.Releases, b.Releases), compareBools(a.Sees, b.Sees), compareBools(a.Leaves, b.Leaves), cmp.Compare(a.Since, b.Since), cmp.Compare(a.Until, b.Until))
	})
	for _, question := range slices.Sorted(maps.Keys(l.readings.courses)) {
		all = append(all, l.readings.courses[question])
	}
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
	from, known := l.observed.StackOf(key.From)
	to, known2 := l.observed.StackOf(key.To)
	if key.To == 0 {
		to, known2 = from, true
	}
	if !known || !known2 || from.TGID != to.TGID {
		return false, notExamined
	}
	called, ok := l.isCalled(from)
	calledNext, ok2 := l.isCalled(to)
	if !ok || !ok2 || (called || calledNext) && (key.differs || key.passes) {
		return false, notExamined
	}
	if key.branches {
		return l.branches(key, from), "nothing shows that one does"
	}
	if key.differs {
		return l.differs(key, from), "nothing shows that it does"
	}
	if site := l.Session.Site(from.Site); site != nil && site.Internal && !key.passes {
		return true, "" // what the section reads decides nothing of the program
	}
	x := l.examiner(int(from.TGID))
	q := between.Query{From: l.callStack(key.From, from), FromCall: called, Last: key.Last, Releases: key.Releases, Unrecorded: l.unrecorded()}
	if called {
		q.From = l.callOf(x.pid, q.From)
	}
	if key.To != 0 {
		if q.To, q.ToCall = l.callStack(key.To, to), calledNext; calledNext {
			q.To = l.callOf(x.pid, q.To)
		}
		if len(q.To) == 0 {
			return false, notExamined
		}
		q.Access = l.isAccess(to)
	}
	x.Budget = l.readings.budget
	if key.passes {
		ok, reason := x.PassesNothingOn(q.From)
		l.readings.budget = x.Budget
		return ok, reason.Text(func(addr uint64) string { return l.sourceLocation(x.pid, addr) })
	}
	ask := [...]func(between.Query) (bool, between.Why){readsNothing: x.ReadsNothing, seesRecorded: x.SeesRecorded, leavesRecorded: x.LeavesRecorded, decidesNothing: x.DecidesNothing}[key.about]
	recorded := key.about == seesRecorded || key.about == leavesRecorded
	if recorded {
		if l.lost.Words > 0 || l.lost.Forgotten > 0 {
			return false, "some accesses were not looked at, for lack of room"
		}
		q.Recorded = func(f *elf.File, pc uint64, size int) bool {
			return x.unrecorded(f, pc, size, key.Span) == loader.RecordedAll
		}
	}
	ok, reason := ask(q)
	l.readings.budget = x.Budget
	text := reason.Text(func(addr uint64) string { return l.sourceLocation(x.pid, addr) })
	if recorded && !ok {
		text += x.whyUnrecorded(reason, key.Span)
	}
	return ok, text
}

// isCalled reports whether an event is a system call that no probe saw; ok is false if it is an access by the kernel.
func (l *Link) isCalled(at observer.Stack) (called, ok bool) {
	called = at.Call > 0 && l.Session.Site(at.Site) == nil
	return called, called || at.Call == 0
}

// callOf returns the call stack of a system call from the outermost frame of the C library on that leads to it; nil if the
// program made the call itself.
func (l *Link) callOf(pid int, stack []uint64) []uint64 {
	for i, pc := range stack {
		seg, ok := l.process.Segment(pid, pc)
		if ok && strings.HasPrefix(seg.Module.Bin.SOName(), "libc.") {
			continue
		}
		if !ok || i == 0 {
			return nil
		}
		return stack[i-1:]
	}
	return nil
}

// isAccess reports whether an event is an access that the instruction at its call stack is sure to make. Of an access
// that was recorded after the fact, that instruction alone is found.
func (l *Link) isAccess(at observer.Stack) bool {
	site := l.Session.Site(at.Site)
	return site != nil && len(at.Found) <= 1 && site.ObservesAccess() && site.Callee == "" && (!site.Conditional || site.Program == probes.ProgramPointer)
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
	differs := x.Differ(l.callStack(key.From, from), key.seen, key.other)
	l.readings.budget = x.Budget
	return differs
}

// branches answers the question of Branches.
func (l *Link) branches(key readingKey, from observer.Stack) bool {
	site := l.Session.Site(from.Site)
	if site == nil || site.Callee != "" {
		return false
	}
	x := l.examiner(int(from.TGID))
	x.Budget = l.readings.budget
	branches := x.Branches(l.callStack(key.From, from))
	l.readings.budget = x.Budget
	return branches
}

func (l *Link) examiner(pid int) *examiner {
	x := l.readings.examiners[pid]
	if x == nil {
		x = &examiner{link: l, pid: pid, calls: map[*elf.File]map[uint64]bool{}, inlined: map[*elf.File]map[uint64]between.Inlined{}, accesses: map[*elf.File]map[uint64][]siteOf{}}
		x.Examiner = between.New(x)
		l.readings.examiners[pid] = x
	}
	return x
}

// sourceLocation returns the source location of an instruction as file:line, or the function.
func (r *names) sourceLocation(pid int, addr uint64) string {
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
				s := &seg.Module.Plan.Sites[i]
				made := inlinedEvent(s)
				if x.link.readings.locks[seg.Module.Base+uint32(i)] {
					made = between.InlinedLock
				}
				all[s.At] = max(all[s.At], made)
			}
		}
	}
	return all[pc]
}

// inlinedEvent returns which event a site observes that no call makes, if the site is sure to observe it.
func inlinedEvent(s *probes.Site) between.Inlined {
	switch {
	case s.Program != probes.ProgramAtomic && s.Program != probes.ProgramPointerAtomic || s.Conditional || s.Array != nil:
	case s.Lock != bpf.LockNone && s.Lock != bpf.LockKeeps:
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
