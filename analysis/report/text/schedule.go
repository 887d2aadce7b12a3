package textreport

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/observer/event"
)

// schedule prints the schedule that shows the error, with a column for each thread.
func (p *printer) schedule(f *report.Finding) {
	for _, t := range p.names.Schedules(f, p.width/2) {
		p.scheduleTable(f, t)
	}
}

// scheduleTable prints steps under a title.
func (p *printer) scheduleTable(f *report.Finding, t report.Schedule) {
	p.out.WriteByte('\n')
	p.para(p.style.title, 3, 3, t.Title)
	threads := t.Threads()
	width := (p.width - 3 - gap*(len(threads)-1)) / max(len(threads), 1)
	if width < minColumn {
		p.list(t.Rows)
		return
	}
	p.columnTable(f, t.Rows, threads, min(width, 48))
}

// list prints the steps one below the other, for a report too narrow for columns.
func (p *printer) list(rows []report.Row) {
	for _, r := range rows {
		text := r.Text
		if r.Thread != 0 {
			text = fmt.Sprintf("T%d %s", r.Thread, r.Text)
		}
		if r.At != "" {
			text += " at " + r.At
		}
		p.para(p.rowStyle(r), 3, 6, text)
	}
}

func (p *printer) rowStyle(r report.Row) func(string) string {
	switch {
	case r.Thread == 0:
		return p.style.dim
	case r.Last:
		return p.style.bad
	}
	return unchanged
}

// columnTable prints the steps in a column of the given width for each thread.
func (p *printer) columnTable(f *report.Finding, rows []report.Row, threads []event.ThreadID, width int) {
	var head strings.Builder
	head.WriteString("   ")
	for _, id := range threads {
		head.WriteString(pad(report.ShortText(f.Thread(id).ShortLabel(), width), width+gap))
	}
	p.line(p.style.dim, strings.TrimRight(head.String(), " "))
	for _, r := range rows {
		column := max(slices.Index(threads, r.Thread), 0)
		indent := strings.Repeat(" ", 3+column*(width+gap))
		for _, l := range cell(r, width) {
			p.line(unchanged, indent+p.rowStyle(r)(l))
		}
	}
}

// cell returns a step as lines of its column: on one line if it fits, with the source location
// never shortened.
func cell(r report.Row, width int) []string {
	if r.Thread == 0 {
		return []string{r.Text} // it spans all columns
	}
	if r.At == "" {
		return []string{report.ShortText(r.Text, width)}
	}
	for _, space := range []string{"  ", " "} {
		if line := r.Text + space + r.At; report.Columns(line) <= width {
			return []string{line}
		}
	}
	return []string{report.ShortText(r.Text, width), "  " + r.At}
}

func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(width-report.Columns(s), 0))
}
