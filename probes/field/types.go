package field

import (
	"debug/dwarf"
	"errors"
	"fmt"
	"slices"
	"strings"

	dw "github.com/tracepredict/tracepredict/probes/dwarf"
	bin "github.com/tracepredict/tracepredict/probes/elf"
)

// shape is the structure of a type, as far as it matters here.
type shape uint8

const (
	opaque    shape = iota // a scalar, or unknown
	pointer                // includes references
	structure              // includes classes and unions
	array
)

// typ is a type without typedefs and qualifiers.
type typ struct {
	shape   shape
	off     dwarf.Offset
	name    string // qualified
	size    int64
	to      dwarf.Offset // the type of a pointer's target, or of an array's element
	members []member
	target  bool // it is the type whose field is watched
	judged  bool // empty has been computed
	empty   bool // a structure without data
	source  bool // it stands for the unknown value of one instruction; see flow.fresh
}

type member struct {
	name string
	at   int64 // -1: not constant
	typ  dwarf.Offset
	base bool // a base class, or a member without a name
	// bits is the size of a bit field; 0: none. bit is its first bit, counted from the beginning of
	// the structure.
	bits, bit int64
}

// database holds the types of one file. Each type is read when it is first used.
type database struct {
	*dw.Tree
	file     *bin.File
	data     *dwarf.Data
	info     int // bytes of .debug_info
	types    map[dwarf.Offset]*typ
	complete map[string]dwarf.Offset // of structures by qualified name
	declared map[dwarf.Offset]string // declarations, by offset
	targets  map[dwarf.Offset]*typ
	units    []dw.Unit
	partial  bool // types are in other units than the code that uses them
}

const (
	maxEntries = 1 << 26 // entries that are read for one file
	maxChain   = 64      // links of typedefs, qualifiers and origins
	maxMembers = 1 << 12 // of one type
	maxNesting = 32      // of types within types
)

var errTooMuch = errors.New("the debug information describes too much")

// load reads the debug information and finds the definitions of a type. For a file without debug
// information the database is empty.
func load(f *bin.File, s Spec) (*database, error) {
	d, err := dw.Of(f).Data()
	if errors.Is(err, bin.ErrNoDWARF) {
		return &database{}, nil
	}
	if err != nil {
		return nil, err
	}
	info, err := dw.Of(f).Section("info")
	if err != nil {
		return nil, err
	}
	tree, err := dw.Of(f).Tree()
	if err != nil {
		return nil, err
	}
	tree.Left = maxEntries
	db := &database{
		Tree: tree, file: f, data: d, info: len(info), units: dw.Units(info),
		types: map[dwarf.Offset]*typ{}, complete: map[string]dwarf.Offset{}, declared: map[dwarf.Offset]string{}, targets: map[dwarf.Offset]*typ{},
	}
	return db, db.index(s)
}

// index records all structures by name, and finds the types that the specification names.
func (db *database) index(s Spec) error {
	entries := dw.NewEntries(db.data.Reader(), db.info)
	var stack []string
	scope := ""
	var found []dwarf.Offset
	for {
		e, err := entries.Next()
		if err != nil {
			return fmt.Errorf("read debug information of %s: %w", db.file.Name(), err)
		}
		if e == nil {
			break
		}
		inner := scope
		switch e.Tag {
		case 0:
			if n := len(stack); n > 0 {
				scope, stack = stack[n-1], stack[:n-1]
			}
			continue
		case dwarf.TagCompileUnit, dwarf.TagPartialUnit, dwarf.TagTypeUnit, dwarf.TagSkeletonUnit:
			stack, scope, inner = stack[:0], "", ""
		case dwarf.TagNamespace:
			inner = join(scope, dw.Name(e))
		case dwarf.TagStructType, dwarf.TagClassType, dwarf.TagUnionType:
			inner = join(scope, dw.Name(e))
			if db.note(e, inner, s) {
				found = append(found, e.Offset)
			}
		case dwarf.TagTypedef:
			if s.Tag == "" && matches(join(scope, dw.Name(e)), s.Type) {
				found = append(found, e.Offset)
			}
		case dwarf.TagSubprogram:
			inner = join(scope, dw.Name(e))
		}
		if e.Children {
			if len(stack) > maxNesting*8 {
				return fmt.Errorf("read debug information of %s: %w", db.file.Name(), errTooMuch)
			}
			stack = append(stack, scope)
			scope = inner
		}
	}
	db.aim(found)
	return nil
}

