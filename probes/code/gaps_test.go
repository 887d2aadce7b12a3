package code

import (
	"testing"

	bin "github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// TestGaps checks that the bytes of instructions between functions are taken for jumps only where they
// may be: not in code that begins at a landmark and decodes to its end.
func TestGaps(t *testing.T) {
	const (
		number = "\xb8\xeb\x0b\x00\x00"         // mov $0xbeb, %eax, which contains a jump to 0x100e
		jump   = "\xe9\x04\x00\x00\x00"         // a jump to 0x100f
		unfit  = "\x06\x90\x90\x90\x90"         // no instruction, and nops
		body   = "\x90\x90\x90\x90\x90\x90\xc3" // the function
	)
	for _, c := range []struct {
		name      string
		gap       string
		landmarks []uint64
		want      []uint64
	}{
		{"code", number + "\xc3" + jump, []uint64{base}, []uint64{0x100f}},
		{"no landmark", number + "\xc3" + jump, nil, []uint64{0x100f}},
		{"a landmark within an instruction", number + "\xc3" + jump, []uint64{base + 1}, []uint64{0x100f}},
		{"no code", number + "\xc3" + unfit, []uint64{base}, nil},
	} {
		lo := base + uint64(len(c.gap))
		m := &memory{arch: insn.AMD64, sections: [][]byte{[]byte(c.gap + body)}, funcs: []bin.Range{{Lo: lo, Hi: lo + uint64(len(body))}}, marks: c.landmarks}
		l := NewImage(m).Landings()
		if spurious := l.Has(0x100e); spurious != (c.name != "code") {
			t.Errorf("%s: a landing by the bytes of a number: %v", c.name, spurious)
		}
		for _, at := range c.want {
			if !l.Has(at) {
				t.Errorf("%s: no landing at 0x%x", c.name, at)
			}
		}
	}
}
