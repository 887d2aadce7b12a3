// Package steer holds threads of a program before chosen calls, so that a run follows a schedule, or before two accesses
// of the same memory (Pair, Meeting). A Plan says at which
// hit of which call which thread waits (a Gate), and which other threads must have come to theirs before it goes on.
// Steering is the state of a plan, and knows no process: the caller passes to it what happens, with the time, and it
// returns which threads go on. Probes is the part in the kernel: a uprobe at the call, whose BPF program counts a
// thread's hits and sends that thread alone a signal. Its tracer takes the signal and leaves the thread in the stop.
//
// Nothing is written into the program. When the tracer dies, the kernel lets the thread go, removes the probes, and
// ignores the signal. A thread that is not in the plan pays for the probe alone.
//
// Steering makes no deadlock: if nothing but held threads is left to run, or a thread is held for too long, all held
// threads are let go. From then on the run is free, and the outcome says where it left the plan. So no thread waits for ever because
// of a plan.
package steer

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Plan is a schedule that threads of a program are to follow.
type Plan struct {
	Sites []Site `json:"sites"`
	Gates []Gate `json:"gates"`          // in the order of the schedule
	Pair  *Pair  `json:"pair,omitempty"` // nil: no accesses are to meet
	// Exact: threads stop before the very instructions, by hardware breakpoints, and a Gate can wait for what is executed
	// there. Otherwise all sites are calls, and threads stop at the entry of what is called.
	Exact bool `json:"exact,omitempty"`
	// Jitter delays threads at random, instead of a schedule; nil: it does not.
	Jitter *Jitter `json:"jitter,omitempty"`
	// Serial has threads take turns at random, instead of a schedule; nil: it does not.
	Serial *Serial `json:"serial,omitempty"`
}

// Use returns the number of a site, which it adds if the plan does not have it.
func (p *Plan) Use(s Site) int {
	if i := slices.Index(p.Sites, s); i >= 0 {
		return i
	}
	p.Sites = append(p.Sites, s)
	return len(p.Sites) - 1
}

// Site is an instruction in a file.
type Site struct {
	Module string `json:"module"`           // path of the file, as the process names it
	Return uint64 `json:"return,omitempty"` // of a call: the address behind it, as linked
	At     uint64 `json:"at,omitempty"`     // the address of the instruction, as linked; 0: it is the call before Return
}

// Gate is a point before which a thread waits.
type Gate struct {
	// Thread is the thread by its creation: how many threads had been created before it by the same thread, from the
	// first thread of the program on. An empty path is the first thread.
	Thread []int `json:"thread"`
	Site   int   `json:"site"` // index in Plan.Sites
	// Count is the thread's hit of the site, from 1, of an Exact plan since its gate before; 0: the first after that.
	Count uint32 `json:"count"`
	After []int  `json:"after,omitempty"` // gates that must have been come to before the thread goes on
	// Behind are the gates of an Exact plan whose instructions must have been executed before the thread goes on.
	Behind []int `json:"behind,omitempty"`
	// Returns: the instruction is a call, or the first one of what is called, and has been executed when that has returned.
	Returns bool `json:"returns,omitempty"`
	// Pause is the time that passes after the gate's instruction has been executed, before others that wait for that go
	// on.
	Pause time.Duration `json:"pause_ns,omitempty"`
	// Optional: the schedule is complete without it.
	Optional bool   `json:"optional,omitempty"`
	What     string `json:"what"` // for people: "T2 requests b at gate.c:17"
}

// Check returns an error if the plan is none that a Steering can follow.
func (p *Plan) Check() error {
	for i, g := range p.Gates {
		if g.Site < 0 || g.Site >= len(p.Sites) {
			return fmt.Errorf("gate %d of the plan is at site %d, and there are %d", i, g.Site, len(p.Sites))
		}
		for _, a := range slices.Concat(g.After, g.Behind) {
			if a < 0 || a >= len(p.Gates) {
				return fmt.Errorf("gate %d of the plan waits for gate %d, and there are %d", i, a, len(p.Gates))
			}
		}
		if !p.Exact && (len(g.Behind) > 0 || p.Sites[g.Site].At > 0) || g.Returns && !p.Exact {
			return fmt.Errorf("gate %d of the plan is none that such a plan has", i)
		}
	}
	if p.Serial != nil && (p.Serial.Depth < 1 || p.Jitter != nil || len(p.Gates) > 0 || p.Pair != nil) {
		return fmt.Errorf("turns of depth %d are none that a plan has, or are not all of it", p.Serial.Depth)
	}
	if p.Pair != nil {
		return p.Pair.Check()
	}
	return nil
}

