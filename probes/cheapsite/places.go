package cheapsite

import (
	"math/bits"

	"github.com/tracepredict/tracepredict/probes/elf"
)

// places is a set of addresses in code: a bit for each, by pages.
type places struct {
	sections []placesIn
	last     *placesIn // asked for last; nil: none
	left     int       // pages that may still be had
	full     bool
}

// placesIn are those in one section.
type placesIn struct {
	elf.Range
	pages []*page // nil: none there
}

// page has a bit for each of as many addresses.
type page [pageSize / 64]uint64

const pageSize = 4096

// mostPages bounds the memory for places, at 520 bytes a page: code of 1 GB needs no
// more. Of more they have every address, so that nothing moves.
const mostPages = 1 << 18

func newPlaces(text []elf.Range) *places {
	p := &places{left: mostPages}
	for _, t := range text {
		n := (t.Hi - t.Lo + pageSize - 1) / pageSize
		if p.full = p.full || n > uint64(p.left); p.full {
			return p
		}
		p.left -= int(n)
		p.sections = append(p.sections, placesIn{t, make([]*page, n)})
	}
	return p
}

// section gives that which holds an address, nil if none does.
func (p *places) section(addr uint64) *placesIn {
	if p.last != nil && p.last.Contains(addr) {
		return p.last
	}
	for i := range p.sections {
		if s := &p.sections[i]; s.Contains(addr) {
			p.last = s
			return s
		}
	}
	return nil
}

// add adds an address, if it is in code.
func (p *places) add(addr uint64) {
	s := p.section(addr)
	if s == nil {
		return
	}
	at := addr - s.Lo
	to := s.pages[at/pageSize]
	if to == nil {
		to = new(page)
		s.pages[at/pageSize] = to
	}
	to[at%pageSize/64] |= 1 << (at % 64)
}

// has reports whether an address of code is among them.
func (p *places) has(addr uint64) bool {
	s := p.section(addr)
	if p.full || s == nil {
		return p.full
	}
	at := addr - s.Lo
	to := s.pages[at/pageSize]
	return to != nil && to[at%pageSize/64]>>(at%64)&1 == 1
}

// count is how many there are.
func (p *places) count() (n int) {
	for i := range p.sections {
		for _, to := range p.sections[i].pages {
			if to == nil {
				continue
			}
			for _, word := range to {
				n += bits.OnesCount64(word)
			}
		}
	}
	return n
}
