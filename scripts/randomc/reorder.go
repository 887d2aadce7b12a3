package main

import "slices"

// mostEvents is the least number of events that a run has too many of.
const mostEvents = 250

// prefixes is a state of a reordering of a run: how many of its events each thread has executed,
// and what the order of these decides.
type prefixes struct {
	done       [mostThreads]uint8
	last       [mostVariables]uint8 // the last write of each variable, by its event's number plus one
	notified   uint64               // the waits whose notification has come since they began, a bit each
	locks      [mostLocks]uint8     // as in state
	semaphores [mostSemaphores]uint8
}

// reordering holds what is known of a run's events before they are reordered.
type reordering struct {
	*program
	run      []event
	threads  [mostThreads][]int // the events of each
	position []int              // of each event in its thread
	creation [mostThreads]int
	wait     map[int]uint // the bit of each wait, by both of its events
	ends     map[int]int  // the release that ends the section of an acquisition
}

// reachable returns the errors that some reordering of the run's own events leads to: each thread
// executes a prefix of its events; locks, semaphores, creations and joins are respected; a failed
// attempt finds the lock held by a section that it failed at in the run, or the semaphore at 0; a
// wait ends by the notification that ended it in the run; and each read sees the write that it saw
// in the run. The two accesses of a race come next, whatever they would see. With each error is
// one of the shortest reorderings that lead to it: events of the run by number.
func (p *program) reachable(run []event) (found map[fault][]int, ok bool) {
	r := newReordering(p, run)
	found = map[fault][]int{}
	var begin prefixes
	for i, v := range p.semaphores {
		begin.semaphores[i] = uint8(v)
	}
	before := map[prefixes]came{begin: {}}
	for queue := []prefixes{begin}; len(queue) > 0; queue = queue[1:] {
		s := queue[0]
		if int(s.done[0]) == len(r.threads[0]) {
			continue // the process has ended
		}
		here := faults{}
		r.judge(&s, here)
		for f := range here {
			if _, known := found[f]; !known {
				found[f] = r.path(before, s, begin)
			}
		}
		for t := range p.routine {
			if !r.enabled(&s, t) {
				continue
			}
			n := r.step(s, t)
			if _, known := before[n]; !known {
				before[n] = came{s, t}
				queue = append(queue, n)
			}
		}
		if len(before) > mostStates {
			return nil, false
		}
	}
	return found, true
}

// came is how a state was first reached: from which other one, by a step of which thread.
type came struct {
	from   prefixes
	thread int
}

func (r *reordering) path(before map[prefixes]came, to, begin prefixes) []int {
	var out []int
	for to != begin {
		c := before[to]
		i, _ := r.next(&c.from, c.thread)
		out = append(out, i)
		to = c.from
	}
	slices.Reverse(out)
	return out
}

func newReordering(p *program, run []event) *reordering {
	r := &reordering{program: p, run: run, wait: map[int]uint{}, ends: map[int]int{}}
	var began [mostThreads]uint
	var sections [mostThreads][mostLocks]int
	waits := uint(0)
	for i, e := range run {
		r.position = append(r.position, len(r.threads[e.thread]))
		r.threads[e.thread] = append(r.threads[e.thread], i)
		switch {
		case e.wake:
			r.wait[i] = began[e.thread]
			sections[e.thread][e.in.mutex] = i
		case e.in.kind == wait:
			r.wait[i], began[e.thread] = waits, waits
			waits++
			r.ends[sections[e.thread][e.in.mutex]] = i
		case e.in.kind == create:
			r.creation[e.in.object] = i
		case e.in.kind == lock, e.in.kind == readLock, e.in.kind == tryLock && !e.failed:
			sections[e.thread][e.in.object] = i
		case e.in.kind == unlock:
			r.ends[sections[e.thread][e.in.object]] = i
		}
	}
	return r
}

// next returns the number of the next event of a thread, if it is created and has one.
func (r *reordering) next(s *prefixes, thread int) (int, bool) {
	if int(s.done[thread]) == len(r.threads[thread]) || thread > 0 && !r.executed(s, r.creation[thread]) {
		return 0, false
	}
	return r.threads[thread][s.done[thread]], true
}

