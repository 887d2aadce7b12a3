package loader

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/loader/attach"
	"github.com/tracepredict/tracepredict/probes"
	"github.com/tracepredict/tracepredict/probes/variable"
)

// Variables that nobody named (probes.Options.Shared) are watched while it pays.
// Their probes are in links of their own, a batch of places each, and a keeper
// looks at what the programs count: the probes of a variable that one thread
// alone uses a lot, or that several use under a lock that does not change, are
// removed. A batch is removed as a whole: what is left of it gets a new link
// first, so that nothing is missed; while both are there the programs know the
// newer one by its generation.

// LetGo says when the probes of a variable that nobody named are removed because one
// thread alone uses it, and those of an array because there is enough.
type LetGo struct {
	// Unshared is after how many of its accesses while the program has several
	// threads; 0: never. By default a millisecond or ten of their time.
	Unshared uint64
	// Alone is after how many in all; 0: never. Before there is a second thread the
	// variable may yet be handed over, so that by default far more are let pass.
	Alone uint64
	// Enough is how many accesses of the elements of one array are recorded; 0: all.
	Enough uint64
}

// DefaultLetGo returns the defaults of the command line.
func DefaultLetGo() LetGo { return LetGo{Unshared: 1 << 12, Alone: 1 << 18, Enough: 1 << 14} }

// The bounds of the keeper.
const (
	batchPlaces = 128
	keepEvery   = 25 * time.Millisecond
)

// Fate is what became of the probes of a variable that nobody named.
type Fate uint8

// The fates.
const (
	FateKept     Fate = iota // watched to the end
	FateUnshared             // removed: one thread alone used it, and a lot
	FateGuarded              // removed: all threads that used it held a common lock (Session.Guarded)
	FateEnough               // removed: of an array, as many accesses are recorded as are wanted
)

var fateNames = [...]string{"kept", "unshared", "guarded", "enough"}

// String returns the fate's name as reports and traces spell it.
func (f Fate) String() string {
	if int(f) < len(fateNames) {
		return fateNames[f]
	}
	return "unknown"
}

// Watched is what became of a variable that nobody named.
type Watched struct {
	Variable variable.Variable
	Hits     uint64 // accesses that probes saw, recorded or not
	Shared   bool   // by more than one thread
	Fate     Fate
	Until    time.Duration // since the program was let go, of a fate that is not FateKept
}

// kept is a variable under the keeper.
type kept struct {
	Watched
	steady bool
	at     time.Time
}

// batch are places whose probes are one link.
type batch struct {
	attach.LinkTo
	link       attach.Link
	generation uint16 // of the link
	places     []place
}

// place is a probe and the variables of the sites behind it.
type place struct {
	probe     attach.Probe
	variables []uint32
}

// keeper looks after the variables that nobody named.
type keeper struct {
	tracer *attach.Tracer
	letGo  LetGo

	mu        sync.Mutex // guards what follows; after Session.mu, before Tracer's
	batches   []*batch
	variables []kept // by index in the programs' table
	notes     []string

	stop chan struct{}
	done sync.WaitGroup
}

func newKeeper(t *attach.Tracer, letGo LetGo) *keeper {
	return &keeper{tracer: t, letGo: letGo, stop: make(chan struct{})}
}

// add takes variables in and gives the index of the first.
func (k *keeper) add(vs []variable.Variable) (uint32, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	base := len(k.variables)
	if base+len(vs) > bpf.MaxWatched {
		return 0, fmt.Errorf("%d variables are too many for --watch-shared: at most %d in one run", base+len(vs), bpf.MaxWatched)
	}
	for _, v := range vs {
		k.variables = append(k.variables, kept{Watched: Watched{Variable: v}})
	}
	return uint32(base), nil
}

// places groups a module's probes of variables that nobody named, in the order of
// the variables: those of one are in one batch, or in few.
func (m *Module) places() []place {
	var ps []place
	for i, s := range m.Plan.Sites {
		if s.Program != probes.ProgramShared {
			continue
		}
		if !m.Plan.Chained(i) {
			ps = append(ps, place{probe: attach.Probe{Offset: s.Offset, Site: m.Base + uint32(i), Program: s.Program}})
		}
		p := &ps[len(ps)-1]
		p.variables = append(p.variables, s.BPF.Access.Watched)
	}
	slices.SortStableFunc(ps, func(a, b place) int { return int(a.variables[0]) - int(b.variables[0]) })
	return ps
}

// attach puts in the probes of a module for a process.
func (k *keeper) attach(m *Module, to attach.LinkTo) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for chunk := range slices.Chunk(m.places(), batchPlaces) {
		b := &batch{LinkTo: to, places: chunk}
		if err := k.link(b); err != nil {
			return err
		}
		k.tracer.Own(to.Owner, b.link)
		k.batches = append(k.batches, b)
	}
	return nil
}

