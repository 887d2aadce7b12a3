package between

import "github.com/tracepredict/tracepredict/probes/insn"

// Branches reports whether a branch, or where the code accesses memory, may depend on what code has read from memory: in
// the function of the read, or in those to which it returns. Read is the call stack of the read, as for Differ. Calls are
// taken to return, and to use nothing of the value; a store to memory that is not of the frame loses it.
func (x *Examiner) Branches(read []uint64) bool {
	image, in, code := x.readAt(read)
	if in == nil {
		return false
	}
	t := trail{x: x, image: image, outer: read[1:], left: maxTrail}
	t.newFrame()
	if !t.apply(in, code, ownFrame{image: image, given: true, value: value{read: apart}}) {
		return false
	}
	return t.reachesBranch(in.End())
}

// maxTrail bounds the instructions of one path that Branches follows.
const maxTrail = 48

// trail follows the code behind a read along one path. What depends on the value has apart in value.read.
type trail struct {
	state
	x     *Examiner
	image *image
	outer []uint64 // the return addresses of the frames that the code returns to
	open  int      // branches of the path so far of which both ways are followed
	left  int      // instructions that may still be followed
}

// reachesBranch reports whether a branch that depends on the value lies on a path from pc.
func (t *trail) reachesBranch(pc uint64) bool {
	for ; t.left > 0 && t.x.Budget > 0; t.left-- {
		in, code := t.image.at(pc)
		if in == nil {
			return false
		}
		t.x.Budget--
		switch {
		case in.Kind == insn.CondJump:
			if t.depends(in) {
				return true
			}
			other := *t
			other.open++
			if t.open < maxOpen && other.reachesBranch(in.Target) {
				return true
			}
			pc = in.End()
		case in.Kind == insn.IndirectJump || in.Kind == insn.IndirectCall:
			if t.depends(in) {
				return true
			}
			if in.Kind == insn.IndirectJump {
				return false
			}
			t.afterCall(value{})
			pc = in.End()
		case in.Kind == insn.Jump && t.image.imported(in) == "":
			pc = in.Target
		case in.Kind == insn.Call:
			t.afterCall(value{})
			pc = in.End()
		case in.Kind == insn.Return:
			if pc = t.back(); pc == 0 {
				return false
			}
		case !in.Kind.Straight() || !in.Known && in.Kind != insn.Nop:
			return false
		default:
			if t.pointsBy(in) {
				return true
			}
			if !t.apply(in, code, ownFrame{image: t.image}) {
				return false
			}
			pc = in.End()
		}
	}
	return false
}

// depends reports whether where control goes after an instruction depends on the value.
func (t *trail) depends(in *insn.Inst) bool {
	if in.Kind == insn.CondJump && t.flags.read != 0 {
		return true
	}
	for r := range insn.Reg(numRegs) {
		if in.Reads.Has(r) && t.regs[r].read != 0 {
			return true
		}
	}
	return false
}

// pointsBy reports whether the address of what an instruction accesses depends on the value.
func (t *trail) pointsBy(in *insn.Inst) bool {
	for i := range in.NMem {
		if t.reg(in.Mem[i].Base).read != 0 || t.reg(in.Mem[i].Index).read != 0 {
			return true
		}
	}
	return false
}

// back returns where the function returns to, as linked; 0 if that is in another file or not known.
func (t *trail) back() uint64 {
	if len(t.outer) == 0 {
		return 0
	}
	l, ok := t.x.locate(t.outer[0])
	if !ok || l.image != t.image {
		return 0
	}
	t.outer = t.outer[1:]
	t.newFrame()
	return l.pc
}
