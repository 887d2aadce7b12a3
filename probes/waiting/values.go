package waiting

import (
	"slices"

	"github.com/tracepredict/tracepredict/probes/code"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// class says how a value may differ between iterations of a loop.
type class uint8

const (
	varies   class = iota // by what the loop does, or in an unknown way
	fixed                 // not at all
	loaded                // only by what other threads store to the memory of some loads
	answered              // only by that, and by what functions of other files answer
)

// value is what is known of a register, of the flags, or of a word of the frame.
type value struct {
	class class
	loads uint64 // if loaded or answered: by number, the loads on which it depends
	// root and off describe the value as an address: off bytes from a root. No root: it is not known.
	root rootID
	off  int64
}

// root is a value to which addresses are relative.
type root struct {
	kind   rootKind
	reg    insn.Reg // of fromRegister: the value at the beginning of the region
	parent rootID   // of fromMemory: the value in memory, off bytes from the parent
	off    int64
	// Of fromIndex: the element at parent plus off, selected by index, which is itself relative to a
	// root, and scale.
	index    rootID
	indexOff int64
	scale    uint8
}

type rootKind uint8

const (
	none rootKind = iota
	absolute
	fromRegister
	fromMemory
	fromIndex
	fromInstruction // the address that the instruction at off computes
)

type rootID int32

func (x *finder) id(r root) rootID {
	n, ok := x.rootIDs[r]
	if !ok {
		n = rootID(len(x.roots))
		x.roots, x.rootIDs[r] = append(x.roots, r), n
	}
	return n
}

// The numbers of the roots that a finder begins with: none, that of constants, and the registers.
const (
	constants     rootID = 1
	firstRegister rootID = 2
)

func firstRoots() []root {
	roots := []root{{}, {kind: absolute}}
	for reg := range flags {
		roots = append(roots, root{kind: fromRegister, reg: reg})
	}
	return roots
}

func (x *finder) register(r insn.Reg) rootID { return firstRegister + rootID(r&15) }

func (x *finder) constant(v int64) value {
	return value{class: fixed, root: constants, off: v}
}

// memory returns the root that is the value in memory, off bytes from another root.
func (x *finder) memory(parent rootID, off int64) rootID {
	at := place{parent, off}
	n, ok := x.inMemory[at]
	if !ok {
		n = rootID(len(x.roots))
		x.roots, x.inMemory[at] = append(x.roots, root{kind: fromMemory, parent: parent, off: off}), n
	}
	return n
}

// place is an address relative to a root.
type place struct {
	root rootID
	off  int64
}

// static reports whether an address relative to a root is a constant, or was loaded from such.
func (x *finder) static(id rootID) bool {
	for r := x.roots[id]; ; r = x.roots[r.parent] {
		switch r.kind {
		case absolute:
			return true
		case none, fromRegister, fromInstruction:
			return false
		}
	}
}

// combine returns what is known of a value that is computed from two.
func combine(a, b value) value {
	if a.class == varies || b.class == varies {
		return value{}
	}
	return value{class: max(a.class, b.class), loads: a.loads | b.loads}
}

// join returns what two paths agree on.
func join(a, b value) value {
	switch {
	case a == b:
		return a
	case a.class == answered || b.class == answered:
		return combine(a, b) // which of two branches is taken is decided by answers too, as a rule
	case a.class == loaded && b.class == loaded:
		j := combine(a, b)
		if a.root == b.root && a.off == b.off {
			j.root, j.off = a.root, a.off
		}
		return j
	}
	return value{}
}

// state is what is known before an instruction.
type state struct {
	regs  [16]value
	flags value
	frame code.Frame[word] // relative to rsp or rbp at the beginning, by key
	held  int8             // locks
}

// word is what is known of a word of the frame.
type word struct {
	value
	size int
}

// join reduces a state to what it has in common with another one.
func (s *state) join(from *state) (changed bool) {
	meet := func(into *value, v value) {
		if j := join(*into, v); j != *into {
			*into, changed = j, true
		}
	}
	for i := range s.regs {
		meet(&s.regs[i], from.regs[i])
	}
	meet(&s.flags, from.flags)
	if s.frame.Join(from.frame, func(a, b *word) (word, bool) {
		if a == nil || b == nil || a.size != b.size {
			return word{}, false
		}
		j := join(a.value, b.value)
		return word{j, a.size}, j.class != varies
	}, func(a, b word) bool { return a == b }) {
		changed = true
	}
	if from.held < s.held {
		s.held, changed = from.held, true
	}
	return changed
}

// key returns a distance for the words of the frame that are relative to a root: those relative to
// rsp and to rbp do not overlap.
func (x *finder) key(id rootID, off int64) int64 {
	const apart = 1 << 40
	return int64(x.roots[id].reg)*apart + off
}

// span is a range of memory relative to a root.
type span struct {
	root rootID
	off  int64
	size int
}

// overlaps reports whether two spans may overlap, if equal roots are equal values and others differ.
func (s span) overlaps(o span) bool {
	return s.root == o.root && s.off < o.off+int64(o.size) && o.off < s.off+int64(s.size)
}

// readsFlags reports whether an instruction reads the flags into a register, and whether the register
// has nothing else then.
func readsFlags(b []byte) (reads, alone bool) {
	for len(b) > 1 && (b[0] == 0x66 || b[0]&0xf0 == 0x40) {
		b = b[1:]
	}
	switch {
	case b[0] == 0x0f && len(b) > 1:
		return b[1]&0xe0 == 0x80 && b[1] >= 0x90 || b[1]&0xf0 == 0x40, b[1]&0xf0 == 0x90
	case b[0] < 0x20: // adc, sbb
		return b[0] >= 0x10, false
	case b[0] >= 0x80 && b[0] <= 0x83 && len(b) > 1:
		op := b[1] >> 3 & 7
		return op == 2 || op == 3, false
	}
	return false, false
}

// comparesVectors reports whether an instruction sets the flags by vector registers.
func comparesVectors(b []byte) bool {
	for len(b) > 1 && (b[0] == 0x66 || b[0]&0xf0 == 0x40) {
		b = b[1:]
	}
	return slices.Contains([]byte{0xc4, 0xc5, 0x62}, b[0]) || len(b) > 1 && b[0] == 0x0f && (b[1] == 0x2e || b[1] == 0x2f)
}

// isPause reports whether an instruction is pause, which loops that wait contain.
func isPause(b []byte) bool { return len(b) == 2 && b[0] == 0xf3 && b[1] == 0x90 }
