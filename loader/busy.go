package loader

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/loader/attach"
	"github.com/tracepredict/tracepredict/probes"
)

// Atomic variables that the user did not name are observed while the cost is low. Some are
// counters that a program changes at each allocation, others are polled: such an access orders
// little, and its probe costs much. So each of their probes is
// removed by itself, once it is hit more often than busyRate. The other accesses of the variable stay
// observed: where one thread polls what another writes, the writes are. From then on the tool does
// not know what the accesses of the removed probe order, and the findings say so.

// The bounds on the hits of such a probe: hits per second in the long run, and hits in a burst.
const (
	busyRate  = 2000
	busyBurst = 1 << 14
)

// maxAlone bounds the probes of a file that are removed by themselves. Of further variables, all
// probes of loads are removed together, and all others.
const maxAlone = 512

// hitGroup identifies the probes of atomic variables that are removed together.
type hitGroup struct {
	site     uint32 // the first site of a probe that is removed by itself; 0 for others
	variable string
	loads    bool
	locks    bool // they are, or may be, accesses of inlined locks, whose probes are not removed
}

// hitCounter counts the hits of a group of probes of an atomic variable that the user did not name. The reader's
// goroutine alone uses account. A probe that is removed by itself is in a bundle; if it must not be, since another
// BPF program has a probe at its address (together.go), and of further variables, the group has its own links.
type hitCounter struct {
	removableProbes
	bundle  *bundle[*hitCounter]
	account bucket
}

// atomicProbes are the probes of atomic variables that the user did not name.
type atomicProbes struct {
	remover *remover

	bySite atomic.Pointer[[]*hitCounter] // nil for sites of other variables

	mu      sync.Mutex // guards the fields below; no other lock is acquired while it is held
	byGroup map[hitGroup]*hitCounter
	tooBusy []Blind // those whose probes were removed, see Session.TooBusy
}

func newAtomicProbes(r *remover) *atomicProbes {
	return &atomicProbes{remover: r, byGroup: map[hitGroup]*hitCounter{}}
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

// hit counts a hit at a time in ns. It returns true once: for the first hit above busyBurst.
func (c *hitCounter) hit(time uint64) bool {
	if c.removed {
		return false
	}
	c.removed = c.account.add(1, time, busyRate, busyBurst)
	return c.removed
}

// atomicProbe is a probe of atomic variables that the user did not name: its sites, by their index in
// the plan, and its group.
type atomicProbe struct {
	first, end int
	group      hitGroup
}

// unnamedAtomics returns the module's probes of atomic variables that the user did not name.
func (m *Module) unnamedAtomics() []atomicProbe {
	var all []atomicProbe
	for i := range m.Plan.Sites {
		switch n := len(all); {
		case m.Plan.Sites[i].Program != probes.ProgramAtomic && m.Plan.Sites[i].Program != probes.ProgramPointerAtomic:
		case n > 0 && all[n-1].end == i && m.Plan.Chained(i):
			all[n-1].end++
		case n < maxAlone:
			all = append(all, atomicProbe{i, i + 1, hitGroup{site: m.Base + uint32(i) + 1}})
		default:
			s := &m.Plan.Sites[i]
			all = append(all, atomicProbe{i, i + 1, hitGroup{variable: s.Variable, loads: bpf.Op(s.BPF.Op) == bpf.OpRead, locks: s.Lock != bpf.LockNone || s.Kept}})
		}
	}
	return all
}

// add makes the reader count the hits of the module's sites of atomic variables that
// the user did not name.
func (a *atomicProbes) add(m *Module) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []*hitCounter
	if old := a.bySite.Load(); old != nil {
		all = slices.Clone(*old) // the reader uses the old slice
	}
	bundles := map[probes.Program]*bundle[*hitCounter]{}
	of := map[*bundle[*hitCounter]]int{}
	apart := m.isTogether()
	for _, p := range m.unnamedAtomics() {
		c := a.counter(m, p)
		if p.group.site != 0 && !apart[p.first] {
			program := m.Plan.Sites[p.first].Program
			b := bundles[program]
			if b == nil || of[b] == bundleSize {
				b = &bundle[*hitCounter]{name: m.Path}
				bundles[program] = b
			}
			c.bundle = b
			of[b]++
		}
		for index := int(m.Base) + p.first; index < int(m.Base)+p.end; index++ {
			for len(all) <= index {
				all = append(all, nil)
			}
			all[index] = c
			if m.ofLock(p) {
				all[index] = nil // what it orders, all others depend on
			}
		}
	}
	a.bySite.Store(&all)
}

