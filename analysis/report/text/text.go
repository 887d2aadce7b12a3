// Package textreport writes a report for people: on a terminal, in the log of a job, or in a file. It takes a
// report.Report, which is plain data with its sentences, and decides only how much of it is shown, and where on the
// page. Its bytes are equal for equal reports and options.
package textreport

import (
	"fmt"
	"io"
	"path"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

const (
	defaultWidth = 80
	minWidth     = 32
	minSide      = 34 // least columns of a side's block; with fewer, the sides are below each other
	minColumn    = 22 // least columns of a thread in a schedule
	gap          = 3  // columns between two blocks
	maxCallers   = 6  // frames of a stack that the text shows
)

// Write writes the report for people: a verdict in the first line, its limits, then each
// finding with its sides, the schedule that shows it, and its confidence and assumptions. The
// text is ASCII except for names.
func Write(w io.Writer, r report.Report, o report.Options) error {
	r = r.Cleaned()
	p := newPrinter(r, o)
	if r.ThreadStates != nil {
		p.statesHead(r)
	} else {
		p.head(r)
	}
	p.findings(r.Causes())
	p.threadStates(r)
	p.watched(r)
	p.pruned(r)
	p.hidden(r)
	p.stats(r)
	p.generated(r)
	if _, err := io.WriteString(w, p.out.String()); err != nil {
		return fmt.Errorf("write the text report: %w", err)
	}
	return nil
}

// Details returns what Write writes of one cause of a report, which has been cleaned, for formats that have a place for
// such a text.
func Details(r report.Report, c *report.Cause, o report.Options) string {
	p := newPrinter(r, o)
	p.finding(0, c)
	return strings.TrimSpace(p.out.String())
}

// printer formats a report as text.
type printer struct {
	out   strings.Builder
	names report.Names
	run   *report.Run
	width int
	style styles
	all   bool // Options.Verbose
	// complete reports that all findings have their details.
	complete bool
	brief    bool // details of findings have no more than what recognises them
	// reasons are the reasons that were printed, each with the number of its finding.
	reasons map[string]int
}

// styles add terminal escapes to text, or leave it unchanged.
type styles struct {
	bad, title, dim, warn func(string) string
}

func newPrinter(r report.Report, o report.Options) *printer {
	if o.Width == 0 {
		o.Width = defaultWidth
	}
	return &printer{reasons: map[string]int{}, run: &r.Run, all: o.Verbose, complete: o.Verbose || o.Complete, names: r.Names(), width: max(o.Width, minWidth), style: newStyles(o.Color)}
}

func newStyles(color bool) styles {
	if !color {
		return styles{unchanged, unchanged, unchanged, unchanged}
	}
	with := func(s lipgloss.Style) func(string) string {
		return func(text string) string { return s.Render(text) }
	}
	plain := lipgloss.NewStyle()
	return styles{
		bad:   with(plain.Bold(true).Foreground(lipgloss.Red)),
		title: with(plain.Bold(true)),
		dim:   with(plain.Faint(true)),
		warn:  with(plain.Foreground(lipgloss.Yellow)),
	}
}

// unchanged is the style of text without one.
func unchanged(text string) string { return text }

// line writes lines, each in a style and without trailing space.
func (p *printer) line(style func(string) string, lines ...string) {
	for _, l := range lines {
		p.out.WriteString(strings.TrimRight(style(l), " "))
		p.out.WriteByte('\n')
	}
}

// para writes text wrapped to the width, with lines after the first indented by hang.
func (p *printer) para(style func(string) string, indent, hang int, text string) {
	p.line(style, wrap(text, p.width, indent, hang)...)
}

// unbroken stands for a hyphen while a text is wrapped: ansi.Wrap ends lines behind hyphens, and a
// flag such as --follow could not be copied from two lines.
const unbroken = "\u2011"

// wrap returns text as lines of at most width columns, the first one indented by indent and the
// others by hang.
func wrap(text string, width, indent, hang int) []string {
	text = strings.ReplaceAll(text, "-", unbroken)
	lines := strings.Split(ansi.Wrap(text, max(width-max(indent, hang), 8), ""), "\n")
	for i, l := range lines {
		l = strings.ReplaceAll(l, unbroken, "-")
		by := hang
		if i == 0 {
			by = indent
		}
		lines[i] = strings.Repeat(" ", by) + strings.TrimSpace(l)
	}
	return lines
}

// head prints the first lines of the report of a run: the verdict and its limits.
func (p *printer) head(r report.Report) {
	p.ended(r.Run)
	style := p.style.title
	if len(r.Findings) > 0 {
		style = p.style.bad
	}
	if r.Run.Failed != "" {
		p.para(p.style.bad, 0, 2, "tracepredict FAILED, and this report is incomplete: "+report.Clean(r.Run.Failed))
	}
	p.para(style, 0, 2, report.Summary(r))
	if r.Run.Lost > 0 {
		p.para(p.style.warn, 2, 4, fmt.Sprintf(
			"WARNING: the trace is incomplete: %s lost. Errors can be missed, and a prediction can be false because of lost synchronisation.",
			plural.Counted(r.Run.Lost, "event was", "events were")))
	}
	p.coverage(r)
	p.suppressions(r)
	p.baseline(r.Baseline)
	if all := r.Run.ProcessesObserved(); all != "" {
		p.para(unchanged, 2, 4, all)
	}
	for _, c := range r.Run.Calls {
		p.para(unchanged, 2, 4, callCount(c))
	}
	p.notes(&r.Run)
}

// hidden prints the number of findings that are weaker than the requested confidence.
func (p *printer) hidden(r report.Report) {
	var parts []string
	total, weakest := 0, finding.Observed
	for _, c := range finding.Confidences() {
		if n := r.Hidden[c]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", plural.Thousands(uint64(n)), c))
			total, weakest = total+n, c
		}
	}
	if total == 0 {
		return
	}
	text := strings.Join(parts, " and ") + " findings are not shown"
	shows := "shows them"
	if total == 1 {
		text, shows = strings.Join(parts, "")+" finding is not shown", "shows it"
	}
	p.out.WriteByte('\n')
	p.para(unchanged, 0, 2, fmt.Sprintf("%s: --confidence %s %s", text, weakest, shows))
}

