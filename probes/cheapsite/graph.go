package cheapsite

import (
	"fmt"
	"maps"
	"slices"

	"github.com/tracepredict/tracepredict/probes/code"
	"github.com/tracepredict/tracepredict/probes/insn"
	"github.com/tracepredict/tracepredict/probes/libname"
)

// maxNodes bounds the number of instructions of a function whose outcomes are searched for.
const maxNodes = 4096

// ending is how a path through a function ends.
type ending uint8

const (
	continues    ending = iota
	returns             // returns to the caller
	tailCalls           // jumps to another function, which returns to the caller
	neverReturns        // never returns
)

// node is an instruction that a call of the function may execute.
type node struct {
	in    insn.Inst
	ext   *code.Extent
	index int // of its state in graph.states
	end   ending
	next  []uint64
	live  bool // a return or a tail call can follow
}

// graph holds the instructions that a call of a function may execute, and at each of them what is
// certain whatever path led there.
type graph struct {
	im           *Image
	want         *OutcomeWant
	nodes        map[uint64]*node
	byIndex      []*node
	states       code.Solver[state]  // state before each node
	order        []uint64            // addresses of all nodes, sorted
	predecessors map[uint64][]uint64 // predecessors of each node
	slots        bool                // whether the contents of the function's stack frame are tracked
	escapes      bool                // whether the function makes a pointer to its stack
	calls        map[uint64]ending   // results of call, by the entry of the called function
	failure      string
}

// state returns what is certain before a node is executed.
func (g *graph) state(n *node) *state { return &g.states.Before[n.index] }

func (g *graph) fail(format string, args ...any) {
	if g.failure == "" {
		g.failure = fmt.Sprintf(format, args...)
	}
}

// graph follows the function at w.Entry. A function that makes pointers to its stack frame is
// followed a second time, without knowledge of the frame's contents.
func (im *Image) graph(w *OutcomeWant) *graph {
	g := im.build(w, true)
	if g.escapes {
		g = im.build(w, false)
	}
	if g.failure == "" {
		g.link()
	}
	return g
}

func (im *Image) build(w *OutcomeWant, slots bool) *graph {
	g := &graph{im: im, want: w, nodes: map[uint64]*node{}, slots: slots, calls: map[uint64]ending{}}
	g.states.Join = (*state).join
	entry := atEntry()
	g.flow(w.Entry, &entry)
	g.states.Run(func(i int) bool {
		if g.failure == "" && !im.Spend() {
			g.fail("too much code leads to it")
		}
		if g.failure == "" {
			g.visit(g.byIndex[i])
		}
		return g.failure == ""
	})
	return g
}

// flow joins a state to that before an instruction, which is added if it is new.
func (g *graph) flow(to uint64, s *state) {
	n := g.nodes[to]
	if n == nil {
		if n = g.add(to); n == nil {
			return
		}
	}
	g.states.Flow(n.index, s)
}

// add adds the instruction at an address; nil if it is in doubt.
func (g *graph) add(at uint64) *node {
	in, err := g.im.Decode(at)
	e := g.im.ExtentAt(at)
	switch {
	case err != nil:
		g.fail("%v", err)
	case e == nil:
		g.fail("the extent of the code at 0x%x is not known", at)
	case e.Open || e.Untiled:
		g.fail("an indirect jump may land anywhere around 0x%x, or there is data", at)
	case len(g.nodes) >= maxNodes:
		g.fail("more than %d instructions", maxNodes)
	default:
		n := &node{in: in, ext: e, index: g.states.Add()}
		g.nodes[at], g.byIndex = n, append(g.byIndex, n)
		return n
	}
	return nil
}

// visit propagates what is certain after n to the instructions that may follow it.
func (g *graph) visit(n *node) {
	in := &n.in
	n.end, n.next = continues, n.next[:0]
	g.escapes = g.escapes || g.im.takesStackAddress(in)
	after := *g.state(n)
	after.step(g, in)
	switch in.Kind {
	case insn.Return:
		n.end = returns
	case insn.Stop:
		n.end = neverReturns
	case insn.Jump:
		g.jump(n, &after)
	case insn.CondJump:
		g.edge(n, in.Target, &after)
		g.fall(n, &after)
	case insn.IndirectJump:
		g.fail("an indirect jump at 0x%x", in.Addr)
	case insn.IndirectCall:
		if n.end = neverReturns; n.ext.Contains(in.End()) {
			g.fail("an indirect call at 0x%x", in.Addr)
		}
	case insn.Call:
		if n.end = g.call(in.Target); n.end == neverReturns || !n.ext.Contains(in.End()) {
			n.end = neverReturns
			return
		}
		g.fall(n, &after)
	default:
		g.fall(n, &after)
	}
}

// fall adds the edge to the instruction after n.
func (g *graph) fall(n *node, s *state) {
	to := n.in.End()
	if !n.ext.Contains(to) {
		g.fail("the function's extent ends at 0x%x", to)
		return
	}
	g.edge(n, to, s)
}

// edge adds an edge from n, and propagates the state s to its end.
func (g *graph) edge(n *node, to uint64, s *state) {
	if to != g.want.Entry && g.want.Foreign != nil && g.want.Foreign(to) {
		g.fail("control goes on in the observed function at 0x%x", to)
		return
	}
	if !slices.Contains(n.next, to) {
		n.next = append(n.next, to)
	}
	g.flow(to, s)
}

