package cheapsite

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	bin "github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// oneFunction is an image of one function, with data at dataAt.
func oneFunction(code, data string) *Image {
	return NewImage(&memCode{arch: insn.AMD64, base: base, code: []byte(code), data: []byte(data),
		funcs: []bin.Range{{Lo: base, Hi: base + uint64(len(code))}}})
}

// TestWorkIsBounded: where too many instructions would have to be walked,
// nothing moves, a jump back is taken for granted, and returns are not known.
func TestWorkIsBounded(t *testing.T) {
	const n = 1000
	code := strings.Repeat("\x89\xff", n) + "\x90\xc3" // mov %edi, %edi
	im := oneFunction(code, "")
	if s, err := im.Place(Want{At: base + 2*n, Sense: Before}); err != nil || s.Class != Emulated || s.Loops {
		t.Fatalf("%+v, %v", s, err)
	}
	im.work = n / 2
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
	if im.work != 0 {
		t.Errorf("%d left", im.work)
	}
}

// TestLongTableThatAllJumpsShare is read as often as the bound allows; then no
// probe moves in the functions that jump through it.
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
	im.entries = 10 * entries
	im.landings()
	if im.entries != 0 || !im.extents[0].open {
		t.Errorf("%d entries left, open: %v", im.entries, im.extents[0].open)
	}
	if s, err := im.Place(Want{At: base, Sense: Before}); err != nil || s.Moved {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestSectionsAreReadOnce however control goes to and fro between them.
func TestSectionsAreReadOnce(t *testing.T) {
	c := &counting{memCode: memCode{arch: insn.AMD64, base: base, code: bytes.Repeat([]byte{0x90}, 64)}}
	c.data = c.code
	im := NewImage(c)
	for i := range uint64(100) {
		if _, err := im.decode(base + i%2*32); err != nil {
			t.Fatal(err)
		}
	}
	if c.reads != 2 {
		t.Errorf("read %d times", c.reads)
	}
}

// counting has two sections and counts how often they are read.
type counting struct {
	memCode
	reads int
}

func (c *counting) Text() []bin.Range {
	return []bin.Range{{Lo: base, Hi: base + 32}, {Lo: base + 32, Hi: base + 64}}
}

func (c *counting) Bytes(addr uint64, n int) ([]byte, error) {
	c.reads++
	return c.memCode.Bytes(addr, n)
}
