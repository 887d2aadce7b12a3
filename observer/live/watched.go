package live

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/loader"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
	"github.com/tracepredict/tracepredict/observer/trace"
)

// A variable is known to be guarded after DefaultGuarded recorded accesses, all under the same
// locks, of which at least minSwitches were made by another thread than the access before.
const (
	DefaultGuarded = 1 << 12

	minSwitches = 16
	reportEvery = 100 * time.Millisecond
	reportShare = 50      // at most this part of the time is spent on it: memory has many variables
	reportAfter = 1 << 14 // records after which reportGuarded is called even if the reader is never idle
)

// Uses is the part of a engine.Engine that reports how threads have used each variable so far.
type Uses interface{ Uses() []run.Use }

// Sharing passes records to the observer of a Link, and reports to the session which variables
// of --watch-shared are known to be guarded; a loader.Handler.
type Sharing struct {
	*Link
	Analyses Uses
	Guarded  uint64                  // recorded accesses after which a variable is known to be guarded; 0: never
	next     time.Time               // earliest time of the next call to the analyses
	reported map[event.ObjectID]bool // variables reported as guarded
	records  int                     // records handled
}

// Stack implements loader.Handler.
func (s *Sharing) Stack(r *bpf.StackRecord) { s.Observer.Stack(r) }

// Call implements loader.Handler.
func (s *Sharing) Call(r *bpf.CallRecord) { s.Observer.Call(r) }

// Idle implements loader.Handler.
func (s *Sharing) Idle() {
	s.Observer.Idle()
	s.reportGuarded()
}

// Record implements loader.Handler. A program that makes events faster than they are
// analysed never leaves the reader idle, and its probes are those to remove.
func (s *Sharing) Record(r *bpf.Record) {
	s.Observer.Record(r)
	if s.records++; s.records%reportAfter == 0 {
		s.reportGuarded()
	}
}

// reportGuarded reports the variables that are known to be guarded by now to the session.
func (s *Sharing) reportGuarded() {
	now := time.Now()
	if s.Session == nil || s.Guarded == 0 || now.Before(s.next) {
		return
	}
	defer func() { s.next = time.Now().Add(max(reportEvery, reportShare*time.Since(now))) }()
	if s.reported == nil {
		s.reported = map[event.ObjectID]bool{}
	}
	for _, u := range s.Analyses.Uses() {
		if s.reported[u.Variable] || len(u.Guards) == 0 || u.StableAccesses < s.Guarded || u.ThreadSwitches < minSwitches {
			continue
		}
		if o, ok := s.Observer.ObjectInfo(u.Variable); ok {
			s.reported[u.Variable] = true
			s.Session.Guarded(o.Name)
		}
	}
}

// maxWatched bounds the variables in a summary, and maxUnwatched the places of each.
const (
	maxWatched   = 1 << 13
	maxUnwatched = 8
)

// AddWatched adds the variables of --watch-shared to a summary: how threads used each, and
// what became of its probes.
func (l *Link) AddWatched(sum *run.Summary, uses []run.Use, names run.Namer) {
	s, o := l.Session, l.Observer
	byName, arrays := map[string]run.Use{}, map[string]*elementUses{}
	for _, u := range uses {
		info, ok := o.ObjectInfo(u.Variable)
		switch {
		case ok && info.Array != "":
			if arrays[info.Array] == nil {
				arrays[info.Array] = &elementUses{}
			}
			arrays[info.Array].add(u)
		case ok:
			name := cmp.Or(info.Name, names.Object(u.Variable).Name) // it may have been accessed through a pointer first
			byName[name] = mergeUses(byName[name], u)
		}
	}
	all, modules := s.Watched(), s.Modules()
	for _, w := range all {
		if w.Hits == 0 {
			sum.Untouched++
			continue
		}
		if a := arrays[w.Variable.Name]; a != nil {
			sum.Watched = append(sum.Watched, a.watched(w, names))
		} else {
			sum.Watched = append(sum.Watched, watchedVariable(w, byName[w.Variable.Name], names))
		}
		sum.Watched[len(sum.Watched)-1].Unwatched = unwatched(modules, w)
	}
	slices.SortStableFunc(sum.Watched, func(a, b run.Watched) int {
		if c := rank(a) - rank(b); c != 0 {
			return c
		}
		return strings.Compare(a.Variable, b.Variable)
	})
	dropped := 0
	for _, w := range sum.Watched {
		if w.Outcome != loader.OutcomeKept.String() {
			dropped++
		}
	}
	if dropped > 0 {
		sum.Notes = append(sum.Notes, plural.Sprintf("%d {variable was|variables were} not watched to the end where {it was|they were} accessed often: what threads did there later is not in the findings", dropped))
	}
	if n := len(sum.Watched) - maxWatched; n > 0 {
		sum.Watched = sum.Watched[:maxWatched]
		sum.Notes = append(sum.Notes, plural.Sprintf("%d more {variable was|variables were} accessed than are listed", n))
	}
}

