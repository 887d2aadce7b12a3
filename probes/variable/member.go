package variable

import (
	"debug/dwarf"
	"fmt"
	"strings"

	"github.com/tracepredict/tracepredict/internal/plural"
	dw "github.com/tracepredict/tracepredict/probes/dwarf"
	bin "github.com/tracepredict/tracepredict/probes/elf"
)

// A path leads from a variable to a part of it. Each step has a type, without typedefs and
// qualifiers, and an offset from the variable's beginning. As in the languages, the members of
// anonymous structures and unions, and those of base classes, count as members of the type that
// contains them.

// position is the current position of a path.
type position struct {
	index  *index
	unit   *dw.CompileUnit
	of     *dw.Type     // the type, without typedefs and qualifiers; nil if unknown
	typ    dwarf.Offset // the type, with typedefs and qualifiers
	start  uint64       // bytes from the variable's beginning
	bits   int64        // the size of a bit field; 0 for any other type
	bit    uint64       // its first bit, counted from the variable's beginning
	dims   []int64      // for an array, the lengths of the remaining dimensions; negative if unknown
	path   string
	atomic bool
	weak   bool // the type is volatile
	row    bool // a row of an array: subscripts are missing
	// root is the size of the whole variable, in bytes.
	root  uint64
	reach []bin.Range // see Variable.Reach; relative to the variable's beginning
}

// descend follows the parts of a query after the first k, which name v.
func (x *index) descend(v *found, q query, k int) (*position, *Error) {
	x.Budget = maxTypeEntries
	s := &position{index: x, unit: v.typUnit}
	s.enter(v.typ)
	s.root = uint64(max(x.Size(v.typ), 0))
	name := qualified(v.name)
	for i := max(k-1, 0); i < len(q.parts); i++ {
		if p := q.parts[i]; i >= k {
			if p.sep == "->" || s.isPointer() {
				return nil, s.pointer(q, name, p.name)
			}
			if !s.member(p.name) {
				return nil, s.unknownMember(q, name, p.name)
			}
		}
		for _, n := range q.parts[i].index {
			if bad := s.element(q, name, n); bad != nil {
				return nil, bad
			}
		}
	}
	return s, nil
}

// isPointer reports whether the position is a pointer.
func (s *position) isPointer() bool { return s.of != nil && s.of.Tag == dwarf.TagPointerType }

// enter moves to the type at an offset, and records the offsets from which a pointer may lead into
// it.
func (s *position) enter(typ dwarf.Offset) {
	s.typ, s.of, s.dims = typ, s.index.Type(typ), nil
	for t := s.index.TypeAt(typ); t != nil && t.IsName() && s.of != nil; t = s.index.TypeAt(t.Of) {
		s.weak = s.weak || t.Tag == dwarf.TagVolatileType
		s.atomic = s.atomic || t.Tag == dwarf.TagAtomicType
	}
	switch {
	case s.of == nil:
	case s.of.Tag == dwarf.TagArrayType:
		s.dims = s.of.Counts()
		if n := s.of.Size(); n > 0 {
			s.reach = append(s.reach, bin.Range{Lo: s.start, Hi: s.start + uint64(n)})
		}
	case s.of.IsStructure():
		s.reach = append(s.reach, bin.Range{Lo: s.start, Hi: s.start + 1})
		if _, ok := s.index.atomics[s.of.Offset]; ok {
			s.atomic = true
		}
	}
}

// member moves to the member of that name; false if there is none.
func (s *position) member(name string) bool {
	if s.of == nil || len(s.dims) > 0 {
		return false
	}
	f, ok := s.index.findMember(s.of, name, 0)
	if !ok || !f.Known || f.Type == 0 {
		return false
	}
	s.bits, s.bit = f.Bits, 8*s.start+uint64(f.Bit)
	s.start += uint64(f.Start)
	if f.Base {
		s.path += "." + name
	} else {
		s.path += "." + f.Name
	}
	s.enter(f.Type)
	return true
}

// findMember returns a member of a structure, or a base class by its name. It searches the
// structure's own members first, then those of anonymous members and of base classes.
func (x *index) findMember(t *dw.Type, name string, depth int) (dw.Member, bool) {
	if x.Budget--; depth > maxChain || x.Budget < 0 {
		return dw.Member{}, false
	}
	var deeper []dw.Member
	for _, m := range t.Members() {
		switch called := x.memberName(m); {
		case sameComponent(name, called) && called != "":
			return m, true
		case called == "" || m.Base:
			deeper = append(deeper, m)
		}
	}
	for _, d := range deeper {
		inner := x.Type(d.Type)
		if inner == nil {
			continue
		}
		if m, ok := x.findMember(inner, name, depth+1); ok {
			m.Start += d.Start
			m.Bit += 8 * d.Start
			m.Known = m.Known && d.Known
			return m, true
		}
	}
	return dw.Member{}, false
}

