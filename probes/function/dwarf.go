package function

import (
	"cmp"
	"debug/dwarf"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	dw "github.com/tracepredict/tracepredict/probes/dwarf"
	"github.com/tracepredict/tracepredict/probes/elf"
)

// The functions that the debug information of a file describes: their names, their addresses, with
// those of inlined copies, and the locations of their parameters. Entries refer to each other
// (DW_AT_specification, DW_AT_abstract_origin: DWARF 5, sections 2.13 and 3.3.8), and an entry may
// refer to a later one. So a first pass records only names and addresses, and the entries of
// functions that match are read again.

// scope is the scope that encloses an entry.
type scope struct {
	parent *scope
	name   string
	unit   *unit
	// sub is the function of a function's scope; nil for other scopes.
	sub *sub
}

// unit is a compilation unit.
type unit struct {
	entry *dwarf.Entry
	name  string
	base  dw.Base
	files []*dwarf.LineFile
}

// sub is an entry of a function: its declaration, its code, or an inlined copy of it.
type sub struct {
	off, origin dwarf.Offset
	in          *scope
	name        string
	linkage     string
	entry       uint64 // 0: it has no code
	inlined     bool
	abstract    bool // the source of inlined copies
	file        int64
}

// debug is the debug information of one file.
type debug struct {
	*dw.Tree // its Left bounds the entries read for one function or one type
	file     *elf.File
	data     *dwarf.Data
	subs     []*sub
	byOff    map[dwarf.Offset]*sub
	units    []dw.Unit
	// locations reads the locations of parameters.
	locations *dw.Locations
}

// Bounds of the data that is kept.
const (
	maxSubs  = 1 << 22
	maxChain = 8
	maxList  = 1 << 12 // entries of one location list
)

// newDebug reads the entries of functions in the debug information of f; nil if there is none.
func newDebug(f *elf.File) (d *debug, err error) {
	defer func() {
		if r := recover(); r != nil {
			d, err = nil, fmt.Errorf("read debug information of %s: damaged: %v", f.Name(), r)
		}
	}()
	data, err := dw.Of(f).Data()
	if errors.Is(err, elf.ErrNoDWARF) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	d = &debug{file: f, data: data, byOff: map[dwarf.Offset]*sub{}}
	info, err := dw.Of(f).Section("info")
	if err != nil {
		return nil, err
	}
	if d.Tree, err = dw.Of(f).Tree(); err != nil {
		return nil, err
	}
	if d.locations, err = dw.Of(f).Locations(maxList, math.MaxInt); err != nil {
		return nil, err
	}
	d.units = dw.Units(info)
	return d, d.walk(len(info))
}

func (d *debug) walk(size int) error {
	entries := dw.NewEntries(d.data.Reader(), size)
	var stack []*scope
	in := &scope{}
	for {
		e, err := entries.Next()
		if err != nil {
			return fmt.Errorf("read debug information: %w", err)
		}
		if e == nil {
			return nil
		}
		inner := in
		switch e.Tag {
		case 0:
			if len(stack) > 0 {
				in, stack = stack[len(stack)-1], stack[:len(stack)-1]
			}
			continue
		case dwarf.TagCompileUnit, dwarf.TagPartialUnit, dwarf.TagTypeUnit, dwarf.TagSkeletonUnit:
			stack = stack[:0]
			inner = &scope{unit: d.newUnit(e)}
			in = inner
		case dwarf.TagNamespace, dwarf.TagModule:
			name := dw.Name(e)
			if name == "" {
				name = strings.TrimSuffix(anonymous, "::")
			}
			inner = &scope{parent: in, name: name, unit: in.unit}
		case dwarf.TagStructType, dwarf.TagClassType, dwarf.TagUnionType:
			inner = &scope{parent: in, name: dw.Name(e), unit: in.unit}
		case dwarf.TagSubprogram, dwarf.TagInlinedSubroutine:
			s := d.add(e, in)
			inner = &scope{parent: in, name: s.name, unit: in.unit, sub: s}
			if len(d.subs) > maxSubs {
				return fmt.Errorf("read debug information: more than %d functions", maxSubs)
			}
		}
		if e.Children {
			stack = append(stack, in)
			in = inner
		}
	}
}

// newUnit returns the unit of a root entry.
func (d *debug) newUnit(e *dwarf.Entry) *unit {
	u := &unit{entry: e, name: dw.Name(e)}
	i, found := slices.BinarySearchFunc(d.units, e.Offset, func(u dw.Unit, off dwarf.Offset) int { return cmp.Compare(u.Entry, off) })
	if found {
		u.base = dw.BaseOf(d.units[i], e)
	}
	return u
}

// assembled reports whether a unit was written in assembly language: it describes functions, but no
// parameters (DW_LANG_Mips_Assembler).
func (u *unit) assembled() bool {
	if u == nil {
		return false
	}
	language, _ := u.entry.Val(dwarf.AttrLanguage).(int64)
	return language == 0x8001
}

func (d *debug) add(e *dwarf.Entry, in *scope) *sub {
	s := &sub{off: e.Offset, in: in, name: dw.Name(e), linkage: dw.Text(e, dwarf.AttrLinkageName), inlined: e.Tag == dwarf.TagInlinedSubroutine}
	s.origin, s.file = dw.Origin(e), dw.Number(e, dwarf.AttrDeclFile)
	s.entry = d.entryOf(e)
	s.abstract = !s.inlined && e.Val(dwarf.AttrInline) != nil
	d.subs = append(d.subs, s)
	d.byOff[e.Offset] = s
	return s
}