// note records a structure, and reports whether the specification names it.
func (db *database) note(e *dwarf.Entry, qualified string, s Spec) bool {
	if dw.Name(e) == "" {
		return false
	}
	if dw.Flag(e, dwarf.AttrDeclaration) {
		db.declared[e.Offset] = qualified
		return false
	}
	if _, ok := db.complete[qualified]; !ok {
		db.complete[qualified] = e.Offset
	}
	tagOK := s.Tag == "" || (s.Tag == "union") == (e.Tag == dwarf.TagUnionType)
	return tagOK && matches(qualified, s.Type)
}

// aim follows the found types to their structures, and marks them as targets.
func (db *database) aim(found []dwarf.Offset) {
	for _, off := range found {
		t := db.at(off)
		if t == nil || t.shape != structure {
			continue
		}
		t.target = true
		db.targets[t.off] = t
		in := false
		for _, u := range db.units {
			in = in || u.Entry <= t.off && t.off < u.End
		}
		db.partial = db.partial || !in
	}
}

// matches reports whether a qualified name ends in the name that the user wrote.
func matches(qualified, asked string) bool {
	rest, ok := strings.CutSuffix(squeeze(qualified), asked)
	return ok && (rest == "" || strings.HasSuffix(rest, "::"))
}

func join(scope, name string) string {
	switch {
	case name == "":
		return scope
	case scope == "":
		return name
	}
	return scope + "::" + name
}

// at returns the type at an offset; nil if there is none.
func (db *database) at(off dwarf.Offset) *typ {
	if t, ok := db.types[off]; ok {
		return t
	}
	t := db.read(off)
	db.types[off] = t
	return t
}

func (db *database) read(off dwarf.Offset) *typ {
	for range maxChain {
		e := db.Entry(off)
		if e == nil {
			return nil
		}
		next := dw.TypeOf(e)
		switch e.Tag {
		case dwarf.TagTypedef, dwarf.TagConstType, dwarf.TagVolatileType, dwarf.TagRestrictType, dwarf.TagAtomicType:
			if t, ok := db.types[next]; ok {
				return t
			}
			off = next
			continue
		case dwarf.TagPointerType, dwarf.TagReferenceType, dwarf.TagRvalueReferenceType:
			return &typ{shape: pointer, off: e.Offset, size: 8, to: next}
		case dwarf.TagStructType, dwarf.TagClassType, dwarf.TagUnionType:
			return db.structure(e)
		case dwarf.TagArrayType:
			return db.array(e, next)
		}
		return &typ{shape: opaque, off: e.Offset, size: dw.Number(e, dwarf.AttrByteSize), name: dw.Name(e)}
	}
	return nil
}

// structure returns a structure with its members. A declaration is replaced by the definition in
// another unit.
func (db *database) structure(e *dwarf.Entry) *typ {
	if dw.Flag(e, dwarf.AttrDeclaration) {
		full, ok := db.complete[db.declared[e.Offset]]
		if !ok || full == e.Offset {
			return &typ{shape: opaque, off: e.Offset, name: dw.Name(e)}
		}
		return db.at(full)
	}
	if t, ok := db.types[e.Offset]; ok {
		return t
	}
	t := &typ{shape: structure, off: e.Offset, name: dw.Name(e), size: dw.Number(e, dwarf.AttrByteSize)}
	db.types[e.Offset] = t // before the members are read, which may refer to it
	db.Members(e, func(m dw.Member) bool {
		t.members = append(t.members, newMember(m))
		return len(t.members) < maxMembers
	})
	return t
}

