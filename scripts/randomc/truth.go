package main

import (
	"fmt"
	"slices"
	"strings"
)

// fault is an error of a program, as a text that is the same for the model and for a report:
// of a race the variable and the lines of both accesses, of a deadlock the lock and the line
// that each thread waits for and at.
type fault string

func race(variable string, a, b int) fault {
	return fault(fmt.Sprintf("race %s %d %d", variable, min(a, b), max(a, b)))
}

func deadlock(sides []string) fault {
	slices.Sort(sides)
	return fault("deadlock " + strings.Join(sides, " "))
}

func side(lock string, line int) string { return fmt.Sprintf("%s@%d", lock, line) }

type faults map[fault]bool

func (f faults) sorted() []fault {
	out := make([]fault, 0, len(f))
	for one := range f {
		out = append(out, one)
	}
	slices.Sort(out)
	return out
}

// mostStates bounds an enumeration.
const mostStates = 600_000

// truth returns the errors of all interleavings of a program: two conflicting plain accesses that
// are the next steps of two threads, and threads that wait for each other's locks in a cycle. A
// condition wait may wake spuriously, as POSIX allows. It is not ok if there are too many states.
func (p *program) truth() (found faults, ok bool) {
	found = faults{}
	begin := p.initial()
	seen := map[state]struct{}{begin: {}}
	queue := []state{begin}
	var next []state
	for len(queue) > 0 {
		s := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if p.over(&s) {
			continue // the process has ended
		}
		p.judge(&s, found)
		next = p.successors(&s, next[:0])
		for _, n := range next {
			if _, known := seen[n]; !known {
				seen[n] = struct{}{}
				queue = append(queue, n)
			}
		}
		if len(seen) > mostStates {
			return nil, false
		}
	}
	return found, true
}

// successors appends all states that follow one, with spurious wakes.
func (p *program) successors(s *state, out []state) []state {
	for t := range p.routine {
		if p.enabled(s, t) {
			out = p.step(*s, t, out)
		}
		if s.phase[t] == asleep {
			spurious := *s
			spurious.phase[t] = woken
			out = append(out, spurious)
		}
	}
	return out
}

// judge adds the errors of one state.
func (p *program) judge(s *state, found faults) {
	var next [mostThreads]*access
	var blocked [mostThreads]blockade
	for t := range p.routine {
		if a, ok := p.access(s, t); ok {
			next[t] = &a
		}
		if object, reading, ok := p.request(s, t); ok {
			blocked[t] = blockade{object, p.current(s, t).line, holders(s.locks[object], reading)}
		}
	}
	p.races(next[:], found)
	p.cycles(blocked[:], found)
}

// races adds the pairs of conflicting accesses among the next steps of the threads.
func (p *program) races(next []*access, found faults) {
	for i, a := range next {
		for _, b := range next[i+1:] {
			if a != nil && b != nil && a.variable == b.variable && (a.writes || b.writes) {
				found[race(p.variables[a.variable], a.line, b.line)] = true
			}
		}
	}
}

// blockade is a thread's wait for a lock; nobody holds it if holders is 0.
type blockade struct {
	object, line int
	holders      uint8
}

// cycles adds the cycles of threads each of which waits for a lock that the next one holds.
func (p *program) cycles(blocked []blockade, found faults) {
	var path []int
	var follow func(first, t int)
	follow = func(first, t int) {
		path = append(path, t)
		for u := range blocked {
			switch {
			case blocked[t].holders&(1<<u) == 0 || u < first:
			case u == first && len(path) > 1:
				found[p.cycle(blocked, path)] = true
			case !slices.Contains(path, u):
				follow(first, u)
			}
		}
		path = path[:len(path)-1]
	}
	for t := range blocked {
		if blocked[t].holders != 0 {
			follow(t, t)
		}
	}
}

func (p *program) cycle(blocked []blockade, path []int) fault {
	var sides []string
	for _, t := range path {
		sides = append(sides, side(p.locks[blocked[t].object], blocked[t].line))
	}
	return deadlock(sides)
}
