package loader

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/internal/safely"
	"github.com/tracepredict/tracepredict/loader/attach"
	"github.com/tracepredict/tracepredict/probes"
	"github.com/tracepredict/tracepredict/probes/cheapsite"
	"github.com/tracepredict/tracepredict/probes/variable"
)

// Variables that the user did not name (probes.Options.Shared) are watched while their accesses
// can still show something new. Their probes have links of their own, each for a batch of
// probes. An unnamedWatcher reads, from time to time, what the BPF programs count, and removes
// the probes of a variable that one thread alone accesses often, or that several threads access
// under a lock that does not change. Those that were hit seldom stay: what is accessed there, such as
// a total that is read when all is done, may not be what all other code does. A link can only be removed as a whole. So the probes of the
// batch that are still needed get a new link first, and no access is missed; while both links
// exist, the BPF programs recognise the newer one by its generation.

// RemovalLimits determine when the probes of a variable that the user did not name are removed:
// because only one thread accesses it, or, for an array, because enough accesses were recorded.
type RemovalLimits struct {
	// Unshared is the number of accesses by one thread alone, while the program has several
	// threads, after which the probes are removed; 0: never. At the default, these accesses cost
	// one to ten milliseconds.
	Unshared uint64
	// SingleThread is the same for all accesses by one thread alone, however many threads there
	// are; 0: never. The default is far larger than that of Unshared, because a variable may be
	// handed over to another thread as long as there is only one.
	SingleThread uint64
	// ArrayAccesses is the number of recorded accesses to the elements of one array after which
	// the probes are removed; 0: never.
	ArrayAccesses uint64
}

// DefaultRemovalLimits returns the defaults of the command line.
func DefaultRemovalLimits() RemovalLimits {
	return RemovalLimits{Unshared: 1 << 12, SingleThread: 1 << 18, ArrayAccesses: 1 << 14}
}

// The bounds of unnamedWatcher.
const (
	batchProbes = 128                   // probes of one link
	checkEvery  = 25 * time.Millisecond // between two looks at the counts
	seldomHits  = 64                    // hits after which the probe of a variable that needs no more watching is removed
	recount     = 40                    // looks after which all probes that were hit seldom are looked at again
)

// Outcome is what happened to the probes of a variable that the user did not name.
type Outcome uint8

// The outcomes. The probes of a variable that were hit less than seldomHits times stay, whatever it is.
const (
	OutcomeKept     Outcome = iota // not removed
	OutcomeUnshared                // removed: only one thread accessed it, and often
	OutcomeGuarded                 // removed: all threads accessed it under a common lock (Session.Guarded)
	OutcomeEnough                  // removed: enough accesses to the array were recorded
	OutcomeCostly                  // removed: the accesses cost more than Options.Budget permits
)

var outcomeNames = [...]string{"kept", "unshared", "guarded", "enough", "costly"}

// String returns the outcome's name in reports and traces.
func (o Outcome) String() string {
	if int(o) < len(outcomeNames) {
		return outcomeNames[o]
	}
	return "unknown"
}

// Watched is a variable that the user did not name, and what happened to its probes.
type Watched struct {
	Variable variable.Variable
	Hits     uint64 // accesses that probes saw, recorded or not
	Shared   bool   // more than one thread accessed it
	Outcome  Outcome
	Until    time.Duration // from Session.Began to the removal of the probes; 0 with OutcomeKept
	Removed  []uint32      // the sites at which it was not watched to the end, by their index in records; sorted
}

// unnamedVariable is what an unnamedWatcher knows of a variable.
type unnamedVariable struct {
	Watched
	guarded   bool      // setGuarded was called: all threads that access it hold a common lock
	removedAt time.Time // when Outcome was decided, if it is not OutcomeKept
	out       uint64    // the same on CLOCK_MONOTONIC, in ns; else 0
	counted   uint64    // hits at the last call of spent
	probes    [2]int    // probes, by whether the kernel emulates the instruction
}

// enoughHits is the number of hits before which the budget removes no probe of a variable: what threads do with it has
// been seen by then.
const enoughHits = 1024

// cost returns what a hit of a probe of the variable costs, on average.
func (v *unnamedVariable) cost(c attach.Costs) time.Duration {
	n := time.Duration(max(1, v.probes[0]+v.probes[1]))
	return handling + (time.Duration(v.probes[0])*c.Stepped+time.Duration(v.probes[1])*c.Emulated)/n
}

