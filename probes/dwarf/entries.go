package dwarf

import (
	"debug/dwarf"
	"fmt"
)

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

// Next returns the next entry, nil at the end of the section; an entry of tag 0
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
