package steer

import (
	"encoding/binary"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"time"
)

// Jitter delays threads at random: some before they begin, and all before some of their calls of Plan.Sites. Equal seeds
// are equal delays: what is drawn for a thread depends on the seed, its creation, and how often it has come to a site.
type Jitter struct {
	Seed uint64 `json:"seed"`
}

// maxDelay is the longest delay, and maxDelays how often a thread is delayed at a site. After each time twice as many
// calls may pass before the next, so that a run becomes longer by a bounded time.
const (
	maxDelay  = 60 * time.Millisecond
	maxDelays = 8
)

// Delays is the state of a Jitter in one run. It knows no process: the caller passes to it what happens. It is not for
// concurrent use.
type Delays struct {
	seed    uint64
	sites   int
	threads map[int]*delayed // by thread ID
}

// delayed is a thread.
type delayed struct {
	random *rand.Rand
	times  []int     // by site: how often it has been delayed there
	begun  bool      // Begins has been called
	until  time.Time // zero: it is not held
}

// NewDelays returns the state at the beginning of a run with so many sites.
func NewDelays(j Jitter, sites int) *Delays {
	return &Delays{seed: j.Seed, sites: sites, threads: map[int]*delayed{}}
}

// Created says that there is a thread, as in Gate.Thread, and returns at which of its calls it is to be stopped.
func (d *Delays) Created(tid int, path []int) (all []Armed) {
	h := fnv.New64a()
	for _, n := range path {
		_ = binary.Write(h, binary.LittleEndian, uint64(n)) // a hash never fails
	}
	t := &delayed{random: rand.New(rand.NewPCG(d.seed, h.Sum64())), times: make([]int, d.sites)}
	d.threads[tid] = t
	for site := range d.sites {
		all = append(all, Armed{Site: site, In: t.gap(site)})
	}
	return all
}

// gap returns at which of its next calls of a site a thread is to be stopped.
func (t *delayed) gap(site int) uint32 { return 1 + t.random.Uint32N(1<<t.times[site]) }

func (t *delayed) delay(now time.Time) {
	t.until = now.Add(time.Duration(t.random.Int64N(int64(maxDelay))))
}

// Begins says that a thread is about to execute its first instruction. It returns true if the thread is held until Tick
// returns it.
func (d *Delays) Begins(tid int, now time.Time) bool {
	t := d.threads[tid]
	if t == nil || t.begun {
		return false
	}
	t.begun = true
	if t.random.Uint32N(2) == 0 {
		return false
	}
	t.delay(now)
	return true
}

// Came says that a thread has come to a site at which it was to be stopped. It is held until Tick returns it. again is
// where it is to be stopped next; none if it is delayed there no more.
func (d *Delays) Came(tid, site int, now time.Time) (again []Armed) {
	t := d.threads[tid]
	t.delay(now)
	if t.times[site]++; t.times[site] < maxDelays {
		again = append(again, Armed{Site: site, In: t.gap(site)})
	}
	return again
}

// Knows reports whether Created has named a thread that has not ended.
func (d *Delays) Knows(tid int) bool { return d.threads[tid] != nil }

// Tick returns the threads that go on.
func (d *Delays) Tick(now time.Time) (goOn []int) {
	for tid, t := range d.threads {
		if !t.until.IsZero() && !now.Before(t.until) {
			t.until = time.Time{}
			goOn = append(goOn, tid)
		}
	}
	slices.Sort(goOn)
	return goOn
}

// Ended says that a thread has ended.
func (d *Delays) Ended(tid int) { delete(d.threads, tid) }

// Holds reports whether a thread is held.
func (d *Delays) Holds() bool {
	for _, t := range d.threads {
		if !t.until.IsZero() {
			return true
		}
	}
	return false
}
