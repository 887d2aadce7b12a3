// Package stuck finds the threads of a process that will never proceed, from the waits of all
// threads at one moment. It searches the wait-for graph of the threads.
//
// A thread can proceed if it does not wait, if its wait has a time limit, if all threads that
// it needs can proceed, or, where any thread could wake it, if another thread can proceed.
// The threads to which no rule applies are stuck. TestFindAgainstSubsets compares Find with
// the definition: a set of threads is stuck if each of them needs a thread of the set, or
// all other live threads are in the set.
//
// The package knows nothing of futexes, memory, or how the owner of a lock became known.
package stuck

import "slices"

// Thread identifies a thread by any number except 0.
type Thread uint32

// Wait describes the wait of a sleeping thread.
type Wait struct {
	Thread Thread
	// Needs are the threads that must all proceed before this one can: the holders of the
	// lock, or the thread to be joined. 0 is a thread that has ended while holding the lock.
	Needs []Thread
	// Any reports that each other thread of the process could end the wait, as that of a
	// condition, a semaphore or a barrier. Needs is then empty.
	Any bool
	// Bounded reports that the wait has a time limit.
	Bounded bool
}

// Snapshot has the waits of the threads of one process at one moment.
type Snapshot struct {
	Waits []Wait
	// Others reports that there are threads that are not among Waits and may proceed.
	Others bool
}

// Hang is a set of threads that cannot proceed.
type Hang struct {
	// Waits has the threads as indices in Snapshot.Waits. In a cycle, each thread needs the
	// next one, and the last needs the first.
	Waits []int
	// NoCycle reports that all threads of the process wait, and there is no cycle.
	NoCycle bool
	// Bounded reports that a wait of the cycle has a time limit.
	Bounded bool
	// Behind is the number of all stuck threads that are not in Waits.
	Behind int
}

