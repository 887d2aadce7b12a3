package report

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/verdict"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// Build returns the report of a run's findings: it resolves identifiers, makes the sentence of
// each finding, merges findings of equal fingerprint and sorts them. The order of fs does not
// matter. A nil r leaves everything unnamed. Names come from the observed program and may be
// hostile: characters of them that do not print are shown as their codes.
//
// The fingerprint is the hexadecimal SHA-256 of what stays the same when the program runs
// again, and when it is built again with the functions involved unchanged: kind, property,
// rule, names of variables and locks, and for each role of a side its function, file, and line
// counted from the first line of the function. Not part of it are addresses, threads,
// processes, the directory of the sources, the callers, the index in an array, the number of
// sides that have a role, which side came first, and whether a side read or wrote: `n++` is
// one error on its line, whichever of its accesses was found. Of merged findings the one with
// the strongest confidence is shown, and Count is the number of all of them.
func Build(run Run, fs []finding.Finding, r run.Namer) Report {
	b := newBuilder(r)
	run = cleaned(run)
	for i := range run.Processes {
		p := &run.Processes[i]
		b.processes[uint32(p.PID)] = i
		b.programs[uint32(p.PID)] = path.Base(p.Program)
		if p.PID == run.PID && run.LastProgram == "" { // its file may have another name than it was started with
			b.programs[uint32(p.PID)] = path.Base(run.Program)
		}
	}
	built := make([]Finding, 0, len(fs))
	for i := range fs {
		built = append(built, b.finding(canonical(fs[i])))
	}
	rep := Report{Run: run, Findings: merge(built)}
	for i := range rep.Findings {
		f := &rep.Findings[i]
		f.setProcesses(f.within, run.Processes)
		f.Witness = b.schedule(f.Finding.Witness) // only of those that are left: others would need much memory
		f.nameSubject(f.Witness)
	}
	n := rep.Names()
	rep.names = n
	slices.SortFunc(rep.Findings, n.compare)
	for i := range rep.Findings {
		rep.Findings[i].Message = n.sentence(&rep.Findings[i])
	}
	return rep
}

// canonical rotates the sides of a finding so that the earliest one in the run comes first:
// the two orders of a race, and the rotations of a cycle, are one finding. In a misuse the
// wrong operation stays first.
func canonical(f finding.Finding) finding.Finding {
	n := len(f.Evidence)
	if n < 2 || f.Kind == finding.Misuse {
		return f
	}
	first := 0
	for i := range f.Evidence {
		if compareSteps(f.Evidence[i], f.Evidence[first]) < 0 {
			first = i
		}
	}
	f.Evidence = rotate(f.Evidence, first)
	if len(f.Threads) == n {
		f.Threads = rotate(f.Threads, first)
	}
	if len(f.Objects) == n {
		f.Objects = rotate(f.Objects, first)
	}
	return f
}

func compareSteps(a, b finding.Step) int {
	return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.Thread, b.Thread),
		cmp.Compare(a.Object, b.Object), cmp.Compare(a.Stack, b.Stack), cmp.Compare(a.Op, b.Op))
}

// rotate returns s with the first k elements moved to the end.
func rotate[T any](s []T, k int) []T {
	return slices.Concat(s[k:], s[:k])
}

// builder resolves identifiers, each of them once.
type builder struct {
	resolver run.Namer
	objects  map[event.ObjectID]*Object
	stacks   map[event.StackID]Stack
	programs map[uint32]string      // by process id, where there are several
	held     map[uint64][]heldLocks // by hash; see schedule
	// processes are indices of Run.Processes by process id; empty if there is one process.
	processes map[uint32]int
}

func newBuilder(r run.Namer) *builder {
	return &builder{resolver: r, objects: map[event.ObjectID]*Object{}, stacks: map[event.StackID]Stack{}, programs: map[uint32]string{}, held: map[uint64][]heldLocks{}, processes: map[uint32]int{}}
}