// entryOf returns the address where the code of an entry begins; 0 if it has none.
func (d *debug) entryOf(e *dwarf.Entry) uint64 {
	low, hasLow := e.Val(dwarf.AttrLowpc).(uint64)
	switch at := e.Val(dwarf.AttrEntrypc).(type) {
	case uint64:
		return at
	case int64:
		if hasLow && at >= 0 {
			return low + uint64(at)
		}
	}
	if hasLow {
		return low
	}
	if e.Val(dwarf.AttrRanges) == nil {
		return 0
	}
	rs, err := d.data.Ranges(e)
	if err != nil || len(rs) == 0 {
		return 0
	}
	return rs[0][0]
}

// chain returns the entries that together describe s: s itself, and those that it completes.
func (d *debug) chain(s *sub) []*sub {
	var out []*sub
	for range maxChain {
		out = append(out, s)
		next := d.byOff[s.origin]
		if s.origin == 0 || next == nil {
			break
		}
		s = next
	}
	return out
}

// names returns the spellings of a function's name that a pattern may match, and its linkage name;
// "" if there is none.
func (d *debug) names(chain []*sub) (names []string, linkage string) {
	for _, s := range chain {
		if s.linkage != "" && linkage == "" {
			linkage = s.linkage
		}
	}
	last := chain[len(chain)-1]
	if last.name == "" {
		return nil, linkage
	}
	full := last.name
	for s, n := last.in, 0; s != nil && n < maxTypeDepth; s, n = s.parent, n+1 {
		if s.name != "" {
			full = s.name + "::" + full
		}
	}
	names = append(names, full)
	if bare := withoutArguments(full); bare != full {
		names = append(names, bare)
	}
	return names, linkage
}

// withoutArguments removes the template arguments from a qualified name.
func withoutArguments(name string) string {
	if strings.Contains(name, "operator") {
		return name
	}
	var b strings.Builder
	depth := 0
	for _, c := range name {
		if c == '<' {
			depth++
		}
		if depth == 0 {
			b.WriteRune(c)
		}
		if c == '>' {
			depth = max(depth-1, 0)
		}
	}
	return b.String()
}

// inFile reports whether a function is declared in, or compiled from, the source file that a
// pattern names. The pattern has the whole path or its last components.
func (d *debug) inFile(chain []*sub, want string) bool {
	for _, s := range chain {
		if s.in == nil || s.in.unit == nil || s.file == 0 {
			continue
		}
		if fits(d.source(s.in.unit, s.file), want) {
			return true
		}
	}
	return chain[0].in.unit != nil && fits(chain[0].in.unit.name, want) && !chain[0].inlined
}

func fits(have, want string) bool {
	have, want = path.Clean(have), path.Clean(want)
	return have == want || strings.HasSuffix(have, "/"+want)
}

func (d *debug) source(u *unit, i int64) string {
	if u.files == nil {
		u.files = []*dwarf.LineFile{}
		if lr, err := dw.Of(d.file).LineReader(u.entry); err == nil && lr != nil {
			u.files = lr.Files()
		}
	}
	if i > 0 && i < int64(len(u.files)) && u.files[i] != nil {
		return u.files[i].Name
	}
	return u.name
}

// entry returns the entry at an offset, and resets the budget of entries to read; nil if there is
// none.
func (d *debug) entry(off dwarf.Offset) *dwarf.Entry {
	d.Left = maxEntries
	return d.Entry(off)
}

// children calls f with the children of an entry of the given tag.
func (d *debug) children(e *dwarf.Entry, tag dwarf.Tag, f func(*dwarf.Entry)) {
	d.Children(e, func(c *dwarf.Entry) bool {
		if c.Tag == tag {
			f(c)
		}
		return true
	})
}

// param is a formal parameter.
type param struct {
	name       string
	typ        dwarf.Offset
	artificial bool // this
	entry      *dwarf.Entry
	origin     dwarf.Offset
}

// params returns the parameters of a function with their names and types in the source, and with
// the entries that state their locations, which are those of the first entry of the chain. Result
// is the offset of the result's type; 0: none.
func (d *debug) params(chain []*sub) (ps []param, result dwarf.Offset) {
	for _, s := range slices.Backward(chain) {
		e := d.entry(s.off)
		if e == nil {
			continue
		}
		if off, ok := e.Val(dwarf.AttrType).(dwarf.Offset); ok {
			result = off
		}
		var own []param
		d.children(e, dwarf.TagFormalParameter, func(c *dwarf.Entry) {
			p := param{name: dw.Name(c), entry: c}
			p.typ = dw.TypeOf(c)
			p.artificial = dw.Flag(c, dwarf.AttrArtificial)
			p.origin = dw.Reference(c, dwarf.AttrAbstractOrigin)
			own = append(own, p)
		})
		if ps == nil {
			ps = own
			continue
		}
		merge(ps, own)
	}
	return ps, result
}

// merge adds the data of a more specific entry to the parameters. It may lack some of them.
func merge(ps, own []param) {
	for i := range own {
		j := slices.IndexFunc(ps, func(p param) bool { return own[i].origin != 0 && p.entry.Offset == own[i].origin })
		if j < 0 && own[i].origin == 0 && len(own) == len(ps) {
			j = i
		}
		if j < 0 {
			continue
		}
		o := own[i]
		if o.name != "" {
			ps[j].name = o.name
		}
		if o.typ != 0 {
			ps[j].typ = o.typ
		}
		ps[j].artificial = ps[j].artificial || o.artificial
		ps[j].entry = o.entry
	}
}
