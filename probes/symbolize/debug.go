package symbolize

import (
	"debug/dwarf"
	"errors"
	"fmt"
	"maps"
	"slices"

	dw "github.com/tracepredict/tracepredict/probes/dwarf"
	elffile "github.com/tracepredict/tracepredict/probes/elf"
)

// The debug information of a large program has hundreds of megabytes, of which a report needs a few
// compilation units. So only the root DIE of each unit is read at first, which has the unit's
// addresses; a unit's functions and lines are parsed when the first address in it is looked up. The
// plain model is addr2line, with which the tests compare.

// debugInfo is the debug information of a file.
type debugInfo struct {
	data          *dwarf.Data
	spans         *dw.Spans
	parsed        map[int]*parsedUnit
	parsedSize    int // approximate size of parsed, in bytes
	lookups       int // number of look-ups of units so far; the unit whose latest look-up is oldest is evicted first
	maxUnits      int
	rowBuffer     []row
	info          []byte
	abbrev        []byte
	abbreviations map[uint64]dw.Abbreviations // by their offset in abbrev
	file          *elffile.File
	maxRows       int // bound of the rows of one line table
}

// debugFrame is a function at an address.
type debugFrame struct {
	linkage string
	plain   bool // linkage is only the name in the source
	file    string
	line    int
	start   uint64
	// declared is the line of the function's definition; 0 if unknown
	declared int
}

// maxOverlap bounds the number of function parts, or of sequences of a line table, that are
// examined for one address.
const maxOverlap = 16

// maxRanges bounds the number of ranges of the functions of one unit: in a hostile file, DIEs can
// share one long list.
const maxRanges = 1 << 21

func recoverError(err *error) {
	if r := recover(); r != nil {
		*err = errors.Join(*err, fmt.Errorf("damaged: %v", r))
	}
}

func loadDebug(f *elffile.File, maxUnits int) (d *debugInfo, err error) {
	defer recoverError(&err)
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
	d = &debugInfo{data: data, info: info, abbrev: abbrev, abbreviations: map[uint64]dw.Abbreviations{}, parsed: map[int]*parsedUnit{}, maxUnits: maxUnits, file: f, maxRows: maxTableRows}
	d.spans, err = dw.Of(f).Spans()
	return d, err
}

// frames returns the functions at addr, innermost first; nil if no unit contains addr. If units
// overlap, one that has a function there is preferred.
func (d *debugInfo) frames(addr uint64) ([]debugFrame, error) {
	var lineOnly []debugFrame
	var errs error
	for _, i := range d.spans.At(addr) {
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

// function returns the parts of the function at addr; nil if no unit has one there.
func (d *debugInfo) function(addr uint64) (parts []elffile.Range) {
	for _, i := range d.spans.At(addr) {
		p, _ := d.parse(i) // of a damaged unit: what could be read
		chain, _ := p.chain(addr)
		if len(chain) == 0 {
			continue
		}
		c := &p.calls[chain[0]]
		for _, r := range p.ranges[c.first:c.last] {
			parts = append(parts, elffile.Range{Lo: r[0], Hi: r[1]})
		}
		return parts
	}
	return nil
}

// maxKept bounds the size of the parsed units, in bytes: a program of 100 MB takes some 60 MB if
// all of its units are parsed. Units can share one long table.
const maxKept = 128 << 20

// parse returns the parsed unit, which may be partial if there is an error.
func (d *debugInfo) parse(i int) (*parsedUnit, error) {
	d.lookups++
	if p := d.parsed[i]; p != nil {
		p.lastLookup = d.lookups
		return p, nil
	}
	if len(d.parsed) >= d.maxUnits || d.parsedSize > maxKept {
		d.evictUnits()
	}
	p := &parsedUnit{lastLookup: d.lookups}
	d.parsed[i] = p
	root, err := dw.Root(d.data, d.spans.Unit(i))
	if err != nil {
		return p, err
	}
	err = errors.Join(p.readLines(d, root), p.readFunctions(d, d.spans.Unit(i)))
	d.parsedSize += p.size()
	return p, err
}

// evictUnits evicts half of the parsed units, those whose latest look-up is oldest.
func (d *debugInfo) evictUnits() {
	units := slices.Collect(maps.Keys(d.parsed))
	slices.SortFunc(units, func(a, b int) int { return d.parsed[a].lastLookup - d.parsed[b].lastLookup })
	for _, i := range units[:(len(units)+1)/2] {
		d.parsedSize -= d.parsed[i].size()
		delete(d.parsed, i)
	}
}
