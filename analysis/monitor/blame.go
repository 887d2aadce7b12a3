package monitor

import (
	"encoding/binary"
	"fmt"

	"github.com/tracepredict/tracepredict/analysis/monitor/ltl"
)

// maxBlamed bounds the number of states that are examined to find the part of a formula that
// makes an automaton too large, and maxParts the number of parts of each kind that are tried.
const (
	maxBlamed = 20_000
	maxParts  = 256
)

// blame returns the operator of the formula whose removal would merge the most states of an
// automaton that is too large. A state is a memory and a number, for which families returns
// sets of obligations.
func (b *builder) blame(states [][2]uint32, families func(uint32) []set) fmt.Stringer {
	states = states[:min(len(states), maxBlamed)]
	best, fewest := fmt.Stringer(b.origins[b.root]), len(states)+1
	consider := func(part *ltl.Formula, distinct int) {
		if distinct < fewest {
			best, fewest = part, distinct
		}
	}
	for bit, node := range b.past.keptFor {
		if bit < maxParts {
			consider(b.past.origins[node], b.distinct(states, families, bit, noPart))
		}
	}
	for o := range min(len(b.obligations), maxParts) {
		if f := b.origins[o]; f.Op.IsFuture() {
			consider(f, b.distinct(states, families, noPart, o))
		}
	}
	return best
}

// noPart as a bit or an obligation stands for none.
const noPart = -1

// distinct counts the states that differ in more than one remembered bit and one obligation,
// which it ignores.
func (b *builder) distinct(states [][2]uint32, families func(uint32) []set, bit, obligation int) int {
	seen := map[string]bool{}
	var key []byte
	for _, s := range states {
		key = key[:0]
		for i, v := range b.past.memories.bits(s[0], len(b.past.kept)) {
			if v && i != bit {
				key = binary.AppendUvarint(key, uint64(i)+2)
			}
		}
		for _, obligations := range families(s[1]) {
			key = append(key, 0)
			for _, o := range b.sets.elements[obligations] {
				if int(o) != obligation {
					key = binary.AppendUvarint(key, uint64(o)+2)
				}
			}
		}
		seen[string(key)] = true
	}
	return len(seen)
}
