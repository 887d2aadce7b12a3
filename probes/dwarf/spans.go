package dwarf

import (
	"cmp"
	"debug/dwarf"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"

	"github.com/tracepredict/tracepredict/probes/elf"
)

// Spans are the code addresses of units. The debug information of a large program has hundreds of
// megabytes, but a lookup needs only a few units. The root entry of each unit states its addresses.
type Spans struct {
	text  []elf.Range
	units []Unit
	split []bool   // by unit: its entries are in another file, and only its addresses and lines are here
	spans []span   // by lo
	reach []uint64 // reach[i] is the highest hi of spans[:i+1]
}

// span is an address range of a unit.
type span struct {
	lo, hi uint64
	unit   int
}

const (
	// maxSpans bounds the ranges of all units together, including those that the linker discarded,
	// since entries can share one long list. LLVM's largest programs have about 100,000.
	maxSpans = 1 << 21
	// maxOverlap bounds the number of units returned for one address.
	maxOverlap = 16
)

// Spans returns the addresses of all units that can describe code. Damaged units are left out, and
// the error is then not nil.
func (i *Info) Spans() (*Spans, error) {
	d, err := i.Data()
	if err != nil {
		return nil, err
	}
	info, err := i.Section("info")
	if err != nil {
		return nil, err
	}
	s := &Spans{text: i.file.Text(), units: units(info)}
	s.split = make([]bool, len(s.units))
	left := maxSpans
	var errs error
	for n, u := range s.units {
		ranges, split, err := rootRanges(d, u)
		s.split[n] = split
		left -= len(ranges)
		if err != nil && errs == nil {
			errs = err
		}
		for _, r := range ranges {
			if s.InText(r[0], r[1]) {
				s.spans = append(s.spans, span{r[0], r[1], n})
			}
		}
		if left < 0 {
			errs = errors.Join(errs, fmt.Errorf("more than %d address ranges", maxSpans))
			break
		}
	}
	slices.SortStableFunc(s.spans, func(a, b span) int { return cmp.Compare(a.lo, b.lo) })
	s.reach = make([]uint64, len(s.spans))
	hi := uint64(0)
	for i, x := range s.spans {
		hi = max(hi, x.hi)
		s.reach[i] = hi
	}
	return s, errs
}

// InText reports whether a range begins in code. The ranges of functions that the linker discarded
// begin at 0, or end at the end of the address space.
func (s *Spans) InText(lo, hi uint64) bool {
	i := sort.Search(len(s.text), func(i int) bool { return s.text[i].Hi > lo })
	return lo < hi && i < len(s.text) && s.text[i].Contains(lo)
}

// Root returns the first entry of a unit.
func Root(d *dwarf.Data, u Unit) (e *dwarf.Entry, err error) {
	defer protect(&err)
	r := d.Reader()
	r.Seek(u.Entry)
	e, err = r.Next()
	if err == nil && e == nil {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, fmt.Errorf("unit at 0x%x: %w", u.Entry, err)
	}
	return e, nil
}

func rootRanges(d *dwarf.Data, u Unit) (rs [][2]uint64, split bool, err error) {
	defer protect(&err)
	e, err := Root(d, u)
	if err != nil || e.Tag != dwarf.TagCompileUnit && e.Tag != dwarf.TagSkeletonUnit {
		return nil, false, err
	}
	rs, err = d.Ranges(e)
	return rs, dwoName(e) != "", err
}

// protect converts a panic of the standard library's reader into an error.
func protect(err *error) {
	if r := recover(); r != nil {
		*err = errors.Join(*err, fmt.Errorf("damaged: %v", r))
	}
}

// Split reports whether all that describes the code at an address, if anything does, is in other files (-gsplit-dwarf).
func (s *Spans) Split(addr uint64) bool {
	all := s.At(addr)
	return len(all) > 0 && !slices.ContainsFunc(all, func(n int) bool { return !s.split[n] })
}

// Unit returns the unit with a number that At returned, or with any below Units.
func (s *Spans) Unit(n int) Unit { return s.units[n] }

// Units returns the number of units.
func (s *Spans) Units() int { return len(s.units) }

// Any reports whether the ranges of any unit are known.
func (s *Spans) Any() bool { return s != nil && len(s.spans) > 0 }

// At returns the numbers of the units that contain an address, at most 16. It returns none for nil
// Spans.
func (s *Spans) At(addr uint64) (out []int) {
	if s == nil {
		return nil
	}
	i := sort.Search(len(s.spans), func(i int) bool { return s.spans[i].lo > addr })
	for i--; i >= 0 && s.reach[i] > addr && len(out) < maxOverlap; i-- {
		if x := s.spans[i]; addr < x.hi && !slices.Contains(out, x.unit) {
			out = append(out, x.unit)
		}
	}
	return out
}
