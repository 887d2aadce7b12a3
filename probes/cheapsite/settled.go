package cheapsite

import "github.com/tracepredict/tracepredict/probes/insn"

// settled is what is certain from an instruction on.
type settled struct {
	// ok: every path from here to a return is plain code: no call, no
	// synchronisation, no loop. Plain stores are what a lock records once it is
	// held; they keep no other thread out.
	ok bool
	// known: what is returned is value, if constant, or what the result
	// register holds here already.
	known    bool
	constant bool
	value    int64
}

// settle computes what is certain from each instruction on.
func (g *graph) settle() map[uint64]settled {
	out := map[uint64]settled{}
	open := map[uint64]bool{} // on the path that is being walked: what leads back there is a loop
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
	case n.end != goesOn || !n.live || !n.in.Known || n.in.Locked:
		return settled{}
	}
	switch n.in.Kind {
	case insn.Plain, insn.Nop, insn.Push, insn.Jump, insn.CondJump:
	default:
		return settled{}
	}
	var s settled
	for i, to := range g.followers(at) {
		t := of(to)
		switch {
		case !t.ok:
			return settled{}
		case i == 0:
			s = t
		case t != s:
			s = settled{ok: true} // it depends on the path
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
