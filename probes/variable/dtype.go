package variable

import (
	"debug/dwarf"
	"fmt"
	"strings"

	dw "github.com/tracepredict/tracepredict/probes/dwarf"
	bin "github.com/tracepredict/tracepredict/probes/elf"
)

// typeInfo describes a type as far as a variable of that type needs it.
type typeInfo struct {
	text     string
	size     int64
	class    Class
	atomic   bool
	volatile bool
	signed   bool // an enumeration has negative constants
	char     bool
	// constants are those of an enumeration.
	constants []Constant
	// refusal states why the type cannot be watched; "" if it can be.
	refusal string
}

// encodings of base types (DWARF 5, section 7.8, table 7.11).
var encodings = map[int64]Class{
	0x01: Pointer, 0x02: Bool, 0x04: Float, 0x05: Int, 0x06: Int, 0x07: Uint, 0x08: Uint, 0x10: Uint, 0x11: Uint, 0x12: Uint,
}

// typeOf describes the type at an offset. It follows typedefs and qualifiers itself, because the
// standard library's types lack C11's _Atomic, and build whole graphs of structures for a pointer.
func (x *index) typeOf(off dwarf.Offset, u *dw.CompileUnit) typeInfo {
	x.Budget = maxTypeEntries
	return x.typeAt(off, u, 0)
}

// maxTypeEntries bounds the entries that are read for one type: nested structures could take time
// exponential in their depth.
const maxTypeEntries = 1 << 16

func (x *index) typeAt(off dwarf.Offset, u *dw.CompileUnit, depth int) typeInfo {
	t := x.TypeAt(off).Complete()
	if x.Budget--; t == nil || depth > 4*maxChain || x.Budget < 0 {
		return typeInfo{text: "?", refusal: "an unknown type"}
	}
	inner := func() typeInfo {
		if t.Of == 0 {
			return typeInfo{text: "void", refusal: "type void"}
		}
		return x.typeAt(t.Of, u, depth+1)
	}
	switch t.Tag {
	case dwarf.TagBaseType:
		return baseType(t)
	case dwarf.TagEnumerationType:
		return x.enumeration(t, tagged("enum", t.Name, u))
	case dwarf.TagPointerType:
		return typeInfo{text: inner().text + " *", size: t.Size(), class: Pointer}
	case dwarf.TagTypedef:
		return x.typedef(t, inner())
	case dwarf.TagConstType, dwarf.TagVolatileType, dwarf.TagRestrictType, dwarf.TagAtomicType:
		return qualify(t.Tag, inner())
	case dwarf.TagStructType, dwarf.TagClassType:
		return x.structure(t, u, depth)
	case dwarf.TagUnionType:
		return refuse(tagged("union", t.Name, u), ": name a member")
	case dwarf.TagArrayType:
		return refuse(inner().text+"[]", nameAnElement)
	case dwarf.TagReferenceType, dwarf.TagRvalueReferenceType:
		return refuse(inner().text+" &", ": name the variable that it refers to")
	case dwarf.TagSubroutineType:
		return typeInfo{text: "function", refusal: "a function type"}
	}
	return refuse(t.Name, " ("+t.Tag.String()+"), which cannot be watched")
}

func baseType(t *dw.Type) typeInfo {
	class, ok := encodings[t.Encoding]
	if !ok {
		return refuse(t.Name, ", which is no integer, boolean, pointer or floating type")
	}
	atomic := strings.HasPrefix(t.Name, "atomic_") // gcc, in DWARF 4
	return typeInfo{text: t.Name, size: t.Bytes, class: class, char: charTypes[t.Name], atomic: atomic}
}

// charTypes are the types that hold characters. unsigned char is not one of them: it is more often
// a number, as in uint8_t.
var charTypes = map[string]bool{"char": true, "char8_t": true, "char16_t": true, "char32_t": true, "wchar_t": true}

// maxConstants bounds the constants of an enumeration that are kept.
const maxConstants = 1 << 12

