package main

import (
	"fmt"
	"slices"
	"strconv"
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

// truth is what can happen in a program.
type truth struct {
	faults faults
	stuck  map[string][]int // sorted lines at which threads can stand for ever at the same time
}

// holds reports whether an error can happen. Threads that block each other for ever need not wait
// for locks alone: then the lines are those of all or some of the threads that stand for ever.
func (t truth) holds(f fault) bool {
	if t.faults[f] {
		return true
	}
	sides, ok := strings.CutPrefix(string(f), "deadlock ")
	if !ok {
		return false
	}
	var lines []int
	for one := range strings.FieldsSeq(sides) {
		line, err := strconv.Atoi(one[strings.LastIndex(one, "@")+1:])
		if err != nil {
			return false
		}
		lines = append(lines, line)
	}
	for _, stuck := range t.stuck {
		if contains(stuck, lines) {
			return true
		}
	}
	return false
}

// contains reports whether all of some numbers are among others, each as often.
func contains(all, some []int) bool {
	rest := slices.Clone(all)
	for _, n := range some {
		i := slices.Index(rest, n)
		if i < 0 {
			return false
		}
		rest = slices.Delete(rest, i, i+1)
	}
	return true
}

// mostStates bounds an enumeration.
const mostStates = 600_000

// truth returns the errors of all interleavings of a program: two conflicting plain accesses that
// are the next steps of two threads, and threads that wait for each other's locks in a cycle. A
// condition wait may wake spuriously, as POSIX allows. It is not ok if there are too many states.
func (p *program) truth() (found truth, ok bool) {
	found = truth{faults: faults{}, stuck: map[string][]int{}}
	begin := p.initial()
	seen := map[state]struct{}{begin: {}}
	queue := []state{begin}
	moves := map[state]uint8{}
	var next []state
	for len(queue) > 0 {
		s := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if p.over(&s) {
			continue // the process has ended
		}
		p.judge(&s, found.faults)
		p.stand(&s, p.moves(s, moves), found.stuck)
		next = p.successors(&s, next[:0])
		for _, n := range next {
			if _, known := seen[n]; !known {
				seen[n] = struct{}{}
				queue = append(queue, n)
			}
		}
		if len(seen) > mostStates {
			return truth{}, false
		}
	}
	return found, true
}

// moves returns, a bit each, the threads that some continuation without spurious wakes lets take a
// step. There is no cycle of states: a wait is left once for each notification.
func (p *program) moves(s state, known map[state]uint8) uint8 {
	if p.over(&s) {
		return 0
	}
	if out, ok := known[s]; ok {
		return out
	}
	var out uint8
	for t := range p.routine {
		if p.enabled(&s, t) {
			out |= 1 << t
			for _, next := range p.step(s, t, nil) {
				out |= p.moves(next, known)
			}
		}
	}
	known[s] = out
	return out
}

// stand adds the lines of the threads of a state that will never move.
func (p *program) stand(s *state, moves uint8, stuck map[string][]int) {
	var lines []int
	for t := range p.routine {
		if in := p.current(s, t); in != nil && moves&(1<<t) == 0 {
			lines = append(lines, in.line)
		}
	}
	if len(lines) > 0 {
		slices.Sort(lines)
		stuck[fmt.Sprint(lines)] = lines
	}
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