// spent returns what the hits of all probes since the last call have cost, and of which variables the probes may be
// removed, with their part: those of variables that do not order threads, and that were accessed often.
func (w *unnamedWatcher) spent(c attach.Costs) (removable []expense, sum time.Duration, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	tallies, err := w.tracer.Tallies(len(w.variables))
	if err != nil {
		return nil, 0, err
	}
	for i, t := range tallies {
		v := &w.variables[i]
		recent := t.Hits - v.counted
		v.counted = t.Hits
		cost := time.Duration(recent) * v.cost(c)
		sum += cost
		if recent > 0 && t.Hits >= enoughHits && v.Outcome == OutcomeKept && !v.Variable.Atomic {
			removable = append(removable, expense{cost: cost, variable: uint32(i)})
		}
	}
	return removable, sum, nil
}

// giveUp removes the probes of variables for good, because they cost too much.
func (w *unnamedWatcher) giveUp(now time.Time, variables []uint32) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var errs []error
	for _, i := range variables {
		v := &w.variables[i]
		v.Outcome, v.removedAt, v.out = OutcomeCostly, now, monotonic()
		errs = append(errs, w.tracer.IgnoreVariable(i, seldomHits))
	}
	return errors.Join(append(errs, w.shrinkBatches())...)
}

// batch is a set of probes that share a link.
type batch struct {
	attach.LinkTarget
	link       *attach.Link
	generation uint16 // number of the link; the next link of the batch has the next one
	probes     []chainedProbe
}

// chainedProbe is a probe and the variables of the sites that are chained at it.
type chainedProbe struct {
	probe     attach.Probe
	variables []uint32 // indices in the BPF programs' table; one for each site
}

// unnamedWatcher removes the probes of variables that the user did not name, when they need not
// be watched any more.
type unnamedWatcher struct {
	tracer *attach.Tracer
	limits RemovalLimits

	mu        sync.Mutex // guards the fields below; acquired after Session.mu, before the Tracer's
	batches   []*batch
	variables []unnamedVariable // by index in the BPF programs' table
	hits      []uint64          // by site: at the last look, up to the largest site of a batch
	looks     int               // at the counts
	notes     []string          // texts of errors

	stop chan struct{}
	done safely.Group
}

func newUnnamedWatcher(t *attach.Tracer, limits RemovalLimits) *unnamedWatcher {
	return &unnamedWatcher{tracer: t, limits: limits, stop: make(chan struct{})}
}

// add adds variables and returns the index of the first.
func (w *unnamedWatcher) add(vs []variable.Variable) (uint32, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	base := len(w.variables)
	if base+len(vs) > bpf.MaxWatched {
		return 0, fmt.Errorf("%d variables are too many for --watch-shared: at most %d in one run", base+len(vs), bpf.MaxWatched)
	}
	for _, v := range vs {
		w.variables = append(w.variables, unnamedVariable{Watched: Watched{Variable: v}})
	}
	return uint32(base), nil
}

// sharedProbes returns the module's probes of variables that the user did not name, but for those of
// attachTogether, in the order of the variables, so that those of one variable are in one batch or in few.
func (m *Module) sharedProbes() []chainedProbe {
	var ps []chainedProbe
	apart, head := m.isTogether(), 0
	for i, s := range m.Plan.Sites {
		if !m.Plan.Chained(i) {
			head = i
		}
		if s.Program != probes.ProgramShared || apart[head] {
			continue
		}
		if !m.Plan.Chained(i) {
			ps = append(ps, chainedProbe{probe: attach.Probe{Offset: s.Offset, Site: m.Base + uint32(i), Program: s.Program}})
		}
		p := &ps[len(ps)-1]
		p.variables = append(p.variables, s.BPF.Access.Watched)
	}
	slices.SortStableFunc(ps, func(a, b chainedProbe) int { return int(a.variables[0]) - int(b.variables[0]) })
	return ps
}

// attach attaches the probes of a module for a process.
func (w *unnamedWatcher) attach(m *Module, to attach.LinkTarget) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.countProbes(m)
	for chunk := range slices.Chunk(m.sharedProbes(), batchProbes) {
		b := &batch{LinkTarget: to, probes: chunk}
		if err := w.linkBatch(b); err != nil {
			return err
		}
		w.tracer.SetOwner(to.Owner, b.link)
		w.batches = append(w.batches, b)
	}
	return nil
}

