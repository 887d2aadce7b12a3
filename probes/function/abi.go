package function

import (
	"debug/dwarf"
	"fmt"
	"strings"

	dw "github.com/tracepredict/tracepredict/probes/dwarf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// The locations of a function's parameters at its entry, by their types: the System V ABI for
// x86-64, 3.2.3; the procedure call standard for arm64, 6.8. A parameter that cannot be recorded
// still uses registers, which the parameters after it cannot use.

// kind is the way in which a value is passed.
type kind uint8

const (
	unknownKind kind = iota
	voidKind
	integer  // in an integer register
	floating // in a floating-point register, which probes cannot read
	aggregate
	inMemory // always on the stack
	indirect // by its address
)

// word is the class of eight bytes of an aggregate.
type word uint8

const (
	noWord word = iota
	intWord
	floatWord
)

// typ is a type, as far as the calling convention depends on it.
type typ struct {
	text    string
	kind    kind
	size    int64
	signed  bool
	pointer bool
	align16 bool
	words   [2]word // for an aggregate of at most 16 bytes
	same    bool    // arm64: all its fields are floating-point numbers
}

// maxTypeDepth bounds the depth of types within types; maxEntries the entries that are read for one
// type or function.
const (
	maxTypeDepth = 32
	maxEntries   = 1 << 14
)

// typeOf describes the type at an offset; offset 0 is void.
func (d *debug) typeOf(off dwarf.Offset) typ {
	d.Budget = maxEntries
	return d.typeAt(off, 0)
}

func (d *debug) typeAt(off dwarf.Offset, depth int) typ {
	if off == 0 {
		return typ{text: "void", kind: voidKind}
	}
	t := d.TypeAt(off)
	if d.Budget--; t == nil || depth > maxTypeDepth || d.Budget < 0 {
		return typ{text: "?"}
	}
	switch t.Tag {
	case dwarf.TagBaseType:
		return baseType(t)
	case dwarf.TagEnumerationType:
		return typ{text: tagged("enum", t.Name), kind: integer, size: max(t.Bytes, 1), signed: d.typeAt(t.Of, depth+1).signed}
	case dwarf.TagPointerType, dwarf.TagReferenceType, dwarf.TagRvalueReferenceType:
		mark := map[dwarf.Tag]string{dwarf.TagPointerType: " *", dwarf.TagReferenceType: " &", dwarf.TagRvalueReferenceType: " &&"}[t.Tag]
		return typ{text: d.textOf(t.Of, depth+1) + mark, kind: integer, size: 8, pointer: true}
	case dwarf.TagPtrToMemberType:
		if to := d.TypeAt(t.Of); to != nil && to.Tag == dwarf.TagSubroutineType {
			return typ{text: "pointer to member", kind: aggregate, size: 16, words: [2]word{intWord, intWord}}
		}
		return typ{text: "pointer to member", kind: integer, size: 8}
	case dwarf.TagTypedef, dwarf.TagConstType, dwarf.TagVolatileType, dwarf.TagRestrictType, dwarf.TagAtomicType:
		named := d.typeAt(t.Of, depth+1)
		named.text = nameOf(t, named.text)
		return named
	case dwarf.TagUnspecifiedType: // decltype(nullptr)
		return typ{text: t.Name, kind: integer, size: 8}
	case dwarf.TagSubroutineType:
		return typ{text: "function"}
	case dwarf.TagStructType, dwarf.TagClassType, dwarf.TagUnionType:
		return d.structure(t, depth)
	}
	return typ{text: t.Name}
}

// nameOf returns the text of a typedef or qualified type, given that of the type it refers to.
func nameOf(t *dw.Type, inner string) string {
	switch t.Tag {
	case dwarf.TagTypedef:
		return t.Name
	case dwarf.TagConstType:
		return "const " + inner
	}
	return inner
}

// textOf returns the text of the type at an offset. It does not read the members of a structure,
// since only the text is needed.
func (d *debug) textOf(off dwarf.Offset, depth int) string {
	t := d.TypeAt(off)
	switch {
	case t == nil || depth > maxTypeDepth:
	case t.IsStructure():
		return structureText(t)
	case t.Tag == dwarf.TagTypedef:
		return t.Name
	case t.IsName():
		return nameOf(t, d.textOf(t.Of, depth+1))
	}
	return d.typeAt(off, depth).text
}

func structureText(t *dw.Type) string {
	return tagged(map[dwarf.Tag]string{dwarf.TagStructType: "struct", dwarf.TagUnionType: "union"}[t.Tag], t.Name)
}

func tagged(tag, name string) string { return strings.TrimSpace(tag + " " + name) }

// baseType describes a base type. Its encodings are those of DWARF 5, table 7.11.
func baseType(from *dw.Type) typ {
	t := typ{text: from.Name, kind: integer, size: from.Bytes}
	switch from.Encoding {
	case 0x05, 0x06, 0x0d: // signed, signed char, signed fixed
		t.signed = true
	case 0x04, 0x0f: // float, decimal float
		t.kind, t.same = floating, true
		if t.size > 8 {
			t.kind, t.align16 = inMemory, true // long double
		}
	case 0x03, 0x09: // complex, imaginary
		t.kind, t.words, t.same = aggregate, [2]word{floatWord, noWord}, true
		if t.size > 8 {
			t.words[1] = floatWord
		}
		if t.size > 16 {
			t.kind, t.align16 = inMemory, true
		}
		return t
	}
	if t.kind == integer && t.size > 8 { // __int128
		t.kind, t.words, t.align16 = aggregate, [2]word{intWord, intWord}, true
	}
	return t
}

// byReference is the DW_AT_calling_convention of a class whose objects are passed by address (DWARF
// 5, table 7.28).
const byReference = 4

// structure classifies a structure by its fields.
func (d *debug) structure(s *dw.Type, depth int) typ {
	t := typ{text: structureText(s), kind: aggregate, size: s.Bytes, same: true}
	switch {
	case s.Calling == byReference:
		t.kind = indirect
		return t
	case s.Declared:
		t.kind = unknownKind
		return t
	case s.Bytes > 16:
		t.kind = inMemory
	}
	for _, m := range s.Members() {
		at := m.Start
		if m.InBits {
			at = m.Bit / 8
		}
		t.field(d.elementsOf(m.Type, depth+1), at)
	}
	return t
}

// elementsOf describes a field's type; an array is an aggregate of its elements.
func (d *debug) elementsOf(off dwarf.Offset, depth int) typ {
	array := d.TypeAt(off)
	if array == nil || array.Tag != dwarf.TagArrayType {
		return d.typeAt(off, depth)
	}
	if depth > maxTypeDepth {
		return typ{}
	}
	t := d.elementsOf(array.Of, depth+1)
	n := int64(1)
	for _, c := range array.Counts() {
		if c <= 0 || c > 16 {
			c = 17
		}
		n = min(n*c, 17)
	}
	w := t.word()
	return typ{kind: aggregate, size: t.size * n, same: t.same, words: [2]word{w, w}, align16: t.align16}
}

// word returns the class of the eight bytes that hold a scalar.
func (t *typ) word() word {
	switch t.kind {
	case integer:
		return intWord
	case floating:
		return floatWord
	case aggregate:
		return mergeWords(t.words[0], t.words[1])
	}
	return intWord
}

// mergeWords merges the classes of two fields in the same eight bytes: if one of them is an
// integer, so is the result.
func mergeWords(a, b word) word {
	if a == intWord || b == intWord {
		return intWord
	}
	return max(a, b)
}

// field merges the class of a field at an offset into that of its structure.
func (t *typ) field(f typ, at int64) {
	t.same = t.same && f.same
	t.align16 = t.align16 || f.align16
	switch {
	case f.kind == indirect:
		t.kind = indirect
	case f.kind == unknownKind && t.kind == aggregate:
		t.kind = unknownKind
	case f.kind == inMemory && t.kind == aggregate:
		t.kind = inMemory
	}
	for i := range t.words {
		lo, hi := int64(i)*8, int64(i)*8+8
		if at >= hi || at+max(f.size, 1) <= lo || f.kind == aggregate && f.size == 0 {
			continue
		}
		w := f.word()
		if f.kind == aggregate {
			w = f.words[min(max(i-int(at/8), 0), 1)]
		}
		t.words[i] = mergeWords(t.words[i], w)
	}
}

// slots assigns locations to parameters, in order.
type slots struct {
	arch         insn.Arch
	ints, floats int   // number of registers used
	stack        int64 // the offset of the next parameter on the stack
	unknown      bool  // a parameter has an unknown kind, so nothing after it is known
	regs         []insn.Reg
	floatsAtMost int
}

func newSlots(arch insn.Arch) *slots {
	s := &slots{arch: arch, regs: arch.Arguments(), floatsAtMost: 8}
	if arch == insn.AMD64 {
		s.stack = 8 // the return address
	}
	return s
}

// reserveResult reserves the register that passes the address of a large result. A long double is
// returned in a register of its own.
func (s *slots) reserveResult(result typ) {
	large := result.kind == inMemory && (result.size > 16 || !result.align16) || result.kind == indirect
	if large && s.arch == insn.AMD64 {
		s.ints++
	}
}

// next returns the location of the next parameter, or the reason why it cannot be recorded.
func (s *slots) next(t typ) (Operand, string) {
	if s.unknown {
		return Operand{}, "a parameter before it is of a type that is not understood"
	}
	switch t.kind {
	case integer:
		return s.integer(t), ""
	case indirect:
		s.integer(typ{size: 8})
		return Operand{}, fmt.Sprintf("a %s, which is passed by its address", t.text)
	case floating:
		if s.floats++; s.floats > s.floatsAtMost {
			s.push(8, false)
		}
		return Operand{}, fmt.Sprintf("a %s, which is passed in a floating-point register", t.text)
	case inMemory:
		if s.arch == insn.ARM64 {
			if t.size > 16 {
				s.integer(typ{size: 8})
			} else if s.floats++; s.floats > s.floatsAtMost {
				s.push(t.size, true)
			}
		} else {
			s.push(t.size, t.align16)
		}
		return Operand{}, fmt.Sprintf("a %s, which is passed by value", t.text)
	case aggregate:
		s.aggregate(t)
		return Operand{}, fmt.Sprintf("a %s, which is passed by value", t.text)
	}
	s.unknown = true
	return Operand{}, "of a type that is not understood"
}

func (s *slots) integer(t typ) Operand {
	o := Operand{Width: int(min(max(t.size, 1), 8))}
	if t.signed {
		o.Width = -o.Width
	}
	if s.ints < len(s.regs) {
		o.Kind, o.Reg = Reg, s.regs[s.ints]
		s.ints++
		return o
	}
	o.Kind, o.Disp = Stack, s.push(8, false)
	return o
}

// push reserves room on the stack for a parameter, and returns its offset.
func (s *slots) push(size int64, align16 bool) int64 {
	base := int64(0)
	if s.arch == insn.AMD64 {
		base = 8
	}
	if align16 {
		s.stack = base + (s.stack-base+15)&^15
	}
	at := s.stack
	s.stack += (size + 7) &^ 7
	return at
}

func (s *slots) aggregate(t typ) {
	ints, floats := 0, 0
	for _, w := range t.words {
		switch w {
		case intWord:
			ints++
		case floatWord:
			floats++
		}
	}
	if s.arch == insn.ARM64 {
		s.aggregateARM(t)
		return
	}
	switch {
	case ints+floats == 0: // an aggregate without fields is not passed
	case s.ints+ints <= len(s.regs) && s.floats+floats <= s.floatsAtMost:
		s.ints += ints
		s.floats += floats
	default:
		s.push(t.size, t.align16)
	}
}

// aggregateARM assigns the locations of an aggregate on arm64. One that consists only of
// floating-point numbers uses a floating-point register for each.
func (s *slots) aggregateARM(t typ) {
	n := int(t.size+7) / 8
	switch {
	case t.same:
		s.floats += max(n, 1)
	case s.ints+n <= len(s.regs):
		s.ints += n
	default:
		s.ints = len(s.regs)
		s.push(t.size, t.align16)
	}
}
