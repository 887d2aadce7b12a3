package report

import (
	"fmt"
	"slices"

	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Explained returns the finding with only the sides that explain it.
func (f *Finding) Explained() *Finding {
	if f.hiddenSides() == 0 {
		return f
	}
	short := *f
	short.Objects, short.Evidence = nil, nil
	for _, i := range f.Shown() {
		short.Evidence = append(short.Evidence, f.Evidence[i])
	}
	return &short
}

// hiddenSides returns the number of sides that are not shown, since they do the same as others.
func (f *Finding) hiddenSides() int { return len(f.Evidence) - len(f.Shown()) }

// Shown returns the sides to show, as indices of Evidence.
func (f *Finding) Shown() []int {
	if f.Explains != nil {
		return f.Explains
	}
	all := make([]int, len(f.Evidence))
	for i := range all {
		all[i] = i
	}
	return all
}

// HiddenThreads returns the threads of the sides that are not shown, in the order of the sides.
func (f *Finding) HiddenThreads() []event.ThreadID {
	shown := map[event.ThreadID]bool{}
	for _, i := range f.Shown() {
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

// maxListed is the number of threads that a sentence names.
const maxListed = 8

// ThreadNumbers returns "T4, T5 and 96 more" for total threads, the first of which are ids.
func ThreadNumbers(ids []event.ThreadID, total int) string {
	ids = ids[:min(len(ids), maxListed)]
	parts := each(ids, func(id event.ThreadID) string { return fmt.Sprintf("T%d", id) })
	if more := total - len(ids); more > 0 {
		parts = append(parts[:len(parts):len(parts)], fmt.Sprintf("%d more", more))
	}
	return plural.Enumerated(parts)
}

// Thread returns a thread that the finding mentions; of another one it knows only the number.
func (f *Finding) Thread(id event.ThreadID) Thread {
	for _, t := range f.Mentioned {
		if t.ID == id {
			return t
		}
	}
	return Thread{ID: id}
}

// Involved returns the objects of the finding and the locks that its threads hold, each once.
func (f *Finding) Involved() []Object {
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
