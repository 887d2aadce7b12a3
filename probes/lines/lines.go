// Package lines finds the code of lines of the source, and the edges of control flow into it and out of it.
//
// The input is an open binary with debug information and a range of lines of one file. The output is a Region: the code,
// the instructions before which control may have come in or gone out, and how a frame of the function is told from its
// others. A probe at an edge does not know whence control comes, so its user keeps for each frame whether it is inside:
// then an edge that leads from inside to inside is none. What is called from the lines is inside, and what is inlined
// there, too. Exceptions and longjmp that end in the function are edges; those that remove its frame are found in the
// unwinder, by Resets.
//
// If not all edges are known, or the lines have no code of their own (they are inlined elsewhere, the optimiser has mixed
// them with others), Find refuses, with the reason and what to do. The package knows no probe and no process; addresses are
// those of the file as linked.
package lines

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/probes/code"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
	"github.com/tracepredict/tracepredict/probes/spelling"
	"github.com/tracepredict/tracepredict/probes/symbolize"
	"github.com/tracepredict/tracepredict/probes/unwind"
)

// Lines are lines of a source file.
type Lines struct {
	File        string // the whole path or its last components
	First, Last int    // from 1
}

// String returns FILE:FIRST-LAST.
func (l Lines) String() string { return fmt.Sprintf("%s:%d-%d", l.File, l.First, l.Last) }

// has reports whether a line of the source is one of them.
func (l Lines) has(file string, line int) bool {
	return l.First <= line && line <= l.Last && spelling.File(file, l.File)
}

// Region is the code of lines.
type Region struct {
	Function string      // as in the source
	Code     []elf.Range // sorted, disjoint
	Edges    []Edge      // sorted by At; an entry comes before a departure
}

// Edge is an instruction before which control has come into the lines or gone out, if it was on the other side.
type Edge struct {
	At    uint64
	Enter bool
	// Out means that the instruction itself leaves, by leaving the function: a return or a jump to another one.
	Out bool
	// When, of a conditional jump (Out), is as insn.Inst.Cond: the jump leaves only if it is made. 0: always.
	When uint8
}

// Refused says why lines cannot be observed.
type Refused struct {
	Lines  Lines
	Why    string
	Remedy string
}

// Error returns the reason and what to do.
func (r *Refused) Error() string { return r.Why + ": " + r.Remedy }

// Contains reports whether an address is in the code of the lines.
func (r *Region) Contains(addr uint64) bool {
	return slices.ContainsFunc(r.Code, func(c elf.Range) bool { return c.Contains(addr) })
}

// Code is a file in which lines are searched for.
type Code struct {
	File  *elf.File
	Image *code.Image
	Names *symbolize.Table
	Stack *unwind.Table
}

// Bounds of what is searched: instructions of one function, and edges.
const (
	maxInsts = 1 << 17
	maxEdges = 1 << 10
)

// Find returns the code of lines; nil if no debug information of the file mentions their source file. Errors are of type
// *Refused, or those of reading the debug information.
func (c *Code) Find(l Lines) (*Region, error) {
	found, err := c.rows(l)
	if err != nil || !found.known {
		return nil, err
	}
	x := &finder{Code: c, lines: l}
	if len(found.at) == 0 {
		found.at = x.inlined(found.beside)
	}
	if len(found.at) == 0 {
		return nil, x.refuse(found.near(l), "name lines that have code, or the whole function")
	}
	parts, err := x.function(found.at)
	if err != nil {
		return nil, err
	}
	if err := x.read(parts); err != nil {
		return nil, err
	}
	if err := x.follow(); err != nil {
		return nil, err
	}
	if x.interleaved() {
		return nil, x.refuse("control goes out of the lines and comes back without a loop, since the optimiser has moved code or the lines are part of a statement",
			"compile with -O0 or -Og, take whole statements, or name the function")
	}
	if len(x.edges) > maxEdges {
		return nil, x.refuse(fmt.Sprintf("there are %d edges of control flow into the lines and out of them, at most %d can be observed", len(x.edges), maxEdges), "name a function")
	}
	return x.region(), nil
}

// finder searches for the edges of lines in one function.
type finder struct {
	*Code
	lines  Lines
	name   string
	parts  []elf.Range // of the function, sorted
	insts  []insn.Inst
	inside []bool         // by insts
	at     map[uint64]int // index in insts, by address
	next   [][]int        // by insts: where control may go on in the function
	starts []int          // indices of insts at which control may arrive from elsewhere; the function's first comes first
	edges  map[Edge]bool
	stubs  map[uint64]string // of the procedure linkage table, by address
}

func (x *finder) refuse(why, remedy string) error {
	return &Refused{Lines: x.lines, Why: why, Remedy: remedy}
}

// inlined returns an address at which what is called from the lines is inlined, in the functions of some other addresses;
// none if there is none. The line tables do not mention a line that has no more code than that.
func (x *finder) inlined(beside [2]uint64) (at []uint64) {
	for _, addr := range beside {
		if addr == 0 {
			continue
		}
		for _, r := range x.Names.Function(addr) {
			x.Image.Sweep(r, func(in *insn.Inst) bool {
				frames := x.Names.Frames(in.Addr)
				if outer := frames[len(frames)-1]; x.lines.has(outer.File, outer.Line) {
					at = append(at, in.Addr)
				}
				return len(at) == 0
			})
		}
	}
	return at
}

