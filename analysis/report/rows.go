package report

import (
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Schedule is a schedule for people: the steps that matter, under a title.
type Schedule struct {
	Title string
	Rows  []Row
}

// Row is one line of a schedule: a step in words, or a number of steps left out.
type Row struct {
	Thread event.ThreadID // 0: the text spans all columns
	Text   string
	States string // of a call of a typestate: "open -> closed"
	At     string // source location
	Last   bool   // it is one of the steps at which the error happens
}

// maxRows is how many lines of a schedule are shown: the last ones.
const maxRows = 40

// Threads returns the threads that have a step, in the order of their numbers.
func (s *Schedule) Threads() []event.ThreadID {
	var ids []event.ThreadID
	for _, r := range s.Rows {
		if r.Thread != 0 {
			ids = append(ids, r.Thread)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// Schedules returns the schedules of a finding: that which shows the error, or a sketch of one, and before it what the run
// did, if that is known. There are none if there is no such schedule. Names and values have at most most columns.
func (n Names) Schedules(f *Finding, most int) []Schedule {
	title, steps := "Another schedule that shows it:", f.Witness
	switch {
	case f.Confidence != finding.Observed:
	case f.Kind == finding.Race: // in the run, other events may have come between the accesses
		title = "A schedule that shows it:"
	default:
		title = "The schedule of this run:"
	}
	if len(steps) == 0 {
		title, steps = "How it could happen (a sketch, not checked):", f.Sketch
	}
	if len(steps) == 0 {
		return nil
	}
	if len(f.Observed) == 0 {
		return []Schedule{{title, n.rows(f, steps, most)}}
	}
	return []Schedule{{"This run did:", n.rows(f, f.Observed, most)}, {"Another schedule of the same run:", n.rows(f, steps, most)}}
}

// rows returns the lines of the steps that matter: those on the objects and locks of the
// finding, and forks and joins. If a thread repeats a step in a loop, rows keeps the last
// one. The first line has the number of steps that were left out.
func (n Names) rows(f *Finding, steps []Step, most int) []Row {
	var rows []Row
	objects, left := f.Explained().Involved(), map[event.ThreadID]bool{}
	for _, id := range f.HiddenThreads() {
		left[id] = true
	}
	sides := len(steps) - len(f.Evidence)
	if f.Kind.Specified() {
		sides = len(steps) - 1
	}
	skipped, elsewhere := 0, f.elsewhere()
	for i, s := range steps {
		if s.Op == event.Begin && i < sides {
			continue // the step that starts the thread shows it
		}
		if left[s.Thread] || left[s.Peer] {
			if i < sides {
				skipped++
			}
			continue // another thread that is shown does the same
		}
		if i < sides && elsewhere(s.Thread) && (s.Peer == 0 || elsewhere(s.Peer)) {
			skipped++
			continue
		}
		if i < sides && len(s.Truth) == 0 && (!matters(objects, s) || repeatedLater(steps[i+1:sides], s)) {
			skipped++
			continue
		}
		rows = append(rows, Row{s.Thread, StepText(s, most), StatesText(&s), n.At(s.Stack), i >= sides})
	}
	if more := len(rows) - maxRows; more > 0 {
		rows, skipped = rows[more:], skipped+more
	}
	if skipped > 0 {
		rows = append([]Row{{Text: "... " + plural.Counted(uint64(skipped), "other step", "other steps")}}, rows...)
	}
	return rows
}

// elsewhere returns a function that reports whether a thread is known to be of a process that no side of the finding is of.
func (f *Finding) elsewhere() func(event.ThreadID) bool {
	own := map[uint32]bool{}
	for i := range f.Evidence {
		own[f.Thread(f.Evidence[i].Thread).TGID] = true
	}
	return func(id event.ThreadID) bool {
		pid := f.Thread(id).TGID
		return pid != 0 && len(own) > 0 && !own[0] && !own[pid]
	}
}

// repeatedLater reports whether the same thread does the same at the same source location again
// later.
func repeatedLater(later []Step, s Step) bool {
	return slices.ContainsFunc(later, func(l Step) bool {
		return l.Thread == s.Thread && l.Op == s.Op && l.Peer == s.Peer && l.Stack.Top() == s.Stack.Top() &&
			(l.Object == nil) == (s.Object == nil) && (l.Object == nil || Same(*l.Object, *s.Object))
	})
}

// matters reports whether a step is a fork, a join, or on one of the objects.
func matters(objects []Object, s Step) bool {
	if s.Op == event.Fork || s.Op == event.Join {
		return true
	}
	return s.Object != nil && slices.ContainsFunc(objects, func(o Object) bool { return Same(o, *s.Object) })
}