// countProbes counts the probes of the variables of a module by what they cost. The caller holds w.mu.
func (w *unnamedWatcher) countProbes(m *Module) {
	for i := range m.Plan.Sites {
		if s := &m.Plan.Sites[i]; s.Program == probes.ProgramShared {
			w.variables[s.BPF.Access.Watched].probes[boolToInt(s.Class == cheapsite.Emulated)]++
		}
	}
}

// attachProbe attaches the probe of a site for a process. It is a batch of its own, so that its link is never
// replaced.
func (w *unnamedWatcher) attachProbe(m *Module, site int, to attach.LinkTarget) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := &m.Plan.Sites[site]
	p := chainedProbe{probe: attach.Probe{Offset: s.Offset, Site: m.Base + uint32(site), Program: s.Program}}
	for i := site; i == site || i < len(m.Plan.Sites) && m.Plan.Chained(i); i++ {
		p.variables = append(p.variables, m.Plan.Sites[i].BPF.Access.Watched)
	}
	b := &batch{LinkTarget: to, probes: []chainedProbe{p}}
	if err := w.linkBatch(b); err != nil {
		return err
	}
	w.tracer.SetOwner(to.Owner, b.link)
	w.batches = append(w.batches, b)
	return nil
}

func (w *unnamedWatcher) linkBatch(b *batch) error {
	all := make([]attach.Probe, len(b.probes))
	for i, p := range b.probes {
		all[i] = p.probe
		if n := int(p.probe.Site) + 1; n > len(w.hits) {
			w.hits = append(w.hits, make([]uint64, n-len(w.hits))...)
		}
	}
	var err error
	b.link, err = w.tracer.Link(b.LinkTarget, all, b.generation)
	return err
}

// run starts a goroutine that looks at the counts every checkEvery, until halt.
func (w *unnamedWatcher) run() {
	w.done.Go(func() {
		ticks := time.NewTicker(checkEvery)
		defer ticks.Stop()
		for {
			select {
			case <-w.stop:
				return
			case <-ticks.C:
				w.check(time.Now())
			}
		}
	})
}

// halt ends that goroutine. When halt returns, the unnamedWatcher attaches and removes no more
// probes.
func (w *unnamedWatcher) halt() {
	close(w.stop)
	w.done.Wait()
}

// check reads the counts, and removes the probes of variables that need not be watched any more.
func (w *unnamedWatcher) check(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	tallies, err := w.tracer.Tallies(len(w.variables))
	if err != nil {
		w.note(err)
		return
	}
	w.looks++
	changed := w.looks%recount == 0
	for i, t := range tallies {
		v := &w.variables[i]
		accessed := v.Hits != t.Hits
		v.Hits, v.Shared = t.Hits, t.Shared != 0
		if v.Outcome != OutcomeKept {
			changed = changed || accessed
			continue
		}
		if v.Outcome = w.limits.outcome(v, t); v.Outcome != OutcomeKept {
			v.removedAt, v.out, changed = now, monotonic(), true
			w.note(w.tracer.IgnoreVariable(uint32(i), seldomHits))
		}
	}
	if changed {
		w.note(w.shrinkBatches())
	}
}

func (w *unnamedWatcher) note(err error) {
	if err != nil && !errors.Is(err, unix.ESRCH) && !slices.Contains(w.notes, err.Error()) { // else the process has just ended
		w.notes = append(w.notes, err.Error())
	}
}

// outcome returns what happens to the probes of a variable with these counts. A variable of
// atomic type orders threads, so that its accesses are needed as long as there are threads.
func (l *RemovalLimits) outcome(v *unnamedVariable, t bpf.Tally) Outcome {
	reached := func(n, bound uint64) bool { return bound > 0 && n >= bound }
	switch {
	case v.Variable.Atomic:
		return OutcomeKept
	case t.Shared == 0 && (reached(t.Crowd, l.Unshared) || reached(t.Hits, l.SingleThread)):
		return OutcomeUnshared
	case t.Shared != 0 && v.guarded:
		return OutcomeGuarded
	case reached(uint64(t.Recorded), l.ArrayAccesses):
		return OutcomeEnough
	}
	return OutcomeKept
}

// isNeeded reports whether a probe of a batch observes a variable that is watched, or was hit seldom.
func (w *unnamedWatcher) isNeeded(p chainedProbe) bool {
	return w.hits[p.probe.Site] < seldomHits ||
		slices.ContainsFunc(p.variables, func(v uint32) bool { return w.variables[v].Outcome == OutcomeKept })
}

