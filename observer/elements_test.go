package observer

import (
	"fmt"
	"testing"
)

// TestElements checks that has accepts the offsets of all elements and no others, and checks
// the names.
func TestElements(t *testing.T) {
	e := &Elements{Stride: 12, Dims: []uint64{2, 3}, Before: "table", After: ".state"}
	want := map[uint64]string{}
	for i := range uint64(2) {
		for j := range uint64(3) {
			want[12*(3*i+j)] = fmt.Sprintf("table[%d][%d].state", i, j)
		}
	}
	for from := range uint64(100) {
		name, ok := want[from]
		if e.has(from) != ok || ok && e.name(from) != name {
			t.Errorf("%d bytes: %v, %q; want %q", from, e.has(from), e.name(from), name)
		}
	}
	if e.has(^uint64(0)) || e.has(^uint64(0)-11) {
		t.Error("before the array")
	}
}
