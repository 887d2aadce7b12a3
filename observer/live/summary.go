package live

import (
	"cmp"
	"fmt"
	"path"
	"slices"

	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/loader"
	"github.com/tracepredict/tracepredict/observer"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
	"github.com/tracepredict/tracepredict/probes"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/libname"
)

// Summary returns the summary of a run of program, with the limits of its result: lost
// events, and synchronisation that was not observed.
func (l *Link) Summary(program string, lost loader.Lost) run.Summary {
	s, o := l.Session, l.Observer
	l.lost = &lost
	st := o.Stats()
	sum := run.Summary{Program: program, Duration: l.duration(), Processes: l.Processes(), Modules: l.Modules(), PID: s.PID(), LastProgram: s.LastProgram(), Events: st.Events, Lost: lost.Records, LostThreads: st.ThreadsWithHoles, Threads: st.Threads, Forced: st.Forced, Notes: notes(s, o, lost), NoteKinds: s.NoteKinds(), UnreturnedCalls: lost.Pending}
	if n := s.PointerSites(); n > 0 {
		sum.Pointers = &run.Pointers{Sites: n, Own: lost.OwnWords, Full: lost.Words}
		sampled(&sum, s.Sampled())
	}
	if busy := s.TooBusy(); len(busy) > 0 {
		sum.AddFirst(tooBusy(busy))
	}
	if after, ok := o.LivesUntil(); ok {
		also := ""
		if sum.Pointers != nil {
			also = "accesses through pointers were not observed any more, and "
		}
		sum.AddFirst(fmt.Sprintf("memory was freed too often to be tracked to the end: after event %d, %swhat is predicted of locks in memory that may have been used again is likely at most", after, also))
	}
	l.unseenIn = nil // DoubtsNow may have searched before the last probes were in
	if unseen := l.unseenSync(); len(unseen) > 0 {
		sum.AddFirst(unseen[0].Reason + ": what is predicted is likely at most")
	}
	l.addDoubts(&sum)
	for _, name := range s.NamedVariables() {
		if !o.Accessed(name) {
			sum.NeverAccessed = append(sum.NeverAccessed, name)
		}
	}
	if lost.Records > 0 {
		sum.Doubt = plural.Sprintf("%d {event was lost, and what it|events were lost, and what they} did may order the two sides", lost.Records)
	}
	return sum
}

// sampled adds what was observed in samples, for a budget, to a summary.
func sampled(sum *run.Summary, s *loader.Sampled) {
	if s == nil || len(s.Functions) == 0 {
		return
	}
	sum.Pointers.Sampled, sum.Pointers.Functions = s.Functions, s.Of
	sum.AddFirst(plural.Sprintf("accesses through pointers in %d {function|functions} of %d were observed in samples, to keep the budget%s: a race there may be missed (--budget none observes all)", len(s.Functions), s.Of, functions(s.Functions)))
}

// DoubtsNow returns a summary with only the reasons, known so far, why a prediction from the run may
// be wrong. The goroutine that reads records must call it.
func (l *Link) DoubtsNow() run.Summary {
	var sum run.Summary
	l.addDoubts(&sum)
	if n := l.Observer.Stats().ThreadsWithHoles; n > 0 {
		sum.Doubt = plural.Sprintf("events of %d {thread was|threads were} lost, and what they did may order the two sides", n)
	}
	return sum
}

