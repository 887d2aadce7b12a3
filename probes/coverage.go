package probes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/probes/symbolize"
	"github.com/tracepredict/tracepredict/probes/variable"
)

// Coverage records how many of the accesses that a file makes to a variable are observed.
type Coverage struct {
	Variable variable.Variable
	Sites    int // number of sites that observe accesses of the variable
	// Escapes are the instructions and data words from which on this file, or code that gets the
	// address from it, may access the variable without being observed, sorted by address. It is
	// empty if the sites provably observe every access that originates in this file.
	Escapes []Escape
}

// Complete reports whether every access that originates in this file is observed.
func (c Coverage) Complete() bool { return len(c.Escapes) == 0 }

// Escape is a point from which on accesses of a variable may not be observed.
type Escape struct {
	// Addr is the address of an instruction or of a word of data; 0 for the file as a whole.
	Addr   uint64
	How    variable.EscapeKind
	Callee string // the function that the address is passed to, "" if unknown
	// Function, File and Line are the source location of Addr, as far as symbols and debug
	// information show; zero if unknown.
	Function, File string
	Line           int
}

// String returns how the address escapes and the source location: "passed to update in main at
// shop.c:12".
func (e Escape) String() string {
	var b strings.Builder
	b.WriteString(e.How.String())
	if e.Callee != "" {
		b.WriteString(" to " + e.Callee)
	}
	if e.Function != "" {
		b.WriteString(" in " + e.Function)
	}
	if e.File != "" {
		fmt.Fprintf(&b, " at %s:%d", e.File, e.Line)
	} else {
		fmt.Fprintf(&b, " at 0x%x", e.Addr)
	}
	return b.String()
}

// Source returns the source location of an address of the file, from debug information if there is
// any, else from symbols: that of the innermost function inlined there.
func (p *Plan) Source(addr uint64) symbolize.Frame { return p.frames(addr)[0] }

// frames returns the frames at an address, those of inlined functions included, innermost first.
// There is at least one.
func (p *Plan) frames(addr uint64) []symbolize.Frame {
	if p.source == nil {
		p.source = symbolize.New(p.File)
	}
	return p.source.Frames(addr)
}

// count counts an access of an atomic array for which sites were planned, or none if sites is 0. An
// access of another width than the element's is one of another member of the same structures, and
// needs no site.
func (c *Coverage) count(b *builder, a variable.Access, sites int) {
	v := &c.Variable
	other := checks(a) && a.Callee == "" && !a.Repeats && a.Width != v.Size && v.Array.Stride > uint64(v.Size)
	if sites == 0 && !other {
		c.Escapes = append(c.Escapes, b.unprobed(a.Addr))
	}
	c.Sites += min(sites, 1)
}

// escapes returns the instructions at which a variable's address leaves the data flow that is
// followed, and those that may access the variable and are not understood.
func (b *builder) escapes(res variable.Result) []Escape {
	var out []Escape
	for _, e := range res.Escapes {
		x := b.escapeAt(e.Addr, e.Kind)
		if e.Callee != 0 {
			x.Callee = b.functionName(e.Callee)
		}
		out = append(out, x)
	}
	for _, addr := range slices.Concat(res.Unknown, res.Undecoded) {
		out = append(out, b.escapeAt(addr, variable.NotUnderstood))
	}
	return out
}

func (b *builder) escapeAt(addr uint64, how variable.EscapeKind) Escape {
	e := Escape{Addr: addr, How: how}
	if how == variable.InData {
		return e
	}
	f := b.plan.Source(addr)
	e.Function, e.File, e.Line = f.Function, f.File, f.Line
	return e
}

// unprobed returns the escape that stands for an access that no probe can observe.
func (b *builder) unprobed(addr uint64) Escape { return b.escapeAt(addr, variable.NotUnderstood) }

// functionName returns the name of the function at an address, or of the function that a PLT stub
// there calls; "" if neither is known.
func (b *builder) functionName(addr uint64) string {
	if name, ok := b.stubs[addr]; ok {
		return name
	}
	return b.plan.Source(addr).Function
}

// maxEscapes bounds the number of escapes that a note lists.
const maxEscapes = 3

// coverageNotes adds a note if some accesses of the variable are not observed.
func (b *builder) coverageNotes(c Coverage) {
	if !c.Complete() && !b.followsPointers() {
		b.note("the address of %s escapes at %d {place|places} in %s (%s): accesses through pointers are not seen", c.Variable.Name, len(c.Escapes), b.plan.File.Name(), c.examples())
	}
}

// examples returns the first escapes as text.
func (c Coverage) examples() string {
	var texts []string
	for _, e := range c.Escapes[:min(len(c.Escapes), maxEscapes)] {
		texts = append(texts, e.String())
	}
	if n := len(c.Escapes) - maxEscapes; n > 0 {
		texts = append(texts, fmt.Sprintf("%d more", n))
	}
	return strings.Join(texts, "; ")
}
