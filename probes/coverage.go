package probes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/probes/symbolize"
	"github.com/tracepredict/tracepredict/probes/variable"
)

// Coverage says how much of what a file does to a variable its sites see.
type Coverage struct {
	Variable variable.Variable
	Sites    int // that see accesses of it
	// Escapes are the places from which on this file, or who gets the address
	// from it, may access the variable unseen, sorted by address; empty if the
	// sites provably see every access that comes of this file.
	Escapes []Escape
}

// Complete reports whether every access is seen that comes of this file.
func (c Coverage) Complete() bool { return len(c.Escapes) == 0 }

// Escape is a place from which on accesses of a variable may go unseen.
type Escape struct {
	// Addr is an instruction, or a word of data; 0 for the file as a whole.
	Addr   uint64
	How    variable.How
	Callee string // the function that gets the address, if that is known
	// Function, File and Line are where Addr is in the source, as far as symbols
	// and debug information tell.
	Function, File string
	Line           int
}

// String returns the way and the source location: "passed to update in main at shop.c:12".
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

// Source returns what the debug information, else the symbols, say of an address of the file:
// the innermost function of those inlined there.
func (p *Plan) Source(addr uint64) symbolize.Frame { return p.chain(addr)[0] }

// chain returns the functions that were inlined at an address, the innermost first; at least
// one.
func (p *Plan) chain(addr uint64) []symbolize.Frame {
	if p.source == nil {
		p.source = symbolize.New(p.File)
	}
	return p.source.Frames(addr)
}

// took counts an access of an atomic array, which so many sites see. An access of another width
// is one of another member of the same structures.
func (c *Coverage) took(b *builder, a variable.Access, sites int) {
	v := &c.Variable
	other := checks(a) && a.Callee == "" && !a.Repeats && a.Width != v.Size && v.Array.Stride > uint64(v.Size)
	if sites == 0 && !other {
		c.Escapes = append(c.Escapes, b.unprobed(a.Addr))
	}
	c.Sites += min(sites, 1)
}

// escapes returns the instructions at which a variable's address leaves what is followed, and
// those that may access it and are not understood.
func (b *builder) escapes(res variable.Result) []Escape {
	var out []Escape
	for _, e := range res.Escapes {
		x := b.escapeAt(e.Addr, e.How)
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

func (b *builder) escapeAt(addr uint64, how variable.How) Escape {
	e := Escape{Addr: addr, How: how}
	if how == variable.InData {
		return e
	}
	f := b.plan.Source(addr)
	e.Function, e.File, e.Line = f.Function, f.File, f.Line
	return e
}

// unprobed returns the escape of an access that no probe can see.
func (b *builder) unprobed(addr uint64) Escape { return b.escapeAt(addr, variable.NotUnderstood) }

// functionName returns the name of the function at an address, "" if nothing names it.
func (b *builder) functionName(addr uint64) string {
	if name, ok := b.stubs[addr]; ok {
		return name
	}
	return b.plan.Source(addr).Function
}

// maxEscapes bounds the escapes that a note lists.
const maxEscapes = 3

// coverageNotes notes which of the variable's accesses go unseen.
func (b *builder) coverageNotes(c Coverage) {
	if !c.Complete() {
		b.note("the address of %s escapes at %d places in %s (%s): accesses through pointers are not seen", c.Variable.Name, len(c.Escapes), b.plan.File.Name(), c.places())
	}
}

// places lists the first escapes.
func (c Coverage) places() string {
	var places []string
	for _, e := range c.Escapes[:min(len(c.Escapes), maxEscapes)] {
		places = append(places, e.String())
	}
	if n := len(c.Escapes) - maxEscapes; n > 0 {
		places = append(places, fmt.Sprintf("%d more", n))
	}
	return strings.Join(places, "; ")
}
