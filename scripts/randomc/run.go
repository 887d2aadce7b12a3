package main

import (
	"math/rand/v2"
	"slices"
)

// event is a step of the one run that a program is made to show.
type event struct {
	thread   int
	in       *instruction
	wake     bool  // the second half of a wait: the mutex is acquired
	failed   bool  // of an attempt
	writer   int   // of a read or update: the event that wrote the value, -1 if none did
	holders  []int // of a failed attempt at a lock: the acquisitions of those who held it
	notifier int   // of a wake
	slot     int
}

// tries is how many random runs of a program are drawn before it is given up, and choice from how
// many good ones one is taken.
const (
	tries  = 60
	choice = 8
)

// fortunate draws a run that ends well, in which only events have a choice that time slots can
// decide: no signal has two threads to choose from, no two threads are woken for one mutex at the
// same time, and who is woken acquires the mutex as soon as it is free. It prefers runs in which
// threads wait for conditions and attempts fail.
func (p *program) fortunate(r *rand.Rand) ([]event, bool) {
	var best []event
	found := 0
	for range tries {
		run, ok := p.walk(r, []float64{0, 0.5, 0.85}[r.IntN(3)])
		if !ok {
			continue
		}
		if best == nil || eventful(run) > eventful(best) {
			best = run
		}
		if found++; found == choice {
			break
		}
	}
	return best, best != nil
}

// eventful counts what makes a run rare.
func eventful(run []event) int {
	n := 0
	for _, e := range run {
		if e.wake {
			n += 2
		}
		if e.failed {
			n++
		}
	}
	return n
}

// walker draws one run.
type walker struct {
	*program
	now      state
	run      []event
	writers  [mostVariables]int
	sections [mostThreads][mostLocks]int // the acquisition of what each thread holds
	notified [mostThreads]int
}

// walk draws a run; with the probability of stay the next event is of the same thread as the last.
func (p *program) walk(r *rand.Rand, stay float64) ([]event, bool) {
	w := &walker{program: p, now: p.initial()}
	for i := range w.writers {
		w.writers[i] = -1
	}
	last := 0
	for !p.over(&w.now) {
		t, ok := w.choose(r, last, stay)
		if !ok {
			return nil, false
		}
		last = t
		w.take(t)
	}
	for t := range p.routine {
		if !p.ended(&w.now, t) {
			return nil, false
		}
	}
	return w.run, len(w.run) < mostEvents
}

// choose returns the thread of the next event, if there is one that may be.
func (w *walker) choose(r *rand.Rand, last int, stay float64) (int, bool) {
	var can []int
	for t := range w.routine {
		if !w.enabled(&w.now, t) {
			continue
		}
		if in := w.current(&w.now, t); w.now.phase[t] == woken || in.kind == increment {
			return t, true // at once
		}
		if !w.ambiguous(t) {
			can = append(can, t)
		}
	}
	if len(can) == 0 {
		return 0, false
	}
	if slices.Contains(can, last) && r.Float64() < stay {
		return last, true
	}
	return can[r.IntN(len(can))], true
}

// ambiguous reports whether the threads decide what the next event of one leads to.
func (w *walker) ambiguous(t int) bool {
	in := w.current(&w.now, t)
	if in.kind != signal && in.kind != broadcast {
		return false
	}
	var pending [mostLocks]int
	for u := range w.routine {
		if w.now.phase[u] == woken || w.sleepsOn(&w.now, u, in.object) {
			pending[w.current(&w.now, u).mutex]++
		}
	}
	for _, n := range pending {
		if n > 1 {
			return true
		}
	}
	return false
}

// take executes the next step of a thread, which leads to one state.
func (w *walker) take(t int) {
	in, before := w.current(&w.now, t), w.now
	e := event{thread: t, in: in, wake: before.phase[t] == woken, writer: -1, notifier: -1}
	w.now = w.step(before, t, nil)[0]
	at := len(w.run)
	switch {
	case e.wake:
		e.notifier = w.notified[t]
		w.sections[t][in.mutex] = at
	case in.kind == lock || in.kind == readLock:
		w.sections[t][in.object] = at
	case in.kind == tryLock:
		w.try(&e, before.locks[in.object], at)
	case in.kind == semTry:
		e.failed = before.semaphores[in.object] == 0
	case in.kind == read || in.kind == update:
		e.writer = w.writers[in.object]
	}
	switch in.kind {
	case write, increment, update:
		w.writers[in.object] = at
	case signal, broadcast:
		for u := range w.routine {
			if before.phase[u] == asleep && w.now.phase[u] == woken {
				w.notified[u] = at
			}
		}
	}
	e.slot = w.slot(in)
	w.run = append(w.run, e)
}

func (w *walker) try(e *event, held uint8, at int) {
	e.failed = held != 0
	if !e.failed {
		w.sections[e.thread][e.in.object] = at
	}
	for u, by := 0, holders(held, false); u < len(w.routine); u++ {
		if by&(1<<u) != 0 {
			e.holders = append(e.holders, w.sections[u][e.in.object])
		}
	}
}

// slot returns the time slot of the next event: a new one, unless it is the second half of an increment.
func (w *walker) slot(in *instruction) int {
	if len(w.run) == 0 {
		return 1
	}
	last := w.run[len(w.run)-1].slot
	if in.kind == increment {
		return last
	}
	return last + 1
}
