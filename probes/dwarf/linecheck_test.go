package dwarf

import (
	"debug/dwarf"
	"encoding/binary"
	"errors"
	"testing"
)

// header5 returns a DWARF 5 line table header whose directory table is dirs.
func header5(dirs []byte) []byte {
	body := []byte{5, 0, 8, 0, 0, 0, 0, 0, 1, 1, 1, 0xfb, 14, 1}
	body = append(body, dirs...)
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(body))), body...)
}

func TestLineHeadersThatClaimTooMuch(t *testing.T) {
	huge := binary.AppendUvarint(nil, 1<<40)
	files := []byte{0, 0}
	for _, c := range []struct {
		name string
		line []byte
		ok   bool
	}{
		{"none", header5(append([]byte{0, 0}, files...)), true},
		{"one", header5(append([]byte{1, 1, 8, 1, 'd', 0}, files...)), true},
		{"without-format", header5(append([]byte{0}, huge...)), false},
		{"beyond-the-table", header5(append([]byte{1, 1, 8}, huge...)), false},
		{"unknown-form", header5([]byte{1, 1, 0x19, 1, 0, 0}), false},
		{"cut", header5([]byte{1, 1}), false},
		{"empty", []byte{0}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := &dwarf.Entry{Field: []dwarf.Field{{Attr: dwarf.AttrStmtList, Val: int64(0), Class: dwarf.ClassLinePtr}}}
			if err := (lineCheck{line: c.line}).ok(root); errors.Is(err, errLineHeader) == c.ok {
				t.Errorf("got %v", err)
			}
		})
	}
	if err := (lineCheck{}).ok(&dwarf.Entry{}); err != nil {
		t.Errorf("a unit without lines: %v", err)
	}
	if n := longestString([]byte("a\x00bcd\x00ef")); n != 3 {
		t.Errorf("longest of a, bcd, ef: %d", n)
	}
}