func (b *builder) finding(f finding.Finding) Finding {
	out := Finding{
		Finding: f, Objects: b.objectsOf(f.Objects), Mentioned: each(b.mentioned(&f), b.thread),
		Evidence: b.steps(f.Evidence), Observed: b.steps(f.Observed), Lost: b.steps(f.Lost), Depends: b.dependencies(f.Depends),
	}
	b.subject(&out)
	out.Reason, out.Property, out.Rule, out.Message = b.reason(&f.Reason), Clean(f.Property), finding.Rule(Clean(string(f.Rule))), Clean(f.Message)
	harmless := verdict.Harmless(&f)
	out.Harmless = b.reason(&harmless)
	if f.Scope != nil {
		out.Scope = new(finding.Scope)
		*out.Scope = cleaned(*f.Scope)
	}
	out.Classes, out.Assumes, out.Count = cleanAll(f.Classes), sortedSet(cleanAll(f.Assumes)), max(f.Count, 1)
	if len(f.Witness) == 0 {
		out.Sketch = sketch(&out)
	}
	out.Initial, out.InitialTruth = each(f.Initial, b.initial), cleanTruth(f.InitialTruth)
	if f.Subject != nil && f.Kind == finding.Property {
		first := b.step(&f.Subject.First)
		out.First = &first
	}
	out.within, out.Graph = b.processesOf(&f), b.graph(f.Graph)
	out.nameThreads()
	out.roles = rolesOf(&out)
	out.Explains = explaining(&out)
	out.Fingerprint = fingerprint(&out)
	return out
}

// subject puts the object whose protocol is broken in the place of the instances that its calls were on.
func (b *builder) subject(f *Finding) {
	s := f.Finding.Subject
	if s == nil || f.Kind != finding.Typestate {
		return
	}
	o := &Object{Object: run.Object{Kind: event.KindInstance, FirstThread: s.First.Thread}, First: b.stack(s.First.Stack), Anonymous: true, Protocol: Clean(f.Property)}
	if s.Made {
		o.Init = o.First
	}
	if s.Value >= pageSize {
		o.Addr = s.Value
	}
	o.Name = o.Protocol + " " + subjectValue(s)
	f.subject, f.Objects = o, []Object{*o}
	f.nameSubject(f.Evidence)
	f.nameSubject(f.Observed)
}

// pageSize is in bytes. The lowest page is never mapped, so that smaller values are descriptors, indices and the like.
const pageSize = 4096

func subjectValue(s *finding.Subject) string {
	if s.Value < pageSize {
		return strconv.FormatUint(s.Value, 10)
	}
	return fmt.Sprintf("%#x", s.Value)
}

// nameSubject names the object of the calls on the subject.
func (f *Finding) nameSubject(steps []Step) {
	for i := range steps {
		if steps[i].Use != "" && f.subject != nil {
			steps[i].Object = f.subject
		}
	}
}

func cleanAll(s []string) []string {
	return each(s, Clean)
}

func sortedSet(s []string) []string {
	slices.Sort(s)
	return slices.Compact(s)
}

