package symbolize

import (
	"debug/dwarf"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sort"

	dw "github.com/tracepredict/tracepredict/probes/dwarf"
	elffile "github.com/tracepredict/tracepredict/probes/elf"
)

// Debug information of a large program has hundreds of megabytes, of which a
// report needs a few compilation units. So only the root entry of each unit is
// read at first, which states the unit's addresses; a unit's functions and
// lines are parsed when an address falls into it. The plain model is addr2line,
// which the tests compare with.

// debugInfo is the debug information of a file.
type debugInfo struct {
	data     *dwarf.Data
	units    []dw.Unit
	spans    []span   // by lo
	reach    []uint64 // reach[i] is the highest hi of spans[:i+1]
	text     []elffile.Range
	parsed   map[int]*parsedUnit
	kept     int // bytes of parsed, about
	asked    int // questions so far: what was not asked for the longest time is forgotten first
	maxUnits int
	scratch  []row
	info     []byte
	abbrev   []byte
	shapes   map[uint64]dw.Shapes // by where they are
	file     *elffile.File
	maxRows  int // of one line table
}

// span is a range of addresses of a unit.
type span struct {
	lo, hi uint64
	unit   int
}

// debugFrame is a function at an address.
type debugFrame struct {
	linkage string
	plain   bool // linkage is only the source's name
	file    string
	line    int
	start   uint64
	// declared is the line of the function's definition; 0 if unknown
	declared int
}

// maxSpans bounds the ranges of all units together, those discarded by the linker too, and those of the functions
// of one: entries can share one long list. LLVM's largest have some 100,000.
const maxSpans = 1 << 21

func protect(err *error) {
	if r := recover(); r != nil {
		*err = errors.Join(*err, fmt.Errorf("damaged: %v", r))
	}
}

func loadDebug(f *elffile.File, maxUnits int) (d *debugInfo, err error) {
	defer protect(&err)
	data, err := dw.Of(f).Data()
	if err != nil {
		return nil, err
	}
	info, err := dw.Of(f).Section("info")
	if err != nil {
		return nil, err
	}
	abbrev, err := dw.Of(f).Section("abbrev")
	if err != nil {
		return nil, err
	}
	d = &debugInfo{data: data, info: info, abbrev: abbrev, shapes: map[uint64]dw.Shapes{}, units: dw.Units(info), text: f.Text(), parsed: map[int]*parsedUnit{}, maxUnits: maxUnits, file: f, maxRows: maxTableRows}
	err = d.index()
	return d, err
}

// index reads the addresses of all units. What is damaged is left out.
func (d *debugInfo) index() error {
	var errs error
	left := maxSpans
	for i, u := range d.units {
		ranges, err := d.rootRanges(u)
		left -= len(ranges)
		if err != nil && errs == nil {
			errs = err
		}
		for _, r := range ranges {
			if d.inText(r[0], r[1]) {
				d.spans = append(d.spans, span{r[0], r[1], i})
			}
		}
		if left < 0 {
			errs = errors.Join(errs, fmt.Errorf("more than %d address ranges", maxSpans))
			break
		}
	}
	sort.SliceStable(d.spans, func(i, j int) bool { return d.spans[i].lo < d.spans[j].lo })
	d.reach = make([]uint64, len(d.spans))
	hi := uint64(0)
	for i, s := range d.spans {
		hi = max(hi, s.hi)
		d.reach[i] = hi
	}
	return errs
}

// inText sees off functions that the linker discarded: they start at 0 or end
// at the end of the address space.
func (d *debugInfo) inText(lo, hi uint64) bool {
	i := sort.Search(len(d.text), func(i int) bool { return d.text[i].Hi > lo })
	return lo < hi && i < len(d.text) && d.text[i].Contains(lo)
}

func (d *debugInfo) root(u dw.Unit) (e *dwarf.Entry, err error) {
	defer protect(&err)
	r := d.data.Reader()
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

func (d *debugInfo) rootRanges(u dw.Unit) (rs [][2]uint64, err error) {
	defer protect(&err)
	e, err := d.root(u)
	if err != nil || e.Tag != dwarf.TagCompileUnit && e.Tag != dwarf.TagSkeletonUnit {
		return nil, err
	}
	return d.data.Ranges(e)
}

// maxOverlap bounds how many units are asked about one address.
const maxOverlap = 16

// frames gives the functions at addr, innermost first; nil if no unit knows it.
// Where units overlap, one that knows a function is believed first.
func (d *debugInfo) frames(addr uint64) ([]debugFrame, error) {
	var lineOnly []debugFrame
	var errs error
	for _, i := range d.unitsAt(addr) {
		p, err := d.parse(i)
		if err != nil && errs == nil {
			errs = err
		}
		if fs := p.frames(d, addr); len(fs) > 0 {
			if fs[len(fs)-1].linkage != "" {
				return fs, errs
			}
			if lineOnly == nil {
				lineOnly = fs
			}
		}
	}
	return lineOnly, errs
}

func (d *debugInfo) unitsAt(addr uint64) []int {
	var out []int
	i := sort.Search(len(d.spans), func(i int) bool { return d.spans[i].lo > addr })
	for i--; i >= 0 && d.reach[i] > addr && len(out) < maxOverlap; i-- {
		if s := d.spans[i]; addr < s.hi && !slices.Contains(out, s.unit) {
			out = append(out, s.unit)
		}
	}
	return out
}

// maxKept bounds what is kept of units, in bytes: a program of 100 MB takes some
// 60 MB where all of it is asked for. Units can share one long table.
const maxKept = 128 << 20

// parse gives the parsed unit, which may be partial beside an error.
func (d *debugInfo) parse(i int) (*parsedUnit, error) {
	d.asked++
	if p := d.parsed[i]; p != nil {
		p.asked = d.asked
		return p, nil
	}
	if len(d.parsed) >= d.maxUnits || d.kept > maxKept {
		d.forget()
	}
	p := &parsedUnit{asked: d.asked}
	d.parsed[i] = p
	root, err := d.root(d.units[i])
	if err != nil {
		return p, err
	}
	err = errors.Join(p.readLines(d, root), p.readFunctions(d, d.units[i]))
	d.kept += p.size()
	return p, err
}

// forget drops half of the units, those that were not asked for the longest time.
func (d *debugInfo) forget() {
	units := slices.Collect(maps.Keys(d.parsed))
	slices.SortFunc(units, func(a, b int) int { return d.parsed[a].asked - d.parsed[b].asked })
	for _, i := range units[:(len(units)+1)/2] {
		d.kept -= d.parsed[i].size()
		delete(d.parsed, i)
	}
}
