package code

import "github.com/tracepredict/tracepredict/probes/elf"

// addresses is a set of addresses in code, as a bit for each address, in pages.
type addresses struct {
	sections []sectionSet
	last     *sectionSet // the section of the latest lookup; nil: none
	left     int         // pages that may still be allocated
	full     bool        // there is too much code, so that every address is in the set
}

// sectionSet is the part of the set in one section.
type sectionSet struct {
	elf.Range
	pages []*page // by page of the section; nil: no address of the page is in the set
}

// page has a bit for each of pageSize addresses.
type page [pageSize / 64]uint64

const pageSize = 4096

// maxPages bounds the memory of a set, at 520 bytes a page: code of 1 GB needs no more. The set of
// larger code contains every address, so that no probe moves in it.
const maxPages = 1 << 18

func newAddresses(text []elf.Range) *addresses {
	p := &addresses{left: maxPages}
	for _, t := range text {
		n := (t.Hi - t.Lo + pageSize - 1) / pageSize
		if p.full = p.full || n > uint64(p.left); p.full {
			return p
		}
		p.left -= int(n)
		p.sections = append(p.sections, sectionSet{t, make([]*page, n)})
	}
	return p
}

// section returns the section that contains an address, nil if none does.
func (p *addresses) section(addr uint64) *sectionSet {
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

// add adds an address; one that is not in an executable section is ignored.
func (p *addresses) add(addr uint64) {
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

// has reports whether an address is in the set.
func (p *addresses) has(addr uint64) bool {
	s := p.section(addr)
	if p.full || s == nil {
		return p.full
	}
	at := addr - s.Lo
	to := s.pages[at/pageSize]
	return to != nil && to[at%pageSize/64]>>(at%64)&1 == 1
}