// callCount returns "on call queue_put: 9,118 calls on 214 objects".
func callCount(c run.Calls) string {
	text := fmt.Sprintf("on %s: ", c.Pattern)
	switch {
	case strings.HasPrefix(c.Pattern, "enter "):
		text += plural.Counted(c.Events, "entry", "entries")
	case strings.HasPrefix(c.Pattern, "leave "):
		text += plural.Counted(c.Events, "departure", "departures")
	case c.Return:
		text += plural.Counted(c.Events, "return", "returns")
	default:
		text += plural.Counted(c.Events, "call", "calls")
	}
	if c.Objects > 0 {
		text += " on " + plural.Counted(c.Objects, "object", "objects")
	}
	return text
}

// finding prints the finding that is shown for a cause, with a number if that is not 0.
func (p *printer) finding(number int, c *report.Cause) {
	f := c.Lead
	p.out.WriteByte('\n')
	title := fmt.Sprintf("%s %s", strings.ToUpper(string(f.Kind)), f.Confidence)
	if number > 0 {
		title = fmt.Sprintf("%d. %s", number, title)
	}
	if f.Property != "" {
		title += " (" + f.Property + ")"
	}
	if f.Rule != "" {
		title += " (" + string(f.Rule) + ")"
	}
	if f.Count > 1 {
		title += fmt.Sprintf(", seen %s times by %s", plural.Thousands(uint64(f.Count)), plural.Counted(uint64(f.ThreadCount), "thread", "threads"))
	}
	if n := c.Pairs() - 1; n > 0 {
		title += countedPairs(c, ", and %d other", n)
	}
	p.para(p.style.bad, 0, 3, title)
	p.para(p.style.title, 3, 3, f.Message+".")
	p.definition(f.Property)
	if of := p.names.SubjectText(f); of != "" {
		p.para(unchanged, 3, 3, of+".")
	}
	p.out.WriteByte('\n')
	p.initial(f)
	p.sides(f)
	p.region(f)
	p.otherPairs(c)
	if p.brief {
		p.briefBasis(number, f)
		return
	}
	p.anonymous(f)
	p.schedule(f)
	p.basis(number, f)
}

// definition prints the text of a property and the meanings of the names in it.
func (p *printer) definition(property string) {
	if p.run.Properties == nil {
		return
	}
	for _, d := range p.run.Properties.Definitions {
		if d.Name != property {
			continue
		}
		p.para(unchanged, 3, 5, d.Name+" = "+d.Text)
		var where []string
		for _, m := range d.Where {
			where = append(where, m.Name+" = "+m.Text)
		}
		if len(where) > 0 {
			p.para(p.style.dim, 5, 5, "where "+strings.Join(where, ", "))
		}
	}
}

// initial prints the state before any event, if that violates a property.
func (p *printer) initial(f *report.Finding) {
	if !f.AtStart {
		return
	}
	p.para(unchanged, 3, 3, report.InitialText(f)+".")
	for _, v := range f.Initial {
		p.para(unchanged, 5, 7, v.String())
	}
}

