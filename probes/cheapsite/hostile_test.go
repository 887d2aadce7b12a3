package cheapsite

import (
	"encoding/binary"
	"strings"
	"testing"

	bin "github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// oneFunction returns an image of one function, with data at dataAt.
func oneFunction(code, data string) *Image {
	return NewImage(&memCode{arch: insn.AMD64, base: base, code: []byte(code), data: []byte(data),
		funcs: []bin.Range{{Lo: base, Hi: base + uint64(len(code))}}})
}

// TestWorkIsBounded checks that, if too many instructions would have to be decoded, no probe moves,
// a jump back to the function's entry is assumed, and the returns are reported as incomplete.
func TestWorkIsBounded(t *testing.T) {
	const n = 1000
	code := strings.Repeat("\x89\xff", n) + "\x90\xc3" // mov %edi, %edi
	im := oneFunction(code, "")
	if s, err := im.Place(Want{At: base + 2*n, Sense: Before}); err != nil || s.Class != Emulated || s.Loops {
		t.Fatalf("%+v, %v", s, err)
	}
	im.Work = n / 2
	s, err := im.Place(Want{At: base + 2*(n-1), Sense: Before})
	if err != nil || !s.Loops {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err := im.PlaceReturn(base+2*n+1, 0); err != nil || s.Moved || !strings.HasPrefix(s.Why, "stays: ") {
		t.Errorf("%+v, %v", s, err)
	}
	if x, err := im.Returns(base); err != nil || x.Complete || !strings.Contains(x.Reason, "too much code") {
		t.Errorf("%+v, %v", x, err)
	}
	if got := im.Callees(base); got != nil {
		t.Errorf("%x", got)
	}
	if im.Work != 0 {
		t.Errorf("%d left", im.Work)
	}
}

// TestLongTableThatAllJumpsShare checks that a shared jump table is read only as often as the bound
// allows, and that then no probe moves in the functions that jump through it.
func TestLongTableThatAllJumpsShare(t *testing.T) {
	const jumps, entries = 64, 1000
	var code []byte
	for range jumps { // lea table(%rip), %rdx; movslq (%rdx,%rax,4), %rax; add %rdx, %rax; jmp *%rax
		code = append(code, "\x48\x8d\x15"...)
		code = binary.LittleEndian.AppendUint32(code, uint32(dataAt-base-len(code)-4))
		code = append(code, "\x48\x63\x04\x82\x48\x01\xd0\xff\xe0"...)
	}
	var table []byte
	for i := range uint32(entries) {
		table = binary.LittleEndian.AppendUint32(table, base+i%jumps*16-dataAt)
	}
	im := oneFunction(string(code), string(table))
	im.TableEntries = 10 * entries
	im.Landings()
	if im.TableEntries != 0 || !im.ExtentAt(base).Open {
		t.Errorf("%d entries left, open: %v", im.TableEntries, im.ExtentAt(base).Open)
	}
	if s, err := im.Place(Want{At: base, Sense: Before}); err != nil || s.Moved {
		t.Errorf("%+v, %v", s, err)
	}
}