func newMember(from dw.Member) member {
	m := member{name: from.Name, typ: from.Type, at: from.Start, bits: from.Bits, bit: from.Bit}
	if m.base = m.name == ""; m.bits > 0 {
		m.base, m.at = false, m.bit/8 // a bit field without a name is padding
	}
	if !from.Known || m.bits > 0 && m.at > maxAway {
		m.at = -1
	}
	return m
}

// place is the position of a field in a type.
type place struct {
	at, size  int64 // bytes; for a bit field, of its storage
	typ       dwarf.Offset
	bit, bits int64 // position of a bit field in its storage
}

// store returns the smallest aligned storage that holds a bit field or, if there is none, any 8
// bytes.
func (m *member) store(base int64) (place, bool) {
	first := base + m.bit/8
	low := m.bit % 8
	for _, size := range []int64{1, 2, 4, 8} {
		at := first &^ (size - 1)
		if off := 8*(first-at) + low; off+m.bits <= 8*size {
			return place{at: at, size: size, typ: m.typ, bit: off, bits: m.bits}, true
		}
	}
	return place{at: first, size: 8, typ: m.typ, bit: low, bits: m.bits}, low+m.bits <= 64
}

// array returns an array type, with its size if the number of elements is known.
func (db *database) array(e *dwarf.Entry, elem dwarf.Offset) *typ {
	t := &typ{shape: array, off: e.Offset, to: elem}
	n := int64(1)
	for _, count := range db.Counts(e) {
		if n *= max(count, 0); n > 1<<40 {
			return t
		}
	}
	if el := db.at(elem); el != nil && el.size < 1<<20 {
		t.size = n * el.size
	}
	return t
}

// spot describes what is at an offset of a type.
type spot struct {
	typ    *typ  // the innermost type that begins there or contains the offset
	object int64 // the offset where the innermost object of the watched type begins
	inside bool  // there is an object of the watched type
	// stride is the greatest common divisor of the element sizes of all arrays around it; 0: there
	// are none.
	stride int64
}

// look returns what is at an offset of a type.
func (db *database) look(t *typ, off int64) spot {
	s := spot{typ: t}
	base := int64(0)
	for range maxNesting {
		if t == nil {
			return spot{}
		}
		if t.target {
			s.object, s.inside = base, true
		}
		s.typ = t
		var next dwarf.Offset
		switch t.shape {
		case array:
			el := db.at(t.to)
			if el == nil || el.size <= 0 {
				return s
			}
			base += (off - base) / el.size * el.size
			s.stride = commonDivisor(s.stride, el.size)
			next = t.to
		case structure:
			m := db.memberAt(t, off-base)
			if m == nil {
				return s
			}
			base += m.at
			next = m.typ
		default:
			if off != base {
				s.typ = nil
			}
			return s
		}
		t = db.at(next)
	}
	return s
}

// pointerAt returns the type that the pointer at an offset of a type points to; nil if there is no
// pointer, or its target has no parts.
func (db *database) pointerAt(t *typ, off int64) *typ {
	sp := db.look(t, off)
	if sp.typ == nil || sp.typ.shape != pointer {
		return nil
	}
	if to := db.at(sp.typ.to); to != nil && to.shape != opaque {
		return to
	}
	return nil
}

// memberAt returns the member that contains an offset. If there are several (in a union, or with
// empty base classes), it is one that contains an object of the watched type, or else the first
// that is not empty.
func (db *database) memberAt(t *typ, off int64) *member {
	var first *member
	for i := range t.members {
		m := &t.members[i]
		mt := db.at(m.typ)
		if m.at < 0 || m.bits != 0 || mt == nil || off < m.at || off >= m.at+max(mt.size, 1) {
			continue
		}
		if mt.target {
			return m
		}
		if first == nil || db.empty(db.at(first.typ), 0) {
			first = m
		}
	}
	return first
}

// empty reports whether a type has no data, so that other members may have the same offset.
func (db *database) empty(t *typ, depth int) bool {
	if t == nil || t.shape != structure || t.size > 1 || depth > maxNesting {
		return false
	}
	if !t.judged {
		// It is set before the members are read: a type that contains itself is damaged, and not
		// empty.
		t.judged = true
		t.empty = !slices.ContainsFunc(t.members, func(m member) bool { return !db.empty(db.at(m.typ), depth+1) })
	}
	return t.empty
}

