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

// removableProbes is a group of probes that may be removed while the process runs, and their
// links.
type removableProbes struct {
	name    string // name of their variable or, for a group of UnseenProbes, path of their file
	removed bool   // the probes are removed, or are about to be; used by the reader's goroutine alone

	mu     sync.Mutex // guards the fields below; acquired before the Tracer's
	closed bool       // the probes are removed; no link is added any more
	links  []processLink
}

// hitCounter counts the hits of an atomic variable that the user did not name, and has the
// links of its probes. The reader's goroutine alone uses account.
type hitCounter struct {
	removableProbes
	account bucket
}

// bucket is a leaky bucket: level is its content at a time.
type bucket struct {
	level uint64
	time  uint64 // ns
}

// add drains the bucket, at a rate per second, until a time in ns, puts n into it, and reports whether
// it holds more than size.
func (b *bucket) add(n, time, rate, size uint64) bool {
	if time > b.time {
		each := 1_000_000_000 / rate
		drained := (time - b.time) / each
		b.level -= min(b.level, drained)
		b.time += drained * each
	}
	b.level += n
	return b.level > size
}

// processLink is a link and the process that it belongs to.
type processLink struct {
	owner int // process ID
	link  attach.Link
}

// hit counts a hit at a time in ns. It returns true once: for the first hit above busyBurst.
func (c *hitCounter) hit(time uint64) bool {
	if c.removed {
		return false
	}
	c.removed = c.account.add(1, time, busyRate, busyBurst)
	return c.removed
}

// removeLinks returns the links, which the caller closes, and lets none be added any more.
func (p *removableProbes) removeLinks() []processLink {
	p.mu.Lock()
	defer p.mu.Unlock()
	links := p.links
	p.links, p.closed = nil, true
	return links
}

// unnamedAtomics returns the module's probes of atomic variables that the user did not name, by
// variable, and the names of these variables in the order of their first sites.
func (m *Module) unnamedAtomics() (names []string, byVariable map[string][]attach.Probe) {
	byVariable = map[string][]attach.Probe{}
	for i, s := range m.Plan.Sites {
		if s.Program != probes.ProgramAtomic || m.Plan.Chained(i) {
			continue
		}
		if byVariable[s.Variable] == nil {
			names = append(names, s.Variable)
		}
		byVariable[s.Variable] = append(byVariable[s.Variable], attach.Probe{Offset: s.Offset, Site: m.Base + uint32(i)})
	}
	return names, byVariable
}

// addHitCounters makes the reader count the hits of the module's sites of atomic variables that
// the user did not name. The caller holds s.mu.
func (s *Session) addHitCounters(m *Module) {
	var all []*hitCounter
	if old := s.hitCounters.Load(); old != nil {
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
		all[index] = s.hitCounter(site.Variable)
	}
	s.hitCounters.Store(&all)
}

// hitCounter returns the counter of the variable of a name. The caller holds s.mu.
func (s *Session) hitCounter(name string) *hitCounter {
	c := s.hitCountersByName[name]
	if c == nil {
		c = &hitCounter{removableProbes: removableProbes{name: name}}
		s.hitCountersByName[name] = c
	}
	return c
}

// attachUnnamedAtomics attaches the probes of the module's atomic variables that the user did
// not name. The caller holds s.mu.
func (s *Session) attachUnnamedAtomics(m *Module, to attach.LinkTarget) error {
	names, byVariable := m.unnamedAtomics()
	for _, name := range names {
		if err := s.attachRemovable(&s.hitCountersByName[name].removableProbes, to, byVariable[name]); err != nil {
			return err
		}
	}
	return nil
}

// attachRemovable attaches probes, and adds their link to p. It does nothing if the probes of p
// are removed already.
func (s *Session) attachRemovable(p *removableProbes, to attach.LinkTarget, probes []attach.Probe) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil
	}
	l, err := s.tracer.Link(to, probes, 0)
	if err != nil {
		return fmt.Errorf("observe %s: %w", p.name, err)
	}
	s.tracer.SetOwner(to.Owner, l)
	p.links = append(p.links, processLink{to.Owner, l})
	return nil
}

// discards reports whether a record is discarded because its atomic variable, which the user
// did not name, is accessed too often. It counts the record, and starts to remove the
// variable's probes at the first hit above busyBurst. Records that arrive during the removal are
// discarded too, because some of the probes are gone by then and the others see only a part of
// the accesses. The reader's goroutine alone calls it.
func (s *Session) discards(r *bpf.Record) bool {
	all := s.hitCounters.Load()
	if all == nil || int(r.Site) >= len(*all) || (*all)[r.Site] == nil {
		return false
	}
	c := (*all)[r.Site]
	if c.hit(r.Time) {
		s.removing.Go(func() { s.removeBusy(c) })
	}
	return c.removed
}

// removeBusy removes the probes of a variable, and records that the variable is too busy. It
// runs on a goroutine of its own, because the kernel takes long and the reader must not wait.
func (s *Session) removeBusy(c *hitCounter) {
	owners, err := s.closeLinks(&c.removableProbes)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tooBusy = append(s.tooBusy, Blind{Name: c.name, Processes: owners})
	if err != nil {
		s.note(fmt.Sprintf("the probes of %s could not be removed: %v", c.name, err))
	}
}

// closeLinks closes the links of p, and lets none be added any more. It returns the processes to
// which the links belonged.
func (s *Session) closeLinks(p *removableProbes) (owners []uint32, err error) {
	var links []attach.Link
	for _, l := range p.removeLinks() {
		if owner := uint32(l.owner); !slices.Contains(owners, owner) {
			owners = append(owners, owner)
		}
		if s.tracer.Replace(l.owner, l.link, 0) { // otherwise the process has ended
			links = append(links, l.link)
		}
	}
	return owners, attach.CloseAll(links)
}

// Blind is what synchronises unobserved in some processes.
type Blind struct {
	Name      string   // of a variable, or path of a file
	Processes []uint32 // process IDs
}

// TooBusy returns the atomic variables that the user did not name and whose probes were removed
// because they were accessed too often. It is valid at the end of the run.
func (s *Session) TooBusy() []Blind {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.tooBusy)
}