// addDoubts adds the reasons, known so far, why a prediction from the run may be wrong.
func (l *Link) addDoubts(sum *run.Summary) {
	s, o := l.Session, l.Observer
	sum.Doubts = l.unseenSync()
	l.leftOutByUser(sum)
	if x := s.Sampled(); x != nil && x.Mixed {
		how := "were observed in samples"
		if x.Siteless > 0 {
			how = plural.Sprintf("in %d {function|functions} were not observed", x.Siteless)
		}
		sum.Doubts = append(sum.Doubts, run.Doubt{Reason: "accesses through pointers " + how + ", and others of them may order any two events"})
	}
	for _, busy := range s.TooBusy() {
		sum.Doubts = append(sum.Doubts, run.Doubt{Reason: fmt.Sprintf("%s is accessed too often%s to be observed to the end, and may so order any two events", busyName(busy.Name), functions(busy.In)), Processes: busy.Processes})
	}
	for _, m := range s.UnseenMessages() {
		what := "may make pipes, sockets or eventfds, through which messages are not observed (--order none), and which may so order any two events"
		if !m.Channels {
			what = "may be given numbers of descriptors that another thread has closed, which orders the two and is not observed (--order none)"
		}
		sum.Doubts = append(sum.Doubts, run.Doubt{Reason: path.Base(m.Path) + " " + what, Processes: s.ProcessesWith(m.Module)})
	}
	for _, file := range s.Unobserved() {
		sum.Doubts = append(sum.Doubts, run.Doubt{Reason: file.Name + " is not observed, and may so order any two events", Processes: file.Processes})
	}
	for _, p := range s.LateProcesses() {
		sum.Doubts = append(sum.Doubts, run.Doubt{Reason: p.Note + ", and may order any two events", Processes: []uint32{p.PID}})
	}
	sum.Untracked = untracked(s, o)
	sum.Executed = executed(s, o.Executed())
	for id := event.ThreadID(1); ; id++ {
		t, ok := o.ThreadInfo(id)
		if !ok {
			return
		}
		if t.MayHoldUntil > 0 {
			sum.UncertainHolders = append(sum.UncertainHolders, run.UncertainHolder{Thread: id, Until: t.MayHoldUntil})
		}
	}
}

// untracked returns where, as far as is known, the ends of memory were not recorded.
func untracked(s *loader.Session, o *observer.Observer) []run.Untracked {
	var all []run.Untracked
	if after, ok := o.LivesUntil(); ok {
		all = append(all, run.Untracked{After: after})
	} else if never := s.Untracked(); len(never) > 0 {
		all = append(all, run.Untracked{Processes: never})
	}
	for _, u := range s.Unloaded() {
		all = append(all, run.Untracked{After: o.UnloadedAfter(u.PID, u.Memory.Lo, u.Memory.Hi), Processes: []uint32{u.PID}, Lo: u.Memory.Lo, Hi: u.Memory.Hi})
	}
	return all
}

// Processes returns the observed processes, nil if there is only one.
func (l *Link) Processes() []run.Process {
	all := l.Session.Processes()
	if len(all) < 2 {
		return nil
	}
	out := make([]run.Process, 0, len(all))
	for _, p := range all {
		out = append(out, run.Process(p))
	}
	return out
}

// Modules returns the code that the observed processes had mapped, by address.
func (l *Link) Modules() []run.Module {
	var all []run.Module
	for _, p := range l.Session.Processes() {
		for _, seg := range l.Session.Segments(p.PID) {
			all = append(all, run.Module{Path: seg.Module.Path, Lo: seg.Lo, Hi: seg.Hi, Offset: fileOffset(seg), BuildID: seg.Module.Bin.BuildID()})
		}
	}
	slices.SortStableFunc(all, func(a, b run.Module) int { return cmp.Or(cmp.Compare(a.Lo, b.Lo), cmp.Compare(a.Path, b.Path)) })
	return slices.Compact(all)
}

// fileOffset returns the offset in its file at which a segment begins: in whole pages, so that it may be before what the
// file has for it.
func fileOffset(seg loader.Segment) uint64 {
	const inPage = 1<<12 - 1
	last, err := seg.Module.Bin.Offset((seg.Lo - seg.Bias) | inPage)
	if err != nil || last < inPage {
		first, _ := seg.Module.Bin.Offset(seg.Lo - seg.Bias) // a segment of less than a page; 0 if the file lacks it
		return first
	}
	return last - inPage
}

// functions returns the words that name functions, for what happens in them: at most two names.
func functions(names []string) string {
	switch {
	case len(names) == 0 || names[0] == "":
		return ""
	case len(names) == 1:
		return " in " + names[0]
	case len(names) == 2:
		return " in " + names[0] + " and " + names[1]
	}
	return plural.Sprintf(" in %s and %d other {function|functions}", names[0], len(names)-1)
}