func (r *reordering) executed(s *prefixes, i int) bool {
	return int(s.done[r.run[i].thread]) > r.position[i]
}

// request returns the lock that a thread is about to acquire and would wait for.
func (r *reordering) request(s *prefixes, thread int) (object int, reading, ok bool) {
	i, ok := r.next(s, thread)
	if !ok {
		return 0, false, false
	}
	switch e := r.run[i]; {
	case e.wake:
		return e.in.mutex, false, s.notified&(1<<r.wait[i]) != 0
	case e.in.kind == lock || e.in.kind == readLock:
		return e.in.object, e.in.kind == readLock, true
	}
	return 0, false, false
}

func (r *reordering) enabled(s *prefixes, thread int) bool {
	i, ok := r.next(s, thread)
	if !ok {
		return false
	}
	if object, reading, ok := r.request(s, thread); ok {
		return holders(s.locks[object], reading) == 0
	}
	e := r.run[i]
	if e.wake {
		return false
	}
	switch e.in.kind {
	case tryLock:
		return r.canTry(s, e)
	case semWait:
		return s.semaphores[e.in.object] > 0
	case semTry:
		return (s.semaphores[e.in.object] == 0) == e.failed
	case read, update:
		return int(s.last[e.in.object]) == e.writer+1
	case join:
		return int(s.done[e.in.object]) == len(r.threads[e.in.object])
	}
	return true
}

func (r *reordering) canTry(s *prefixes, e event) bool {
	if !e.failed {
		return s.locks[e.in.object] == 0
	}
	for _, h := range e.holders {
		if r.executed(s, h) && !r.executed(s, r.ends[h]) {
			return true
		}
	}
	return false
}

// step executes the next event of a thread, which is enabled.
func (r *reordering) step(s prefixes, thread int) prefixes {
	i, _ := r.next(&s, thread)
	e := r.run[i]
	switch {
	case e.wake:
		s.locks[e.in.mutex] = uint8(thread+1) << 4
	case e.in.kind == lock, e.in.kind == tryLock && !e.failed:
		s.locks[e.in.object] = uint8(thread+1) << 4
	case e.in.kind == readLock:
		s.locks[e.in.object] |= 1 << thread
	case e.in.kind == unlock:
		s.release(thread, e.in.object)
	case e.in.kind == wait:
		s.release(thread, e.in.mutex)
	case e.in.kind == signal, e.in.kind == broadcast:
		r.notify(&s, i)
	case e.in.kind == post:
		s.semaphores[e.in.object]++
	case e.in.kind == semWait, e.in.kind == semTry && !e.failed:
		s.semaphores[e.in.object]--
	case e.in.kind == write, e.in.kind == increment, e.in.kind == update:
		s.last[e.in.object] = uint8(i + 1)
	}
	s.done[thread]++
	return s
}

func (s *prefixes) release(thread, object int) {
	if writer(s.locks[object]) == thread {
		s.locks[object] = 0
	} else {
		s.locks[object] &^= 1 << thread
	}
}

// notify lets the waits go on that a notification ended in the run, if they have begun.
func (r *reordering) notify(s *prefixes, notification int) {
	for t := range r.routine {
		if i, ok := r.next(s, t); ok && r.run[i].wake && r.run[i].notifier == notification {
			s.notified |= 1 << r.wait[i]
		}
	}
}

// judge adds the errors of one state.
func (r *reordering) judge(s *prefixes, found faults) {
	var next [mostThreads]*access
	var blocked [mostThreads]blockade
	for t := range r.routine {
		i, ok := r.next(s, t)
		if !ok {
			continue
		}
		if a, ok := r.plain(r.run[i].in); ok {
			next[t] = &a
		}
		if object, reading, ok := r.request(s, t); ok {
			blocked[t] = blockade{object, r.run[i].in.line, holders(s.locks[object], reading)}
		}
	}
	r.races(next[:], found)
	r.cycles(blocked[:], found)
}
