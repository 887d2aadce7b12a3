package textreport

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/internal/plural"
)

// This file keeps a report of many findings readable. Such a report begins with a table of all
// findings, and has details of the strongest only, in about as many lines as a person reads. Of
// these it leaves out schedules and outer frames where there is no room for them.

const (
	maxDetailed = 10  // findings up to which all have their details; with more, as many have
	maxRows     = 24  // rows of the table of findings
	maxLines    = 200 // of a report of many findings, about
	briefFrames = 2   // frames of a stack in brief details
)

// findings prints the findings: all of them with details if there are few, or all were requested.
func (p *printer) findings(all []report.Cause) {
	many := len(all) > maxDetailed
	if many {
		p.overview(all)
	}
	if !many || p.complete {
		for i := range all {
			p.finding(i+1, &all[i])
		}
		return
	}
	left := maxLines - strings.Count(p.out.String(), "\n")
	whole, short := p.details(all[:maxDetailed], false), p.details(all[:maxDetailed], true)
	for _, s := range short {
		left -= strings.Count(s, "\n")
	}
	for i := range whole {
		more := strings.Count(whole[i], "\n") - strings.Count(short[i], "\n")
		if more > left {
			p.out.WriteString(short[i])
			continue
		}
		p.out.WriteString(whole[i])
		left -= more
	}
}

// details returns the details of each finding, or with brief only what is needed to recognise it.
func (p *printer) details(all []report.Cause, brief bool) []string {
	q := &printer{reasons: map[string]int{}, brief: brief, run: p.run, all: p.all, names: p.names, width: p.width, style: p.style}
	texts := make([]string, 0, len(all))
	for i := range all {
		q.out.Reset()
		q.finding(i+1, &all[i])
		texts = append(texts, q.out.String())
	}
	return texts
}

// overviewRow is a row of the table: findings of one confidence, kind and object in one function.
// It counts the pairs of accesses of a race, and those of locks of a deadlock.
type overviewRow struct {
	number                         int // of the first of them
	first                          *report.Finding
	object, function, file, source string
	count                          int
}

// overview prints the table of all findings.
func (p *printer) overview(all []report.Cause) {
	rows := p.overviewRows(all)
	cells := [][]string{{"NO.", "CONFIDENCE", "KIND", "OBJECT", "FUNCTION", "SOURCE", "COUNT"}}
	shown, left, pairs := rows, 0, 0
	for i := range all {
		pairs += all[i].Pairs()
	}
	if !p.complete && len(rows) > maxRows {
		shown = rows[:maxRows]
		for _, r := range rows[maxRows:] {
			left += r.count
		}
	}
	for _, r := range shown {
		cells = append(cells, []string{fmt.Sprint(r.number), string(r.first.Confidence), string(r.first.Kind), r.object, r.function, r.source, plural.Thousands(uint64(r.count))})
	}
	found := plural.Sprintf("%d {finding|findings}", len(all))
	if pairs > len(all) {
		found += plural.Sprintf(" with %d {pair|pairs} of accesses or locks", pairs)
	}
	p.out.WriteByte('\n')
	p.para(p.style.title, 0, 2, found+", the strongest first, by file and function:")
	p.columns(fit(cells, p.width, 3, 4))
	if left > 0 {
		p.line(unchanged, plural.Sprintf("  and %d more {finding|findings} in %d more {function|functions}", left, len(rows)-maxRows))
	}
	if !p.complete {
		p.para(unchanged, 0, 2, fmt.Sprintf("Details of the first %d follow, in brief where there is no room; --verbose, --output FILE and --format json have all.", maxDetailed))
	}
}

// overviewRows returns the rows of the table, in the order of the findings.
func (p *printer) overviewRows(all []report.Cause) []*overviewRow {
	type key struct {
		confidence             finding.Confidence
		kind                   finding.Kind
		object, function, file string
	}
	rows, seen := []*overviewRow{}, map[key]*overviewRow{}
	for i := range all {
		f := all[i].Lead
		r := p.overviewRow(i+1, f)
		k := key{f.Confidence, f.Kind, r.object, r.function, r.file}
		if seen[k] == nil {
			seen[k] = r
			rows = append(rows, r)
		}
		seen[k].count += all[i].Pairs()
	}
	return rows
}

// overviewRow returns the row of a finding.
func (p *printer) overviewRow(number int, f *report.Finding) *overviewRow {
	r := &overviewRow{number: number, first: f, object: cmp.Or(f.Property, objectsIn(f))}
	if len(f.Evidence) == 0 {
		return r
	}
	top := f.Evidence[0].Stack.Top()
	r.function, r.file = report.FrameName(top), top.File
	if len(f.Evidence[0].Stack.Frames) == 0 {
		r.function = ""
	}
	r.source = cmp.Or(p.names.Line(top), path.Base(top.Module))
	if r.source == "." {
		r.source = ""
	}
	return r
}

// objectsIn returns the names of the objects of a finding, each once, elements of an array as one.
func objectsIn(f *report.Finding) string {
	var all []string
	for i := range f.Objects {
		if name := report.AnyElement(f.Objects[i].Name, "*"); !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return strings.Join(all, ", ")
}

// fit shortens the cells of two columns so that the rows are no wider than width, if 8 columns
// for each are enough.
func fit(rows [][]string, width, a, b int) [][]string {
	widths := widthsOf(rows)
	others := 2 * len(widths) // the blanks between columns, and before them
	for i, w := range widths {
		if i != a && i != b {
			others += w
		}
	}
	room := max(width-others, 16)
	wa := min(widths[a], max(room/2, room-widths[b]))
	wb := min(widths[b], room-wa)
	for _, row := range rows {
		row[a], row[b] = report.ShortName(row[a], wa), report.ShortName(row[b], wb)
	}
	return rows
}

// widthsOf returns the width of each column.
func widthsOf(rows [][]string) []int {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], report.Columns(cell))
		}
	}
	return widths
}

// columns prints rows of cells below each other.
func (p *printer) columns(rows [][]string) {
	widths := widthsOf(rows)
	for _, row := range rows {
		text := " "
		for i, cell := range row {
			text += " " + cell + strings.Repeat(" ", max(0, widths[i]-report.Columns(cell)+1))
		}
		p.line(unchanged, text)
	}
}
