// Package stuck finds the threads of a process that will never go on, from what each of
// them waits for at one moment: a graph of who waits for whom.
//
// A thread goes on if it does not wait, or can give up, or if all threads that it needs
// go on, or, where any thread could wake it, if another thread goes on. The threads that
// this rule never lets go on are stuck. TestFindAgainstSubsets holds Find to the
// definition: a set of threads is stuck if each of it needs one of the set, or all other
// threads that live are in it.
//
// The package knows nothing of futexes, memory, or how the owner of a lock became known.
package stuck

import "slices"

// Thread is any number that names a thread, but 0.
type Thread uint32

// Wait is what a thread that sleeps waits for.
type Wait struct {
	Thread Thread
	// Needs are the threads that all must go on before it does: who holds the lock,
	// whose end it waits for. 0 is one that has ended with the lock held.
	Needs []Thread
	// Any: each other thread of the process could end the wait: of a condition, a
	// semaphore, a barrier. Then Needs is empty.
	Any bool
	// Bounded: the wait has a time limit.
	Bounded bool
}

// Snapshot is what the threads of one process did at one moment.
type Snapshot struct {
	Waits []Wait
	// Others: there are threads that are not among Waits, and of which nobody knows
	// that they wait.
	Others bool
}

// Hang is a set of threads that do not go on, by their indices in Snapshot.Waits.
type Hang struct {
	// Waits, of a ring in its order: each needs the one behind it, the last the first.
	Waits []int
	// Nobody: all threads of the process wait for others, and there is no ring.
	Nobody bool
	// Bounded: a wait of the ring has a time limit.
	Bounded bool
	// Behind is how many other threads wait that can go on no sooner.
	Behind int
}

// Find returns the hangs of a snapshot, in the order of Waits: of each group of threads that block
// each other a shortest ring; each lock whose holder has ended; if there are neither,
// all threads, where no one is left. The work is linear in threads and needs.
func Find(s Snapshot) []Hang {
	g := newGraph(s)
	stuck := g.stuck(false)
	hangs := g.rings(stuck)
	if len(hangs) == 0 && slices.Contains(stuck, true) {
		h := Hang{Nobody: true}
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
	for _, h := range g.rings(g.stuck(true)) {
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

// graph has the waits with their needs as indices.
type graph struct {
	s       Snapshot
	needs   [][]int
	orphan  []bool  // it needs a thread that has ended
	neededs [][]int // the other way round
}

func newGraph(s Snapshot) *graph {
	at := map[Thread]int{}
	for i, w := range s.Waits {
		at[w.Thread] = i
	}
	n := len(s.Waits)
	g := &graph{s: s, needs: make([][]int, n), orphan: make([]bool, n), neededs: make([][]int, n)}
	for i, w := range s.Waits {
		for _, t := range w.Needs {
			if t == 0 {
				g.orphan[i] = true
			} else if j, ok := at[t]; ok {
				g.needs[i] = append(g.needs[i], j)
				g.neededs[j] = append(g.neededs[j], i)
			}
		}
	}
	return g
}

// stuck returns which threads do not go on; with limits time limits count for nothing,
// and who waits for anybody is taken to go on.
func (g *graph) stuck(limits bool) []bool {
	stuck, left := make([]bool, len(g.needs)), make([]int, len(g.needs))
	var free, any []int // free: who goes on and has not been looked at
	for i, w := range g.s.Waits {
		left[i] = len(g.needs[i]) + btoi(g.orphan[i])
		stuck[i] = (limits || !w.Bounded) && (left[i] > 0 || w.Any && !limits)
		if !stuck[i] {
			free = append(free, i)
		} else if w.Any {
			any = append(any, i)
		}
	}
	woken := g.s.Others
	for woken || len(free) > 0 {
		if woken || len(free) > 0 { // whoever goes on may wake all that wait for anybody
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
		for _, j := range g.neededs[i] {
			if left[j]--; stuck[j] && left[j] == 0 {
				stuck[j] = false
				free = append(free, j)
			}
		}
	}
	return stuck
}

// rings returns a shortest ring of each strongly connected part of the stuck threads,
// and each that waits for one that has ended, in the order of their first threads.
func (g *graph) rings(stuck []bool) []Hang {
	var hangs []Hang
	for _, part := range g.parts(stuck) {
		if ring := g.ring(part); ring != nil {
			hangs = append(hangs, Hang{Waits: ring})
		}
	}
	for i := range g.needs {
		if stuck[i] && g.orphan[i] {
			hangs = append(hangs, Hang{Waits: []int{i}})
		}
	}
	slices.SortStableFunc(hangs, func(a, b Hang) int { return a.Waits[0] - b.Waits[0] })
	return hangs
}

// parts returns the strongly connected parts, each sorted: Tarjan's algorithm.
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

// ring returns a shortest ring through the first of a part, nil if it needs nobody there.
func (g *graph) ring(part []int) []int {
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
				ring := []int{i}
				for ; i != first; i = from[i] {
					ring = append(ring, from[i])
				}
				slices.Reverse(ring)
				return ring
			}
			if _, seen := from[j]; inside[j] && !seen {
				from[j] = i
				queue = append(queue, j)
			}
		}
	}
	return nil
}