// The bounds after which what is held is let go.
const (
	idleBound = 500 * time.Millisecond // while no thread runs or waits for a time to pass
	heldBound = 5 * time.Second        // in any case
)

// Outcome is what became of a plan.
type Outcome struct {
	// Complete reports that all gates were come to, and each thread went on when it was its turn.
	Complete bool `json:"complete"`
	// Diverged is the number of the gate, from 1, at which the run left the plan; 0: at none.
	Diverged int    `json:"diverged,omitempty"`
	Reason   string `json:"reason,omitempty"` // why it did; "" if it did not
	// Held is the number of threads that are held.
	Held int `json:"held,omitempty"`
	// Stayed reports that the threads came to the calls of their last gates, and then ran in these until they were not
	// looked at any longer, and the program was ended.
	Stayed bool `json:"stayed,omitempty"`
	// Met is what became of Plan.Pair; nil: the threads did not meet, and Reason says why.
	Met *Met `json:"met,omitempty"`
}

// state is what has become of a gate.
type state uint8

const (
	ahead  state = iota // its thread has not come to it
	held                // its thread is held there
	going               // of an Exact plan: its thread executes the instruction
	passed              // its thread has gone on, or will never come
)

// thread is a thread of the plan that exists.
type thread struct {
	tid   int
	gates []int // in the order of the schedule
	hits  map[int]uint32
	armed map[int]int // by site: the gate for which Arm has returned it last
}

// Steering is the state of a plan in one run. The zero time is no time of it. It is not for concurrent use.
type Steering struct {
	plan    Plan
	state   []state
	since   map[int]time.Time // by gate: when its thread came, and then when it had executed the instruction
	paths   map[int][]int     // by thread ID
	created map[int]int       // by thread ID: how many threads it has created
	threads map[int]*thread   // by thread ID: those of the plan
	idle    time.Time         // since when nothing goes on; zero: something does
	free    bool              // the run has left the plan
	outcome Outcome
}

// New returns the state of a plan, which Check has accepted, at the beginning of a run.
func New(plan Plan) *Steering {
	return &Steering{
		plan: plan, state: make([]state, len(plan.Gates)), since: map[int]time.Time{}, paths: map[int][]int{},
		created: map[int]int{}, threads: map[int]*thread{},
	}
}

// First says which thread is the program's first.
func (s *Steering) First(tid int) { s.add(tid, []int{}) }

// Created says that a thread has created another one. Those of threads that are not known are not known either.
func (s *Steering) Created(parent, tid int) {
	path, known := s.paths[parent]
	if !known {
		return
	}
	s.add(tid, append(slices.Clone(path), s.created[parent]))
	s.created[parent]++
}

func (s *Steering) add(tid int, path []int) {
	s.paths[tid] = path
	t := &thread{tid: tid, hits: map[int]uint32{}, armed: map[int]int{}}
	for i, g := range s.plan.Gates {
		if slices.Equal(g.Thread, path) {
			t.gates = append(t.gates, i)
		}
	}
	if len(t.gates) > 0 {
		s.threads[tid] = t
	}
}

// Known reports whether First or Created has named the thread.
func (s *Steering) Known(tid int) bool { return s.paths[tid] != nil }

// Path returns which thread a thread is, as in a Gate; nil if that is not known.
func (s *Steering) Path(tid int) []int { return s.paths[tid] }

// Is reports whether a thread is the one of a path, as in a Gate.
func (s *Steering) Is(tid int, path []int) bool {
	own, known := s.paths[tid]
	return known && slices.Equal(own, path)
}