// mentioned returns the threads that the finding refers to, sorted.
func (b *builder) mentioned(f *finding.Finding) []event.ThreadID {
	ids := slices.Clone(f.Threads)
	for _, id := range f.Objects {
		if t := b.object(id).Block.Thread; t != 0 {
			ids = append(ids, t)
		}
	}
	for _, steps := range [][]finding.Step{f.Evidence, f.Witness, f.Observed, f.Lost} {
		for _, s := range steps {
			ids = append(ids, s.Thread)
			if s.Peer != 0 {
				ids = append(ids, s.Peer)
			}
		}
	}
	for _, d := range f.Depends {
		ids = append(ids, d.Thread)
	}
	if f.Subject != nil {
		ids = append(ids, f.Subject.First.Thread)
	}
	if f.Scope != nil {
		for i := range f.Scope.Locals {
			for _, t := range f.Scope.Locals[i].Threads {
				ids = append(ids, t.Thread)
			}
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func (b *builder) steps(in []finding.Step) []Step {
	out := make([]Step, 0, len(in))
	for i := range in {
		s := b.step(&in[i])
		s.Held = b.locksHeld(&in[i])
		out = append(out, s)
	}
	return out
}

func (b *builder) step(s *finding.Step) Step {
	out := Step{Step: *s, Stack: b.stack(s.Stack)}
	out.Truth, out.Before, out.After = cleanTruth(s.Truth), cleanAll(s.Before), cleanAll(s.After)
	if s.Object != 0 {
		out.Object = b.object(s.Object)
	}
	return out
}

func cleanTruth(in []finding.Truth) []finding.Truth {
	return each(in, func(t finding.Truth) finding.Truth {
		t.Name = Clean(t.Name)
		return t
	})
}

// locksHeld returns the locks that the thread of a step holds.
func (b *builder) locksHeld(s *finding.Step) []Held {
	if len(s.Held) == 0 {
		return nil
	}
	out := make([]Held, len(s.Held))
	for i, id := range s.Held {
		out[i] = Held{Object: b.object(id), Read: i < 64 && s.HeldRead>>i&1 != 0}
		if i < len(s.HeldAt) {
			out[i].Stack = b.stack(s.HeldAt[i])
		}
	}
	return out
}

func (b *builder) stack(id event.StackID) Stack {
	if id == 0 || b.resolver == nil {
		return Stack{}
	}
	if s, ok := b.stacks[id]; ok {
		return s
	}
	frames := slices.Clone(b.resolver.Frames(id))
	for i := range frames {
		f := &frames[i]
		f.Function, f.File, f.Module = Clean(f.Function), Clean(f.File), Clean(f.Module)
	}
	s := newStack(frames)
	b.stacks[id] = s
	return s
}

func (b *builder) object(id event.ObjectID) *Object {
	if o, ok := b.objects[id]; ok {
		return o
	}
	var info run.Object
	if b.resolver != nil {
		info = b.resolver.Object(id)
	}
	o := &Object{Object: info, Init: b.stack(info.Init), First: b.stack(info.First)}
	o.Name, o.Class = Clean(cmp.Or(info.Name, info.Member)), Clean(info.Class)
	o.ByMember = info.Name == "" && info.Member != ""
	o.Anonymous = info.Name == "" && info.Member == "" && info.Addr != 0
	switch {
	case o.Anonymous && o.InBlock():
		o.Name = o.blockName()
	case o.Anonymous:
		o.Name = fmt.Sprintf("%#x", info.Addr)
	case o.Name == "":
		o.Name, o.Numbered = fmt.Sprintf("%s #%d", info.Kind, id), true
	}
	b.objects[id] = o
	return o
}

func (b *builder) objectsOf(ids []event.ObjectID) []Object {
	return each(ids, func(id event.ObjectID) Object { return *b.object(id) })
}

func (b *builder) thread(id event.ThreadID) Thread {
	if b.resolver == nil {
		return Thread{ID: id}
	}
	t := Thread{Thread: b.resolver.Thread(id), ID: id}
	t.Name, t.Start, t.Created = Clean(t.Name), Clean(t.Start), b.stack(t.Thread.Created)
	if program, ok := b.programs[t.TGID]; ok {
		t.Process = fmt.Sprintf("%s (pid %d)", program, t.TGID)
	}
	return t
}

// sketch returns the schedule that the evidence suggests, nil if there is none: each side
// acquires the locks that it holds, then each attempts its own step. No checker has accepted it.
func sketch(f *Finding) []Step {
	if f.Kind == finding.Deadlock && f.Confidence == finding.Observed {
		return nil // the evidence shows the real schedule
	}
	if len(f.Classes) > 0 || len(f.Evidence) < 2 || (f.Kind != finding.Deadlock && f.Kind != finding.Race) {
		return nil
	}
	var steps []Step
	for i, side := range f.Evidence {
		for _, h := range side.Held {
			if f.Kind == finding.Deadlock && !requestedByOther(f, i, *h.Object) {
				continue
			}
			steps = append(steps, Step{Step: finding.Step{Thread: side.Thread, Op: event.Acquire}, Object: h.Object, Stack: h.Stack})
		}
	}
	for _, side := range f.Evidence {
		side.Seq, side.Held, side.Blocked = 0, nil, f.Kind == finding.Deadlock
		steps = append(steps, side)
	}
	return steps
}

// requestedByOther reports whether another side of the cycle than side i waits for o: of all
// locks that side i holds, that is the one that closes the cycle.
func requestedByOther(f *Finding, i int, o Object) bool {
	for j, other := range f.Evidence {
		if j != i && other.Object != nil && Same(*other.Object, o) {
			return true
		}
	}
	return false
}

// Same reports whether two objects are one.
func Same(a, b Object) bool { return a.Name == b.Name && a.Addr == b.Addr }

// each returns the results of f for all elements.
func each[T, U any](in []T, f func(T) U) []U {
	out := make([]U, 0, len(in))
	for _, x := range in {
		out = append(out, f(x))
	}
	return out
}
