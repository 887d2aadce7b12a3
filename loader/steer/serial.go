package steer

import (
	"cmp"
	"encoding/binary"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"time"
)

// Serial has one thread at a time run between gated events: the beginnings of threads, and calls of Plan.Sites. It is the
// scheduler PCT (Burckhardt, Kothari, Musuvathi, Nagarakatte, "A Randomized Scheduler with Probabilistic Guarantees of
// Finding Bugs", ASPLOS 2010): each thread has a random priority, that of the highest goes on, and at Depth-1 random
// events the thread that comes there gets a priority below all others. A schedule of n threads and k events that Depth
// constraints on the order of events decide is met with a probability of at least 1/(n*k^(Depth-1)).
//
// Equal seeds are equal priorities and equal changes. What threads do between gated events, and when the kernel wakes
// those that wait there, is not part of a seed.
type Serial struct {
	Seed   uint64 `json:"seed"`
	Depth  int    `json:"depth"`  // D, at least 1
	Events int    `json:"events"` // k: gated events among which the changes are drawn
}

// The bounds of Turns.
const (
	// maxTurns is the number of gated events after which the rest of the run is free: each costs two stops.
	maxTurns = 1 << 16
	// turnBound is the processor time that the thread whose turn it is may take without a gated event until the next one
	// goes on beside it: it may wait in a loop for one that is held.
	turnBound = 50 * time.Millisecond
	// asleepLooks is in how many looks in a row the thread whose turn it is must sleep until the next one goes on: short
	// waits, as for memory, are none.
	asleepLooks = 4
)

// Turns is the state of a Serial in one run. It knows no process: the caller passes to it what happens. It makes no
// deadlock: a thread is held only while another one runs, and that for turnBound of its processor time at most. It is not for concurrent use.
type Turns struct {
	serial  Serial
	sites   int
	changes map[int]int // by the number of a gated event, from 1: the priority that its thread gets, below 0
	threads map[int]*turn
	events  int // for which threads have gone on
}

// turn is a thread.
type turn struct {
	priority float64 // the higher one goes on; they begin between 0 and 1
	begun    bool    // Begins has been called, or it is the first
	held     bool
	away     bool // it was let go, and sleeps, or has run for long: the others do not wait for it
	asleep   int  // looks in a row in which it slept
	looked   bool // it has been looked at since it was let go
	ran      time.Duration
}

// Look is what a thread does at a time.
type Look struct {
	Asleep bool          // it waits in the kernel
	Ran    time.Duration // processor time so far
}

// NewTurns returns the state at the beginning of a run with so many sites.
func NewTurns(s Serial, sites int) *Turns {
	t := &Turns{serial: s, sites: sites, changes: map[int]int{}, threads: map[int]*turn{}}
	random := rand.New(rand.NewPCG(s.Seed, 0))
	for i := 1; i < s.Depth && len(t.changes) < s.Events; {
		if at := 1 + random.IntN(s.Events); t.changes[at] == 0 {
			t.changes[at] = -i
			i++
		}
	}
	return t
}

// Created says that there is a thread, as in Gate.Thread, and returns at which of its calls it is to be stopped: at the
// next of each site.
func (t *Turns) Created(tid int, path []int) (all []Armed) {
	h := fnv.New64a()
	for _, n := range path {
		_ = binary.Write(h, binary.LittleEndian, uint64(n)) // a hash never fails
	}
	t.threads[tid] = &turn{priority: rand.New(rand.NewPCG(t.serial.Seed, h.Sum64())).Float64(), begun: len(path) == 0}
	if t.events >= maxTurns {
		return nil
	}
	for site := range t.sites {
		all = append(all, Armed{Site: site, In: 1})
	}
	return all
}

// Knows reports whether Created has named a thread that has not ended.
func (t *Turns) Knows(tid int) bool { return t.threads[tid] != nil }

// Begins says that a thread is about to execute its first instruction. It stays if stays is true, until it is among those
// that are returned as going on, here or later.
func (t *Turns) Begins(tid int) (stays bool, goOn []int) {
	th := t.threads[tid]
	if th == nil || th.begun {
		return false, nil
	}
	th.begun = true
	goOn = t.event(th)
	if i := slices.Index(goOn, tid); i >= 0 {
		return false, slices.Delete(goOn, i, i+1)
	}
	return true, goOn
}

// Came says that a thread has come to a site at which it was to be stopped, and returns the threads that go on, this one
// perhaps among them. again is where it is to be stopped next; none if the rest of the run is free.
func (t *Turns) Came(tid, site int) (again []Armed, goOn []int) {
	if goOn = t.event(t.threads[tid]); t.events < maxTurns {
		again = []Armed{{Site: site, In: 1}}
	}
	return again, goOn
}

// event handles that a thread has come to a gated event, and returns the threads that go on.
func (t *Turns) event(th *turn) []int {
	th.held, th.away = true, false
	return t.next()
}

// next returns the thread whose turn it is, if no other one runs; all that are held once the rest of the run is free.
func (t *Turns) next() (goOn []int) {
	if t.events >= maxTurns {
		return t.letGo()
	}
	for _, th := range t.threads {
		if !th.held && !th.away && th.begun {
			return nil
		}
	}
	tid := t.highest()
	if to, changes := t.changes[t.events+1]; changes && tid != 0 {
		delete(t.changes, t.events+1)
		t.threads[tid].priority = float64(to)
		tid = t.highest()
	}
	if tid == 0 {
		return nil
	}
	t.events++
	th := t.threads[tid]
	th.held, th.asleep, th.looked = false, 0, false
	return []int{tid}
}

// letGo returns all threads that are held.
func (t *Turns) letGo() (goOn []int) {
	for tid, th := range t.threads {
		if th.held {
			th.held = false
			goOn = append(goOn, tid)
		}
	}
	slices.Sort(goOn)
	return goOn
}

// highest returns the held thread of the highest priority; 0 if none is held.
func (t *Turns) highest() (best int) {
	for tid, th := range t.threads {
		if th.held && (best == 0 || t.before(tid, best)) {
			best = tid
		}
	}
	return best
}

// before reports whether a thread goes on before another one.
func (t *Turns) before(a, b int) bool {
	return cmp.Or(-cmp.Compare(t.threads[a].priority, t.threads[b].priority), cmp.Compare(a, b)) < 0
}

// Tick looks at the threads whose turn it is, and returns the threads that go on.
func (t *Turns) Tick(look func(tid int) Look) (goOn []int) {
	for tid, th := range t.threads {
		if th.held || th.away || !th.begun {
			continue
		}
		now := look(tid)
		if !th.looked {
			th.looked, th.ran = true, now.Ran
		}
		if th.asleep++; !now.Asleep {
			th.asleep = 0
		}
		th.away = th.asleep >= asleepLooks || now.Ran-th.ran >= turnBound
	}
	return t.next()
}

// Ended says that a thread has ended, and returns the threads that go on.
func (t *Turns) Ended(tid int) (goOn []int) {
	delete(t.threads, tid)
	return t.next()
}

// Holds reports whether a thread is held.
func (t *Turns) Holds() bool {
	for _, th := range t.threads {
		if th.held {
			return true
		}
	}
	return false
}