func (k *keeper) link(b *batch) error {
	probes := make([]attach.Probe, len(b.places))
	for i, p := range b.places {
		probes[i] = p.probe
	}
	var err error
	b.link, err = k.tracer.Link(b.LinkTo, probes, b.generation)
	return err
}

// run looks after the variables until halt.
func (k *keeper) run() {
	k.done.Go(func() {
		ticks := time.NewTicker(keepEvery)
		defer ticks.Stop()
		for {
			select {
			case <-k.stop:
				return
			case <-ticks.C:
				k.look(time.Now())
			}
		}
	})
}

// halt returns when no more probes are put in or removed.
func (k *keeper) halt() {
	close(k.stop)
	k.done.Wait()
}

// look drops what need not be watched any more.
func (k *keeper) look(now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	tallies, err := k.tracer.Tallies(len(k.variables))
	if err != nil {
		k.note(err)
		return
	}
	some := false
	for i, t := range tallies {
		v := &k.variables[i]
		v.Hits, v.Shared = t.Hits, t.Shared != 0
		if v.Fate != FateKept {
			continue
		}
		if v.Fate = k.letGo.fate(v, t); v.Fate != FateKept {
			v.at, some = now, true
			k.note(k.tracer.Drop(uint32(i)))
		}
	}
	if some {
		k.note(k.thin())
	}
}

func (k *keeper) note(err error) {
	if err != nil && !slices.Contains(k.notes, err.Error()) {
		k.notes = append(k.notes, err.Error())
	}
}

// fate decides. A variable of atomic type orders threads: what it reports is
// needed as long as there are threads.
func (l *LetGo) fate(v *kept, t bpf.Tally) Fate {
	reached := func(n, bound uint64) bool { return bound > 0 && n >= bound }
	switch {
	case v.Variable.Atomic:
		return FateKept
	case t.Shared == 0 && (reached(t.Crowd, l.Unshared) || reached(t.Hits, l.Alone)):
		return FateUnshared
	case t.Shared != 0 && v.steady:
		return FateGuarded
	case reached(uint64(t.Recorded), l.Enough):
		return FateEnough
	}
	return FateKept
}

// thin replaces each batch that has places of dropped variables alone.
func (k *keeper) thin() error {
	var errs []error
	var old []attach.Link
	left := k.batches[:0]
	for _, b := range k.batches {
		link, stays, err := k.thinned(b)
		errs = append(errs, err)
		if link != 0 {
			old = append(old, link)
		}
		if stays {
			left = append(left, b)
		}
	}
	k.batches = left
	return errors.Join(append(errs, attach.CloseAll(old))...)
}

// thinned returns the link of a batch that is to be closed, 0 if none is, and
// whether any of the batch stays.
func (k *keeper) thinned(b *batch) (old attach.Link, stays bool, err error) {
	next := *b
	next.places = slices.DeleteFunc(slices.Clone(b.places), func(p place) bool {
		return !slices.ContainsFunc(p.variables, func(v uint32) bool { return k.variables[v].Fate == FateKept })
	})
	if len(next.places) == len(b.places) {
		return 0, true, nil
	}
	next.link = 0
	next.generation++
	if len(next.places) > 0 {
		if err := k.link(&next); err != nil {
			return 0, true, err
		}
	}
	if !k.tracer.Replace(b.Owner, b.link, next.link) { // the process is gone, or the observation over
		if next.link != 0 {
			return next.link, false, nil
		}
		return 0, false, nil
	}
	old, *b = b.link, next
	return old, len(b.places) > 0, nil
}

// guarded marks a variable; see Session.Guarded.
func (k *keeper) guarded(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range k.variables {
		if v := &k.variables[i]; v.Variable.Name == name {
			v.steady = true
		}
	}
}

// watched returns what became of all variables, since when the program was let go.
func (k *keeper) watched(began time.Time) []Watched {
	k.mu.Lock()
	defer k.mu.Unlock()
	if tallies, err := k.tracer.Tallies(len(k.variables)); err == nil {
		for i, t := range tallies {
			k.variables[i].Hits, k.variables[i].Shared = t.Hits, t.Shared != 0
		}
	}
	out := make([]Watched, len(k.variables))
	for i, v := range k.variables {
		if out[i] = v.Watched; v.Fate != FateKept {
			out[i].Until = max(v.at.Sub(began), 0)
		}
	}
	return out
}

// Guarded says that all threads that use a variable hold a common lock, and have
// for long: its probes may go. It has no effect on a variable that was named,
// nor while processes are followed, of which each has its own.
func (s *Session) Guarded(name string) {
	if s.keeper != nil && !s.opts.Follow {
		s.keeper.guarded(name)
	}
}

// Watched lists the variables that nobody named; valid at the end of the run.
func (s *Session) Watched() []Watched {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.watched
}

// settle ends the keeper's work once no probe is left.
func (s *Session) settle() {
	if s.keeper == nil {
		return
	}
	began := s.Began()
	watched := s.keeper.watched(began)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watched = watched
	for _, n := range s.keeper.notes {
		s.note("--watch-shared: " + n)
	}
}