// unwatched returns the places where a variable was not watched to the end.
func unwatched(ms []*loader.Module, w loader.Watched) (places []string) {
	for _, site := range w.Removed {
		if place := placeOf(ms, site); len(places) < maxUnwatched && place != "" && !slices.Contains(places, place) {
			places = append(places, place)
		}
	}
	slices.Sort(places)
	return places
}

// placeOf describes where a site is, by its index in records.
func placeOf(ms []*loader.Module, site uint32) string {
	for _, m := range ms {
		if m.Plan != nil && site >= m.Base && site-m.Base < uint32(len(m.Plan.Sites)) {
			return trace.Shorten(m.Plan.Place(m.Plan.Sites[site-m.Base].At))
		}
	}
	return ""
}

// mergeUses returns the common use of the variables with one name in two processes.
func mergeUses(a, b run.Use) run.Use {
	if a.Variable == 0 {
		return b
	}
	b.Threads += a.Threads
	b.Accesses += a.Accesses
	b.Writes += a.Writes
	b.Conflicts = a.Conflicts || b.Conflicts
	b.Guards = slices.DeleteFunc(slices.Clone(b.Guards), func(id event.ObjectID) bool { return !slices.Contains(a.Guards, id) })
	return b
}

func watchedVariable(w loader.Watched, u run.Use, names run.Namer) run.Watched {
	out := run.Watched{
		Variable: trace.Shorten(w.Variable.Name), Threads: max(u.Threads, 1), Accesses: w.Hits, Recorded: u.Accesses,
		Outcome: w.Outcome.String(), Until: w.Until, Guards: []string{},
	}
	for _, id := range u.Guards {
		out.Guards = append(out.Guards, lockName(names.Object(id)))
	}
	slices.Sort(out.Guards)
	if out.Use = useOf(u); w.Variable.Atomic {
		out.Use = run.UseAtomic
	}
	return out
}

func useOf(u run.Use) string {
	switch {
	case u.Threads < 2:
		return run.UseUnshared
	case u.Writes == 0:
		return run.UseReadOnly
	case !u.Conflicts:
		return run.UseOrdered
	case len(u.Guards) > 0:
		return run.UseGuarded
	}
	return run.UseUnguarded
}

// elementUses is how threads used the elements of an array. The use of the array is that
// of the element with the weakest protection.
type elementUses struct {
	worst  string           // the use with the weakest protection; "": no element yet
	most   run.Use          // Threads of the element with the most, Accesses of all elements
	guards []event.ObjectID // locks of guarded elements, at most maxGuards
	count  uint64           // number of elements
}

func (e *elementUses) add(u run.Use) {
	use := useOf(u)
	if e.worst == "" || rankOf(use) < rankOf(e.worst) {
		e.worst = use
	}
	e.count++
	e.most.Threads = max(e.most.Threads, u.Threads)
	e.most.Accesses += u.Accesses
	for _, g := range u.Guards {
		if use == run.UseGuarded && !slices.Contains(e.guards, g) && len(e.guards) < maxGuards {
			e.guards = append(e.guards, g)
		}
	}
}

// maxGuards bounds the locks that are listed for one array, each element of which may have
// its own.
const maxGuards = 8

func (e *elementUses) watched(w loader.Watched, names run.Namer) run.Watched {
	u := e.most
	if e.worst == run.UseGuarded {
		u.Guards = e.guards
	}
	out := watchedVariable(w, u, names)
	out.Use, out.Elements = e.worst, e.count
	return out
}

func lockName(o run.Object) string {
	if o.Name != "" {
		return o.Name
	}
	if o.Member != "" {
		return fmt.Sprintf("%s at %#x", o.Member, o.Addr)
	}
	return fmt.Sprintf("%#x", o.Addr)
}

// rank returns the position of a variable in the list, where weakly protected ones come first.
func rank(w run.Watched) int { return rankOf(w.Use) }

func rankOf(use string) int {
	return slices.Index([]string{run.UseUnguarded, run.UseGuarded, run.UseOrdered, run.UseReadOnly, run.UseAtomic, run.UseUnshared}, use)
}
