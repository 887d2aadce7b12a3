package function

import (
	"debug/dwarf"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	dw "github.com/tracepredict/tracepredict/probes/dwarf"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/spelling"
)

// The functions that the debug information of a file describes: their names, their addresses, with
// those of inlined copies, and the locations of their parameters. Entries refer to each other
// (DW_AT_specification, DW_AT_abstract_origin: DWARF 5, sections 2.13 and 3.3.8), and an entry may
// refer to a later one. So a first pass records only names and addresses, and the entries of
// functions that match are read again.

// subprogram is an entry of a function: its declaration, its code, or an inlined copy of it.
type subprogram struct {
	off, origin dwarf.Offset
	in          *dw.Scope
	unit        *dw.CompileUnit
	name        string
	linkage     string
	entry       uint64 // 0: it has no code
	inlined     bool
	abstract    bool // the source of inlined copies
	file        int64
}

// debug is the debug information of one file.
type debug struct {
	*dw.Tree // its Budget bounds the entries read for one function or one type
	subs     []*subprogram
	byOff    map[dwarf.Offset]*subprogram
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
	d = &debug{byOff: map[dwarf.Offset]*subprogram{}}
	d.Tree, err = dw.Of(f).Tree()
	if errors.Is(err, elf.ErrNoDWARF) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if d.locations, err = dw.Of(f).Locations(maxList, math.MaxInt); err != nil {
		return nil, err
	}
	err = dw.Walk(d.Tree, &d.Parts[0], func(e *dwarf.Entry, u *dw.CompileUnit, in *dw.Scope) (*dw.Scope, error) {
		if e.Tag == dwarf.TagSubprogram || e.Tag == dwarf.TagInlinedSubroutine {
			d.add(e, u, in)
		}
		if len(d.subs) > maxSubs {
			return in, fmt.Errorf("more than %d functions", maxSubs)
		}
		return dw.ScopeOf(e, in), nil
	})
	if err != nil {
		return d, fmt.Errorf("read debug information: %w", err)
	}
	return d, nil
}

// assembled reports whether a unit was written in assembly language: it describes functions, but no
// parameters (DW_LANG_Mips_Assembler).
func assembled(u *dw.CompileUnit) bool { return u != nil && u.Language == 0x8001 }

func (d *debug) add(e *dwarf.Entry, u *dw.CompileUnit, in *dw.Scope) {
	s := &subprogram{off: e.Offset, in: in, unit: u, name: dw.Name(e), linkage: dw.Text(e, dwarf.AttrLinkageName), inlined: e.Tag == dwarf.TagInlinedSubroutine}
	s.origin, s.file = dw.Origin(e), dw.Number(e, dwarf.AttrDeclFile)
	s.entry = d.entryOf(e)
	s.abstract = !s.inlined && e.Val(dwarf.AttrInline) != nil
	d.subs = append(d.subs, s)
	d.byOff[e.Offset] = s
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
	rs, err := d.Parts[0].Data.Ranges(e)
	if err != nil || len(rs) == 0 {
		return 0
	}
	return rs[0][0]
}

// chain returns the entries that together describe s: s itself, and those that it completes.
func (d *debug) chain(s *subprogram) []*subprogram {
	var out []*subprogram
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
func (d *debug) names(chain []*subprogram) (names []string, linkage string) {
	for _, s := range chain {
		if s.linkage != "" && linkage == "" {
			linkage = s.linkage
		}
	}
	last := chain[len(chain)-1]
	if last.name == "" {
		return nil, linkage
	}
	full := last.in.Qualify(last.name, dw.AnonymousNamespace)
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
func (d *debug) inFile(chain []*subprogram, want string) bool {
	for _, s := range chain {
		if s.unit != nil && s.file != 0 && spelling.File(s.unit.Source(s.file), want) {
			return true
		}
	}
	return chain[0].unit != nil && spelling.File(chain[0].unit.Name, want) && !chain[0].inlined
}

// entry returns the entry at an offset, and resets the budget of entries to read; nil if there is
// none.
func (d *debug) entry(off dwarf.Offset) *dwarf.Entry {
	d.Budget = maxEntries
	return d.Entry(off)
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
func (d *debug) params(chain []*subprogram) (ps []param, result dwarf.Offset) {
	for _, s := range slices.Backward(chain) {
		e := d.entry(s.off)
		if e == nil {
			continue
		}
		if off, ok := e.Val(dwarf.AttrType).(dwarf.Offset); ok {
			result = off
		}
		var own []param
		d.Children(e.Offset, func(c *dwarf.Entry) bool {
			if c.Tag == dwarf.TagFormalParameter {
				own = append(own, param{dw.Name(c), dw.TypeOf(c), dw.Flag(c, dwarf.AttrArtificial), c, dw.Reference(c, dwarf.AttrAbstractOrigin)})
			}
			return true
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
