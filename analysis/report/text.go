package report

import (
	"cmp"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// TextOptions are the layout of the text report.
type TextOptions struct {
	// Width is the width of the terminal, in columns; 0 means 80, less than 32 means 32.
	// Only fingerprints and source locations may exceed it.
	Width int
	// Color adds terminal escapes. The caller sets it for a terminal, if NO_COLOR is not in
	// the environment.
	Color bool
	// Verbose lists every variable that --watch-shared found, each suppression, all findings with
	// their details, and each frame of the stacks of the sides. By default the text lists a bounded number of the variables
	// that threads share, and the ends of long stacks.
	Verbose bool
	// Complete adds the details of all findings, however many they are, as Verbose does. By
	// default a report of more than ten findings has those of the first ten.
	Complete bool
}

const (
	defaultWidth = 80
	minWidth     = 32
	minSide      = 34 // least columns of a side's block; with fewer, the sides are below each other
	minColumn    = 22 // least columns of a thread in a schedule
	gap          = 3  // columns between two blocks
	maxCallers   = 6  // frames of a stack that the text shows
	maxNamed     = 4  // functions of a call stack that one line shows
	maxSteps     = 40 // lines of a schedule that the text shows
)

// WriteText writes the report for people: a verdict in the first line, its limits, then each
// finding with its sides, the schedule that shows it, and its confidence and assumptions. The
// text is ASCII except for names.
func WriteText(w io.Writer, r Report, o TextOptions) error {
	r.Run = cleaned(r.Run)
	p := newPrinter(r, o)
	if r.ThreadStates != nil {
		p.statesHead(r)
	} else {
		p.head(r)
	}
	p.findings(p.names.causes(r.Findings))
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

// printer formats a report as text.
type printer struct {
	out   strings.Builder
	names names
	run   *Run
	width int
	style styles
	all   bool // TextOptions.Verbose
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

func newPrinter(r Report, o TextOptions) *printer {
	if o.Width == 0 {
		o.Width = defaultWidth
	}
	return &printer{reasons: map[string]int{}, run: &r.Run, all: o.Verbose, complete: o.Verbose || o.Complete, names: newNames(r), width: max(o.Width, minWidth), style: newStyles(o.Color)}
}

func newStyles(color bool) styles {
	if !color {
		return styles{unchanged[string], unchanged[string], unchanged[string], unchanged[string]}
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
func (p *printer) head(r Report) {
	p.ended(r.Run)
	style := p.style.title
	if len(r.Findings) > 0 {
		style = p.style.bad
	}
	if r.Run.Failed != "" {
		p.para(p.style.bad, 0, 2, "tracepredict FAILED, and this report is incomplete: "+clean(r.Run.Failed))
	}
	p.para(style, 0, 2, summary(r))
	if r.Run.Lost > 0 {
		p.para(p.style.warn, 2, 4, fmt.Sprintf(
			"WARNING: the trace is incomplete: %s lost. Errors can be missed, and a prediction can be false because of lost synchronisation.",
			counted(r.Run.Lost, "event was", "events were")))
	}
	p.coverage(r)
	p.suppressions(r)
	for _, c := range r.Run.Calls {
		p.para(unchanged[string], 2, 4, callCount(c))
	}
	p.notes(&r.Run)
}

// hidden prints the number of findings that are weaker than the requested confidence.
func (p *printer) hidden(r Report) {
	var parts []string
	total, weakest := 0, finding.Observed
	for _, c := range confidences {
		if n := r.Hidden[c]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", thousands(uint64(n)), c))
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
	p.para(unchanged[string], 0, 2, fmt.Sprintf("%s: --confidence %s %s", text, weakest, shows))
}

// callCount returns "on call queue_put: 9,118 calls on 214 objects".
func callCount(c run.Calls) string {
	text := fmt.Sprintf("on %s: ", c.Pattern)
	if c.Return {
		text += counted(c.Events, "return", "returns")
	} else {
		text += counted(c.Events, "call", "calls")
	}
	if c.Objects > 0 {
		text += " on " + counted(c.Objects, "object", "objects")
	}
	return text
}

// Headline returns the verdict in one line: what was found and in what program.
func Headline(r Report) string {
	return fmt.Sprintf("tracepredict: %s in %s", verdict(r), observed(r.Run))
}

// summary returns the verdict with the size of the run.
func summary(r Report) string {
	lost := "nothing lost"
	switch {
	case r.Run.Cut:
		lost = "CUT SHORT"
	case r.Run.Lost > 0:
		lost = thousands(r.Run.Lost) + " LOST"
		if r.Run.LostThreads > 0 {
			lost += " in " + counted(uint64(r.Run.LostThreads), "thread", "threads")
		}
	}
	if b := r.Run.Bounds; b != nil && b.CutShortBy != "" {
		lost += fmt.Sprintf(", ANALYSIS CUT SHORT by %s: %s left", b.CutShortBy, counted(b.NotSearched, "candidate", "candidates"))
	}
	figures := []string{counted(r.Run.Events, "event", "events"), counted(uint64(max(r.Run.Threads, 0)), "thread", "threads")}
	if r.Run.Duration > 0 { // imported traces and those cut short have none
		figures = append(figures, seconds(r.Run.Duration))
	}
	return fmt.Sprintf("%s: %s, %s", Headline(r), strings.Join(figures, ", "), lost)
}

// observed returns "shop (pid 12)", "server (pid 12, started as sh)", or "make (pid 12) and 3
// processes from it".
func observed(r Run) string {
	program := path.Base(cmp.Or(r.LastProgram, r.Program))
	if r.PID == 0 { // an imported trace has none
		return program
	}
	started := ""
	if r.LastProgram != "" {
		started = ", started as " + path.Base(r.Program)
	}
	program = fmt.Sprintf("%s (pid %d%s)", program, r.PID, started)
	if n := len(r.Processes); n > 1 {
		program += fmt.Sprintf(" and %s from it", counted(uint64(n-1), "process", "processes"))
	}
	return program
}

// verdict returns "1 deadlock, 2 races predicted; 1 race potential".
func verdict(r Report) string {
	fs := newNames(r).causes(r.Findings)
	if len(fs) == 0 && r.Run.Properties != nil && !r.Run.Properties.Complete {
		return "no findings on the part of the runs that was checked,"
	}
	if len(fs) == 0 {
		return "no findings"
	}
	var groups []string
	for len(fs) > 0 {
		n := 1
		for n < len(fs) && fs[n].lead.Confidence == fs[0].lead.Confidence {
			n++
		}
		groups = append(groups, kindCounts(fs[:n])+" "+string(fs[0].lead.Confidence))
		fs = fs[n:]
	}
	return strings.Join(groups, "; ")
}

// kindCounts returns "1 deadlock, 2 races".
func kindCounts(fs []cause) string {
	var order []finding.Kind
	counts := map[finding.Kind]uint64{}
	for _, c := range fs {
		kind := c.lead.Kind
		if counts[kind] == 0 {
			order = append(order, kind)
		}
		counts[kind]++
	}
	parts := make([]string, 0, len(order))
	for _, k := range order {
		parts = append(parts, counted(counts[k], string(k), kindPlural(string(k))))
	}
	return strings.Join(parts, ", ")
}

func kindPlural(s string) string {
	if strings.HasSuffix(s, "y") {
		return s[:len(s)-1] + "ies"
	}
	return s + "s"
}

// counted returns a number and what it counts, in the singular or the plural.
func counted(n uint64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return thousands(n) + " " + many
}

// thousands returns n with a comma before each group of three digits.
func thousands(n uint64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func seconds(d time.Duration) string {
	switch {
	case d < 100*time.Millisecond:
		return fmt.Sprintf("%.3f s", d.Seconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return d.Round(time.Second).String()
}

// finding prints the finding that is shown for a cause.
func (p *printer) finding(number int, c *cause) {
	f := c.lead
	p.out.WriteByte('\n')
	title := fmt.Sprintf("%d. %s %s", number, strings.ToUpper(string(f.Kind)), f.Confidence)
	if f.Property != "" {
		title += " (" + f.Property + ")"
	}
	if f.Rule != "" {
		title += " (" + string(f.Rule) + ")"
	}
	if f.Count > 1 {
		title += fmt.Sprintf(", seen %s times by %s", thousands(uint64(f.Count)), counted(uint64(f.ThreadCount), "thread", "threads"))
	}
	if n := c.pairs() - 1; n > 0 {
		title += c.counted(", and %d other", n)
	}
	p.para(p.style.bad, 0, 3, title)
	p.para(p.style.title, 3, 3, f.Message+".")
	p.definition(f.Property)
	p.out.WriteByte('\n')
	p.sides(f)
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
		p.para(unchanged[string], 3, 5, d.Name+" = "+d.Text)
		var where []string
		for _, m := range d.Where {
			where = append(where, m.Name+" = "+m.Text)
		}
		if len(where) > 0 {
			p.para(p.style.dim, 5, 5, "where "+strings.Join(where, ", "))
		}
	}
}

// sides prints the sides of the evidence beside each other, if there is room.
func (p *printer) sides(f *Finding) {
	shown := f.shown()
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
func (p *printer) side(f *Finding, i, width int) []string {
	s := f.Evidence[i]
	lines := p.threadHead(f, s.Thread, width)
	for _, h := range s.Held {
		lines = append(lines, p.held(&h, width)...)
	}
	if s.MoreHeld > 0 {
		lines = append(lines, plural.Sprintf("holds %d more {lock|locks}, acquired in between", s.MoreHeld))
	}
	does := p.stepText(s)
	if f.Kind == finding.Deadlock {
		does = p.stepText(Step{Step: finding.Step{Op: s.Op, Peer: s.Peer, Blocked: true, Flags: s.Flags}, Object: s.Object})
	}
	lines = append(lines, p.located(does, " in", s.from(), width)...)
	if len(s.Held) == 0 && f.Kind == finding.Race {
		lines = append(lines, "holding no lock")
	}
	return lines
}

// held returns lines on a lock that a thread holds.
func (p *printer) held(h *Held, width int) []string {
	what := "holds " + p.object(h.Object) + forReading(*h)
	if p.brief {
		return wrap(what+prefixed(", locked at ", p.names.at(h.Stack)), width, 0, 2)
	}
	return p.located(what, ", locked in", h.Stack, width)
}

func forReading(h Held) string {
	if h.Read {
		return " for reading"
	}
	return ""
}

// located returns lines on what a thread does, with its stack if that is known.
func (p *printer) located(what, in string, s Stack, width int) []string {
	if len(s.Frames) == 0 {
		return wrap(what, width, 0, 2)
	}
	return append(wrap(what+in, width, 0, 2), p.stack(s, width)...)
}

// threadHead returns the lines that identify the thread of a side.
func (p *printer) threadHead(f *Finding, id event.ThreadID, width int) []string {
	t := thread(f, id)
	head := wrap(shortText(t.label(), width), width, 0, 2)
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
func (p *printer) startedAt(s Stack) string {
	text := "started at " + p.names.at(s)
	if by := callers(s); strings.Contains(by, " < ") {
		text += " (" + by + ")"
	}
	return text
}

// thread returns a thread that the finding mentions.
func thread(f *Finding, id event.ThreadID) Thread {
	for _, t := range f.Mentioned {
		if t.ID == id {
			return t
		}
	}
	return Thread{ID: id}
}

// object returns the name of an object with its kind, shortened.
func (p *printer) object(o *Object) string {
	if o.Anonymous || o.Kind == event.KindUnknown || o.Kind == event.KindVariable || o.Kind == event.KindField {
		return shortName(o.Name, p.width/2)
	}
	if o.ByMember {
		return fmt.Sprintf("%s at %#x (%s)", shortName(o.Name, p.width/2), o.Addr, o.Kind)
	}
	return fmt.Sprintf("%s (%s)", shortName(o.Name, p.width/2), o.Kind)
}

// stack returns the lines of the program's own part of a stack, without the library's frames
// at both ends. For a long stack it returns the inner frames and the outermost one, unless
// all were requested. It shows frames that a recursion repeats once.
func (p *printer) stack(s Stack, width int) []string {
	frames := s.Frames[min(s.At, len(s.Frames)-1):]
	for len(frames) > 1 && run.OfLibrary(frames[len(frames)-1]) {
		frames = frames[:len(frames)-1]
	}
	runs := runsOf(frames)
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

// callers returns the program's functions on the stack, innermost first; "" if there are none.
func callers(s Stack) string {
	var names []string
	for _, f := range s.Frames[min(s.At, len(s.Frames)):] {
		if run.OfLibrary(f) || f.Function == "" {
			continue
		}
		if name := run.FrameName(f); len(names) == 0 || names[len(names)-1] != name {
			names = append(names, name)
		}
	}
	if len(names) > maxNamed {
		names = append(append(names[:maxNamed-1:maxNamed-1], "..."), names[len(names)-1])
	}
	return strings.Join(names, " < ")
}

// frame returns a frame as lines. It never shortens the source location, which people copy.
func (p *printer) frame(i int, f event.Frame, width int) []string {
	number := fmt.Sprintf("  #%d ", i)
	at := p.names.line(f)
	if at == "" && f.Function != "" && f.Module != "" {
		at = path.Base(f.Module)
	}
	if f.Inlined {
		at += " (inlined)"
	}
	room := width - len(number) - columns(at) - 1
	if room < 12 {
		return []string{number + shortName(run.FrameName(f), width-len(number)), "     " + at}
	}
	return []string{strings.TrimRight(number+shortName(run.FrameName(f), room)+" "+at, " ")}
}

// anonymous prints the locations at which locks without a name were initialised, except those
// in the sentence, and where the memory of variables was allocated.
func (p *printer) anonymous(f *Finding) {
	var lines []string
	for _, o := range involved(f.explained()) {
		where := p.names.origin(o)
		if o.inBlock() {
			lines = append(lines, fmt.Sprintf("%s: %s", quoted(&o), p.names.allocated(&o)))
		} else if o.Anonymous && where != "" && !strings.Contains(f.Message, "("+o.Name+")") {
			if len(o.Init.Frames) == 0 && o.FirstThread != 0 {
				where += fmt.Sprintf(" by T%d", o.FirstThread)
			}
			lines = append(lines, fmt.Sprintf("%s is the %s %s", o.Name, o.Kind, where))
		} else if o.ByMember && where != "" {
			lines = append(lines, fmt.Sprintf("'%s' at %#x was %s", o.Name, o.Addr, where))
		} else if o.Kind == event.KindField && len(o.Init.Frames) > 0 {
			lines = append(lines, fmt.Sprintf("the object of '%s' at %#x was allocated%s", o.Name, o.Addr, p.names.in(o.Init)))
		}
	}
	if len(lines) == 0 {
		return
	}
	p.out.WriteByte('\n')
	for _, l := range lines {
		p.para(unchanged, 3, 5, l)
	}
}

// involved returns the objects of the finding and the locks that its threads hold, each once.
func involved(f *Finding) []Object {
	all := slices.Clone(f.Objects)
	for _, s := range f.Evidence {
		if s.Object != nil {
			all = append(all, *s.Object)
		}
		for _, h := range s.Held {
			all = append(all, *h.Object)
		}
	}
	type key struct { // equal for objects that are the same
		name string
		addr uint64
	}
	seen := make(map[key]bool, len(all))
	return slices.DeleteFunc(all, func(o Object) bool {
		k := key{o.Name, o.Addr}
		before := seen[k]
		seen[k] = true
		return before
	})
}

// basis prints the confidence of the finding and its assumptions.
func (p *printer) basis(number int, f *Finding) {
	p.out.WriteByte('\n')
	p.para(unchanged, 3, 5, string(f.Confidence)+": "+confidenceText(f)+"."+p.reason(number, f))
	for _, a := range f.Assumes {
		p.para(unchanged, 3, 5, "it assumes "+assumptionText(a))
	}
	p.depends(f)
	p.line(p.style.dim, "   fingerprint "+f.Fingerprint)
}

// briefBasis prints the confidence of the finding, and why it is not stronger.
func (p *printer) briefBasis(number int, f *Finding) {
	p.out.WriteByte('\n')
	text := string(f.Confidence) + ": " + confidenceText(f) + "."
	if f.Reason != "" {
		text = string(f.Confidence) + "." + p.reason(number, f)
	}
	p.para(unchanged, 3, 5, text)
	p.line(p.style.dim, "   fingerprint "+f.Fingerprint)
}

// reason returns the finding's reason as a sentence that begins with a blank; "" if there is none. A
// reason that an earlier finding has too is not written again.
func (p *printer) reason(number int, f *Finding) string {
	if f.Reason == "" {
		return ""
	}
	if earlier, ok := p.reasons[f.Reason]; ok {
		return fmt.Sprintf(" The reason is that of %d.", earlier)
	}
	p.reasons[f.Reason] = number
	return " " + capital(strings.TrimSuffix(f.Reason, ".")) + "."
}

// confidenceText returns a sentence for the evidence of a finding.
func confidenceText(f *Finding) string {
	switch {
	case f.Confidence == finding.Observed && f.Kind == finding.Race && len(f.Witness) > 0:
		return "nothing in this run ordered the two accesses; a checked schedule leads to both" + orderText(f.Order)
	case f.Confidence == finding.Observed && f.Kind == finding.Race:
		return "nothing in this run ordered the two accesses"
	case f.Confidence == finding.Observed:
		return "this run did it"
	case f.Confidence == finding.Predicted:
		return "a checked schedule leads to it" + orderText(f.Order)
	case f.Confidence == finding.Likely && f.Kind == finding.Misuse:
		return "this run did it, but what was not observed could make it correct"
	case f.Confidence == finding.Likely:
		return "a checked schedule of what was observed leads to it" + orderText(f.Order) + ", but what was not observed could forbid that schedule"
	case len(f.Witness) > 0 && !f.Unrecorded:
		return "a checked schedule of what was observed leads to it" + orderText(f.Order) + ", but whether its threads do what they do in it was not recorded"
	case len(f.Witness) > 0:
		return "a checked schedule of what was observed leads to it" + orderText(f.Order) + ", but what its threads do in it depends on memory that was not recorded"
	case f.Kind == finding.Deadlock:
		return "the lock order suggests it; no checked schedule leads to it"
	case f.Kind == finding.Race:
		return "the locks held at the accesses suggest it; no checked schedule leads to it"
	}
	return "a heuristic suggests it; no checked schedule leads to it"
}

// orderText returns a phrase for what a schedule keeps of the order of the run, with its name in
// JSON.
func orderText(o finding.Order) string {
	switch o {
	case finding.OrderNone:
		return ""
	case finding.OrderSync:
		return ", which keeps the run's order of all synchronisation (sync)"
	case finding.OrderExclusion:
		return ", in which whole critical sections are reordered (exclusion)"
	case finding.OrderSyncPreserving:
		return ", which keeps the run's order of critical sections (sync-preserving)"
	case finding.OrderReversal:
		return ", in which critical sections of one lock are reordered (reversal)"
	}
	return fmt.Sprintf(" (order: %s)", o)
}

// assumptionText returns a phrase for what a prediction assumes, with its name in JSON.
func assumptionText(a string) string {
	switch a {
	case "race-free":
		return "that memory that was not watched has no race (race-free)"
	case "guarded-data":
		return "that critical sections left out or moved decide nothing by data that was not watched (guarded-data)"
	}
	return a
}
