package dwarf

import (
	"encoding/binary"
	"testing"
)

func TestConstantsOfOldLocations(t *testing.T) {
	for _, c := range []struct {
		expr []byte
		want int64
		ok   bool
	}{
		{[]byte{0x23, 0x10}, 16, true}, {[]byte{0x23, 0x80, 0x01}, 128, true}, {[]byte{0x23}, 0, false}, {[]byte{0x23, 0x80}, 0, false}, {[]byte{0x23, 1, 2}, 1, false}, {[]byte{0x06}, 0, false},
		{binary.AppendUvarint([]byte{0x23}, 1<<63), 0, false},
	} {
		if n, ok := plusConstant(c.expr); ok != c.ok || ok && n != c.want {
			t.Errorf("% x: %d, %v", c.expr, n, ok)
		}
	}
}
