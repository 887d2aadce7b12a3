package textreport

import (
	"cmp"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/observer/event"
)

// statesHead prints the first lines of a report with ThreadStates.
func (p *printer) statesHead(r report.Report) {
	style, verdict := p.style.title, "no hang in"
	if len(r.Findings) > 0 {
		style, verdict = p.style.bad, "a hang in"
		if r.Findings[0].Confidence == finding.Potential {
			verdict = "perhaps a hang in"
		}
	}
	p.para(style, 0, 2, fmt.Sprintf("tracepredict: %s %s (pid %d): %s", verdict, cmp.Or(r.Run.Called, path.Base(r.Run.Program)), r.Run.PID, report.StateCounts(r.ThreadStates)))
	p.notes(&r.Run)
}

// maxStateGroups is the number of groups of threads that the text shows.
const maxStateGroups = 50

// threadStates prints what the threads do. Threads that do the same at the same source location are
// one group; groups that wait for a lock come first.
func (p *printer) threadStates(r report.Report) {
	groups := report.GroupStates(r.ThreadStates)
	for i, g := range groups {
		p.out.WriteByte('\n')
		if i == maxStateGroups {
			p.para(unchanged, 3, 5, fmt.Sprintf("and %s more, see --format json", plural.Counted(uint64(len(groups)-i), "group of threads", "groups of threads")))
			return
		}
		p.para(p.style.title, 3, 5, who(g)+tids(g)+": "+eachOf(len(g))+g[0].Phrase())
		if s := g[0].Step.Stack; len(s.Frames) > 0 {
			p.indented(p.stack(s, p.width-3))
		}
	}
}

// eachOf returns the word that precedes a phrase for what several threads do.
func eachOf(n int) string {
	if n > 1 {
		return "each "
	}
	return ""
}

// who returns the threads of a group, as "T1 main thread" or "T2, T3 and 5 more (worker)".
func who(g []report.ThreadState) string {
	if len(g) == 1 {
		return g[0].Thread.Label()
	}
	var ids []event.ThreadID
	for i := range g {
		ids = append(ids, g[i].Thread.ID)
	}
	text := report.ThreadNumbers(ids, len(ids))
	if name := cmp.Or(g[0].Thread.Start, g[0].Thread.Name); name != "" {
		text += " (" + name + ")"
	}
	return text
}

// maxTIDs is the number of kernel ids of a group that the text shows.
const maxTIDs = 8

// tids returns the kernel ids of a group, by which ps, top and debuggers know threads, as ",
// tid 4153"; "" if they are not known.
func tids(g []report.ThreadState) string {
	var all []string
	for _, d := range g {
		if d.Thread.TID != 0 {
			all = append(all, strconv.Itoa(int(d.Thread.TID)))
		}
	}
	switch {
	case len(all) == 0:
		return ""
	case len(all) == 1:
		return ", tid " + all[0]
	case len(all) > maxTIDs:
		return fmt.Sprintf(", tids %s and %d more", strings.Join(all[:maxTIDs], " "), len(all)-maxTIDs)
	}
	return ", tids " + strings.Join(all, " ")
}
