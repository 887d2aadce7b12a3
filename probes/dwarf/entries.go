package dwarf

import (
	"debug/dwarf"
	"fmt"
)

// Entries reads consecutive entries of debug information. It returns an error where the data leads
// backwards, or where attributes and names are disproportionate to the bytes that they are read
// from: DWARF refers to strings, so that four bytes can refer to a megabyte, again and again.
type Entries struct {
	r       *dwarf.Reader
	last    dwarf.Offset
	started bool
	empty   int // empty entries since the last other entry
	work    int // number of attributes that may still be read
	text    int // bytes of strings that may still be read
}

// NewEntries returns Entries that continue at the position of r. size is the number of bytes of
// .debug_info to be read, from which the bounds follow. While it is used, the caller must not call
// r.SkipChildren, and may call r.Seek only to move forwards.
func NewEntries(r *dwarf.Reader, size int) *Entries {
	return &Entries{r: r, work: 4*size + 1<<16, text: 16*size + 16<<20}
}

// maxEmpty bounds consecutive empty entries. The standard library's reader returns a number that is
// truncated by the end of the section as an empty entry, again and again. Linkers pad units with a
// few empty entries.
const maxEmpty = 1 << 16

// Next returns the next entry; nil at the end of the section. An entry of tag 0 ends a list of
// children. The reader may panic on damaged data.
func (es *Entries) Next() (*dwarf.Entry, error) {
	e, err := es.r.Next()
	if err != nil || e == nil {
		return nil, err
	}
	if e.Tag == 0 { // it ends a list of children, or is padding; it has no offset
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