// memberName returns the name of a member, or of the class of a base.
func (x *index) memberName(m dw.Member) string {
	if base := x.Type(m.Type); m.Base && base != nil {
		return base.Name
	}
	return m.Name
}

// maxOffset bounds offsets within a variable, in bytes.
const maxOffset = dw.MaxOffset

// element moves to an element of an array, or to one of its rows.
func (s *position) element(q query, name string, n uint64) *Error {
	if s.isPointer() {
		return s.pointer(q, name, fmt.Sprintf("[%d]", n))
	}
	if s.of == nil || s.of.Tag != dwarf.TagArrayType || len(s.dims) == 0 {
		return s.refuse(q, WrongType, "%s%s has %s, which is no array", name, s.path, s.typeText())
	}
	size := s.index.Size(s.of.Of)
	for _, d := range s.dims[1:] {
		size *= max(d, 0)
		size = min(size, maxOffset)
	}
	switch limit := s.dims[0]; {
	case size <= 0:
		return s.refuse(q, WrongType, "the size of the elements of %s%s is not known", name, s.path)
	case limit < 0:
		return s.refuse(q, WrongType, "the debug information does not say how many elements %s%s has", name, s.path)
	case n >= uint64(limit):
		return s.refuse(q, NotFound, "%s%s has %d {element|elements}, the last is [%d]", name, s.path, limit, limit-1)
	}
	s.start += n * uint64(size)
	s.path += fmt.Sprintf("[%d]", n)
	s.dims = s.dims[1:]
	if s.row = len(s.dims) > 0; !s.row {
		s.enter(s.of.Of)
	}
	return nil
}

func (s *position) typeText() string {
	if t := s.index.typeOf(s.typ, s.unit); t.text != "" {
		return "type " + t.text
	}
	return "an unknown type"
}

func (s *position) refuse(q query, r Reason, format string, args ...any) *Error {
	return &Error{Name: q.text, Reason: r, Message: plural.Sprintf(format, args...)}
}

// pointer returns the error for a path through a pointer, with the alternative to it.
func (s *position) pointer(q query, name, member string) *Error {
	var to string
	if s.isPointer() && s.of.Of != 0 {
		to = s.index.typeOf(s.of.Of, s.unit).text
	}
	switch {
	case to == "":
		return s.refuse(q, WrongType, "%s%s has %s, which is no pointer: write %s%s.%s", name, s.path, s.typeText(), name, s.path, member)
	case strings.HasPrefix(member, "["):
		return s.refuse(q, WrongType, "%s%s is a pointer (%s *), which leads to different objects at different times: watch %s%s itself", name, s.path, to, name, s.path)
	}
	return s.refuse(q, WrongType, "%s%s is a pointer (%s *), which leads to different objects at different times: watch the member of all objects of the type, --watch '%s of %s'",
		name, s.path, to, member, to)
}

// unknownMember returns the error for a member that does not exist, with the names of those that
// do.
func (s *position) unknownMember(q query, name, member string) *Error {
	at := name + s.path
	if s.of == nil || len(s.dims) > 0 {
		e := s.refuse(q, WrongType, "%s has %s, which has no members", at, s.typeText())
		e.Candidates = s.leaves(name, maxLeaves)
		return e
	}
	if f, ok := s.index.findMember(s.of, member, 0); ok && !f.Known {
		return s.refuse(q, WrongType, "%s of %s is in a virtual base class, whose place the program computes", member, at)
	}
	var names []string
	s.index.memberNames(s.of, &names, 0)
	e := s.refuse(q, NotFound, "%s has no member %s", s.typeText(), member)
	if len(names) == 0 {
		e.Reason = WrongType
		e.Message = fmt.Sprintf("%s has %s, which has no members", at, s.typeText())
		return e
	}
	close := near(member, names)
	if len(close) == 0 {
		close = names[:min(len(names), maxLeaves)]
	}
	for _, n := range close {
		e.Candidates = append(e.Candidates, at+"."+n)
	}
	return e
}

// maxNames bounds the number of members that are compared with a name that was not found.
const maxNames = 1 << 12

func (x *index) memberNames(t *dw.Type, names *[]string, depth int) {
	if x.Budget--; depth > maxChain || x.Budget < 0 {
		return
	}
	for _, m := range t.Members() {
		if len(*names) >= maxNames {
			return
		}
		if m.Name != "" {
			*names = append(*names, m.Name)
		} else if inner := x.Type(m.Type); inner != nil {
			x.memberNames(inner, names, depth+1)
		}
	}
}

