package dwarf

import (
	"debug/dwarf"
	"encoding/binary"
	"fmt"

	"github.com/tracepredict/tracepredict/probes/elf"
)

// The standard library's reader of debug information is safe to use where the
// data is what it seems. Hostile data makes it work or allocate out of all
// proportion: units that each read the whole of one table of abbreviations,
// an entry of one byte that has a hundred thousand attributes, one long name
// that every entry refers to. So headers and abbreviations are judged before it
// sees them, and entries are read through Entries, which counts. Layout: DWARF
// 5, sections 7.5.1 and 7.5.3; DWARF 4, the same.

const (
	// minUnit is the least length of a unit: version, offset of
	// abbreviations, size of an address.
	minUnit = 7
	// maxAttributes bounds those of one abbreviation; compilers use some
	// twenty. Many need no byte in the entry.
	maxAttributes = 128
	// implicitConst is the form whose value is in the abbreviation.
	implicitConst = 0x21
)

// checkUnits judges the headers of .debug_info or .debug_types and the tables
// of abbreviations that they name. Offsets in errors are those of the section.
func checkUnits(section string, info, abbrev []byte) error {
	const typeUnits = "types"
	order := binary.LittleEndian
	seen := map[uint64]bool{}
	left := 2*len(abbrev) + 1<<16 // tables lie one after the other
	for at := 0; len(info)-at >= 4; {
		n, word, body := uint64(order.Uint32(info[at:])), 4, at+4
		if n == 0xffffffff && len(info)-at >= 12 {
			n, word, body = order.Uint64(info[at+4:]), 8, at+12
		}
		switch {
		case n == 0: // padding
			at = body
			continue
		case n > uint64(len(info)-body):
			return fmt.Errorf("the unit at 0x%x of .debug_%s has %d bytes, the section %d more", at, section, n, len(info)-body)
		case n < minUnit:
			return fmt.Errorf("the unit at 0x%x of .debug_%s has %d bytes", at, section, n)
		}
		head := info[body : body+int(n)]
		from := 2
		if section != typeUnits && order.Uint16(head) >= 5 {
			from = 4 // kind and address size come first
		}
		if len(head) < from+word {
			return fmt.Errorf("the unit at 0x%x of .debug_%s has %d bytes", at, section, n)
		}
		table := uint64(order.Uint32(head[from:]))
		if word == 8 {
			table = order.Uint64(head[from:])
		}
		if !seen[table] && table < uint64(len(abbrev)) {
			seen[table] = true
			size, err := abbreviations(abbrev[table:], left)
			if err != nil {
				return fmt.Errorf("abbreviations at 0x%x of .debug_abbrev: %w", table, err)
			}
			left -= size
		}
		at = body + int(n)
	}
	return nil
}

// abbreviations gives the size of a table, which may be no more than left. A
// table that is cut short is for its reader to refuse.
func abbreviations(b []byte, left int) (int, error) {
	r := lineHeader{b: b[:min(len(b), left)]}
	for r.uleb() != 0 && !r.bad {
		r.uleb() // tag
		r.skip(1)
		for n := 0; ; n++ {
			name, form := r.uleb(), r.uleb()
			if form == implicitConst {
				r.uleb()
			}
			if name == 0 && form == 0 || r.bad {
				break
			}
			if n == maxAttributes {
				return 0, fmt.Errorf("%w: more than %d attributes in one", elf.ErrMalformed, maxAttributes)
			}
		}
	}
	if _, n := binary.Uvarint(r.b); r.bad && n < 0 {
		return 0, fmt.Errorf("%w: a number of more than 64 bits", elf.ErrMalformed)
	}
	if r.bad && left < len(b) {
		return 0, fmt.Errorf("%w: the tables of units overlap", elf.ErrMalformed)
	}
	return len(b) - len(r.b), nil
}

// Unit is a compilation unit in .debug_info: its header, its first entry, its end.
type Unit struct{ Start, Entry, End dwarf.Offset }

// Units reads the unit headers of .debug_info (DWARF 5, section 7.5.1; DWARF 4, 7.5.1.1).
// Type units and partial units have no code of their own.
func Units(info []byte) []Unit {
	const compile, skeleton = 1, 4
	order := binary.LittleEndian
	var out []Unit
	for at := 0; len(info)-at >= 12; {
		n, word := uint64(order.Uint32(info[at:])), 4
		body := at + 4
		if n == 0xffffffff {
			n, word, body = order.Uint64(info[at+4:]), 8, at+12
		}
		if n < 8 || n > uint64(len(info)-body) {
			return out
		}
		end := body + int(n)
		version := order.Uint16(info[body:])
		header, kind := body+2+word+1, byte(compile)
		if version >= 5 {
			kind, header = info[body+2], body+2+2+word
			if kind == skeleton {
				header += 8
			}
		}
		if header < end && (kind == compile || kind == skeleton) {
			out = append(out, Unit{dwarf.Offset(at), dwarf.Offset(header), dwarf.Offset(end)})
		}
		at = end
	}
	return out
}

// Entries reads entries of debug information one after the other. It answers
// with an error where the data leads back, or where attributes and names are
// out of all proportion to the bytes that they are read from: DWARF refers to
// strings, so that a megabyte can be named by four bytes, again and again.
type Entries struct {
	r       *dwarf.Reader
	last    dwarf.Offset
	started bool
	empty   int // empty entries since the last
	work    int // attributes left
	text    int // bytes of strings left
}

// NewEntries reads on where r stands; size is how many bytes of .debug_info
// are to be read, and bounds what the entries may say. SkipChildren of r
// is not to be used meanwhile, and Seek only to go on.
func NewEntries(r *dwarf.Reader, size int) *Entries {
	return &Entries{r: r, work: 4*size + 1<<16, text: 16*size + 16<<20}
}

// maxEmpty bounds empty entries in a row. A number that the section's end cuts
// is an empty entry to the reader, again and again; linkers fill units up with
// a few.
const maxEmpty = 1 << 16

// Next gives the next entry, nil at the end of the section; an entry of tag 0
// ends a list of children. The reader may panic on damaged data.
func (es *Entries) Next() (*dwarf.Entry, error) {
	e, err := es.r.Next()
	if err != nil || e == nil {
		return nil, err
	}
	if e.Tag == 0 { // ends a list of children, or fills up; it has no offset
		if es.empty++; es.empty > maxEmpty {
			return nil, fmt.Errorf("damaged: entry 0x%x of .debug_info is followed by nothing without end", es.last)
		}
		return e, nil
	}
	es.empty = 0
	if es.started && e.Offset <= es.last {
		return nil, fmt.Errorf("damaged: entry 0x%x of .debug_info leads back to 0x%x", es.last, e.Offset)
	}
	es.last, es.started = e.Offset, true
	es.work -= len(e.Field)
	for i := range e.Field {
		if s, ok := e.Field[i].Val.(string); ok {
			es.text -= len(s)
		}
	}
	if es.work < 0 || es.text < 0 {
		return nil, fmt.Errorf("damaged: entries up to 0x%x of .debug_info have too many attributes or too long names", e.Offset)
	}
	return e, nil
}