// busyName returns the words for an atomic variable whose observation was ended.
func busyName(name string) string {
	if name == probes.Unnamed {
		return "an atomic variable behind a pointer"
	}
	return name
}

// tooBusy returns a sentence on the atomic variables whose observation was ended because of
// its cost, and on the option that observes them anyway.
func tooBusy(variables []loader.Blind) string {
	which, them, in := fmt.Sprintf("the atomic variable %s was", variables[0].Name), "it", functions(variables[0].In)
	switch n := len(variables); {
	case n == 1 && variables[0].Name == probes.Unnamed:
		return busyName(probes.Unnamed) + " was accessed too often" + in + " to be observed to the end"
	case n > 1:
		which, them = fmt.Sprintf("%d atomic variables (%s and others) were", n, variables[0].Name), "them"
		in = ""
	}
	return which + " accessed too often" + in + " to be observed to the end: --watch observes " + them + " whatever the cost"
}

func notes(s *loader.Session, o *observer.Observer, lost loader.Lost) []string {
	var notes []string
	add := func(n uint64, format string, more ...any) {
		if n > 0 {
			notes = append(notes, plural.Sprintf(format, append([]any{n}, more...)...))
		}
	}
	st := o.Stats()
	add(lost.Pending, "%d {call|calls} could not be followed to their return")
	add(lost.Stacks+lost.Untabled, "%d {event has|events have} no calling chain beyond {its|their} caller: they came while the chains of too many new places were being looked for")
	add(lost.Incomplete, "%d calling {chain|chains} may be cut short: the ring buffer had no room for the stacks of so many new places at a time, or more than 64 chains lead to a place")
	add(st.Unclassified, "%d {access|accesses} that a hardware watchpoint saw {was|were} made by code that does not tell read from write: taken for a write where the value had changed")
	add(lost.Blocks, "%d {block|blocks} of memory {was|were} allocated while too many were followed: that {it was|they were} freed was not seen")
	add(lost.CutRanges, "%d {call|calls} of library functions that access much memory, as memcpy: only what they accessed first was looked at")
	crowded := s.Crowded()
	add(lost.Words, "%d {access|accesses} through pointers {was|were} not looked at: the program came to too much memory at once%s", mostIn(crowded.Unseen))
	add(lost.Forgotten, "what one thread alone had done with %d {word|words} of memory that it had come to long ago was forgotten, to make room: races with that may be missed%s", mostIn(crowded.Forgotten))
	add(st.Contradicted, "%d {read|reads} saw another value than the last write recorded: {it carries|they carry} no order")
	if o.Attached() {
		add(st.UnheldReleases, "%d {release was of a lock that was|releases were of locks that were} not seen to be taken: held since before the observation began")
	} else {
		add(st.UnheldReleases, "%d {release was made by a thread that was|releases were made by threads that were} not seen to hold the lock")
	}
	add(st.InferredReleases, "%d {lock was|locks were} taken although no release by {its|their} holder was seen")
	if st.Children == 1 {
		notes = append(notes, "a process that the program started was not observed: --follow observes such too")
	} else {
		add(st.Children, "%d processes that the program started were not observed: --follow observes such too")
	}
	for _, p := range s.Unmatched() {
		if p.Group != "" {
			notes = append(notes, fmt.Sprintf("neither the program nor any library that it loaded had any of the functions that %s names", p.Group))
			continue
		}
		notes = append(notes, fmt.Sprintf("%q matched no function of the program or of any library that it loaded", p.Text))
	}
	return append(notes, s.Notes()...)
}

// maxExecuted bounds, for each process, the run.Executed in a summary. A verdict depends only on the
// earliest; the others are named in reports.
const maxExecuted = 128

