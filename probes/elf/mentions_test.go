package elf

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
)

// The index contains each place that a search at every byte finds, and no other.
func TestMentionsAreThoseOfASearch(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	code := make([]byte, 4096)
	for i := range code {
		code[i] = byte(random.Uint32())
	}
	const base = 0x401000
	span := Range{0x404000, 0x408000}
	for range 300 {
		p := random.IntN(len(code) - 4)
		to := uint32(span.Lo) + random.Uint32N(0x4000)
		if random.IntN(2) == 0 {
			to -= uint32(base + p + 4)
		}
		binary.LittleEndian.PutUint32(code[p:], to)
	}
	for _, fixed := range []bool{false, true} {
		got := appendMentions(nil, code, base, span, fixed)
		var want []mention
		for p := 0; p+4 <= len(code); p++ {
			word := binary.LittleEndian.Uint32(code[p:])
			candidates := []uint64{uint64(int64(base) + int64(p) + 4 + int64(int32(word)))}
			if fixed {
				candidates = append(candidates, uint64(word))
			}
			for _, to := range candidates {
				if to >= span.Lo-maxTrailing && to < span.Hi {
					want = append(want, mention{to, uint64(base + p)})
				}
			}
		}
		if !slices.Equal(got, want) || len(want) < 100 {
			t.Errorf("fixed %v: %d mentions, want %d", fixed, len(got), len(want))
		}
	}
}