func (x *index) enumeration(from *dw.Type, name string) typeInfo {
	t := typeInfo{text: name, size: from.Bytes, class: Enum}
	x.Children(from.Offset, func(c *dwarf.Entry) bool {
		if v, ok := c.Val(dwarf.AttrConstValue).(int64); ok && c.Tag == dwarf.TagEnumerator {
			t.constants = append(t.constants, Constant{dw.Name(c), v})
			t.signed = t.signed || v < 0
		}
		return len(t.constants) < maxConstants
	})
	return t
}

// nameAnElement is the advice where an array was named.
const nameAnElement = ": name an element"

func refuse(name, why string) typeInfo {
	if name == "" {
		name = "(unnamed)"
	}
	return typeInfo{text: name, refusal: "type " + name + why}
}

// isC are the languages in which a type's name includes its tag: C89, C, C99, Objective C, C11,
// C17, C23.
var isC = map[int64]bool{0x01: true, 0x02: true, 0x0c: true, 0x10: true, 0x1d: true, 0x2c: true, 0x3e: true}

func tagged(tag, name string, u *dw.CompileUnit) string {
	switch {
	case name == "":
		return tag + " (unnamed)"
	case u == nil || isC[u.Language]:
		return tag + " " + name
	}
	return name
}

// typedef returns the type with the name of a typedef. C's atomic_flag is a structure of one
// member. The other atomic_ typedefs mark a type as atomic even where DWARF cannot: its _Atomic is
// new in version 5.
func (x *index) typedef(from *dw.Type, inner typeInfo) typeInfo {
	name := from.Name
	switch {
	case strings.HasPrefix(name, "atomic_") && inner.refusal == "":
		inner.atomic = true
	case name == "atomic_flag":
		if s := from.Unqualified(); s != nil && s.Tag == dwarf.TagStructType {
			inner = x.onlyMember(s, nil, 0)
			inner.atomic = true
		}
	}
	if inner.refusal != "" && name != "" && inner.text != name {
		inner.refusal = fmt.Sprintf("type %s, which is %s", name, inner.refusal)
	}
	if name != "" {
		inner.text = name
	}
	return inner
}

func qualify(tag dwarf.Tag, t typeInfo) typeInfo {
	word := map[dwarf.Tag]string{dwarf.TagConstType: "const", dwarf.TagVolatileType: "volatile", dwarf.TagRestrictType: "restrict", dwarf.TagAtomicType: "_Atomic"}[tag]
	switch {
	case tag == dwarf.TagRestrictType:
	case t.class == Pointer && t.refusal == "":
		t.text += word
	default:
		t.text = word + " " + t.text
	}
	t.volatile = t.volatile || tag == dwarf.TagVolatileType
	t.atomic = t.atomic || tag == dwarf.TagAtomicType
	return t
}

// structure describes a structure. Only the atomic types of the C++ and Rust libraries can be
// watched: each is a scalar wrapped in structures.
func (x *index) structure(s *dw.Type, u *dw.CompileUnit, depth int) typeInfo {
	atomic, ok := x.atomics[s.Offset]
	if !ok {
		return refuse(tagged("struct", s.Name, u), ": name a member")
	}
	t := x.onlyMember(s, u, depth)
	if t.refusal != "" {
		return refuse(atomic, ", which is not a scalar")
	}
	t.text, t.atomic = atomic, true
	return t
}

// onlyMember describes the scalar that a structure consists of, through base classes and members
// that are as large as the structure itself.
func (x *index) onlyMember(s *dw.Type, u *dw.CompileUnit, depth int) typeInfo {
	if x.Budget--; depth <= maxChain && x.Budget >= 0 {
		for _, m := range s.Members() {
			if m.Type == 0 {
				continue
			}
			if t := x.memberType(m.Type, u, depth+1); t.refusal == "" && t.size == s.Bytes {
				return t
			}
		}
	}
	return refuse(s.Name, ", which is not a scalar")
}

