package between

import (
	"github.com/tracepredict/tracepredict/probes/insn"
	"github.com/tracepredict/tracepredict/probes/libname"
)

// recorded reports whether all accesses by an instruction were recorded, where that matters.
func (w *walker) recorded(in *insn.Inst) bool {
	return (w.about == sees || w.about == leaves) && w.query.Recorded != nil && in.NMem == 1 && in.Repeats == 0 &&
		w.query.Recorded(w.file(), in.Addr, in.Mem[0].Size)
}

// observed applies the effect of a call of a function of the C or C++ library to s, if all is known of it that
// the question is about; otherwise it ends the exploration.
func (w *walker) observed(s *state, in *insn.Inst, name string) bool {
	known := w.query.Recorded != nil && w.query.Recorded(w.file(), in.Addr, 0)
	again := w.query.Unrecorded && holdsAgain(name)
	plain := allocates(name) || frees(name) || again
	switch {
	case w.about == leaves && (writesNothing(name) || plain || tellsTime(name)):
		s.afterCall(value{})
	case w.about != sees && w.about != leaves, !fills(name) && !plain && !writesNothing(name) && !tellsTime(name) && storesTime(name) < 0:
		return w.fail(Why{Kind: Calls, At: w.at(in), Name: name})
	case fills(name):
		return w.copied(s, in, name, known)
	case storesTime(name) >= 0:
		return w.storesTime(s, in, storesTime(name))
	case plain:
		if !w.checkArguments(s, in, name) {
			return false
		}
		s.afterCall(value{})
	case known && name == "strlen":
		s.afterCall(value{})
	default:
		s.afterCall(value{read: w.at(in)})
	}
	return true
}

// storesTime applies the effect of a call that stores two words, which a clock decides, where an argument points to.
func (w *walker) storesTime(s *state, in *insn.Inst, argument int) bool {
	to, said := s.regs[insn.AMD64.Arguments()[argument]], value{read: w.at(in)}
	if w.about == leaves {
		said.read = 0
	}
	if !w.store(s, in, to, wordSize, said) || !w.store(s, in, to.plus(wordSize), wordSize, said) {
		return false
	}
	s.afterCall(value{})
	return true
}

// fills reports whether a function of the C library only writes the memory that its first argument points to,
// returns that argument, and does nothing that depends on memory.
func fills(name string) bool { return libname.Is(name, libname.Fills) }

// copied applies the effect of a function of fills. What it copies is not followed: none of it may depend on
// memory that was not recorded.
func (w *walker) copied(s *state, in *insn.Inst, name string, known bool) bool {
	if !known {
		return w.fail(Why{Kind: Calls, At: w.at(in), Name: name})
	}
	if w.about == sees && (!w.checkArguments(s, in, name) || !w.keepsNothing(w.now.context, s, in)) {
		return false
	}
	to := s.regs[insn.AMD64.Arguments()[0]]
	s.forget(to.may)
	for n := range s.frames {
		if to.may&only(n) != 0 { // the address of any frame may have been copied
			s.change(n).rest.may |= only(len(s.frames)) - 1
		}
	}
	s.afterCall(to.vague())
	return true
}
