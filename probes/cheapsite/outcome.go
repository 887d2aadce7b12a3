package cheapsite

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/tracepredict/tracepredict/probes/code"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// A uretprobe costs a trap at the entry and a system call at the return. A leaf call such as a
// mutex's lock can be observed for less: where its outcome is certain and it has not returned yet,
// there is often an instruction that the kernel emulates, and one probe there makes the whole
// record. Outcomes finds such sites, so that each call passes exactly one of them.
//
// The function's instructions form a control-flow graph (graph.go). An instruction is settled if
// only plain code lies between it and every return that it can reach: no call, no synchronisation,
// no loop (settled.go). The result that the function returns from there is then known, or in a
// register. A tail is a set of settled instructions that is closed under succession, so that a path
// leaves it only by returning and enters it once. The edges into such a tail are the sites. Each
// edge must leave an emulated instruction, perhaps on one side only of a conditional jump, and the
// operands must still be readable there. Of all tails for which that holds, the smallest one that
// has the same returns is chosen, since the later the edge, the fewer the branches at which a probe
// fires for nothing.
//
// All this holds only for code that is entered at the function's entry alone: an instruction that
// is reached from elsewhere too is no site. A return that no such tail contains is itself the site,
// stepped. Whether that is worth its cost, the caller decides from Hot.

// OutcomeWant is the request to Outcomes.
type OutcomeWant struct {
	Entry  uint64
	Reads  insn.RegSet // the operands: registers whose values at the entry are recorded
	Result insn.Reg    // the register that holds the function's result
	// Foreign reports whether a function begins at an address whose calls are recorded by probes of
	// its own; nil: there is no such function.
	Foreign func(addr uint64) bool
	// Stub returns the name of the function that a direct call of the PLT stub at addr enters, "" if
	// there is no stub at addr; nil: there are no stubs.
	Stub func(addr uint64) string
}

// When is the side of a conditional jump on which a site fires: 0 means both sides; 1 to 16 mean
// that the flags meet condition 0 to 15 of the jcc opcodes.
type When uint8

// not returns the other side of a conditional jump.
func (w When) not() When { return (w - 1) ^ 1 + 1 }

// Operand is the location of an operand at a site: in the register Reg or, if Reg is NoReg, on the
// stack, Slot bytes above sp at the function's entry.
type Operand struct {
	Reg  insn.Reg
	Slot int64
}

// Outcome is a site at which the outcome of a call is certain.
type Outcome struct {
	Addr    uint64
	Class   Class
	When    When
	SPDelta int64 // sp at the entry minus sp at the site, in bytes
	// Const means that the call returns Value; otherwise the result register holds its result.
	Const    bool
	Value    int64
	Operands map[insn.Reg]Operand // by the register that held the operand at the entry
	Why      string               // one line for people
}

// Tail is an emulated jump to another function.
type Tail struct {
	Addr, Target uint64
	Why          string // one line for people
}

// Outcomes holds the sites at which the calls of a function are observed.
type Outcomes struct {
	Sites []Outcome // sorted by address
	// Tails are tail calls of other functions, at which the stack pointer and the operands are as
	// they were at the function's entry. For the calls that get there, such a jump is as good a site
	// as the entry.
	Tails []Tail
	// Hot has the classes of the sites on the shortest path that synchronises and returns: the cost
	// of an uncontended call.
	Hot []Class
}

// Outcomes finds the sites of the function at w.Entry. It fails, with the reason, if there are none
// or if it cannot be proven that each call passes exactly one.
func (im *Image) Outcomes(w OutcomeWant) (Outcomes, error) {
	if im.Arch() != insn.AMD64 {
		return Outcomes{}, fmt.Errorf("find the outcomes at 0x%x: not on %s", w.Entry, im.Arch())
	}
	im.Landings()
	g := im.graph(&w)
	o := &outcomes{graph: g}
	if g.failure == "" {
		o.choose()
	}
	if g.failure != "" {
		return Outcomes{}, fmt.Errorf("find the outcomes at 0x%x: %s", w.Entry, g.failure)
	}
	return o.result()
}

// outcomes chooses sites in a graph.
type outcomes struct {
	*graph
	settled          map[uint64]settled
	enteredElsewhere map[uint64]bool // instructions that can be reached other than from the function's entry
	tail             map[uint64]bool // the settled instructions after the sites
	sites            []Outcome
}

func (o *outcomes) choose() {
	o.settled = o.settle()
	o.enteredElsewhere = o.findEnteredElsewhere()
	for _, at := range o.order {
		if o.nodes[at].end == tailCalls && o.enteredElsewhere[at] {
			o.fail("the jump at 0x%x is reached from elsewhere too", at)
		}
	}
	o.tail = o.smallest(o.largest())
	for _, at := range o.order {
		o.addSites(at)
	}
}