// jump follows an unconditional jump, unless it is a tail call of another function, about which
// nothing is known.
func (g *graph) jump(n *node, after *state) {
	to := g.im.ExtentAt(n.in.Target)
	leaves := to != n.ext && (to == nil || to.Lo == n.in.Target)
	if leaves && classOf(&n.in) == Emulated && g.state(n).asAtEntry(g.want.Reads) {
		n.end = tailCalls
		return
	}
	g.edge(n, n.in.Target, after)
}

// link computes the order, the predecessors and the live nodes, once the nodes no longer change.
func (g *graph) link() {
	g.order = slices.Sorted(maps.Keys(g.nodes))
	g.predecessors = map[uint64][]uint64{}
	var ends []uint64
	for _, at := range g.order {
		n := g.nodes[at]
		for _, to := range n.next {
			g.predecessors[to] = append(g.predecessors[to], at)
		}
		if n.end == returns || n.end == tailCalls {
			ends = append(ends, at)
		}
	}
	live, _ := code.Reach(ends, func(at uint64) ([]uint64, bool) { return g.predecessors[at], true })
	for at := range live {
		g.nodes[at].live = true
	}
}

// liveSuccessors returns the successors of at from which a return can be reached.
func (g *graph) liveSuccessors(at uint64) []uint64 {
	var out []uint64
	for _, s := range g.nodes[at].next {
		if g.nodes[s].live {
			out = append(out, s)
		}
	}
	return out
}

// takesStackAddress reports whether in makes a pointer into the stack, by using sp other than to
// address memory, to push and pop, and to move it.
func (im *Image) takesStackAddress(in *insn.Inst) bool {
	sp := im.Arch().SP()
	if !in.Known || !in.Reads.Has(sp) {
		return false
	}
	switch in.Kind {
	case insn.Call, insn.IndirectCall, insn.Return:
		return false
	case insn.Push:
		b, err := im.Bytes(in.Addr, 1)
		return err != nil || b[0] == 0x54 // push %rsp
	}
	if in.NMem == 0 {
		return in.SPChange == 0 && !in.Writes.Has(sp)
	}
	for i := range in.Mem[:in.NMem] {
		if m := &in.Mem[i]; m.Base == sp || m.Index == sp {
			return in.ValueReg == sp
		}
	}
	return in.SPChange == 0
}

// maxDepth bounds the depth of nested calls that neverReturns follows.
const maxDepth = 4

// call returns whether a call of the function at addr goes on or never returns: continues or
// neverReturns. A call that goes on must not reach a function whose calls are recorded: its
// operation there would be recorded as one of the program's own.
func (g *graph) call(addr uint64) ending {
	end, known := g.calls[addr]
	if known {
		return end
	}
	switch {
	case g.neverReturnsFrom(addr):
		end = neverReturns
	case g.mayObserve(addr):
		g.fail("the call of 0x%x may end in an observed function", addr)
	}
	g.calls[addr] = end
	return end
}

// neverReturnsFrom reports whether a call of the function at addr is certain never to return.
func (g *graph) neverReturnsFrom(addr uint64) bool {
	if g.want.Stub != nil {
		if name := g.want.Stub(addr); name != "" {
			return libname.Is(name, libname.EndsProgram)
		}
	}
	return g.im.neverReturns(addr, maxDepth)
}

// maxCallees bounds the number of functions that mayObserve examines.
const maxCallees = 256

// mayObserve reports whether the function at addr may call, directly or not, a function whose calls
// are recorded. It may where control leaves by a pointer or into another file.
func (g *graph) mayObserve(addr uint64) bool {
	if g.want.Foreign == nil {
		return false
	}
	seen := map[uint64]bool{}
	todo := []uint64{addr}
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		e := g.im.ExtentAt(at)
		if g.want.Foreign(at) || e == nil || g.want.Stub != nil && g.want.Stub(at) != "" || len(seen) > maxCallees {
			return true
		}
		if seen[e.Lo] {
			continue
		}
		seen[e.Lo] = true
		leaves := false
		tiles := g.im.Sweep(e.Range, func(in *insn.Inst) bool {
			switch in.Kind {
			case insn.IndirectCall, insn.IndirectJump:
				leaves = true
			case insn.Call:
				if !g.neverReturnsFrom(in.Target) {
					todo = append(todo, in.Target)
				}
			case insn.Jump, insn.CondJump:
				if !e.Contains(in.Target) {
					todo = append(todo, in.Target)
				}
			}
			return !leaves
		})
		if leaves || !tiles {
			return true
		}
	}
	return false
}

// neverReturns reports whether a call of the function at addr is certain never to return: neither a
// return nor a jump out of known code can be reached. It follows calls that are nested at most
// depth deep.
func (im *Image) neverReturns(addr uint64, depth int) bool {
	never, known := im.noReturn[addr]
	if !known {
		never = im.findNeverReturns(addr, depth)
		im.noReturn[addr] = never
	}
	return never
}

func (im *Image) findNeverReturns(addr uint64, depth int) bool {
	left := maxNodes / 4
	_, never := code.Reach([]uint64{addr}, func(at uint64) ([]uint64, bool) {
		in, err := im.Decode(at)
		e := im.ExtentAt(at)
		if left--; err != nil || e == nil || e.Open || e.Untiled || left < 0 || !im.Spend() {
			return nil, false
		}
		switch {
		case in.Kind == insn.Return || in.Kind == insn.IndirectJump:
			return nil, false
		case in.Kind.Calls() && !e.Contains(in.End()), in.Kind == insn.Call && depth > 0 && in.Target != addr && im.neverReturns(in.Target, depth-1):
			return nil, true
		}
		return in.Next(), !in.Kind.FallsThrough() || e.Contains(in.End())
	})
	return never
}
