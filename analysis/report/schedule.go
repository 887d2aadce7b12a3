package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/finding"
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
func (p *printer) schedule(f *Finding) {
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
func (p *printer) scheduleTable(f *Finding, title string, steps []Step) {
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
func (p *printer) rows(f *Finding, steps []Step) []row {
	var rows []row
	objects, left := involved(f.explained()), map[event.ThreadID]bool{}
	for _, id := range f.hiddenThreads() {
		left[id] = true
	}
	sides := len(steps) - len(f.Evidence)
	if f.Kind == finding.Property {
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
		rows = append(rows, row{s.Thread, p.stepText(s), p.names.at(s.Stack), i >= sides})
	}
	if n := len(rows) - maxSteps; n > 0 {
		rows, skipped = rows[n:], skipped+n
	}
	if skipped > 0 {
		rows = append([]row{{text: "... " + counted(uint64(skipped), "other step", "other steps")}}, rows...)
	}
	return rows
}

// repeatedLater reports whether the same thread does the same at the same source location again
// later.
func repeatedLater(later []Step, s Step) bool {
	return slices.ContainsFunc(later, func(l Step) bool {
		return l.Thread == s.Thread && l.Op == s.Op && l.Peer == s.Peer && l.Stack.Top() == s.Stack.Top() &&
			(l.Object == nil) == (s.Object == nil) && (l.Object == nil || same(*l.Object, *s.Object))
	})
}

// matters reports whether a step is a fork, a join, or on one of the objects.
func matters(objects []Object, s Step) bool {
	if s.Op == event.Fork || s.Op == event.Join {
		return true
	}
	return s.Object != nil && slices.ContainsFunc(objects, func(o Object) bool { return same(o, *s.Object) })
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
func (p *printer) columnTable(f *Finding, rows []row, threads []event.ThreadID, width int) {
	var head strings.Builder
	head.WriteString("   ")
	for _, id := range threads {
		head.WriteString(pad(shortText(thread(f, id).name(), width), width+gap))
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
		return []string{shortText(r.text, width)}
	}
	for _, space := range []string{"  ", " "} {
		if line := r.text + space + r.at; columns(line) <= width {
			return []string{line}
		}
	}
	return []string{shortText(r.text, width), "  " + r.at}
}

func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(width-columns(s), 0))
}

// stepText returns a step in words, as "locks ledger".
func (p *printer) stepText(s Step) string {
	verb := verbs(s.Op)
	switch {
	case s.Blocked && (s.Object != nil || s.Peer != 0):
		verb = "waits for"
	case s.Blocked:
		verb = "waits"
	case (s.Op == event.Destroy || s.Op == event.Write) && s.Flags&event.Freed != 0:
		verb = "frees the memory of"
	case s.Flags&event.Atomic != 0 && s.Op.IsAccess():
		verb = "atomically " + verb
	}
	switch {
	case s.Peer != 0 && s.Op != event.QuitHolding:
		verb += fmt.Sprintf(" T%d", s.Peer)
	case s.Object != nil:
		verb += " " + shortName(s.Object.Name, p.width/2)
	}
	if s.Flags&event.HasValue != 0 && s.Op.IsAccess() {
		verb += " = " + shortText(s.Text, p.width/2)
	}
	if s.Flags&event.Kernel != 0 && s.Op.IsAccess() {
		verb += " (" + byKernel(s) + ")"
	}
	if by := byLibrary(s); by != "" {
		verb += " (" + strings.TrimSpace(by) + ")"
	}
	if s.Flags&event.TimedOut != 0 {
		verb += " (timed out)"
	}
	return verb + propositions(s.Truth)
}

// propositions returns the propositions with their truth values, in the form of specifications:
// " {p, !q}".
func propositions(truth []finding.Truth) string {
	if len(truth) == 0 {
		return ""
	}
	literals := make([]string, 0, len(truth))
	for _, t := range truth {
		switch {
		case t.Holds:
			literals = append(literals, t.Name)
		case strings.ContainsAny(t.Name, " <>=&|"): // an expression without a name
			literals = append(literals, "!("+t.Name+")")
		default:
			literals = append(literals, "!"+t.Name)
		}
	}
	return " {" + strings.Join(literals, ", ") + "}"
}

// verbs returns an operation as a verb with its preposition, as "waits on".
func verbs(o event.Op) string {
	switch o {
	case event.Read:
		return "reads"
	case event.Write:
		return "writes"
	case event.Update:
		return "changes"
	case event.Acquire:
		return "locks"
	case event.AcquireRead:
		return "read-locks"
	case event.ReleaseUnheld, event.ReleaseInconsistent:
		return "unlocks"
	case event.JoinFailed:
		return "fails to join"
	case event.UseDestroyed:
		return "uses"
	case event.AcquireFailed:
		return "fails to lock"
	case event.Release:
		return "unlocks"
	case event.Fork:
		return "starts"
	case event.Begin:
		return "begins"
	case event.End:
		return "ends"
	case event.Join:
		return "joins"
	case event.Detach, event.DetachAgain:
		return "detaches"
	case event.Wait:
		return "waits on"
	case event.Wake:
		return "wakes on"
	case event.Signal:
		return "signals"
	case event.Broadcast:
		return "broadcasts"
	case event.BarrierArrive:
		return "arrives at"
	case event.BarrierDepart:
		return "leaves"
	case event.SemPost:
		return "posts"
	case event.SemWait:
		return "takes"
	case event.SemFailed:
		return "fails to take"
	case event.OnceEnter:
		return "enters once"
	case event.OnceDone:
		return "initialises"
	case event.OnceLeave:
		return "finds initialised"
	case event.Init:
		return "makes"
	case event.Destroy:
		return "destroys"
	case event.QuitHolding:
		return "ends the process holding"
	case event.DestroyAgain:
		return "destroys again"
	case event.Hole:
		return "loses events"
	case event.Send:
		return "sends to"
	case event.Sent:
		return "has sent to"
	case event.Receive:
		return "receives from"
	case event.Receiving:
		return "waits to receive from"
	case event.ReceiveFailed:
		return "finds nothing in"
	}
	return o.String()
}
