// Package html writes reports as one page for a browser, which needs neither network nor scripts: the findings with their
// sides, the schedules as tables with a column for each thread, and the cycle of a deadlock as a picture.
package html

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"path"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

//go:embed page.html
var pageText string

// most is the number of columns of a name or a value in a schedule.
const most = 60

// page is what the template shows.
type page struct {
	Title, Summary, Failed, Baseline, Hidden, Processes string
	Notes                                               []string
	Lost                                                uint64
	Findings                                            []item
}

// item is a cause of findings.
type item struct {
	Number              int
	Kind, Confidence    string
	Of, Where, Sentence string
	Also                []string // the other findings of the cause
	Sides               []side
	Schedules           []schedule
	Basis               string
	Facts               [][2]string
	Cycle, Graph        template.HTML
	GraphTitle          string
	GraphText           string
	Fingerprint         string
}

type side struct {
	Thread, Started string
	Parts           []part
}

// part is what a thread does or holds, and where.
type part struct {
	Text   string
	Frames []frame
}

type frame struct {
	Name, Where string
	Library     bool // not the program's own
}

// schedule is a table with a column for each thread. Of a row, Cells has the step in the column of its thread.
type schedule struct {
	Title   string
	Threads []string
	Rows    []cells
}

type cells struct {
	Whole string // text that spans all columns
	Cells []cell
	Last  bool
}

type cell struct{ Text, States, At string }

// Write writes the report as one HTML document. Options mean nothing here.
func Write(w io.Writer, r report.Report, _ report.Options) error {
	r = r.Cleaned()
	t, err := template.New("page").Parse(pageText)
	if err != nil {
		return err
	}
	p := page{
		Title: path.Base(r.Run.Program), Summary: report.Summary(r), Failed: r.Run.Failed, Processes: r.Run.ProcessesObserved(), Notes: r.Run.NoteLines(), Lost: r.Run.Lost,
		Hidden: hidden(&r),
	}
	if b := r.Baseline; b != nil {
		p.Baseline = plural.Sprintf("%d {finding is|findings are} known from "+report.Clean(strings.ReplaceAll(b.Name, "%", "%%")), len(b.Known))
	}
	n := r.Names()
	for i, c := range r.Causes() {
		p.Findings = append(p.Findings, itemOf(n, i+1, &c))
	}
	return t.Execute(w, p)
}

// hidden says how many findings are weaker than those that are shown.
func hidden(r *report.Report) string {
	var parts []string
	for _, c := range finding.Confidences() {
		if k := r.Hidden[c]; k > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", k, c))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "Not shown: " + strings.Join(parts, " and ") + "."
}

func itemOf(n report.Names, number int, c *report.Cause) item {
	f := c.Lead
	out := item{
		Number: number, Kind: string(f.Kind), Confidence: string(f.Confidence), Of: names(f), Where: n.Line(f.Place()),
		Sentence: f.Message + ".", Basis: report.ConfidenceText(f) + ".", Fingerprint: f.Fingerprint, Cycle: cycle(f), Graph: graph(f.Graph), GraphText: graphText(f.Graph),
	}
	if f.Graph != nil {
		out.GraphTitle = graphTitles[f.Graph.Kind]
	}
	for _, o := range c.Others {
		out.Also = append(out.Also, o.Message+".")
	}
	for _, i := range f.Shown() {
		out.Sides = append(out.Sides, sideOf(n, f, &f.Evidence[i]))
	}
	for _, s := range n.Schedules(f, most) {
		out.Schedules = append(out.Schedules, scheduleOf(f, &s))
	}
	for _, fact := range [][2]string{{"property", f.Property}, {"rule", string(f.Rule)}, {"reason", f.Reason}, {"assumes", strings.Join(f.Assumes, ", ")}, {"order", string(f.Order)}} {
		if fact[1] != "" {
			out.Facts = append(out.Facts, fact)
		}
	}
	if in := report.ProcessesText(f, most); in != "" {
		out.Facts = append(out.Facts, [2]string{"processes", in})
	}
	if f.Runs != nil {
		out.Facts = append(out.Facts, [2]string{"runs", report.RunsText(f.Runs)})
	}
	if f.Confirmation != nil {
		out.Facts = append(out.Facts, [2]string{"tried", report.ConfirmationText(f.Confirmation)})
	}
	if f.Count > 1 {
		out.Facts = append(out.Facts, [2]string{"seen", plural.Sprintf("%d {time|times}", f.Count)})
	}
	return out
}

// names returns the names of what a finding is about.
func names(f *report.Finding) string {
	all := f.ObjectNames()
	for i := range all {
		all[i] = report.ShortName(all[i], most)
	}
	return strings.Join(all, ", ")
}

func sideOf(n report.Names, f *report.Finding, s *report.Step) side {
	t := f.Thread(s.Thread)
	out := side{Thread: t.Label()}
	if len(t.Created.Frames) > 0 {
		out.Started = "started at " + n.At(t.Created)
	}
	for _, h := range s.Held {
		out.Parts = append(out.Parts, part{"holds " + report.ShortName(h.Object.Name, most) + ", locked in", framesOf(n, h.Stack)})
	}
	does := *s
	does.Blocked = does.Blocked || f.Kind == finding.Deadlock
	out.Parts = append(out.Parts, part{report.StepText(does, most) + " in", framesOf(n, s.From())})
	if len(s.Held) == 0 && f.Kind == finding.Race {
		out.Parts = append(out.Parts, part{Text: "holding no lock"})
	}
	return out
}

func framesOf(n report.Names, s report.Stack) (out []frame) {
	for _, f := range s.Frames {
		where := n.Line(f)
		if where == "" && f.Module != "" {
			where = path.Base(f.Module)
		}
		out = append(out, frame{report.FrameName(f), where, run.OfLibrary(f)})
	}
	return out
}

func scheduleOf(f *report.Finding, s *report.Schedule) schedule {
	out := schedule{Title: s.Title}
	column := map[event.ThreadID]int{}
	for i, id := range s.Threads() {
		column[id] = i
		out.Threads = append(out.Threads, f.Thread(id).ShortLabel())
	}
	for _, r := range s.Rows {
		if r.Thread == 0 {
			out.Rows = append(out.Rows, cells{Whole: r.Text})
			continue
		}
		row := cells{Cells: make([]cell, len(out.Threads)), Last: r.Last}
		row.Cells[column[r.Thread]] = cell{r.Text, r.States, r.At}
		out.Rows = append(out.Rows, row)
	}
	return out
}
