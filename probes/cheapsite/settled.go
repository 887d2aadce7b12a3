package cheapsite

import "github.com/tracepredict/tracepredict/probes/insn"

// settled is what is certain about the rest of a call, from one instruction on.
type settled struct {
	// ok means that every path from here to a return is plain code: no call, no synchronisation, no
	// loop. Plain stores are allowed: by them a lock records its state once it is held, and they
	// keep no other thread out.
	ok bool
	// known means that the function returns value, if constant is set, or else what the result
	// register already holds here.
	known    bool
	constant bool
	value    int64
}

// settle computes what is certain from each instruction on.
func (g *graph) settle() map[uint64]settled {
	out := map[uint64]settled{}
	open := map[uint64]bool{} // instructions on the path that is being walked: an edge to one of them closes a loop
	var walk func(at uint64) settled
	walk = func(at uint64) settled {
		if s, done := out[at]; done {
			return s
		}
		if open[at] {
			return settled{}
		}
		open[at] = true
		s := g.settledBy(at, walk)
		delete(open, at)
		out[at] = s
		return s
	}
	for _, at := range g.order {
		walk(at)
	}
	return out
}

func (g *graph) settledBy(at uint64, of func(uint64) settled) settled {
	n := g.nodes[at]
	switch {
	case n.end == returns:
		return settled{ok: true, known: true}
	case n.end != continues || !n.live || !n.in.Known || n.in.Locked:
		return settled{}
	}
	switch n.in.Kind {
	case insn.Plain, insn.Nop, insn.Push, insn.Jump, insn.CondJump:
	default:
		return settled{}
	}
	var s settled
	for i, to := range g.liveSuccessors(at) {
		t := of(to)
		switch {
		case !t.ok:
			return settled{}
		case i == 0:
			s = t
		case t != s:
			s = settled{ok: true} // the result depends on the path
		}
	}
	if !s.known || s.constant || !n.in.Writes.Has(g.want.Result) {
		return s
	}
	if n.in.Sum.Const() && n.in.Sum.Dst == g.want.Result {
		return settled{ok: true, known: true, constant: true, value: n.in.Sum.Imm}
	}
	return settled{ok: true}
}
