package code

import (
	"math"
	"testing"

	"github.com/tracepredict/tracepredict/probes/elf"
)

// TestAddresses checks that a set of addresses contains the added addresses of code and no others,
// and that the set of sections larger than any code contains every address.
func TestAddresses(t *testing.T) {
	text := []elf.Range{{Lo: 0x1001, Hi: 0x5002}, {Lo: 0x9000, Hi: 0x9001}}
	p := newAddresses(text)
	for addr := uint64(0); addr < 0xa000; addr += 7 {
		p.add(addr)
	}
	for addr := range uint64(0xa000) {
		in := text[0].Contains(addr) || text[1].Contains(addr)
		if got, want := p.has(addr), in && addr%7 == 0; got != want {
			t.Fatalf("0x%x: %t", addr, got)
		}
	}
	huge := newAddresses([]elf.Range{{Lo: 0x1000, Hi: math.MaxUint64}})
	if huge.add(0x2000); !huge.has(0x2000) || !huge.has(0x3000) {
		t.Error("a section that no memory has room for lets probes move")
	}
}