// Armed is a site at which a thread is to be stopped.
type Armed struct {
	Site int    // index in Plan.Sites
	In   uint32 // at which of its next hits, from 1
}

// Next returns the gate of an Exact plan at which a thread is to be stopped next.
func (s *Steering) Next(tid int) (gate int, ok bool) {
	t := s.threads[tid]
	if t == nil || s.free || !s.plan.Exact {
		return 0, false
	}
	for _, i := range t.gates {
		if s.state[i] == ahead {
			return i, true
		}
	}
	return 0, false
}

// Arm returns where a thread is to be stopped next, unless the plan is Exact: for each site the first gate ahead. It does not
// return again where the thread is to be stopped anyway: some of the hits that are counted may have been.
func (s *Steering) Arm(tid int) []Armed {
	t := s.threads[tid]
	if t == nil || s.free || s.plan.Exact {
		return nil
	}
	var out []Armed
	seen := map[int]bool{}
	for _, i := range t.gates {
		g := s.plan.Gates[i]
		if s.state[i] != ahead || seen[g.Site] {
			continue
		}
		seen[g.Site] = true
		if at, armed := t.armed[g.Site]; armed && at == i {
			continue
		}
		t.armed[g.Site] = i
		in := uint32(1)
		if g.Count > t.hits[g.Site] {
			in = g.Count - t.hits[g.Site]
		}
		out = append(out, Armed{Site: g.Site, In: in})
	}
	return out
}

// Came says that a thread has come to a site at which it was to be stopped, and returns the threads that go on, this
// one perhaps among them. A thread that is not returned is held until Came, Tick or Ended returns it.
func (s *Steering) Came(tid, site int, now time.Time) (goOn []int) {
	t := s.threads[tid]
	if t == nil || s.free {
		return []int{tid}
	}
	at := slices.IndexFunc(t.gates, func(i int) bool { return s.state[i] == ahead && s.plan.Gates[i].Site == site })
	if at < 0 {
		return []int{tid}
	}
	for _, i := range t.gates[:at] {
		if s.state[i] == ahead {
			s.state[i] = passed // the thread went another way
			s.diverge(i, "the thread came to a later step without it")
		}
	}
	gate := t.gates[at]
	delete(t.armed, site)
	t.hits[site] = cmp.Or(s.plan.Gates[gate].Count, t.hits[site]+1)
	s.state[gate], s.since[gate], s.idle = held, now, time.Time{}
	return s.turns(now)
}

// turns returns the threads that are held and whose turn has come.
func (s *Steering) turns(now time.Time) (goOn []int) {
	for _, t := range s.threads {
		for _, i := range t.gates {
			if s.state[i] == held && s.turn(&s.plan.Gates[i], now) {
				goOn = append(goOn, t.tid)
				if s.state[i] = passed; s.plan.Exact {
					s.state[i] = going
				}
			}
		}
	}
	slices.Sort(goOn)
	return goOn
}

// turn reports whether nothing is left for which a gate waits.
func (s *Steering) turn(g *Gate, now time.Time) bool {
	return !slices.ContainsFunc(g.After, func(a int) bool { return s.state[a] == ahead }) &&
		!slices.ContainsFunc(g.Behind, func(a int) bool {
			return s.state[a] != passed || now.Sub(s.since[a]) < s.plan.Gates[a].Pause
		})
}

// Free reports whether the run has left the plan.
func (s *Steering) Free() bool { return s.free }

// Threads returns the threads that are known.
func (s *Steering) Threads() []int { return slices.Sorted(maps.Keys(s.paths)) }

// Executes returns the gate whose instruction a thread is to execute that goes on, after which the caller calls Executed.
func (s *Steering) Executes(tid int) (gate int, ok bool) {
	t := s.threads[tid]
	if t == nil {
		return 0, false
	}
	at := slices.IndexFunc(t.gates, func(i int) bool { return s.state[i] == going })
	if at < 0 {
		return 0, false
	}
	return t.gates[at], true
}

