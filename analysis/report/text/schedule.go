package textreport

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/observer/event"
)

// row is one line of a schedule: a step in words, or a number of steps left out.
type row struct {
	thread event.ThreadID // 0: the text spans all columns
	text   string
	at     string // source location
	last   bool   // it is one of the steps at which the error happens
}

// schedule prints the schedule that shows the error, with a column for each thread.
func (p *printer) schedule(f *report.Finding) {
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
		return
	}
	if len(f.Observed) > 0 {
		p.scheduleTable(f, "This run did:", f.Observed)
		title = "Another schedule of the same run:"
	}
	p.scheduleTable(f, title, steps)
}

// scheduleTable prints steps under a title.
func (p *printer) scheduleTable(f *report.Finding, title string, steps []report.Step) {
	p.out.WriteByte('\n')
	p.para(p.style.title, 3, 3, title)
	rows := p.rows(f, steps)
	threads := columnThreads(rows)
	width := (p.width - 3 - gap*(len(threads)-1)) / max(len(threads), 1)
	if width < minColumn {
		p.list(rows)
		return
	}
	p.columnTable(f, rows, threads, min(width, 48))
}

// columnThreads returns the threads that have a column.
func columnThreads(rows []row) []event.ThreadID {
	var ids []event.ThreadID
	for _, r := range rows {
		if r.thread != 0 {
			ids = append(ids, r.thread)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// rows returns the lines of the steps that matter: those on the objects and locks of the
// finding, and forks and joins. If a thread repeats a step in a loop, rows keeps the last
// one. The first line has the number of steps that were left out.
func (p *printer) rows(f *report.Finding, steps []report.Step) []row {
	var rows []row
	objects, left := f.Explained().Involved(), map[event.ThreadID]bool{}
	for _, id := range f.HiddenThreads() {
		left[id] = true
	}
	sides := len(steps) - len(f.Evidence)
	if f.Kind.Specified() {
		sides = len(steps) - 1
	}
	skipped := 0
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
		if i < sides && len(s.Truth) == 0 && (!matters(objects, s) || repeatedLater(steps[i+1:sides], s)) {
			skipped++
			continue
		}
		rows = append(rows, row{s.Thread, report.StepText(s, p.width/2), p.names.At(s.Stack), i >= sides})
	}
	if n := len(rows) - maxSteps; n > 0 {
		rows, skipped = rows[n:], skipped+n
	}
	if skipped > 0 {
		rows = append([]row{{text: "... " + plural.Counted(uint64(skipped), "other step", "other steps")}}, rows...)
	}
	return rows
}

// repeatedLater reports whether the same thread does the same at the same source location again
// later.
func repeatedLater(later []report.Step, s report.Step) bool {
	return slices.ContainsFunc(later, func(l report.Step) bool {
		return l.Thread == s.Thread && l.Op == s.Op && l.Peer == s.Peer && l.Stack.Top() == s.Stack.Top() &&
			(l.Object == nil) == (s.Object == nil) && (l.Object == nil || report.Same(*l.Object, *s.Object))
	})
}

// matters reports whether a step is a fork, a join, or on one of the objects.
func matters(objects []report.Object, s report.Step) bool {
	if s.Op == event.Fork || s.Op == event.Join {
		return true
	}
	return s.Object != nil && slices.ContainsFunc(objects, func(o report.Object) bool { return report.Same(o, *s.Object) })
}

// list prints the steps one below the other, for a report too narrow for columns.
func (p *printer) list(rows []row) {
	for _, r := range rows {
		text := r.text
		if r.thread != 0 {
			text = fmt.Sprintf("T%d %s", r.thread, r.text)
		}
		if r.at != "" {
			text += " at " + r.at
		}
		p.para(p.rowStyle(r), 3, 6, text)
	}
}

func (p *printer) rowStyle(r row) func(string) string {
	switch {
	case r.thread == 0:
		return p.style.dim
	case r.last:
		return p.style.bad
	}
	return unchanged
}

// columnTable prints the steps in a column of the given width for each thread.
func (p *printer) columnTable(f *report.Finding, rows []row, threads []event.ThreadID, width int) {
	var head strings.Builder
	head.WriteString("   ")
	for _, id := range threads {
		head.WriteString(pad(report.ShortText(f.Thread(id).ShortLabel(), width), width+gap))
	}
	p.line(p.style.dim, strings.TrimRight(head.String(), " "))
	for _, r := range rows {
		column := max(slices.Index(threads, r.thread), 0)
		indent := strings.Repeat(" ", 3+column*(width+gap))
		for _, l := range cell(r, width) {
			p.line(unchanged, indent+p.rowStyle(r)(l))
		}
	}
}

// cell returns a step as lines of its column: on one line if it fits, with the source location
// never shortened.
func cell(r row, width int) []string {
	if r.thread == 0 {
		return []string{r.text} // it spans all columns
	}
	if r.at == "" {
		return []string{report.ShortText(r.text, width)}
	}
	for _, space := range []string{"  ", " "} {
		if line := r.text + space + r.at; report.Columns(line) <= width {
			return []string{line}
		}
	}
	return []string{report.ShortText(r.text, width), "  " + r.at}
}

func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(width-report.Columns(s), 0))
}
