package monitor

import (
	"encoding/binary"
	"fmt"

	"github.com/tracepredict/tracepredict/analysis/monitor/ltl"
)

// blamed bounds the states that are examined to find the part of a formula that makes an
// automaton too large. maxParts bounds the parts.
const (
	maxBlamed = 20_000
	maxParts  = 256
)

// blame returns the operator whose removal would merge the most states of an automaton
// that is too large.
func (b *builder) blame(states [][2]uint32, families func(uint32) []set) fmt.Stringer {
	states = states[:min(len(states), maxBlamed)]
	best, fewest := fmt.Stringer(b.origins[b.goal]), len(states)+1
	consider := func(part *ltl.Formula, distinct int) {
		if distinct < fewest {
			best, fewest = part, distinct
		}
	}
	for bit, node := range b.past.keepers {
		if bit < maxParts {
			consider(b.past.origins[node], b.distinct(states, families, bit, noPart))
		}
	}
	for w := range min(len(b.wants), maxParts) {
		if f := b.origins[w]; f.Op.IsFuture() {
			consider(f, b.distinct(states, families, noPart, w))
		}
	}
	return best
}

const noPart = -1

// distinct counts the states that differ beyond one remembered bit and one
// wanted formula.
func (b *builder) distinct(states [][2]uint32, families func(uint32) []set, bit, want int) int {
	seen := map[string]bool{}
	var key []byte
	for _, s := range states {
		key = key[:0]
		for i, v := range b.past.memories.bits(s[0], len(b.past.kept)) {
			if v && i != bit {
				key = binary.AppendUvarint(key, uint64(i)+2)
			}
		}
		for _, wants := range families(s[1]) {
			key = append(key, 0)
			for _, w := range b.sets.elements[wants] {
				if int(w) != want {
					key = binary.AppendUvarint(key, uint64(w)+2)
				}
			}
		}
		seen[string(key)] = true
	}
	return len(seen)
}
