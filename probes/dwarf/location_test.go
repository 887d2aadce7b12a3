package dwarf

import (
	"debug/dwarf"
	"testing"

	"github.com/tracepredict/tracepredict/probes/insn"
)

// FuzzLocations checks that location lists end, and have no more entries than bytes.
func FuzzLocations(f *testing.F) {
	f.Add([]byte{4, 0, 8, 1, 0x55, 4, 8, 16, 2, 0x75, 0, 0}, int64(0), uint64(0))
	f.Add([]byte{6, 0, 0, 0, 0, 0, 0, 0, 1, 8, 0, 0, 0, 0, 0, 0, 0, 2, 4, 1, 0x50, 0}, int64(0), uint64(1))
	f.Add([]byte{1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0x50}, int64(3), uint64(1<<62))
	f.Fuzz(func(t *testing.T, content []byte, at int64, i uint64) {
		for _, version := range []uint16{4, 5} {
			for _, v := range []any{at, i, content} {
				l := &Locations{arch: insn.AMD64, loclists: content, loc: content, add: content, perList: 1 << 22, left: 1 << 22}
				e := &dwarf.Entry{Field: []dwarf.Field{{Attr: dwarf.AttrLocation, Val: v}}}
				b := Base{Version: version, List: at, Addr: at}
				if out := l.Of(e, b, nil); len(out) > len(content) {
					t.Errorf("%d locations in %d bytes", len(out), len(content))
				}
				l.At(e, b, i)
			}
		}
	})
}