// function returns the parts of the one function that has code of the lines.
func (x *finder) function(at []uint64) (parts []elf.Range, err error) {
	names := map[string]bool{}
	first := map[uint64]bool{}
	for _, addr := range at {
		frames := x.Names.Frames(addr)
		outer := frames[len(frames)-1]
		if !x.lines.has(outer.File, outer.Line) {
			if slices.ContainsFunc(frames, func(f symbolize.Frame) bool { return x.lines.has(f.File, f.Line) }) {
				return nil, x.refuse(fmt.Sprintf("code of the lines is inlined into %s", outer.Function), "compile with -fno-inline or -Og, or name a function")
			}
			continue
		}
		own := x.Names.Function(addr)
		if own == nil {
			return nil, x.refuse("the debug information does not say of which function their code is", "name a function")
		}
		slices.SortFunc(own, func(a, b elf.Range) int { return cmp.Compare(a.Lo, b.Lo) })
		if !first[own[0].Lo] {
			first[own[0].Lo], names[outer.Function] = true, true
			parts, x.name = own, outer.Function
		}
	}
	switch {
	case len(first) > 1 && len(names) == 1:
		return nil, x.refuse(fmt.Sprintf("%s has been compiled more than once, as a template, a constructor or a copy for known arguments is", x.name), "compile with -O0 or -Og, or name the function")
	case len(first) > 1:
		return nil, x.refuse(fmt.Sprintf("their code is in several functions: %s", listed(names)), "take lines of one function, without lambdas")
	case len(first) == 0:
		return nil, x.refuse("the debug information does not say of which function their code is", "name a function")
	}
	return parts, nil
}

// listed returns at most three of some names.
func listed(names map[string]bool) string {
	all := slices.Sorted(maps.Keys(names))
	if len(all) > 3 {
		return strings.Join(all[:3], ", ") + fmt.Sprintf(" and %d more", len(all)-3)
	}
	return strings.Join(all, ", ")
}

// read decodes the function, and finds out which of its instructions are of the lines.
func (x *finder) read(parts []elf.Range) error {
	x.parts, x.at, x.edges = parts, map[uint64]int{}, map[Edge]bool{}
	x.Image.Landings()
	for _, r := range parts {
		for addr := r.Lo; addr < r.Hi; {
			e := x.Image.ExtentAt(addr)
			switch {
			case e == nil || e.Untiled:
				return x.refuse(fmt.Sprintf("what is code in %s is not known at 0x%x", x.name, addr), "name a function")
			case e.Open:
				return x.refuse(fmt.Sprintf("%s has an indirect jump whose targets are not known", x.name), "compile with -fno-jump-tables, or name the function")
			}
			addr = e.Hi
		}
		complete := x.Image.Sweep(r, func(in *insn.Inst) bool {
			x.at[in.Addr] = len(x.insts)
			x.insts = append(x.insts, *in)
			return len(x.insts) <= maxInsts
		})
		if !complete {
			return x.refuse(fmt.Sprintf("%s is not understood from 0x%x on", x.name, r.Lo), "name the function")
		}
	}
	x.inside = make([]bool, len(x.insts))
	for i := range x.insts {
		frames := x.Names.Frames(x.insts[i].Addr)
		if outer := frames[len(frames)-1]; outer.Line > 0 {
			x.inside[i] = x.lines.has(outer.File, outer.Line)
		} else if i > 0 { // code that the compiler adds is of no line
			x.inside[i] = x.inside[i-1]
		}
	}
	for _, r := range parts {
		for _, at := range x.Image.Landings().Marks(r) {
			x.smooth(at)
		}
	}
	return nil
}

// smooth takes code at a landing pad, between instructions of the lines, for code of the lines too: clang gives the
// instructions that save the exception the last line of the function.
func (x *finder) smooth(pad uint64) {
	first, ok := x.at[pad]
	if !ok || !x.inside[first] {
		return
	}
	last := first
	for i := first; i < len(x.insts) && x.insts[i].Kind.Straight(); i++ {
		if x.inside[i] {
			last = i
		}
	}
	for i := first; i <= last; i++ {
		x.inside[i] = true
	}
}

// region returns what was found.
func (x *finder) region() *Region {
	r := &Region{Function: x.name}
	for i := range x.insts {
		in := &x.insts[i]
		if n := len(r.Code); x.inside[i] && n > 0 && r.Code[n-1].Hi == in.Addr {
			r.Code[n-1].Hi = in.End()
		} else if x.inside[i] {
			r.Code = append(r.Code, elf.Range{Lo: in.Addr, Hi: in.End()})
		}
	}
	for e := range x.edges {
		r.Edges = append(r.Edges, e)
	}
	slices.SortFunc(r.Edges, func(a, b Edge) int {
		if a.At != b.At || a.Enter == b.Enter {
			return cmp.Compare(a.At, b.At)
		}
		if a.Enter {
			return -1
		}
		return 1
	})
	return r
}