// ofLock reports whether a probe observes an access of an inlined lock, or may do so.
func (m *Module) ofLock(p atomicProbe) bool {
	return slices.ContainsFunc(m.Plan.Sites[p.first:p.end], func(s probes.Site) bool { return s.Lock != bpf.LockNone || s.Kept })
}

// counter returns the counter of a probe's group. The caller holds a.mu.
func (a *atomicProbes) counter(m *Module, p atomicProbe) *hitCounter {
	c := a.byGroup[p.group]
	if c == nil {
		site := &m.Plan.Sites[p.first]
		c = &hitCounter{removableProbes: removableProbes{name: site.Variable}}
		if p.group.site != 0 {
			c.in = site.Function
		}
		a.byGroup[p.group] = c
	}
	return c
}

// attach attaches the probes of the module's atomic variables that the user did not name, but for those of
// attachTogether.
func (a *atomicProbes) attach(m *Module, to attach.LinkTarget) error {
	var groups []hitGroup
	var bundles []*bundle[*hitCounter]
	byGroup, byBundle := map[hitGroup][]attach.Probe{}, map[*bundle[*hitCounter]][]bundled[*hitCounter]{}
	apart := m.isTogether()
	for _, p := range m.unnamedAtomics() {
		if apart[p.first] {
			continue
		}
		probe := attach.Probe{Offset: m.Plan.Sites[p.first].Offset, Site: m.Base + uint32(p.first), Program: m.Plan.Sites[p.first].Program}
		if c := a.group(p.group); c.bundle != nil {
			if byBundle[c.bundle] == nil {
				bundles = append(bundles, c.bundle)
			}
			byBundle[c.bundle] = append(byBundle[c.bundle], bundled[*hitCounter]{c, probe})
			continue
		}
		if byGroup[p.group] == nil {
			groups = append(groups, p.group)
		}
		byGroup[p.group] = append(byGroup[p.group], probe)
	}
	for _, b := range bundles {
		if err := b.attach(a.remover.tracer, to, byBundle[b]); err != nil {
			return err
		}
	}
	for _, g := range groups {
		if err := a.attachGroup(g, to, byGroup[g]); err != nil {
			return err
		}
	}
	return nil
}

// group returns the counter of a group of an added module.
func (a *atomicProbes) group(g hitGroup) *hitCounter {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.byGroup[g]
}

// attachGroup attaches probes of a group of an added module.
func (a *atomicProbes) attachGroup(g hitGroup, to attach.LinkTarget, probes []attach.Probe) error {
	return a.remover.attach(&a.group(g).removableProbes, to, probes)
}

// discards reports whether a record is discarded because its probe, of an atomic variable that the
// user did not name, is hit too often. It counts the record, and starts to remove the probe at the
// first hit above busyBurst. Records that arrive during the removal are discarded too, because the
// probe is gone in some processes by then. The reader's goroutine alone calls it.
func (a *atomicProbes) discards(r *bpf.Record) bool {
	all := a.bySite.Load()
	if all == nil || int(r.Site) >= len(*all) || (*all)[r.Site] == nil {
		return false
	}
	c := (*all)[r.Site]
	if c.hit(r.Time) {
		a.remove(c)
	}
	return c.removed
}

// remove starts to remove the probes of a group.
func (a *atomicProbes) remove(c *hitCounter) {
	then := func(owners []uint32) { a.addTooBusy(c, owners) }
	if c.bundle != nil {
		c.bundle.remove(a.remover, removal[*hitCounter]{c, c.name, then})
		return
	}
	a.remover.start(&c.removableProbes, c.name, then)
}

// addTooBusy records that the probes of a group, which are hit too often, were removed from some processes.
func (a *atomicProbes) addTooBusy(c *hitCounter, owners []uint32) {
	a.mu.Lock()
	defer a.mu.Unlock()
	at := slices.IndexFunc(a.tooBusy, func(b Blind) bool { return b.Name == c.name })
	if at < 0 {
		at = len(a.tooBusy)
		a.tooBusy = append(a.tooBusy, Blind{Name: c.name})
	}
	b := &a.tooBusy[at]
	in := append(slices.Clone(b.In), c.in)
	slices.Sort(in)
	b.In = slices.Compact(in)
	b.Processes = slices.Compact(slices.Sorted(slices.Values(slices.Concat(b.Processes, owners))))
}

// TooBusy returns the atomic variables that the user did not name and some of whose probes were removed
// because they were hit too often. It is valid at the end of the run.
func (s *Session) TooBusy() []Blind {
	s.atomics.mu.Lock()
	defer s.atomics.mu.Unlock()
	return slices.Clone(s.atomics.tooBusy)
}
