package elf

import (
	"encoding/binary"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func words(ws ...uint32) []byte {
	var b []byte
	for _, w := range ws {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b
}

// The code is what lld makes for arm64, the second entry with bti (Arm ARM
// C6.2.41); the third's page lies before it.
func TestStubsOfARM64(t *testing.T) {
	code := words(
		0xa9bf7bf0, 0x90000110, 0xf941f211, 0x910f8210, 0xd61f0220, 0xd503201f, 0xd503201f, 0xd503201f, // to the resolver
		0x90000110, 0xf941f611, 0x910fa210, 0xd61f0220, // puts
		0xd503245f, 0x90000110, 0xf941fa11, 0x910fc210, 0xd61f0220, // exit
		0xf0fffff0, 0xf9400211, 0x91000210, 0xd61f0220) // before
	slots := map[uint64]string{0x303e8: "puts", 0x303f0: "exit", 0xf000: "before"}
	got := map[uint64]string{}
	armStubs(code, 0x10300, slots, binary.LittleEndian.Uint32, got)
	want := map[uint64]string{0x10320: "puts", 0x10330: "exit", 0x10344: "before"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
