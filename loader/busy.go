package loader

import (
	"fmt"
	"slices"
	"sync"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/loader/attach"
	"github.com/tracepredict/tracepredict/probes"
)

// Atomic variables that nobody named are observed while it pays. Some are counters
// that a program changes at each allocation: a hit there orders little and costs much.
// So the probes of each are in a link of their own, which is removed once they are hit
// more often than busyRate; from then on nobody knows what the variable orders, and
// the findings say so.

// The bounds of what such a variable may cost: hits a second for long, and at once.
const (
	busyRate  = 2000
	busyBurst = 1 << 14
)

// busy counts the hits of an atomic variable that nobody named.
type busy struct {
	variable string

	// Of the reader alone: how full the bucket is that leaks at busyRate, as of time.
	level uint64
	time  uint64 // of the last hit, ns
	shed  bool   // its probes are removed, or about to be

	mu    sync.Mutex // guards what follows; before the Tracer's
	over  bool       // no more links
	links []ownLink
}

// ownLink is a link for a process.
type ownLink struct {
	owner int
	link  attach.Link
}

// hit counts a hit at a time; it is true once, when there have been too many.
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

// take returns the links, to be closed; there will be no others.
func (b *busy) take() []ownLink {
	b.mu.Lock()
	defer b.mu.Unlock()
	links := b.links
	b.links, b.over = nil, true
	return links
}

// unnamed groups a module's probes of atomic variables that nobody named.
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

// countBusy makes the reader count the hits of a module's sites; with mu held.
func (s *Session) countBusy(m *Module) {
	var all []*busy
	if old := s.busy.Load(); old != nil {
		all = slices.Clone(*old) // the reader has the old one
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

// counter returns the counter of a variable; with mu held.
func (s *Session) counter(name string) *busy {
	b := s.counters[name]
	if b == nil {
		b = &busy{variable: name}
		s.counters[name] = b
	}
	return b
}

// attachUnnamed puts in the probes of a module's atomic variables that nobody named;
// with mu held.
func (s *Session) attachUnnamed(m *Module, to attach.LinkTo) error {
	names, of := m.unnamed()
	for _, name := range names {
		if err := s.attachBusy(s.counters[name], to, of[name]); err != nil {
			return err
		}
	}
	return nil
}

// attachBusy puts in probes that are removed once they are hit too often.
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

// leftOut counts a record of an atomic variable that nobody named, and has its probes
// removed if there are too many. What comes while they are is left out: some are gone
// already, and the others would tell half of a story. Of the reader alone.
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

// shed removes the probes of a variable; it takes the kernel long, and the reader
// does not wait.
func (s *Session) shed(b *busy) {
	err := s.remove(b)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tooBusy = append(s.tooBusy, b.variable)
	if err != nil {
		s.note(fmt.Sprintf("the probes of %s could not be removed: %v", b.variable, err))
	}
}

// remove takes the probes of b out and lets no more come.
func (s *Session) remove(b *busy) error {
	var links []attach.Link
	for _, l := range b.take() {
		if s.tracer.Replace(l.owner, l.link, 0) { // else its process has gone
			links = append(links, l.link)
		}
	}
	return attach.CloseAll(links)
}

// TooBusy lists the atomic variables that nobody named and that were accessed too
// often to be observed to the end; valid then.
func (s *Session) TooBusy() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.tooBusy)
}