func (x *index) memberType(off dwarf.Offset, u *dw.CompileUnit, depth int) typeInfo {
	if s := x.Type(off); s != nil && (s.Tag == dwarf.TagStructType || s.Tag == dwarf.TagClassType) {
		return x.onlyMember(s, u, depth)
	}
	return x.typeAt(off, u, depth)
}

// results finds in the debug information whether functions may return an address. If that is not
// known, or would take too long to find, the result is that they may.
type results struct {
	x     *index // nil: there is no debug information
	spans *dw.Spans
	left  int // the number of entries that may still be read
}

// maxEntriesRead bounds the entries that are read for all functions that access a
// variable.
const maxEntriesRead = 1 << 24

func newResults(f *bin.File) (rs *results) {
	rs = &results{left: maxEntriesRead}
	defer func() { _ = recover() }() // damaged data: what was read so far is used
	if f == nil {
		return rs
	}
	x, err := openIndex(f)
	if err != nil {
		return rs
	}
	rs.x = x
	rs.spans, _ = dw.Of(f).Spans() // damaged data: no spans
	return rs
}

// mayReturnAddress reports whether the function at an address may return one.
func (rs *results) mayReturnAddress(at uint64) bool {
	may := true
	rs.function(at, func(e *dwarf.Entry, u *dw.CompileUnit) { may = rs.x.addressResult(e, u) })
	return may
}

// size returns the size in bytes of the result of the function at an address, 0 for void; -1 if it is
// not known.
func (rs *results) size(at uint64) int64 {
	size := int64(-1)
	rs.function(at, func(e *dwarf.Entry, u *dw.CompileUnit) {
		off, void := rs.x.resultType(e)
		if void {
			size = 0
		} else if t := rs.x.TypeAt(off).Complete(); off != 0 && t != nil {
			size = t.Size()
		}
	})
	return size
}

// function calls visit with the entry of the function at an address, if there is one.
func (rs *results) function(at uint64, visit func(*dwarf.Entry, *dw.CompileUnit)) {
	defer func() { _ = recover() }() // damaged data
	for _, n := range rs.spans.At(at) {
		rs.inUnit(rs.spans.Unit(n), at, visit)
		return
	}
}

// inUnit is function for a function in unit u.
func (rs *results) inUnit(u dw.Unit, at uint64, visit func(*dwarf.Entry, *dw.CompileUnit)) {
	_ = dw.WalkUnit(rs.x.Tree, &rs.x.Parts[0], u, func(e *dwarf.Entry, u *dw.CompileUnit, in struct{}) (struct{}, error) {
		if rs.left--; rs.left < 0 {
			return in, dw.ErrStop
		}
		if low, ok := e.Val(dwarf.AttrLowpc).(uint64); ok && low == at && e.Tag == dwarf.TagSubprogram {
			rs.x.Budget = maxTypeEntries
			visit(e, u)
			return in, dw.ErrStop
		}
		return in, nil
	}) // damaged data: it is not found
}

// addressResult reports whether the result of a function, by its entry or one that the entry
// completes, can hold an address.
func (x *index) addressResult(e *dwarf.Entry, u *dw.CompileUnit) bool {
	off, void := x.resultType(e)
	if void || off == 0 {
		return !void
	}
	t := x.typeOf(off, u)
	return t.refusal != "" || t.size >= 8 && t.class != Float
}

// resultType returns the type of the result of a function, by its entry or one that the entry
// completes; 0 if it is not known, or void.
func (x *index) resultType(e *dwarf.Entry) (off dwarf.Offset, void bool) {
	for range maxChain {
		if off, ok := e.Val(dwarf.AttrType).(dwarf.Offset); ok {
			return off, false
		}
		off := dw.Origin(e)
		if off == 0 {
			return 0, true
		}
		if e = x.Entry(off); e == nil {
			return 0, false
		}
	}
	return 0, false
}