// sides prints the sides of the evidence beside each other, if there is room.
func (p *printer) sides(f *report.Finding) {
	shown := f.Shown()
	n := len(shown)
	if n == 0 {
		return
	}
	defer p.alsoSeen(f)
	room := p.width - 3
	if each := (room - gap*(n-1)) / n; n > 1 && each >= minSide {
		blocks, widths := make([][]string, n), make([]int, n)
		for i := range blocks {
			blocks[i], widths[i] = p.side(f, shown[i], each), each+gap
		}
		widths[n-1] = each
		p.indented(beside(blocks, widths))
		return
	}
	for i, side := range shown {
		if i > 0 {
			p.out.WriteByte('\n')
		}
		p.indented(p.side(f, side, room))
	}
}

func (p *printer) indented(lines []string) {
	for _, l := range lines {
		p.line(unchanged, "   "+l)
	}
}

// side returns the lines of one side: its thread, what it holds and what it does.
func (p *printer) side(f *report.Finding, i, width int) []string {
	s := f.Evidence[i]
	lines := p.threadHead(f, s.Thread, width)
	for _, h := range s.Held {
		lines = append(lines, p.held(&h, width)...)
	}
	if s.MoreHeld > 0 {
		lines = append(lines, plural.Sprintf("holds %d more {lock|locks}, acquired in between", s.MoreHeld))
	}
	does := report.StepText(s, p.width/2)
	if f.Kind == finding.Deadlock {
		does = report.StepText(report.Step{Step: finding.Step{Op: s.Op, Peer: s.Peer, Blocked: true, Flags: s.Flags}, Object: s.Object}, p.width/2)
	}
	lines = append(lines, p.located(does, " in", s.From(), width)...)
	if len(s.Held) == 0 && f.Kind == finding.Race {
		lines = append(lines, "holding no lock")
	}
	return lines
}

// held returns lines on a lock that a thread holds.
func (p *printer) held(h *report.Held, width int) []string {
	what := "holds " + p.object(h.Object) + forReading(*h)
	if p.brief {
		if at := p.names.At(h.Stack); at != "" {
			what += ", locked at " + at
		}
		return wrap(what, width, 0, 2)
	}
	return p.located(what, ", locked in", h.Stack, width)
}

func forReading(h report.Held) string {
	if h.Read {
		return " for reading"
	}
	return ""
}

// located returns lines on what a thread does, with its stack if that is known.
func (p *printer) located(what, in string, s report.Stack, width int) []string {
	if len(s.Frames) == 0 {
		return wrap(what, width, 0, 2)
	}
	return append(wrap(what+in, width, 0, 2), p.stack(s, width)...)
}

// threadHead returns the lines that identify the thread of a side.
func (p *printer) threadHead(f *report.Finding, id event.ThreadID, width int) []string {
	t := f.Thread(id)
	label := report.ShortText(t.ShortLabel(), width)
	if t.Process != "" {
		label += " of " + t.Process
	}
	head := wrap(label, width, 0, 2)
	for i := range head {
		head[i] = p.style.title(head[i])
	}
	if len(t.Created.Frames) > 0 && !p.brief {
		for _, l := range wrap(p.startedAt(t.Created), width, 0, 2) {
			head = append(head, p.style.dim(l))
		}
	}
	return head
}

// startedAt returns the location at which a thread was created, with the callers if there are
// several functions.
func (p *printer) startedAt(s report.Stack) string {
	text := "started at " + p.names.At(s)
	if by := s.Callers(); strings.Contains(by, " < ") {
		text += " (" + by + ")"
	}
	return text
}

// object returns the name of an object with its kind, shortened.
func (p *printer) object(o *report.Object) string {
	if o.Anonymous || o.Kind == event.KindUnknown || o.Kind == event.KindVariable || o.Kind == event.KindField {
		return report.ShortName(o.Name, p.width/2)
	}
	if o.ByMember {
		return fmt.Sprintf("%s at %#x (%s)", report.ShortName(o.Name, p.width/2), o.Addr, o.Kind)
	}
	return fmt.Sprintf("%s (%s)", report.ShortName(o.Name, p.width/2), o.Kind)
}

// stack returns the lines of the program's own part of a stack, without the library's frames
// at both ends. For a long stack it returns the inner frames and the outermost one, unless
// all were requested. It shows frames that a recursion repeats once.
func (p *printer) stack(s report.Stack, width int) []string {
	runs := runsOf(s.Own())
	if p.brief {
		return p.innerFrames(runs, width)
	}
	cut, last := maxCallers-1, len(runs)-1
	if p.all || last <= maxCallers { // a line with the number of frames would replace only one frame
		cut = last
	}
	var lines []string
	for _, r := range runs[:cut] {
		lines = append(lines, p.frameRun(r, width)...)
	}
	if cut < last {
		lines = append(lines, p.style.dim(fmt.Sprintf("  ... %d more", runs[last].at-runs[cut].at)))
	}
	return append(lines, p.frameRun(runs[last], width)...)
}