// Executed says that a thread has executed the instruction of its gate, and returns the other threads that go on.
func (s *Steering) Executed(tid int, now time.Time) (goOn []int) {
	t := s.threads[tid]
	if t == nil {
		return nil
	}
	for _, i := range t.gates {
		if s.state[i] == going {
			s.state[i], s.since[i] = passed, now
		}
	}
	return s.turns(now)
}

// Ended says that a thread has ended, and returns the threads that go on.
func (s *Steering) Ended(tid int, now time.Time) (goOn []int) {
	t := s.threads[tid]
	delete(s.threads, tid)
	delete(s.paths, tid)
	delete(s.created, tid)
	if t == nil || s.free {
		return nil
	}
	for _, i := range t.gates {
		switch {
		case s.state[i] == going:
			s.state[i], s.since[i] = passed, now
		case s.state[i] == ahead && !s.plan.Gates[i].Optional:
			s.diverge(i, "the thread ended without it")
			return s.letGo()
		}
	}
	return s.turns(now)
}

// Tick says what time it is, and whether some thread runs or waits for a time to pass. It returns the threads that are
// let go: all that are held, if that has lasted too long.
func (s *Steering) Tick(now time.Time, going bool) (goOn []int) {
	if s.Held() == 0 {
		s.idle = time.Time{}
		return nil
	}
	if goOn = s.turns(now); len(goOn) > 0 {
		s.idle = time.Time{}
		return goOn
	}
	switch {
	case going:
		s.idle = time.Time{}
	case s.idle.IsZero():
		s.idle = now
	case now.Sub(s.idle) >= idleBound:
		return s.giveWay(fmt.Sprintf("nothing else went on for %v", idleBound))
	}
	for i, since := range s.since {
		if s.state[i] == held && now.Sub(since) >= heldBound {
			return s.giveWay(fmt.Sprintf("a thread had been held for %v", heldBound))
		}
	}
	return nil
}

// giveWay returns the threads that are held without need, if there are some. Otherwise it ends steering, for a reason, at
// the first gate to which no thread has come, and returns the held threads.
func (s *Steering) giveWay(why string) []int {
	if goOn := s.pass(func(i int) bool { return s.plan.Gates[i].Optional }); len(goOn) > 0 {
		s.idle = time.Time{}
		return goOn
	}
	if i := slices.Index(s.state, going); i >= 0 {
		s.diverge(i, "it did not return: "+why)
	} else if i := s.missing(); i >= 0 {
		s.diverge(i, why)
	}
	return s.letGo()
}

// missing returns the first gate to which no thread has come; -1 if there is none but optional ones.
func (s *Steering) missing() int {
	for i := range s.state {
		if s.state[i] == ahead && !s.plan.Gates[i].Optional {
			return i
		}
	}
	return -1
}

// diverge records where the run has left the plan, unless it has before.
func (s *Steering) diverge(gate int, why string) {
	if s.outcome.Diverged == 0 {
		s.outcome.Diverged, s.outcome.Reason = gate+1, fmt.Sprintf("%s: %s", s.plan.Gates[gate].What, why)
	}
}

// letGo returns all threads that are held, and ends the steering.
func (s *Steering) letGo() (goOn []int) {
	s.free = true
	return s.pass(func(int) bool { return true })
}

// pass returns the threads that are held at some gates, which they pass.
func (s *Steering) pass(which func(gate int) bool) (goOn []int) {
	for tid, t := range s.threads {
		for _, i := range t.gates {
			if s.state[i] == held && which(i) {
				s.state[i] = passed
				goOn = append(goOn, tid)
			}
		}
	}
	slices.Sort(goOn)
	return goOn
}

// Held returns the number of threads that are held.
func (s *Steering) Held() (n int) {
	for _, st := range s.state {
		if st == held {
			n++
		}
	}
	return n
}

// Outcome returns what has become of the plan so far.
func (s *Steering) Outcome() Outcome {
	out := s.outcome
	out.Held = s.Held()
	if i := s.missing(); i >= 0 && out.Diverged == 0 {
		out.Diverged, out.Reason = i+1, s.plan.Gates[i].What+": the run ended without it"
	}
	out.Complete = out.Diverged == 0 && out.Held == 0
	return out
}
