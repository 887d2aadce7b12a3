package code

import "github.com/tracepredict/tracepredict/probes/insn"

// Solver computes what is known before each node of a graph, as the greatest solution on which all
// paths agree (Kildall, "A unified approach to global program optimization", POPL 1973). S is the
// state, which is what is known; Join reduces a state to what it has in common with that of another
// path. A node whose state changes is visited again; the solution is reached when no state changes.
// The plain model, which visits all nodes until nothing changes, is the function naive in
// solve_test.go. A Solver can be used for one problem after the other.
//
// Each state must be able to change only a bounded number of times, or the visits must count their
// cost and end the solution.
type Solver[S any] struct {
	// Before is the state before each node; the zero value for a node that is not Reached.
	Before []S
	// Join reduces into to what it has in common with from, and reports whether that changed it.
	Join  func(into, from *S) (changed bool)
	nodes []progress
	queue []int // nodes to visit, from index head on
	head  int
	now   S // the current state while Solve, Each and At step through a block
}

// progress is the progress of one node: whether a state has arrived, and whether it is in the
// queue.
type progress struct{ reached, queued bool }

// Reset discards all states and sets the number of nodes to n, none of which is reached.
func (v *Solver[S]) Reset(n int) {
	if n > cap(v.Before) {
		v.Before, v.nodes = make([]S, n), make([]progress, n)
	}
	v.Before, v.nodes = v.Before[:n], v.nodes[:n]
	clear(v.Before)
	clear(v.nodes)
	v.queue, v.head = v.queue[:0], 0
}

// Add adds a node that is not reached, and returns its number.
func (v *Solver[S]) Add() int {
	var s S
	v.Before, v.nodes = append(v.Before, s), append(v.nodes, progress{})
	return len(v.Before) - 1
}

// Reached reports whether a state has arrived at a node.
func (v *Solver[S]) Reached(node int) bool { return v.nodes[node].reached }

// Flow joins a state to that of a node, which Run visits again if that changes its state.
func (v *Solver[S]) Flow(to int, s *S) {
	n := &v.nodes[to]
	if !n.reached {
		n.reached = true
		v.Before[to] = *s
	} else if !v.Join(&v.Before[to], s) {
		return
	}
	if !n.queued {
		n.queued = true
		v.queue = append(v.queue, to)
	}
}

// Run visits the nodes whose states have changed until there are none; visit calls Flow for the
// successors, and returns false to end. Run reports whether it reached the solution.
func (v *Solver[S]) Run(visit func(node int) bool) bool {
	for v.head < len(v.queue) {
		node := v.queue[v.head]
		if v.head++; v.head == len(v.queue) {
			v.queue, v.head = v.queue[:0], 0
		}
		v.nodes[node].queued = false
		if !visit(node) {
			return false
		}
	}
	return true
}

// Solve computes the states before the blocks of a graph. It starts at each block, in order, that
// the blocks before it do not reach, with the state that start returns; if start returns false the
// block is left out. step updates a state for the execution of an instruction and may call Flow; it
// returns false to end. Solve reports whether it reached the solution.
func (v *Solver[S]) Solve(g *Graph, start func(block int) (S, bool), step func(s *S, in *insn.Inst) bool) bool {
	v.Reset(len(g.Blocks))
	visit := func(block int) bool {
		b := &g.Blocks[block]
		v.now = v.Before[block]
		for i := b.Lo; i < b.Hi; i++ {
			if !step(&v.now, &g.Insts[i]) {
				return false
			}
		}
		for _, n := range b.Next {
			v.Flow(n, &v.now)
		}
		return true
	}
	for block := range g.Blocks {
		if v.Reached(block) {
			continue
		}
		if s, ok := start(block); ok {
			if v.Flow(block, &s); !v.Run(visit) {
				return false
			}
		}
	}
	return true
}

// Each calls look for each instruction, in order, of the blocks that Solve has reached; look must
// update the state before the instruction to that after it.
func (v *Solver[S]) Each(g *Graph, look func(s *S, in *insn.Inst)) { v.EachOf(g, nil, look) }

// EachOf is Each for some blocks; nil: for all.
func (v *Solver[S]) EachOf(g *Graph, some map[int]bool, look func(s *S, in *insn.Inst)) {
	for block := range g.Blocks {
		if !v.Reached(block) || some != nil && !some[block] {
			continue
		}
		v.now = v.Before[block]
		for i := g.Blocks[block].Lo; i < g.Blocks[block].Hi; i++ {
			look(&v.now, &g.Insts[i])
		}
	}
}

// At returns the state before the instruction at an address, in the first reached block that
// contains it. The state is valid until the Solver is used again. At returns nil if no reached
// block contains the instruction.
func (v *Solver[S]) At(g *Graph, addr uint64, step func(s *S, in *insn.Inst)) *S {
	for block, b := range g.Blocks {
		if !v.Reached(block) || addr < g.Insts[b.Lo].Addr || addr > g.Insts[b.Hi-1].Addr {
			continue
		}
		v.now = v.Before[block]
		for i := b.Lo; i < b.Hi; i++ {
			if g.Insts[i].Addr == addr {
				return &v.now
			}
			step(&v.now, &g.Insts[i])
		}
	}
	return nil
}