// innerFrames returns the lines of the innermost frames.
func (p *printer) innerFrames(runs []frameRun, width int) []string {
	cut := len(runs)
	if cut > briefFrames+1 { // a line with the number of frames would replace only one frame
		cut = briefFrames
	}
	var lines []string
	for _, r := range runs[:cut] {
		lines = append(lines, p.frameRun(r, width)...)
	}
	if cut < len(runs) {
		last := runs[len(runs)-1]
		lines = append(lines, p.style.dim(fmt.Sprintf("  ... %d more", last.at+last.times-runs[cut].at)))
	}
	return lines
}

// frameRun returns a run of frames as lines.
func (p *printer) frameRun(r frameRun, width int) []string {
	lines := p.frame(r.at, r.frame, width)
	if r.times > 1 {
		lines = append(lines, p.style.dim(fmt.Sprintf("     ... %d times", r.times)))
	}
	return lines
}

// frameRun is a frame that occurs times times in a row, first at index at.
type frameRun struct {
	frame     event.Frame
	at, times int
}

// runsOf returns the frames with each run of equal ones as one.
func runsOf(frames []event.Frame) []frameRun {
	var runs []frameRun
	for i, f := range frames {
		f.Addr = 0
		if n := len(runs); n > 0 && runs[n-1].frame == f {
			runs[n-1].times++
			continue
		}
		runs = append(runs, frameRun{f, i, 1})
	}
	return runs
}

// frame returns a frame as lines. It never shortens the source location, which people copy.
func (p *printer) frame(i int, f event.Frame, width int) []string {
	number := fmt.Sprintf("  #%d ", i)
	at := p.names.Line(f)
	if at == "" && f.Function != "" && f.Module != "" {
		at = path.Base(f.Module)
	}
	if f.Inlined {
		at += " (inlined)"
	}
	room := width - len(number) - report.Columns(at) - 1
	if room < 12 {
		return []string{number + report.ShortName(run.FrameName(f), width-len(number)), "     " + at}
	}
	return []string{strings.TrimRight(number+report.ShortName(run.FrameName(f), room)+" "+at, " ")}
}

// anonymous prints what origins says.
func (p *printer) anonymous(f *report.Finding) {
	lines := p.names.Origins(f)
	if len(lines) == 0 {
		return
	}
	p.out.WriteByte('\n')
	for _, l := range lines {
		p.para(unchanged, 3, 5, l)
	}
}

// basis prints the confidence of the finding and its assumptions.
func (p *printer) basis(number int, f *report.Finding) {
	p.out.WriteByte('\n')
	if f.Confidence != finding.Confirmed { // what came of the tries says it
		p.para(unchanged, 3, 5, string(f.Confidence)+": "+report.ConfidenceText(f)+"."+p.reason(number, f))
	}
	for _, a := range f.Assumes {
		p.para(unchanged, 3, 5, "it assumes "+report.AssumptionText(a))
	}
	p.confirmation(f)
	p.depends(f)
	p.line(p.style.dim, "   fingerprint "+f.Fingerprint)
}

// briefBasis prints the confidence of the finding, and why it is not stronger.
func (p *printer) briefBasis(number int, f *report.Finding) {
	p.out.WriteByte('\n')
	text := string(f.Confidence) + ": " + report.ConfidenceText(f) + "."
	if f.Reason != "" {
		text = string(f.Confidence) + "." + p.reason(number, f)
	}
	if f.Confidence != finding.Confirmed {
		p.para(unchanged, 3, 5, text)
	}
	p.confirmation(f)
	p.line(p.style.dim, "   fingerprint "+f.Fingerprint)
}

// confirmation prints what came of running the program again, and in which processes and how many runs the finding was
// seen.
func (p *printer) confirmation(f *report.Finding) {
	if text := report.ProcessesText(f, p.width); text != "" {
		p.para(unchanged, 3, 5, text+".")
	}
	if f.Runs != nil {
		p.para(unchanged, 3, 5, report.RunsText(f.Runs)+".")
	}
	if f.Confirmation != nil {
		p.para(unchanged, 3, 5, report.ConfirmationText(f.Confirmation)+".")
	}
}

// reason returns the finding's reason as a sentence that begins with a blank; "" if there is none. A
// reason that an earlier finding has too is not written again.
func (p *printer) reason(number int, f *report.Finding) string {
	if f.Reason == "" {
		return ""
	}
	if earlier, ok := p.reasons[f.Reason]; ok {
		return fmt.Sprintf(" The reason is that of %d.", earlier)
	}
	p.reasons[f.Reason] = number
	return " " + report.Capital(strings.TrimSuffix(f.Reason, ".")) + "."
}