// largest returns the largest tail such that every edge into it can bear a probe.
func (o *outcomes) largest() map[uint64]bool {
	tail := map[uint64]bool{}
	for at, s := range o.settled {
		if s.ok && at != o.want.Entry {
			tail[at] = true
		}
	}
	for changed := true; changed; {
		changed = false
		for at := range tail {
			if !o.inTail(tail, at) {
				delete(tail, at)
				changed = true
			}
		}
	}
	return tail
}

// inTail reports whether at may belong to a tail with the members given.
func (o *outcomes) inTail(tail map[uint64]bool, at uint64) bool {
	for _, s := range o.liveSuccessors(at) {
		if !tail[s] {
			return false
		}
	}
	for _, p := range o.predecessors[at] {
		if !tail[p] && !o.edgeProbeable(p, at) {
			return false
		}
	}
	return true
}

// smallest returns the smallest tail within a valid one that has the same returns.
func (o *outcomes) smallest(within map[uint64]bool) map[uint64]bool {
	var ends []uint64
	for at := range within {
		if o.nodes[at].end == returns {
			ends = append(ends, at)
		}
	}
	tail, _ := code.Reach(ends, func(at uint64) ([]uint64, bool) {
		to := o.liveSuccessors(at)
		for _, p := range o.predecessors[at] {
			if !o.edgeProbeable(p, at) {
				to = append(to, p)
			}
		}
		return to, true
	})
	return tail
}

// edgeProbeable reports whether a probe at from can stand for the edge from→to.
func (o *outcomes) edgeProbeable(from, to uint64) bool {
	n, s := o.nodes[from], o.settled[to]
	switch {
	case !s.ok || !s.known || classOf(&n.in) != Emulated || n.end == tailCalls:
		return false
	case n.in.Kind == insn.CondJump && n.in.Cond == 0:
		return false
	case n.in.Kind != insn.Jump && n.in.Kind != insn.CondJump && n.in.Kind != insn.Nop && n.in.Kind != insn.Push:
		return false
	}
	return o.readable(n)
}

// readable reports whether a probe at n can read all that it must record.
func (o *outcomes) readable(n *node) bool {
	s := o.state(n)
	if o.enteredElsewhere[n.in.Addr] || !s.spKnown || !s.holds(insn.RBP, insn.RBP) || !o.overlapsNone(&n.in) {
		return false
	}
	_, ok := s.operands(o.want.Reads)
	return ok
}

// addSites adds the sites at one instruction.
func (o *outcomes) addSites(addr uint64) {
	n := o.nodes[addr]
	if o.tail[addr] {
		return
	}
	if n.end == returns {
		class := classOf(&n.in)
		if class == Refused || !o.readable(n) {
			o.fail("the return at 0x%x shows too little", addr)
			return
		}
		o.add(n, class, 0, settled{known: true}, "ret")
		return
	}
	var into []uint64
	for _, s := range o.liveSuccessors(addr) {
		if o.tail[s] {
			into = append(into, s)
		}
	}
	switch {
	case len(into) == 0:
	case n.in.Kind != insn.CondJump:
		o.add(n, Emulated, 0, o.settled[into[0]], mnemonic(o.im, addr))
	case len(into) == 2 && o.settled[into[0]] == o.settled[into[1]]:
		o.add(n, Emulated, 0, o.settled[into[0]], mnemonic(o.im, addr))
	default:
		for _, s := range into {
			when, side := When(n.in.Cond), " taken"
			if s != n.in.Target {
				when, side = when.not(), " not taken"
			}
			o.add(n, Emulated, when, o.settled[s], mnemonic(o.im, addr)+side)
		}
	}
}

func (o *outcomes) add(n *node, class Class, when When, s settled, how string) {
	at := o.state(n)
	operands, _ := at.operands(o.want.Reads)
	p := Outcome{Addr: n.in.Addr, Class: class, When: when, SPDelta: -at.sp, Const: s.constant, Value: s.value, Operands: operands}
	if r := at.regs[o.want.Result]; !p.Const && r.kind == contentConst {
		p.Const, p.Value = true, r.n
	}
	p.Why = fmt.Sprintf("%s +0x%x", how, n.in.Addr-o.want.Entry)
	if n.in.Addr < o.want.Entry {
		p.Why = fmt.Sprintf("%s -0x%x", how, o.want.Entry-n.in.Addr)
	}
	if p.Const {
		p.Why += fmt.Sprintf(": returns %d", int32(p.Value))
	}
	o.sites = append(o.sites, p)
}

func (o *outcomes) result() (Outcomes, error) {
	out := Outcomes{Sites: o.sites, Hot: o.hot()}
	for _, at := range o.order {
		if o.nodes[at].end == tailCalls {
			out.Tails = append(out.Tails, Tail{at, o.nodes[at].in.Target, fmt.Sprintf("%s +0x%x, which hands the call on", mnemonic(o.im, at), at-o.want.Entry)})
		}
	}
	if len(out.Hot) == 0 {
		return Outcomes{}, fmt.Errorf("find the outcomes at 0x%x: no place is better than a return probe", o.want.Entry)
	}
	return out, nil
}

