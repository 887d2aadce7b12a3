package engine

import (
	"slices"
	"time"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/part"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/stats"
	"github.com/tracepredict/tracepredict/analysis/verdict"
	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// Ended is what is known of a run that has ended, besides its events.
type Ended struct {
	Summary run.Summary
	Names   run.Namer    // of what events refer to; see NamesOf
	Code    verdict.Code // of the program; nil if the events have all that its threads read and do, as in an imported trace
	Locks   LockWords    // nil: the run used no variables as locks, as far as is known
	Notes   []string     // for the report
}

// Findings ends the analyses of a run, and returns their findings. It returns an error if the specification does not fit
// the program.
func (e *Engine) Findings(in *Ended) ([]finding.Finding, error) {
	found, err := e.Finish(verdict.Of(in.Summary, in.Names, in.Code), known(in))
	return slices.DeleteFunc(found, func(f finding.Finding) bool {
		raced := e.options.Raced
		return f.Kind == finding.Race && raced != nil && len(f.Objects) > 0 && !raced(in.Names.Object(f.Objects[0]).Name)
	}), err
}

// known returns what is known of the program.
func known(in *Ended) part.Known {
	k := codeOf(in.Names, in.Code)
	k.Static = func(o event.ObjectID) bool { return in.Names.Object(o).Member != "" }
	k.Block = func(o event.ObjectID) (lo, hi uint64) { return blockOf(in.Names.Object(o)) }
	k.Unseen = func(f *finding.Finding) bool { return verdict.UnseenOrder(in.Summary.Executed, f, in.Names) }
	k.AtomicWait = func(load event.StackID) (waits, notifies bool) { return atomicWait(in.Names.Frames(load)) }
	k.Named = func(id event.ObjectID) bool {
		o := in.Names.Object(id)
		return o.Name != "" || o.Member != "" || o.Class != ""
	}
	return k
}

// codeOf returns what is known of the program's code. Without code, as of an imported trace, all that the threads read and
// do is in the record.
func codeOf(names run.Namer, code verdict.Code) part.Known {
	k := part.Known{
		DecidesNothing: func(from, to event.StackID) bool {
			if code == nil {
				return true
			}
			ok, _ := code.DecidesNothing(from, to)
			return ok
		},
		Elsewhere: func(a, b event.StackID) bool {
			x, y := run.OwnFrame(names.Frames(a)), run.OwnFrame(names.Frames(b))
			return x != (event.Frame{}) && y != (event.Frame{}) && (x.Module != y.Module || x.Function != y.Function || x.Offset != y.Offset)
		},
		PassesNothingOn: func(wait event.StackID) bool {
			if code == nil {
				return true
			}
			ok, _ := code.PassesNothingOn(wait)
			return ok
		},
	}
	if code != nil {
		k.Differs, k.Course = code.Differs, code.Course
	}
	return k
}

// blockOf returns where the allocated block lies that contains an object; 0 and 0 if none is known.
func blockOf(o run.Object) (lo, hi uint64) {
	if o.Block.Size == 0 || o.Block.Offset > o.Addr {
		return 0, 0
	}
	lo = o.Addr - o.Block.Offset
	return lo, lo + o.Block.Size
}

// Report returns the report of a run whose analyses Findings has ended, with findings and what was looked for.
func (e *Engine) Report(in *Ended, findings []finding.Finding) report.Report {
	observed := Run(in.Summary)
	observed.AddProperties(e.outcome.Properties)
	observed.Protocols = e.outcome.Protocols
	observed.Notes = slices.Concat(observed.Notes, lockNotes(in.Locks, in.Names), in.Notes)
	observed.AddLocks(e.lockOrder(observed.Forced))
	b := e.Bounds()
	observed.AddBounds(&b, boundNotes(&b))
	observed.AddCoverage(e.coverage(in.Names))
	observed.Notes = append(observed.Notes, e.outcome.Notes...)
	rep := report.Build(observed, findings, in.Names)
	if e.shared.Explain {
		rep.Explain(e.shared.Pruned, in.Names)
	}
	rep.Run.Notes = append(rep.Run.Notes, e.mistakes()...)
	return rep
}

// Run returns the summary of a run in the form of a report: with notes on what
// synchronised unobserved.
func Run(s run.Summary) report.Run {
	s.Notes = slices.Concat(s.Notes, report.UnseenNotes(s.Executed))
	return report.Run{Summary: s}
}

// lockOrder returns how far the lock graph was searched, and the notes that come first. forced is run.Summary.Forced.
func (e *Engine) lockOrder(forced uint64) (*run.Locks, []string) {
	notes := slices.Clone(e.outcome.First)
	if forced > 0 {
		notes = append(notes, plural.Sprintf("%d {thread|threads} had to be taken to begin after others had ended, since so many ended threads had not been joined: errors between these may be missed", forced))
	}
	l := e.outcome.Locks
	if l != nil && forced > 0 {
		l.Complete = false
	}
	return l, notes
}

// boundNotes returns notes on what was discarded.
func boundNotes(b *run.Bounds) []string {
	var notes []string
	say := func(format string, args ...any) { notes = append(notes, plural.Sprintf(format, args...)) }
	if b.EvictedSections+b.EvictedEvents > 0 {
		say("%d critical {section|sections} and %d {event|events} of the run were forgotten to bound memory: an error whose schedule needs them may be missed, or have none to show (a larger --history than %d keeps more)", b.EvictedSections, b.EvictedEvents, b.Sections)
	}
	if b.MemoryFull > 0 {
		say("memory was full %d {time|times}: the oldest of what was kept of the run was forgotten, and %d {event is|events are} kept since, and no lock orders beyond those that were known (a larger --memory keeps more)", b.MemoryFull, b.Events)
	}
	if b.EvictedVariables > 0 {
		say("what was known of %d {variable|variables} was forgotten then, those that were not accessed for the longest time: races with {its|their} accesses before may be missed", b.EvictedVariables)
	}
	if b.EvictedLocks > 0 {
		say("of %d {lock|locks}, those that were not used for the longest time, the order of {its|their} uses was forgotten then: a later event of such a lock or variable counts as after all that was forgotten, which may hide races and deadlocks", b.EvictedLocks)
	}
	if b.EvictedObjects > 0 {
		say("of %d {semaphore, condition, barrier, once or channel|semaphores, conditions, barriers, onces and channels}, those that were not used for the longest time, the order of {its|their} uses was forgotten then: a later event of such an object counts as after all that was forgotten, which may hide errors, and a finding whose schedule ends a wait there is likely at most", b.EvictedObjects)
	}
	if b.EvictedThreads > 0 {
		say("of %d {thread|threads} that had ended and {was|were} not joined, the oldest, the last event was forgotten then: a join of such a thread counts as after all that was forgotten, which may hide errors", b.EvictedThreads)
	}
	if b.EvictedAccesses > 0 {
		say("%d {access was|accesses were} forgotten by the lockset analysis, for want of room: races with {it|them} may be missed", b.EvictedAccesses)
	}
	if b.DroppedPairs > 0 {
		say("%d {race is|races are} in places beyond those that are kept of a variable%s", b.DroppedPairs, orOfAll(b))
	}
	if b.EvictedFindings > 0 {
		say("%d {finding was|findings were} forgotten for lack of memory, the least certain first, and of those the later ones (a larger --memory keeps more)", b.EvictedFindings)
	}
	if b.Unsettled > 0 {
		say("the search for schedules in which critical sections change places ended at its budget before it settled %d {candidate|candidates}: those that locks alone suspect are potential (--confidence potential shows them), and a larger --reversals may settle them", b.Unsettled)
	}
	if b.NotSearched > 0 {
		say("%d {candidate was|candidates were} not searched for schedules: %s; those that locks alone suspect are potential (--confidence potential shows them)", b.NotSearched, b.CutShortBy)
	}
	if b.NotAsked > 0 {
		say("there were too many candidates for races and deadlocks to try all of them: for %d, no schedule was searched for, or only for some pairs of threads", b.NotAsked)
	}
	return notes
}

// orOfAll returns what else bounds the number of races that are kept: memory, if it was full.
func orOfAll(b *run.Bounds) string {
	if b.MemoryFull == 0 {
		return ""
	}
	return ", or of all variables since memory was full"
}

// mistakes returns a note if the checker of executions refused witnesses that were found: each
// is an error of tracepredict.
func (e *Engine) mistakes() []string {
	w := e.Witnesses()
	if w.Refused == 0 {
		return nil
	}
	return []string{plural.Sprintf("the checker of witnesses refused %d of the %d {schedule that was|schedules that were} found, and nothing that they were to show is called predicted: "+
		"this is an error of tracepredict, please report it with a trace (--record)", w.Refused, w.Checked)}
}

// Stats returns the figures of a run that has ended, in the form of a report. The caller adds the
// processor time and memory of the processes. Latency may be nil.
func (e *Engine) Stats(latency *stats.Latency) *report.Stats {
	out := &report.Stats{Variables: e.counts.Variables(), Locks: e.counts.Locks(), Lattice: e.outcome.Lattice, ObjectRaces: e.outcome.ObjectRaces}
	for _, n := range e.counts.Events() {
		out.Events = append(out.Events, report.OpCount{Operation: n.Op.String(), Events: n.Events})
	}
	w := e.Witnesses()
	out.Witnesses = report.Witnesses{Checked: w.Checked, Refused: w.Refused, Unseen: w.Unseen}
	if latency != nil && out.Lattice != nil {
		h := latency.Spread()
		ns := func(n uint64) time.Duration { return time.Duration(min(n, 1<<63-1)) }
		out.Latency = &report.LatencyTime{Events: h.N(), Median: ns(h.Quantile(0.5)), P99: ns(h.Quantile(0.99)), Max: ns(h.Max())}
	}
	return out
}
