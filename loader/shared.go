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

// Variables that the user did not name (probes.Options.Shared) are watched while it pays. Their
// probes have links of their own, each for a batch of probes. A keeper reads, from time to time,
// what the BPF programs count, and removes the probes of a variable that one thread alone
// accesses often, or that several threads access under a lock that does not change. A link can
// only be removed as a whole. So the probes of the batch that are still needed get a new link
// first, and no access is missed; while both links exist, the BPF programs recognise the newer
// one by its generation.

// LetGo determines when the probes of a variable that the user did not name are removed: because
// only one thread accesses it, or, for an array, because enough accesses were recorded.
type LetGo struct {
	// Unshared is the number of accesses by one thread alone, while the program has several
	// threads, after which the probes are removed; 0: never. At the default, these accesses cost
	// one to ten milliseconds.
	Unshared uint64
	// Alone is the same for all accesses by one thread alone, however many threads there are; 0:
	// never. The default is far larger than that of Unshared, because a variable may be handed
	// over to another thread as long as there is only one.
	Alone uint64
	// Enough is the number of recorded accesses to the elements of one array after which the
	// probes are removed; 0: never.
	Enough uint64
}

// DefaultLetGo returns the defaults of the command line.
func DefaultLetGo() LetGo { return LetGo{Unshared: 1 << 12, Alone: 1 << 18, Enough: 1 << 14} }

// The bounds of the keeper.
const (
	batchPlaces = 128                   // probes of one link
	keepEvery   = 25 * time.Millisecond // between two looks at the counts
)

// Fate is what happened to the probes of a variable that the user did not name.
type Fate uint8

// The fates.
const (
	FateKept     Fate = iota // not removed
	FateUnshared             // removed: only one thread accessed it, and often
	FateGuarded              // removed: all threads accessed it under a common lock (Session.Guarded)
	FateEnough               // removed: enough accesses to the array were recorded
)

var fateNames = [...]string{"kept", "unshared", "guarded", "enough"}

// String returns the fate's name in reports and traces.
func (f Fate) String() string {
	if int(f) < len(fateNames) {
		return fateNames[f]
	}
	return "unknown"
}

// Watched is a variable that the user did not name, and what happened to its probes.
type Watched struct {
	Variable variable.Variable
	Hits     uint64 // accesses that probes saw, recorded or not
	Shared   bool   // more than one thread accessed it
	Fate     Fate
	Until    time.Duration // from when the program began to run; 0 with FateKept
}

// kept is the keeper's state of a variable.
type kept struct {
	Watched
	steady bool      // guarded was called: all threads that access it hold a common lock
	at     time.Time // when Fate was decided, if it is not FateKept
}

// batch is a set of places whose probes share a link.
type batch struct {
	attach.LinkTo
	link       attach.Link
	generation uint16 // of the link; the next link of the batch has the next one
	places     []place
}

// place is a probe and the variables of the sites that are chained at it.
type place struct {
	probe     attach.Probe
	variables []uint32 // indices in the BPF programs' table; one for each site
}

// keeper removes the probes of variables that the user did not name, when they need not be
// watched any more.
type keeper struct {
	tracer *attach.Tracer
	letGo  LetGo

	mu        sync.Mutex // guards the fields below; acquired after Session.mu, before the Tracer's
	batches   []*batch
	variables []kept   // by index in the BPF programs' table
	notes     []string // texts of errors

	stop chan struct{}
	done sync.WaitGroup
}

func newKeeper(t *attach.Tracer, letGo LetGo) *keeper {
	return &keeper{tracer: t, letGo: letGo, stop: make(chan struct{})}
}

// add adds variables and returns the index of the first.
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

// places returns the module's probes of variables that the user did not name, in the order of
// the variables, so that those of one variable are in one batch or in few.
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

// attach attaches the probes of a module for a process.
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

// run starts a goroutine that looks at the counts every keepEvery, until halt.
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

// halt ends that goroutine. When halt returns, the keeper attaches and removes no more probes.
func (k *keeper) halt() {
	close(k.stop)
	k.done.Wait()
}

// look reads the counts, and removes the probes of variables that need not be watched any more.
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

// fate returns what happens to the probes of a variable with these counts. A variable of atomic
// type orders threads, so that its accesses are needed as long as there are threads.
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

// thin gives a new link to each batch that has places none of whose variables is watched any
// more.
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

// thinned removes such places from a batch, and gives it a new link. It returns the old link,
// for the caller to close, 0 if there is none, and whether any place of the batch is left.
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
	if !k.tracer.Replace(b.Owner, b.link, next.link) { // the process or the observation has ended
		if next.link != 0 {
			return next.link, false, nil
		}
		return 0, false, nil
	}
	old, *b = b.link, next
	return old, len(b.places) > 0, nil
}

// guarded marks a variable as guarded by a common lock; see Session.Guarded.
func (k *keeper) guarded(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range k.variables {
		if v := &k.variables[i]; v.Variable.Name == name {
			v.steady = true
		}
	}
}

// watched returns what happened to the probes of all variables; began is when the program began
// to run.
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

// Guarded records that all threads that access a variable have held a common lock for long: its
// probes may be removed. It has no effect on a variable that the user named, nor with
// Options.Follow, since each process then has a variable of its own.
func (s *Session) Guarded(name string) {
	if s.keeper != nil && !s.opts.Follow {
		s.keeper.guarded(name)
	}
}

// Watched returns the variables that the user did not name. It is valid at the end of the run.
func (s *Session) Watched() []Watched {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.watched
}

// settle collects the keeper's results once all probes are removed.
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