// field finds the field in the definitions of the type.
func (db *database) field(s Spec) (Field, bool, error) {
	fd := Field{Spec: s, Name: s.Text}
	var firstErr error
	seen := map[[2]int64]bool{}
	for _, t := range db.sortedTargets() {
		pl, err := db.member(t, s.Path)
		if err != nil {
			if firstErr == nil {
				firstErr = &Error{err.Error()}
			}
			continue
		}
		if seen[[2]int64{t.size, pl.at}] {
			continue
		}
		seen[[2]int64{t.size, pl.at}] = true
		fd.Kinds++
		if fd.Kinds > 1 {
			fd.TypeSize = min(fd.TypeSize, t.size)
			continue
		}
		if pl.size < 1<<31 {
			fd.Size = int(pl.size)
		}
		fd.Type, fd.Offset, fd.TypeSize = pl.typ, pl.at, t.size
		fd.BitOffset, fd.BitSize = int(pl.bit), int(pl.bits)
	}
	if fd.Kinds == 0 {
		return fd, len(db.targets) > 0, firstErr
	}
	return fd, true, nil
}

func (db *database) sortedTargets() []*typ {
	var ts []*typ
	for _, t := range db.targets {
		ts = append(ts, t)
	}
	slices.SortFunc(ts, func(a, b *typ) int { return int(a.off) - int(b.off) })
	return ts
}

// member follows a path of names into a type, also through base classes and anonymous members.
func (db *database) member(t *typ, path []string) (pl place, err error) {
	for i, name := range path {
		if t == nil || t.shape != structure || pl.bits != 0 {
			return pl, fmt.Errorf("%s has no members", strings.Join(path[:i], "."))
		}
		m, off := db.named(t, name, 0)
		if m == nil {
			return pl, fmt.Errorf("the type has no member %s; it has %s", name, t.names())
		}
		if m.at < 0 {
			return pl, fmt.Errorf("%s has no fixed place in the object: it cannot be watched", name)
		}
		if m.bits != 0 {
			var ok bool
			if pl, ok = m.store(pl.at + off - m.at); !ok {
				return pl, fmt.Errorf("the %d bits of %s lie across more than 8 bytes: it cannot be watched", m.bits, name)
			}
			t = nil
			continue
		}
		pl = place{at: pl.at + off, typ: m.typ}
		if t = db.at(m.typ); t != nil {
			pl.size = t.size
		}
	}
	return pl, nil
}

func (db *database) named(t *typ, name string, depth int) (*member, int64) {
	if db.Left--; t == nil || depth > maxNesting || db.Left < 0 {
		return nil, 0
	}
	for i := range t.members {
		if m := &t.members[i]; m.name == name && !m.base {
			return m, m.at
		}
	}
	for i := range t.members {
		if m := &t.members[i]; m.base && m.at >= 0 {
			if in, off := db.named(db.at(m.typ), name, depth+1); in != nil {
				return in, m.at + off
			}
		}
	}
	return nil, 0
}

// inherited records the base classes of a type through which it has a member. Each is recorded with
// the offset in it that corresponds to offset at of the type.
func (db *database) inherited(t *typ, at int64, name string, into map[*typ]int64) {
	for range maxNesting {
		i := slices.IndexFunc(t.members, func(m member) bool {
			found, _ := db.named(db.at(m.typ), name, 1)
			return m.base && m.at >= 0 && found != nil
		})
		if i < 0 || slices.ContainsFunc(t.members, func(m member) bool { return m.name == name && !m.base }) {
			return
		}
		at -= t.members[i].at
		if t = db.at(t.members[i].typ); t.name != "" { // an anonymous member is not a class
			into[t] = at
		}
	}
}

// names returns the names of the members, for a message.
func (t *typ) names() string {
	var ns []string
	for _, m := range t.members {
		if m.name != "" && !m.base && len(ns) < 12 {
			ns = append(ns, m.name)
		}
	}
	if len(ns) == 0 {
		return "none"
	}
	return strings.Join(ns, ", ")
}
