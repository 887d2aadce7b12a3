package between

import (
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// maxFollowed bounds the instructions that Differ follows.
const maxFollowed = 64

// Differ reports whether code that has read one of two values from memory takes another branch than with the
// other. Read is the call stack of the read, innermost first: the address of the instruction, then return addresses.
// Calls are taken to return, and to change what the calling convention lets them. Where a branch depends on something
// else, both ways count. If Differ returns false, the code may do the same or not.
func (x *Examiner) Differ(read []uint64, a, b uint64) bool {
	image, in, code := x.readAt(read)
	if in == nil || a == b {
		return false
	}
	f := follower{image: image, outer: read[1:], x: x, left: maxFollowed}
	for i, v := range []uint64{a, b} {
		f.states[i].newFrame()
		once := ownFrame{image: image, given: true, value: value{bytes: uint8(in.Mem[0].Size), off: int64(v)}}
		if !f.apply(&f.states[i], in, code, once) {
			return false
		}
	}
	return f.follow(in.End(), 0)
}

// readAt returns the instruction that makes a read, with its code and where it is; nil if it is none that reads one word
// alone, or if it is not known. Read is the call stack of the read, as for Differ.
func (x *Examiner) readAt(read []uint64) (image *image, in *insn.Inst, code []byte) {
	if len(read) == 0 {
		return nil, nil, nil
	}
	l, ok := x.locate(read[0])
	if !ok {
		return nil, nil, nil
	}
	in, code = l.image.at(l.pc)
	if in == nil || !in.Known || !in.Kind.Straight() || in.NMem != 1 || !in.Mem[0].Read || in.Mem[0].Size > wordSize {
		return nil, nil, nil
	}
	return l.image, in, code
}

// follower follows the code behind a read, with what is known after each of the two values.
type follower struct {
	x      *Examiner
	image  *image
	outer  []uint64 // the return addresses of the frames that the code returns to
	states [2]state
	left   int // instructions that may still be followed
}

// maxOpen bounds the branches of one path of which both ways count.
const maxOpen = 4

func (f *follower) follow(pc uint64, open int) (differ bool) {
	for ; f.left > 0; f.left-- {
		in, code := f.image.at(pc)
		if in == nil {
			return false
		}
		f.x.Budget--
		switch {
		case in.Kind == insn.CondJump && in.Cond != 0:
			first, ok := f.states[0].flags.holds(in.Cond - 1)
			second, ok2 := f.states[1].flags.holds(in.Cond - 1)
			if !ok || !ok2 {
				other := *f
				differ = open < maxOpen && f.follow(in.End(), open+1)
				other.left = f.left
				return differ && other.follow(in.Target, open+1)
			}
			if first != second {
				return true
			}
			if pc = in.End(); first {
				pc = in.Target
			}
		case in.Kind == insn.Jump && f.image.imported(in) == "":
			pc = in.Target
		case (in.Kind == insn.IndirectJump || in.Kind == insn.IndirectCall) && f.goesApart(in):
			return true
		case in.Kind.Calls():
			for i := range f.states {
				f.states[i].afterCall(value{})
			}
			pc = in.End()
		case in.Kind == insn.Return:
			if pc = f.back(); pc == 0 {
				return false
			}
		case !in.Kind.Straight() || !in.Known && in.Kind != insn.Nop:
			return false
		default:
			m := ownFrame{image: f.image, apart: f.indexesApart(in)}
			for i := range f.states {
				if !f.apply(&f.states[i], in, code, m) {
					return false
				}
			}
			pc = in.End()
		}
	}
	return false
}

// goesApart reports whether an indirect jump or call goes elsewhere after the one value than after the other: by an
// element of a table.
func (f *follower) goesApart(in *insn.Inst) bool {
	if in.NMem > 0 {
		return f.indexesApart(in)
	}
	for r := range insn.Reg(numRegs) {
		if in.Reads.Has(r) && f.states[0].regs[r].read == apart {
			return true
		}
	}
	return false
}

// indexesApart reports whether the addresses that an instruction accesses are certainly different ones.
func (f *follower) indexesApart(in *insn.Inst) bool {
	for i := range in.NMem {
		for _, r := range []insn.Reg{in.Mem[i].Base, in.Mem[i].Index} {
			a, ok := f.states[0].reg(r).number(4)
			b, ok2 := f.states[1].reg(r).number(4)
			if r != insn.NoReg && ok && ok2 && a != b {
				return true
			}
		}
	}
	return false
}

// apart, as what a value was read by, means that it is another element of a table after the one value than after
// the other.
const apart = 1

// back returns where the function returns to, as linked; 0 if that is in another file or not known.
func (f *follower) back() uint64 {
	if len(f.outer) == 0 {
		return 0
	}
	l, ok := f.x.locate(f.outer[0])
	if !ok || l.image != f.image {
		return 0
	}
	f.outer = f.outer[1:]
	for i := range f.states {
		f.states[i].newFrame()
	}
	return l.pc
}

// newFrame makes the state that of a function of whose frame nothing is known: neither where the stack pointer is in
// it, nor the frame pointer.
func (s *state) newFrame() {
	s.frames = []frame{{}, {}}
	s.regs[insn.RSP], s.regs[insn.RBP] = to(0, 0), to(1, 0)
}

// ownFrame is memory of which nothing is known but the words of the frame, and what one read is given.
type ownFrame struct {
	image *image
	given bool
	value value
	apart bool // the address differs
}

func (m ownFrame) load(s *state, in *insn.Inst, at value, size int) (value, bool) {
	if m.given {
		return m.value, true
	}
	if n, ok := at.object(); ok {
		return s.frames[n].load(at.off, at.exact, size), true
	}
	if m.apart {
		return value{read: apart}, true
	}
	return value{}, true
}

func (m ownFrame) store(s *state, in *insn.Inst, at value, size int, v value) bool {
	if n, ok := at.object(); ok {
		s.change(n).store(at.off, at.exact, size, v)
	}
	return true
}

func (m ownFrame) frame() int      { return 0 }
func (m ownFrame) file() *elf.File { return m.image.File }
