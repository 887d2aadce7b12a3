package report

import (
	"fmt"
	"strings"

	"github.com/tracepredict/tracepredict/observer/event"
)

// explained returns the finding with only the sides that explain it.
func (f *Finding) explained() *Finding {
	if f.hiddenSides() == 0 {
		return f
	}
	short := *f
	short.Objects, short.Evidence = nil, nil
	for _, i := range f.shown() {
		short.Evidence = append(short.Evidence, f.Evidence[i])
	}
	return &short
}

// hiddenSides returns the number of sides that are not shown, since they do the same as others.
func (f *Finding) hiddenSides() int { return len(f.Evidence) - len(f.shown()) }

// shown returns the sides to show, as indices of Evidence.
func (f *Finding) shown() []int {
	if f.Explains != nil {
		return f.Explains
	}
	all := make([]int, len(f.Evidence))
	for i := range all {
		all[i] = i
	}
	return all
}

// hiddenThreads returns the threads of the sides that are not shown, in the order of the sides.
func (f *Finding) hiddenThreads() []event.ThreadID {
	shown := map[event.ThreadID]bool{}
	for _, i := range f.shown() {
		shown[f.Evidence[i].Thread] = true
	}
	var left []event.ThreadID
	for _, s := range f.Evidence {
		if !shown[s.Thread] {
			left = append(left, s.Thread)
		}
	}
	return left
}

// maxListed is the number of threads, or of other instances, that the text names.
const maxListed = 8

// alsoSeen prints which threads do the same as the sides shown, and which instances were merged.
func (p *printer) alsoSeen(f *Finding) {
	if more := f.hiddenThreads(); len(more) > 0 {
		p.out.WriteByte('\n')
		p.para(unchanged, 3, 5, fmt.Sprintf("and %s in the same way: %s",
			counted(uint64(len(more)), "more thread", "more threads"), threadNumbers(more, len(more))))
	}
	if !p.brief {
		p.others(f)
	}
}

// threadNumbers returns "T4, T5 and 96 more" for total threads, the first of which are ids.
func threadNumbers(ids []event.ThreadID, total int) string {
	ids = ids[:min(len(ids), maxListed)]
	parts := each(ids, func(id event.ThreadID) string { return fmt.Sprintf("T%d", id) })
	if more := total - len(ids); more > 0 {
		parts = append(parts[:len(parts):len(parts)], fmt.Sprintf("%d more", more))
	}
	return enumerated(parts)
}

// others prints the instances of the finding with other threads or objects.
func (p *printer) others(f *Finding) {
	if len(f.Others) == 0 {
		return
	}
	var parts []string
	for i := range f.Others {
		if i == maxListed/2 {
			parts = append(parts, "...")
			break
		}
		o := &f.Others[i]
		part := threadNumbers(o.Threads, len(o.Threads))
		if names := namesOf(o.Objects); names != namesOf(f.Objects) && names != "" {
			part += " on " + names
		}
		parts = append(parts, part)
	}
	p.out.WriteByte('\n')
	p.para(unchanged, 3, 5, "also seen: "+strings.Join(parts, "; "))
}

// namesOf returns the names of the first few objects.
func namesOf(objects []Object) string {
	var names []string
	for i := range objects {
		if i == maxListed/2 {
			names = append(names, "...")
			break
		}
		names = append(names, quoted(&objects[i]))
	}
	return strings.Join(names, ", ")
}
