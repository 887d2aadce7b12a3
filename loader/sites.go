package loader

import (
	"slices"
	"sync"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/probes"
)

// Sites are the sites of all modules, by their index in records.
type Sites struct {
	mu   sync.Mutex     // guards list; no other lock is acquired while it is held
	list []*probes.Site // the first is nil
}

// add adds the sites of a plan, and then those of its watchpoints.
func (t *Sites) add(plan *probes.Plan) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range plan.Sites {
		t.list = append(t.list, &plan.Sites[i])
	}
	for i := range plan.Watchpoints {
		t.list = append(t.list, &plan.Watchpoints[i].Site)
	}
}

// Site returns the site of an index in records; nil if there is none.
func (t *Sites) Site(index uint32) *probes.Site {
	t.mu.Lock()
	defer t.mu.Unlock()
	if int(index) >= len(t.list) {
		return nil
	}
	return t.list[index]
}

// observes reports whether there is a probe site of an operation.
func (t *Sites) observes(op bpf.Op) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.ContainsFunc(t.list, func(site *probes.Site) bool { return site != nil && bpf.Op(site.BPF.Op) == op })
}
