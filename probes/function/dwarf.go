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

// What the debug information of a file states about its functions: their names, where
// they are, with the copies that were inlined, and where their parameters are.
// Entries refer to each other (DW_AT_specification, DW_AT_abstract_origin: DWARF 5,
// sections 2.13 and 3.3.8), and the one that is referred to may come later: a
// first walk notes names and places alone, and what matches is looked at again.

// scope is what encloses an entry.
type scope struct {
	parent *scope
	name   string
	unit   *unit
	// sub is the function that the scope is; nil for others.
	sub *sub
}

// unit is a compilation unit.
type unit struct {
	entry *dwarf.Entry
	name  string
	base  dw.Base
	files []*dwarf.LineFile
}

// sub is an entry of a function: its declaration, its code, or a copy of it that
// was inlined.
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
	*dw.Tree // its Left is for one function, or the description of a type
	file     *elf.File
	data     *dwarf.Data
	subs     []*sub
	byOff    map[dwarf.Offset]*sub
	units    []dw.Unit
	// locations are where parameters are.
	locations *dw.Locations
}

// Bounds of what is kept.
const (
	maxSubs  = 1 << 22
	maxChain = 8
	maxList  = 1 << 12 // entries of one location list
)

// newDebug walks the debug information of f; nil if it has none.
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

// newUnit makes the unit of a root entry.
func (d *debug) newUnit(e *dwarf.Entry) *unit {
	u := &unit{entry: e, name: dw.Name(e)}
	i, found := slices.BinarySearchFunc(d.units, e.Offset, func(u dw.Unit, off dwarf.Offset) int { return cmp.Compare(u.Entry, off) })
	if found {
		u.base = dw.BaseOf(d.units[i], e)
	}
	return u
}

// assembled reports whether a unit is of an assembler, which knows functions but no
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

// chain returns the entries that say what s is, itself first.
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

// names returns the spellings of a function that a pattern may mean, its linked name
// ("" if that says nothing), and the file that declares it.
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

// withoutArguments leaves out the template arguments of a qualified name.
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

// inFile reports whether a function is declared in, or compiled from, the source
// file that a pattern names: its whole path or the last parts of it.
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

// entry reads the entry at an offset, and lets as many more be read as one question may;
// nil if there is none.
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

// params returns the parameters of a function as its source has them, and of the
// first entry of the chain, which has the code, where they are. Result is the
// type's offset, 0 for none.
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

// merge adds what a nearer entry states about the parameters: it may lack some.
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
