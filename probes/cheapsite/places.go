package cheapsite

import (
	"math/bits"
	"slices"

	"github.com/tracepredict/tracepredict/probes/binary"
)

// places is a set of addresses in code: a bit for each, by pages.
type places struct {
	text  []binary.Range // what it can hold
	pages map[uint64]*page
	last  uint64 // the page last added to
	to    *page  // nil: none yet
	full  bool
}

// page has a bit for each of as many addresses.
type page [pageSize / 64]uint64

const pageSize = 4096

// mostPages bounds the memory for places, at 512 bytes a page: code of 1 GB needs no
// more. Then they have every address, so that nothing moves.
const mostPages = 1 << 18

func newPlaces(text []binary.Range) *places { return &places{text: text, pages: map[uint64]*page{}} }

// add adds an address, if it is in code.
func (p *places) add(addr uint64) {
	if !slices.ContainsFunc(p.text, func(t binary.Range) bool { return t.Contains(addr) }) {
		return
	}
	if n := addr / pageSize; p.to == nil || p.last != n {
		to := p.pages[n]
		if to == nil {
			if len(p.pages) == mostPages {
				p.full = true
				return
			}
			to = new(page)
			p.pages[n] = to
		}
		p.last, p.to = n, to
	}
	p.to[addr%pageSize/64] |= 1 << (addr % 64)
}

// has reports whether an address of code is among them.
func (p *places) has(addr uint64) bool {
	to := p.pages[addr/pageSize]
	return p.full || to != nil && to[addr%pageSize/64]>>(addr%64)&1 == 1
}

// count is how many there are.
func (p *places) count() (n int) {
	for _, to := range p.pages {
		for _, word := range to {
			n += bits.OnesCount64(word)
		}
	}
	return n
}