// shrinkBatches removes, from all batches, the probes that are not needed any more. Each batch that
// changes gets a new link.
func (w *unnamedWatcher) shrinkBatches() error {
	if err := w.tracer.SiteHits(0, w.hits); err != nil {
		return err
	}
	var errs []error
	var old []*attach.Link
	remaining := w.batches[:0]
	for _, b := range w.batches {
		link, hasProbes, err := w.shrink(b)
		errs = append(errs, err)
		if link != nil {
			old = append(old, link)
		}
		if hasProbes {
			remaining = append(remaining, b)
		}
	}
	w.batches = remaining
	return errors.Join(append(errs, attach.CloseAll(old))...)
}

// shrink removes the probes of a batch that no variable needs any more, and attaches the others by
// a new link. It returns the old link, which the caller closes, nil if there is none, and whether the
// batch has any probe left.
func (w *unnamedWatcher) shrink(b *batch) (old *attach.Link, hasProbes bool, err error) {
	next := *b
	next.link, next.probes = nil, nil
	var removed []chainedProbe
	for _, p := range b.probes {
		if w.isNeeded(p) {
			next.probes = append(next.probes, p)
		} else {
			removed = append(removed, p)
		}
	}
	if len(removed) == 0 {
		return nil, true, nil
	}
	next.generation++
	if len(next.probes) > 0 {
		if err := w.linkBatch(&next); err != nil {
			return nil, true, err
		}
	}
	if !w.tracer.Replace(b.Owner, b.link, next.link) { // the process or the observation has ended
		if next.link != nil {
			return next.link, false, nil
		}
		return nil, false, nil
	}
	old, *b = b.link, next
	for _, p := range removed {
		w.ignored(p)
	}
	return old, len(b.probes) > 0, nil
}

// ignored records that accesses at a probe are ignored if they are of variables that are not watched any more.
func (w *unnamedWatcher) ignored(p chainedProbe) {
	for _, i := range p.variables {
		if v := &w.variables[i]; v.Outcome != OutcomeKept {
			v.Removed = append(v.Removed, p.probe.Site)
		}
	}
}

// ignoredInBatches does so for the probes of all batches that the BPF programs ignore.
func (w *unnamedWatcher) ignoredInBatches() {
	w.note(w.tracer.SiteHits(0, w.hits))
	for _, b := range w.batches {
		for _, p := range b.probes {
			if w.hits[p.probe.Site] > seldomHits {
				w.ignored(p)
			}
		}
	}
}

// setGuarded marks a variable as guarded by a common lock; see Session.Guarded.
func (w *unnamedWatcher) setGuarded(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.variables {
		if v := &w.variables[i]; v.Variable.Name == name {
			v.guarded = true
		}
	}
}

// watched returns what happened to the probes of all variables; began is when the program began
// to run.
func (w *unnamedWatcher) watched(began time.Time) []Watched {
	w.mu.Lock()
	defer w.mu.Unlock()
	if tallies, err := w.tracer.Tallies(len(w.variables)); err == nil {
		for i, t := range tallies {
			w.variables[i].Hits, w.variables[i].Shared = t.Hits, t.Shared != 0
		}
	}
	w.ignoredInBatches()
	out := make([]Watched, len(w.variables))
	for i, v := range w.variables {
		switch out[i] = v.Watched; {
		case v.Outcome != OutcomeKept && len(v.Removed) == 0: // all its probes were hit seldom
			out[i].Outcome = OutcomeKept
		case v.Outcome != OutcomeKept:
			out[i].Until = max(v.removedAt.Sub(began), 0)
		}
		out[i].Removed = slices.Compact(slices.Sorted(slices.Values(v.Removed)))
	}
	return out
}

// Guarded records that all threads that access a variable have held a common lock for long: its
// probes may be removed. It has no effect on a variable that the user named, nor with
// Options.Follow, since each process then has a variable of its own.
func (s *Session) Guarded(name string) {
	if s.unnamed != nil && !s.opts.Follow {
		s.unnamed.setGuarded(name)
	}
}

// Watched returns the variables that the user did not name. It is valid at the end of the run.
func (s *Session) Watched() []Watched {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.watched
}

// collectWatched collects the results of the unnamedWatcher once all probes are removed.
func (s *Session) collectWatched() {
	if s.unnamed == nil {
		return
	}
	began := s.Began()
	watched := s.unnamed.watched(began)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watched = watched
	for _, n := range s.unnamed.notes {
		s.notes.say("--watch-shared: " + n)
	}
}
