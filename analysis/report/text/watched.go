package textreport

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/observer/run"
)

// maxShown is the number of variables of --watch-shared that the text lists without Verbose.
const maxShown = 20

// watched prints the table of the variables of --watch-shared: those that threads share, or
// all with Verbose.
func (p *printer) watched(r report.Report) {
	if len(r.Run.Watched)+r.Run.Untouched == 0 {
		return
	}
	var shared, shown, dropped []run.Watched
	for _, w := range r.Run.Watched {
		if w.Threads > 1 {
			shared = append(shared, w)
		}
		if w.Outcome != run.OutcomeKept {
			dropped = append(dropped, w)
		}
	}
	if shown = p.ofAllProcesses(shared); p.all {
		shown = r.Run.Watched
	}
	p.out.WriteByte('\n')
	p.para(p.style.title, 0, 2, fmt.Sprintf("%s: %d shared by threads, %d used by one thread only, %d never used",
		plural.Counted(uint64(len(r.Run.Watched)+r.Run.Untouched), "variable", "variables"), len(shared),
		len(r.Run.Watched)-len(shared), r.Run.Untouched))
	more := 0
	if !p.all && len(shown) > maxShown {
		shown, more = shown[:maxShown], len(shown)-maxShown
	}
	p.table(shown)
	if more > 0 {
		p.line(unchanged, fmt.Sprintf("  and %d more (--verbose lists all)", more))
	}
	if len(dropped) > 0 && !p.all {
		p.para(unchanged, 2, 4, "Not watched to the end: "+droppedList(dropped))
	}
}

// ofAllProcesses returns the variables with those of the same name and use in several processes as one, which has the
// accesses of all.
func (p *printer) ofAllProcesses(ws []run.Watched) (out []run.Watched) {
	if len(p.run.Processes) < 2 {
		return ws
	}
	at, count := map[string]int{}, []int{}
	for _, w := range ws {
		key := fmt.Sprintf("%q %s %q", w.Variable, w.Use, w.Guards)
		i, known := at[key]
		if !known {
			at[key] = len(out)
			out, count = append(out, w), append(count, 1)
			continue
		}
		o := &out[i]
		o.Threads, o.Accesses, o.Elements = max(o.Threads, w.Threads), o.Accesses+w.Accesses, max(o.Elements, w.Elements)
		count[i]++
	}
	for i, n := range count {
		if n > 1 {
			out[i].Variable += fmt.Sprintf(" (%d of this name)", n)
		}
	}
	return out
}

// table prints the variables in columns, with long names shortened.
func (p *printer) table(ws []run.Watched) {
	if len(ws) == 0 {
		return
	}
	rows := [][]string{{"VARIABLE", "THREADS", "ACCESSES", "GUARDED BY"}}
	if p.all {
		rows[0] = append(rows[0], "WATCHED")
	}
	for _, w := range ws {
		row := []string{nameOf(w), fmt.Sprint(w.Threads), plural.Thousands(w.Accesses), guardText(w)}
		if p.all {
			row = append(row, outcomeText(w))
		}
		rows = append(rows, row)
	}
	for _, row := range rows {
		row[0] = report.ShortName(row[0], p.width/2)
	}
	p.columns(rows)
}

// nameOf returns the name of a variable; an array is followed by the number of its elements
// that were accessed.
func nameOf(w run.Watched) string {
	if w.Elements == 0 {
		return w.Variable
	}
	return fmt.Sprintf("%s (%s)", w.Variable, plural.Counted(w.Elements, "element", "elements"))
}

// guardText returns the entry of the column GUARDED BY.
func guardText(w run.Watched) string {
	switch w.Use {
	case run.UseUnshared:
		return "(one thread)"
	case run.UseAtomic:
		return "(atomic)"
	case run.UseGuarded:
		return strings.Join(w.Guards, ", ")
	case run.UseOrdered:
		return "(one thread after the other)"
	case run.UseReadOnly:
		return "(only read)"
	}
	return "no common lock"
}

// outcomeText returns the entry of the column WATCHED.
func outcomeText(w run.Watched) string {
	switch w.Outcome {
	case run.OutcomeUnshared:
		return fmt.Sprintf("until %s: used by one thread only", report.Seconds(w.Until))
	case run.OutcomeGuarded:
		return fmt.Sprintf("until %s: always under the same lock", report.Seconds(w.Until))
	case run.OutcomeEnough:
		return fmt.Sprintf("until %s: limit of accesses to an array", report.Seconds(w.Until))
	case run.OutcomeCostly:
		return fmt.Sprintf("until %s: over the budget", report.Seconds(w.Until))
	}
	return "to the end"
}

// unwatched returns where a variable was not watched any more.
func unwatched(w run.Watched) string {
	if len(w.Unwatched) == 0 {
		return ""
	}
	text := ", no longer " + strings.Join(w.Unwatched[:min(len(w.Unwatched), 2)], " and ")
	if n := len(w.Unwatched) - 2; n > 0 {
		text += plural.Sprintf(" and %d other {place|places}", n)
	}
	return text
}

// droppedList returns the variables whose probes were removed, by the reason.
func droppedList(ws []run.Watched) string {
	reasons := map[string][]string{}
	for _, w := range ws {
		reasons[w.Outcome] = append(reasons[w.Outcome], fmt.Sprintf("%s (after %s, %s%s)", w.Variable, report.Seconds(w.Until), plural.Counted(w.Accesses, "access", "accesses"), unwatched(w)))
	}
	var parts []string
	for _, outcome := range []string{run.OutcomeUnshared, run.OutcomeGuarded, run.OutcomeEnough, run.OutcomeCostly} {
		names := reasons[outcome]
		if len(names) == 0 {
			continue
		}
		slices.Sort(names)
		tail := ""
		if n := len(names) - 5; n > 0 {
			names, tail = names[:5], fmt.Sprintf(" and %d more", n)
		}
		why := map[string]string{run.OutcomeUnshared: "used by one thread only", run.OutcomeGuarded: "always under the same lock", run.OutcomeEnough: "arrays that reached the limit of recorded accesses", run.OutcomeCostly: "over the budget"}[outcome]
		parts = append(parts, why+": "+strings.Join(names, ", ")+tail)
	}
	return strings.Join(parts, "; ")
}