// executed adds descriptions and processes to instructions that synchronise unobserved, and returns
// them in the order of first, at most maxExecuted of each process.
func executed(s *loader.Session, all []run.Executed) []run.Executed {
	slices.SortStableFunc(all, func(a, b run.Executed) int { return cmp.Compare(first(a), first(b)) })
	counts := map[uint32]int{}
	var kept []run.Executed
	for _, e := range all {
		if e.Description == "" {
			e.Description = "synchronisation"
			if m, probe, ok := s.UnseenProbe(e.Number); ok {
				e.Processes = s.ProcessesWith(m)
				if s.Ordered(probe.Callee) {
					continue
				}
				if probe.What == elf.UnseenLook && !looksUnlocked(&e) {
					continue
				}
				e.Description, e.Waits = m.Plan.Describe(probe), probe.What == elf.UnseenWait || probe.What == elf.UnseenLook
			}
		}
		if !e.Waits {
			e.First()
		}
		nameCauses(e.Hits)
		early := false
		for _, pid := range e.Processes {
			early = early || counts[pid] < maxExecuted
			counts[pid]++
		}
		if early {
			kept = append(kept, e)
		}
	}
	return kept
}

// looksUnlocked removes the executions of a load by threads that held a lock: the lock orders what they saw. It reports
// whether there are others.
func looksUnlocked(e *run.Executed) bool {
	e.Hits = slices.DeleteFunc(e.Hits, func(h run.Hit) bool { return h.Locked })
	return len(e.Hits) > 0
}

// nameCauses adds the names of the system calls that let threads go on.
func nameCauses(hits []run.Hit) {
	for i := range hits {
		if c := hits[i].Cause; c != nil && c.Name == "" {
			own := *c
			own.Name = callName(own.Call)
			hits[i].Cause = &own
		}
	}
}

// first returns the number of the first event that an execution of e may have ordered.
func first(e run.Executed) uint64 {
	at := e.ObservedUntil
	for _, h := range e.Hits {
		if at == 0 || h.Since < at {
			at = h.Since
		}
	}
	return at
}

// unseenSync returns the doubts about synchronisation in the own code of the program that no probe
// observes: atomic instructions and futex calls. System libraries are left out, because theirs
// implement the calls that are observed.
func (l *Link) unseenSync() []run.Doubt {
	var doubts []run.Doubt
	for _, m := range l.Session.Modules() {
		reason, known := l.unseenIn[m]
		if !known {
			reason = unseenIn(l.Session, m, l.Observer.Attached())
			if l.unseenIn == nil {
				l.unseenIn = map[*loader.Module]string{}
			}
			l.unseenIn[m] = reason
		}
		if reason != "" {
			doubts = append(doubts, run.Doubt{Reason: reason, Processes: l.Session.ProcessesWith(m)})
		}
		if all := l.Session.Pointed(m, l.Observer.Attached()); len(all) > 0 {
			doubts = append(doubts, run.Doubt{Reason: pointedReason(all), Processes: l.Session.ProcessesWith(m)})
		}
	}
	return doubts
}

// pointedReason returns why a prediction is in doubt because of atomic variables that may be accessed
// unobserved.
func pointedReason(all []probes.Pointed) string {
	more := ""
	if n := len(all) - 1; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("atomic variables may be accessed unobserved, which may order any two events (%s%s)", all[0].Where, more)
}

// unseenIn returns why a prediction is in doubt because of the code of a module; "" if it is not.
// attached reports that the observation began in the middle of the run.
func unseenIn(s *loader.Session, m *loader.Module, attached bool) string {
	switch {
	case libname.Stem(m.Path) == "libgomp" && (attached || !m.OfOpenMP()):
		return "which threads belong to parallel regions of OpenMP is not known, which may so order any two events"
	case libname.Runtime(m.Path):
		return ""
	}
	n, first, what := s.UnseenIn(m)
	if n == 0 {
		return ""
	}
	return plural.Sprintf("code of %s synchronises by itself at %d {place that is|places that are} not observed (the first: %s in %s), and may so order any two events",
		path.Base(m.Path), n, what, first)
}

// mostIn returns a part of a sentence that names the first functions; "" if there are none.
func mostIn(functions []string) string {
	const few = 3
	if len(functions) == 0 {
		return ""
	}
	return fmt.Sprintf(" (most in %s)", plural.Enumerated(functions[:min(len(functions), few)]))
}