// hot returns the classes of the sites on the shortest path to a return that synchronises on the
// way, or on the shortest path of all if no path synchronises.
func (o *outcomes) hot() []Class {
	class := map[uint64]Class{}
	for _, p := range o.sites {
		class[p.Addr] = p.Class
	}
	path := o.shortest(true)
	if path == nil && !o.hasTailCalls() {
		path = o.shortest(false)
	}
	var hot []Class
	for _, at := range path {
		if c, ok := class[at]; ok {
			hot = append(hot, c)
		}
	}
	return hot
}

// hasTailCalls reports whether the function ends in a tail call on some path.
func (o *outcomes) hasTailCalls() bool {
	for _, n := range o.nodes {
		if n.end == tailCalls {
			return true
		}
	}
	return false
}

// step is an instruction on a path, and whether the path has synchronised before it.
type step struct {
	at     uint64
	locked bool
}

// shortest returns a path with the fewest instructions from the entry to a return; if locked, of
// the paths that synchronise. It returns nil if there is none.
func (o *outcomes) shortest(locked bool) []uint64 {
	start := step{at: o.want.Entry}
	from := map[step]step{start: start}
	queue := []step{start}
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		n := o.nodes[s.at]
		if n.end == returns && (s.locked || !locked) {
			path := []uint64{s.at}
			for s != start {
				s = from[s]
				path = append(path, s.at)
			}
			return path
		}
		for _, next := range n.next {
			t := step{next, s.locked || n.in.Locked}
			if _, seen := from[t]; !seen {
				from[t] = s
				queue = append(queue, t)
			}
		}
	}
	return nil
}

// findEnteredElsewhere returns the instructions that control can reach other than from the entry,
// and all that follow them.
func (g *graph) findEnteredElsewhere() map[uint64]bool {
	var todo []uint64
	outside := func(from, to uint64) {
		if g.nodes[from] == nil && g.nodes[to] != nil && to != g.want.Entry {
			todo = append(todo, to)
		}
	}
	for _, x := range g.im.Landings().Crossings() {
		outside(x.From, x.To)
	}
	for _, e := range g.extents() {
		g.sweep(e, outside)
	}
	for _, at := range g.order {
		if at == g.want.Entry {
			continue
		}
		if g.im.Landings().Marked(at) || g.im.Landings().Called(at) {
			todo = append(todo, at)
		}
	}
	reached, _ := code.Reach(todo, func(at uint64) ([]uint64, bool) { return g.nodes[at].next, true })
	return reached
}

// extents returns the extents that contain instructions of the graph, sorted.
func (g *graph) extents() []*code.Extent {
	es := map[uint64]*code.Extent{}
	for _, n := range g.nodes {
		es[n.ext.Lo] = n.ext
	}
	return slices.SortedFunc(maps.Values(es), func(a, b *code.Extent) int { return cmp.Compare(a.Lo, b.Lo) })
}

// sweep calls outside for each branch into the graph, and each fall through into it, from code of
// the same extent that is not in the graph.
func (g *graph) sweep(e *code.Extent, outside func(from, to uint64)) {
	falls := false // whether the instruction before is not in the graph, may be executed, and falls through
	var last uint64
	tiles := g.im.Sweep(e.Range, func(in *insn.Inst) bool {
		if g.nodes[in.Addr] != nil {
			if falls {
				outside(last, in.Addr)
			}
			falls = false
			return true
		}
		falls = falls || g.im.Landings().Has(in.Addr)
		last = in.Addr
		switch in.Kind {
		case insn.Jump, insn.CondJump:
			outside(in.Addr, in.Target)
		}
		switch in.Kind {
		case insn.Jump, insn.IndirectJump, insn.Return, insn.Stop:
			falls = false
		}
		return true
	})
	if !tiles {
		g.fail("the code around 0x%x cannot be read", e.Lo)
	}
	for _, m := range g.im.Landings().Marks(elf.Range{Lo: e.Lo + 1, Hi: e.Hi}) {
		if g.nodes[m] == nil {
			g.fail("0x%x may be entered in its midst, at 0x%x", e.Lo, m)
		}
	}
}

// overlapsNone reports whether no other instruction of the graph overlaps in: a breakpoint at in
// would overwrite part of such an instruction.
func (g *graph) overlapsNone(in *insn.Inst) bool {
	for at := in.Addr - uint64(g.im.Arch().MaxLen()) + 1; at < in.Addr; at++ {
		if n := g.nodes[at]; n != nil && at+uint64(n.in.Len) > in.Addr {
			return false
		}
	}
	return true
}

func mnemonic(im *Image, at uint64) string {
	s := slide{im: im, w: &Want{At: at}}
	name := s.name(at)
	return name[:max(0, len(name)-len(" +0x0"))]
}