// maxLeaves is the maximum number of members that an error lists.
const maxLeaves = 8

// leaves returns the names of at most most scalars within the current position.
func (s *position) leaves(name string, most int) []string {
	var out []string
	s.collect(name, most, 0, &out)
	return out
}

func (s *position) collect(name string, most, depth int, out *[]string) {
	s.index.Budget--
	if s.of == nil || depth > maxChain || len(*out) >= most || s.index.Budget < 0 {
		return
	}
	if _, atomic := s.index.atomics[s.of.Offset]; atomic && depth > 0 {
		*out = append(*out, name+s.path)
		return
	}
	inside := func(path string, typ dwarf.Offset) {
		if inner := *s; typ != 0 {
			inner.path += path
			inner.enter(typ)
			inner.collect(name, most, depth+1, out)
		}
	}
	switch s.of.Tag {
	case dwarf.TagArrayType:
		inside(strings.Repeat("[0]", len(s.dims)), s.of.Of)
	case dwarf.TagStructType, dwarf.TagClassType, dwarf.TagUnionType:
		for _, m := range s.of.Members() {
			path := ""
			if m.Name != "" {
				path = "." + m.Name
			}
			inside(path, m.Type)
		}
	case dwarf.TagBaseType, dwarf.TagEnumerationType, dwarf.TagPointerType:
		if depth > 0 {
			*out = append(*out, name+s.path)
		}
	}
}

// fill sets the variable to the part that the path leads to. Base is the address of the whole
// variable.
func (s *position) fill(v *Variable, q query, base uint64) *Error {
	t := s.index.typeOf(s.typ, s.unit)
	if q.raw != nil {
		return s.asRaw(v, q, base, t)
	}
	if t.refusal != "" {
		e := s.refuse(q, WrongType, "it has %s", t.refusal)
		if s.row {
			e.Message = "it is a row of an array: name an element"
		}
		e.Candidates = s.leaves(strings.TrimSuffix(v.Name, s.path), maxLeaves)
		return e
	}
	if t.size != 1 && t.size != 2 && t.size != 4 && t.size != 8 {
		return s.refuse(q, WrongType, "it has type %s of %d bytes: only 1, 2, 4 or 8 bytes can be watched", t.text, t.size)
	}
	v.Addr, v.Size = base+s.start, int(t.size)
	if s.bits > 0 {
		in, ok := dw.StorageOf(int64(base), int64(s.bit), s.bits)
		if !ok {
			return s.refuse(q, WrongType, "its %d bits lie across more than 8 bytes", s.bits)
		}
		v.Addr, v.Size, v.Bits = uint64(in.At), int(in.Size), Bits{int(in.Bit), int(s.bits)}
	}
	v.Type, v.Class, v.Atomic, v.Volatile = t.text, t.class, t.atomic || s.atomic, t.volatile || s.weak
	v.Signed, v.Char, v.Constants = t.signed, t.char, t.constants
	s.surround(v, base)
	return nil
}

// surround records the whole variable that v is a part of.
func (s *position) surround(v *Variable, base uint64) {
	if v.Addr == base && s.root <= uint64(v.Size) {
		return
	}
	v.Whole = bin.Range{Lo: base, Hi: base + max(s.root, v.Addr-base+uint64(v.Size))}
	for _, r := range s.reach {
		v.Reach = append(v.Reach, bin.Range{Lo: base + r.Lo, Hi: base + r.Hi})
	}
}

// asRaw sets the variable to the type that the user states at the end of the path.
func (s *position) asRaw(v *Variable, q query, base uint64, t typeInfo) *Error {
	size := uint64(max(t.size, s.index.Size(s.typ), 0))
	switch {
	case s.row || s.bits > 0:
		return s.refuse(q, WrongType, "a type can be given for a whole variable or member alone")
	case q.offset > size || uint64(q.raw.size) > size-q.offset:
		return s.refuse(q, WrongType, "it has type %s of %d {byte|bytes}: no %s is at %d", t.text, size, q.raw.name, q.offset)
	}
	s.start += q.offset
	v.Addr, v.Size, v.Type, v.Class = base+s.start, q.raw.size, q.raw.name, q.raw.class
	v.Atomic, v.Volatile = t.atomic || s.atomic, t.volatile || s.weak
	if q.offset > 0 {
		v.Name += fmt.Sprintf("+%d", q.offset)
		s.reach = append(s.reach, bin.Range{Lo: s.start - q.offset, Hi: s.start - q.offset + 1})
	}
	s.surround(v, base)
	return nil
}
