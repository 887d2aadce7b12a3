package between

import (
	"strings"

	"github.com/tracepredict/tracepredict/probes/insn"
)

// This file handles queries whose second event is not the call of a function that always synchronises: an access, or
// the entry of a function after which the thread executes nothing, as that of an initialisation.

// endsAt reports whether an address, the innermost of a call stack, may be that of the second event.
func (w *walker) endsAt(addr uint64) bool {
	l, ok := w.x.locate(addr)
	if !ok || w.query.Access || w.x.inCall(addr) {
		return ok
	}
	fn, ok := l.image.FunctionAt(l.pc)
	return ok && w.query.Last && l.image.leadsTo(fn.Lo, l.pc)
}

// leadsTo reports whether whoever executes the instruction at one address comes to the one at another.
func (im *image) leadsTo(from, to uint64) bool {
	for from < to {
		in, _ := im.at(from)
		if in == nil || !in.Kind.Straight() {
			return false
		}
		from = in.End()
	}
	return from == to
}

// entersLast reports whether the second event is the entry of a function whose calls need not synchronise.
func (w *walker) entersLast() bool {
	return w.query.Last && !w.query.Access && w.passed == w.query.Releases && w.query.To != nil && !w.x.inCall(w.query.To[0])
}

// isAccess reports whether an instruction makes the access that is the second event.
func (w *walker) isAccess(p place, in *insn.Inst) bool {
	to := w.query.To
	return w.query.Access && w.passed == w.query.Releases && p.process(in.Addr) == to[0] && (len(to) == 1 || w.isCall(p.outer, p.ret, to[1:]))
}

// access handles the instruction that makes the access. It reports whether the path ends there: where the thread may
// execute the instruction again before another event, that later time may be the one of the query.
func (w *walker) access(p place, s *state, in *insn.Inst) bool {
	w.now, w.arrived = p, true
	for i := range in.NMem {
		read := s.address(&in.Mem[i]).read
		if read != 0 && (w.about == reads || w.about == sees) {
			w.fail(Why{Kind: Address, At: w.at(in), Read: read})
			return true
		}
	}
	return len(w.query.To) > 1 && !w.repeats(p, in)
}

// repeats reports whether a thread may execute an instruction again without a return from the outermost context.
func (w *walker) repeats(p place, in *insn.Inst) bool {
	if p.image.returnsTo(in.End()) {
		return true
	}
	for c := p.context; c.outer != nil; c = c.outer {
		if c.outer.image.returnsTo(c.ret - c.outer.bias) {
			return true
		}
	}
	return false
}

// maxRepeat bounds the instructions that returnsTo looks at.
const maxRepeat = 10_000

// returnsTo reports whether control may come from an address of a function to the instruction before it. Where that
// is not known, it may.
func (im *image) returnsTo(addr uint64) bool {
	queue, seen := []uint64{addr}, map[uint64]bool{addr: true}
	for len(queue) > 0 {
		pc := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		in, _ := im.at(pc)
		if in == nil || in.Kind == insn.IndirectJump || len(seen) > maxRepeat || in.End() == addr {
			return true
		}
		var next []uint64
		if in.Kind == insn.Jump || in.Kind == insn.CondJump {
			next = append(next, in.Target)
		}
		if in.Kind != insn.Jump && in.Kind != insn.Return && in.Kind != insn.Stop {
			next = append(next, in.End())
		}
		for _, to := range next {
			if !im.sameFunction(pc, to) && !strings.HasSuffix(im.FunctionName(to), ".cold") {
				continue // the call of another function, or behind one that does not return
			}
			if !seen[to] {
				seen[to] = true
				queue = append(queue, to)
			}
		}
	}
	return false
}