// Find returns the hangs of a snapshot. These are, in the order of Waits, a shortest cycle
// through the first thread of each group of threads that block each other, and each thread
// that waits for a lock whose holder has ended. If there are none of these but there are
// stuck threads, the only hang is that of all threads. Otherwise cycles that a time limit
// will end follow, with Bounded set. The work is linear in threads and needs.
func Find(s Snapshot) []Hang {
	g := newGraph(s)
	stuck := g.stuck(false)
	hangs := g.cycles(stuck)
	if len(hangs) == 0 && slices.Contains(stuck, true) {
		h := Hang{NoCycle: true}
		for i := range s.Waits {
			h.Waits = append(h.Waits, i)
		}
		return []Hang{h}
	}
	total := 0
	for _, in := range stuck {
		total += btoi(in)
	}
	for i := range hangs {
		hangs[i].Behind = total - len(hangs[i].Waits)
	}
	for _, h := range g.cycles(g.stuck(true)) {
		if h.Bounded = slices.ContainsFunc(h.Waits, func(i int) bool { return s.Waits[i].Bounded }); h.Bounded {
			hangs = append(hangs, h)
		}
	}
	return hangs
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// graph is the wait-for graph of a snapshot. Its nodes are the indices of Snapshot.Waits.
type graph struct {
	s          Snapshot
	needs      [][]int // the threads that each thread needs
	needsEnded []bool  // whether the thread needs one that has ended
	neededBy   [][]int // the threads that need each thread: the reverse of needs
}

func newGraph(s Snapshot) *graph {
	at := map[Thread]int{}
	for i, w := range s.Waits {
		at[w.Thread] = i
	}
	n := len(s.Waits)
	g := &graph{s: s, needs: make([][]int, n), needsEnded: make([]bool, n), neededBy: make([][]int, n)}
	for i, w := range s.Waits {
		for _, t := range w.Needs {
			if t == 0 {
				g.needsEnded[i] = true
			} else if j, ok := at[t]; ok {
				g.needs[i] = append(g.needs[i], j)
				g.neededBy[j] = append(g.neededBy[j], i)
			}
		}
	}
	return g
}

// stuck returns which threads cannot proceed. With limits, it ignores time limits, and
// assumes that a thread with Wait.Any proceeds.
func (g *graph) stuck(limits bool) []bool {
	stuck, left := make([]bool, len(g.needs)), make([]int, len(g.needs))
	var free, any []int // free: threads that proceed and were not handled yet; any: stuck, with Wait.Any
	for i, w := range g.s.Waits {
		left[i] = len(g.needs[i]) + btoi(g.needsEnded[i])
		stuck[i] = (limits || !w.Bounded) && (left[i] > 0 || w.Any && !limits)
		if !stuck[i] {
			free = append(free, i)
		} else if w.Any {
			any = append(any, i)
		}
	}
	woken := g.s.Others
	for woken || len(free) > 0 {
		if woken || len(free) > 0 { // a thread that proceeds may wake all threads with Wait.Any
			for _, i := range any {
				stuck[i] = false
			}
			free, any, woken = append(free, any...), nil, false
			if len(free) == 0 {
				break
			}
		}
		i := free[len(free)-1]
		free = free[:len(free)-1]
		for _, j := range g.neededBy[i] {
			if left[j]--; stuck[j] && left[j] == 0 {
				stuck[j] = false
				free = append(free, j)
			}
		}
	}
	return stuck
}

// cycles returns a shortest cycle of each strongly connected component of the stuck threads,
// and each thread that waits for one that has ended, in the order of their first threads.
func (g *graph) cycles(stuck []bool) []Hang {
	var hangs []Hang
	for _, part := range g.parts(stuck) {
		if cycle := g.cycle(part); cycle != nil {
			hangs = append(hangs, Hang{Waits: cycle})
		}
	}
	for i := range g.needs {
		if stuck[i] && g.needsEnded[i] {
			hangs = append(hangs, Hang{Waits: []int{i}})
		}
	}
	slices.SortStableFunc(hangs, func(a, b Hang) int { return a.Waits[0] - b.Waits[0] })
	return hangs
}

// parts returns the strongly connected components of the stuck threads, each sorted, by
// Tarjan's algorithm.
func (g *graph) parts(stuck []bool) [][]int {
	n := len(g.needs)
	index, low, on := make([]int, n), make([]int, n), make([]bool, n)
	var stack []int
	var parts [][]int
	count := 0
	var visit func(int)
	visit = func(i int) {
		count++
		index[i], low[i], on[i] = count, count, true
		stack = append(stack, i)
		for _, j := range g.needs[i] {
			if !stuck[j] {
				continue
			}
			if index[j] == 0 {
				visit(j)
				low[i] = min(low[i], low[j])
			} else if on[j] {
				low[i] = min(low[i], index[j])
			}
		}
		if low[i] < index[i] {
			return
		}
		at := len(stack) - 1
		for stack[at] != i {
			at--
		}
		part := slices.Clone(stack[at:])
		stack = stack[:at]
		for _, j := range part {
			on[j] = false
		}
		slices.Sort(part)
		parts = append(parts, part)
	}
	for i := range g.needs {
		if stuck[i] && index[i] == 0 {
			visit(i)
		}
	}
	return parts
}

// cycle returns a shortest cycle through the first thread of a component, nil if there is
// none.
func (g *graph) cycle(part []int) []int {
	first := part[0]
	inside := map[int]bool{}
	for _, i := range part {
		inside[i] = true
	}
	from := map[int]int{}
	queue := []int{first}
	for len(queue) > 0 {
		i := queue[0]
		queue = queue[1:]
		for _, j := range g.needs[i] {
			if j == first {
				cycle := []int{i}
				for ; i != first; i = from[i] {
					cycle = append(cycle, from[i])
				}
				slices.Reverse(cycle)
				return cycle
			}
			if _, seen := from[j]; inside[j] && !seen {
				from[j] = i
				queue = append(queue, j)
			}
		}
	}
	return nil
}
