package between

import (
	"slices"

	"github.com/tracepredict/tracepredict/probes/code"
	"github.com/tracepredict/tracepredict/probes/insn"
)

const numRegs = 16

// state is what is known before an instruction.
type state struct {
	regs  [numRegs]value
	flags flags
	// vector is what the vector registers together may hold.
	vector value
	// wrote has, in a summary, the objects that may have been written to.
	wrote  objects
	frames []frame // by the number of the object; shared between states until it is changed
}

// frame is what is known of the words of one stack frame.
type frame struct {
	words code.Frame[value] // other words hold a plain value, or the one in rest
	rest  value             // what stores to unknown offsets may have left anywhere in the frame
}

// flags is what is known of the processor's flags.
type flags struct {
	read uint64 // the address of the code whose read of shared memory they depend on; 0: none
	// known means that they are those of a comparison of the constants a and b, or, if test, of the
	// bits that the two have in common.
	known, test bool
	onlyZero    bool // only whether the result is zero is known
	size        int  // of the operands, in bytes
	a, b        uint64
}

// join joins the state of another path into s, and reports whether s changed.
func (s *state) join(from *state) (changed bool) {
	for r := range s.regs {
		changed = set(&s.regs[r], join(s.regs[r], from.regs[r])) || changed
	}
	changed = set(&s.vector, join(s.vector, from.vector)) || changed
	if s.flags != from.flags {
		f := flags{read: firstRead(s.flags.read, from.flags.read)}
		changed = changed || f != s.flags
		s.flags = f
	}
	changed = changed || from.wrote&^s.wrote != 0
	s.wrote |= from.wrote
	for i := range s.frames {
		if f := s.frames[i]; f.join(&from.frames[i]) {
			*s.change(i), changed = f, true
		}
	}
	return changed
}

func set(to *value, v value) (changed bool) {
	changed = *to != v
	*to = v
	return changed
}

func (f *frame) join(from *frame) (changed bool) {
	x, y := f.rest, from.rest
	changed = set(&f.rest, join(x, y))
	return f.words.Join(from.words, func(a, b *value) (value, bool) {
		v := value{}
		switch {
		case a == nil:
			v = join(x, *b)
		case b == nil:
			v = join(*a, y)
		default:
			v = join(*a, *b)
		}
		return v, !v.plain()
	}, func(a, b value) bool { return a == b }) || changed
}

// change returns the frame of a number in a copy that may be changed.
func (s *state) change(n int) *frame {
	s.frames = slices.Clone(s.frames)
	return &s.frames[n]
}

// forget removes what is known for certain of the words of the frames in a set.
func (s *state) forget(which objects) {
	for n := range s.frames {
		if which&only(n) != 0 && len(s.frames[n].words) > 0 {
			s.change(n).blur()
		}
	}
}

// blur removes what is known for certain of the words.
func (f *frame) blur() {
	var words code.Frame[value]
	for _, w := range f.words {
		if w.Value = w.Value.vague(); !w.Value.plain() {
			words = append(words, w)
		}
	}
	f.words = words
}

const wordSize = 8

// load returns what size bytes of a frame hold; 0: a number that is not known.
func (f *frame) load(at int64, exact bool, size int) value {
	if !exact || size == 0 || size > wordSize {
		return f.all(at, exact, size)
	}
	all := f.all(at, exact, size)
	v, ok := f.words.Get(at)
	switch {
	case !ok:
		return all
	case size < wordSize:
		if c, ok := v.number(size); ok {
			all.bytes, all.off = uint8(size), int64(c)
		}
		return all
	}
	v.may, v.read = all.may, all.read
	return v
}

// all returns what is known of all words together that a range overlaps.
func (f *frame) all(at int64, exact bool, size int) value {
	v := f.rest.vague()
	for _, w := range f.words {
		if exact && (w.At+wordSize <= at || size != 0 && w.At >= at+int64(size)) {
			continue
		}
		v.may, v.read = v.may|w.Value.may, firstRead(v.read, w.Value.read)
	}
	return v
}

// maxWords bounds the words of one frame that are tracked.
const maxWords = 200

// maxStore bounds the bytes of one store that are tracked.
const maxStore = 64

// store records that size bytes at an offset are written; 0: a number that is not known.
func (f *frame) store(at int64, exact bool, size int, v value) {
	if !exact || size == 0 || size > maxStore || len(f.words) > maxWords {
		f.blur()
		f.rest = join(f.rest, v.vague())
		return
	}
	var kept code.Frame[value]
	for _, w := range f.words {
		switch {
		case w.At+wordSize <= at || w.At >= at+int64(size):
		case w.At >= at && w.At+wordSize <= at+int64(size), w.At == at && size == int(w.Value.bytes) && w.Value.may == 0 && w.Value.read == 0:
			continue
		default:
			if w.Value = w.Value.vague(); w.Value.plain() {
				continue
			}
			if w.At == at { // replaced below
				v.may, v.read = v.may|w.Value.may, firstRead(v.read, w.Value.read)
			}
		}
		kept = append(kept, w)
	}
	f.words = kept
	for done := 0; done < size; done += wordSize {
		part := v
		if size != wordSize {
			part = v.vague()
			if n := min(size, int(v.bytes)); n > 0 && size < wordSize {
				part.bytes, part.off = uint8(n), v.off
			}
		}
		if !part.plain() {
			f.words = f.words.Put(at+int64(done), part)
		}
	}
}

// mayStore records that size bytes at an offset may be written.
func (f *frame) mayStore(at int64, size int, v value) {
	old := f.all(at, true, size)
	f.store(at, true, size, value{may: v.may | old.may, read: firstRead(v.read, old.read)})
}

// redZone is the number of bytes below the stack pointer that a function may use.
const redZone = 128

// cut removes the words below an offset, which are not used any more.
func (f *frame) cut(below int64) {
	f.words = f.words.Filter(func(w *code.Word[value]) bool { return w.At >= below })
}

func (s *state) reg(r insn.Reg) value {
	if r >= numRegs {
		return value{}
	}
	return s.regs[r]
}
