package code

import (
	"slices"

	"github.com/tracepredict/tracepredict/probes/insn"
)

// IsCode reports whether the bytes at an address certainly are an instruction: control reaches it from the beginning
// of a function, from a landing pad or from endbr64, by falling through, by branches, also those between the parts of
// a function, and through jump tables that are understood. What does not may be data that lies among the code, which
// a probe would change.
func (im *Image) IsCode(addr uint64) bool {
	e := im.ExtentAt(addr)
	if e == nil {
		return false
	}
	if _, known := im.certain[e.Lo]; !known {
		im.findCertain(e)
	}
	return im.certain[e.Lo][addr]
}

// part is an extent of code while it is found out which of its instructions certainly are some.
type part struct {
	graph   *Graph
	entries []uint64
	certain map[uint64]bool // addresses
}

// findCertain finds the instructions of an extent, and of all from which jumps lead into it, that certainly are code.
func (im *Image) findCertain(e *Extent) {
	parts := map[uint64]*part{}
	for more := []*Extent{e}; len(more) > 0; {
		x := more[0]
		more = more[1:]
		if parts[x.Lo] != nil {
			continue
		}
		parts[x.Lo] = im.newPart(x)
		for _, c := range im.crossingsInto(x) {
			if from := im.ExtentAt(c.From); from != nil {
				more = append(more, from)
			}
		}
	}
	for changed := true; changed; {
		changed = false
		for _, p := range parts {
			p.solve(im.Table)
		}
		for lo, p := range parts {
			for _, c := range im.crossingsInto(im.ExtentAt(lo)) {
				from := parts[im.ExtentAt(c.From).Lo]
				if from.certain[c.From] && !slices.Contains(p.entries, c.To) {
					p.entries, changed = append(p.entries, c.To), true
				}
			}
		}
	}
	if im.certain == nil {
		im.certain = map[uint64]map[uint64]bool{}
	}
	for lo, p := range parts {
		im.certain[lo] = p.certain
	}
}

func (im *Image) newPart(e *Extent) *part {
	var insts []insn.Inst
	im.Sweep(e.Range, func(in *insn.Inst) bool {
		insts = append(insts, *in)
		return true
	})
	arrivals, open := im.Arrivals(e.Range)
	return &part{graph: NewGraph(insts, arrivals, open), entries: slices.Clone(im.Entries(e.Range))}
}

// solve finds the instructions that control reaches from the entries.
func (p *part) solve(table func(jump uint64) []uint64) {
	p.certain = map[uint64]bool{}
	for block := range p.graph.Certain(p.entries, table) {
		b := &p.graph.Blocks[block]
		for i := b.Lo; i < b.Hi; i++ {
			p.certain[p.graph.Insts[i].Addr] = true
		}
	}
}

// crossingsInto returns the jumps from other extents into one, but for those to addresses at which control certainly
// arrives anyway.
func (im *Image) crossingsInto(e *Extent) (into []Crossing) {
	certain := im.Entries(e.Range)
	for _, c := range im.Landings().into(e.Range) {
		from := im.ExtentAt(c.From)
		if _, known := slices.BinarySearch(certain, c.To); !known && from != nil && from != e {
			into = append(into, c)
		}
	}
	return into
}
