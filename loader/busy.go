package loader

import (
	"fmt"
	"slices"
	"sync"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/loader/attach"
	"github.com/tracepredict/tracepredict/probes"
)

// Atomic variables that the user did not name are observed while the cost is low. Some are
// counters that a program changes at each allocation: such an access orders little, and its
// probe costs much. So the probes of each variable have links of their own, which are removed
// once the variable is accessed more often than busyRate. From then on the tool does not know
// what the variable orders, and the findings say so.

// The bounds on the hits of such a variable: hits per second in the long run, and hits in a
// burst.
const (
	busyRate  = 2000
	busyBurst = 1 << 14
)

// busy is the hit counter of an atomic variable that the user did not name, and the links of its
// probes. For a group of places (placeRef) only variable, shed and the links are used.
type busy struct {
	variable string // its name; of a group of places, the path of their file

	// The reader's goroutine alone uses these. They are a leaky bucket: level is its content in
	// hits at time, and busyRate is how fast it drains.
	level uint64
	time  uint64 // when level was last brought up to date, ns
	shed  bool   // the probes are removed, or are about to be

	mu    sync.Mutex // guards the fields below; acquired before the Tracer's
	over  bool       // the probes are removed; no link is added any more
	links []ownLink
}

// ownLink is a link and the process that it belongs to.
type ownLink struct {
	owner int // process ID
	link  attach.Link
}

// hit counts a hit at a time in ns. It returns true once: for the hit that is one too many.
func (b *busy) hit(time uint64) bool {
	if b.shed {
		return false
	}
	if time > b.time {
		const each = 1_000_000_000 / busyRate
		gone := (time - b.time) / each
		b.level -= min(b.level, gone)
		b.time += gone * each
	}
	b.level++
	b.shed = b.level > busyBurst
	return b.shed
}

// take returns the links, which the caller closes, and lets none be added any more.
func (b *busy) take() []ownLink {
	b.mu.Lock()
	defer b.mu.Unlock()
	links := b.links
	b.links, b.over = nil, true
	return links
}

// unnamed returns the module's probes of atomic variables that the user did not name, by
// variable, and the names of these variables in the order of their first sites.
func (m *Module) unnamed() (names []string, of map[string][]attach.Probe) {
	of = map[string][]attach.Probe{}
	for i, s := range m.Plan.Sites {
		if s.Program != probes.ProgramAtomic || m.Plan.Chained(i) {
			continue
		}
		if of[s.Variable] == nil {
			names = append(names, s.Variable)
		}
		of[s.Variable] = append(of[s.Variable], attach.Probe{Offset: s.Offset, Site: m.Base + uint32(i)})
	}
	return names, of
}

// countBusy makes the reader count the hits of the module's sites of atomic variables that the
// user did not name. The caller holds s.mu.
func (s *Session) countBusy(m *Module) {
	var all []*busy
	if old := s.busy.Load(); old != nil {
		all = slices.Clone(*old) // the reader uses the old slice
	}
	for i := range m.Plan.Sites {
		site := &m.Plan.Sites[i]
		if site.Program != probes.ProgramAtomic {
			continue
		}
		index := int(m.Base) + i
		for len(all) <= index {
			all = append(all, nil)
		}
		all[index] = s.counter(site.Variable)
	}
	s.busy.Store(&all)
}

// counter returns the counter of the variable of a name. The caller holds s.mu.
func (s *Session) counter(name string) *busy {
	b := s.counters[name]
	if b == nil {
		b = &busy{variable: name}
		s.counters[name] = b
	}
	return b
}

// attachUnnamed attaches the probes of the module's atomic variables that the user did not name.
// The caller holds s.mu.
func (s *Session) attachUnnamed(m *Module, to attach.LinkTo) error {
	names, of := m.unnamed()
	for _, name := range names {
		if err := s.attachBusy(s.counters[name], to, of[name]); err != nil {
			return err
		}
	}
	return nil
}

// attachBusy attaches probes that b removes later. It does nothing if b has removed its probes
// already.
func (s *Session) attachBusy(b *busy, to attach.LinkTo, probes []attach.Probe) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over {
		return nil
	}
	l, err := s.tracer.Link(to, probes, 0)
	if err != nil {
		return fmt.Errorf("observe %s: %w", b.variable, err)
	}
	s.tracer.Own(to.Owner, l)
	b.links = append(b.links, ownLink{to.Owner, l})
	return nil
}

// leftOut reports whether a record is discarded because its atomic variable, which the user did
// not name, is accessed too often. It counts the record, and starts to remove the variable's
// probes at the hit that is one too many. Records that arrive during the removal are discarded
// too, because some of the probes are gone by then and the others see only a part of the
// accesses. The reader's goroutine alone calls it.
func (s *Session) leftOut(r *bpf.Record) bool {
	all := s.busy.Load()
	if all == nil || int(r.Site) >= len(*all) || (*all)[r.Site] == nil {
		return false
	}
	b := (*all)[r.Site]
	if b.hit(r.Time) {
		s.shedding.Go(func() { s.shed(b) })
	}
	return b.shed
}

// shed removes the probes of a variable, and records that the variable is too busy. It runs on a
// goroutine of its own, because the kernel takes long and the reader must not wait.
func (s *Session) shed(b *busy) {
	err := s.remove(b)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tooBusy = append(s.tooBusy, b.variable)
	if err != nil {
		s.note(fmt.Sprintf("the probes of %s could not be removed: %v", b.variable, err))
	}
}

// remove closes the links of b, and lets none be added any more.
func (s *Session) remove(b *busy) error {
	var links []attach.Link
	for _, l := range b.take() {
		if s.tracer.Replace(l.owner, l.link, 0) { // otherwise the process has ended
			links = append(links, l.link)
		}
	}
	return attach.CloseAll(links)
}

// TooBusy returns the names of the atomic variables that the user did not name and whose probes
// were removed because they were accessed too often. It is valid at the end of the run.
func (s *Session) TooBusy() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.tooBusy)
}
