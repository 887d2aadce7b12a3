package monitor

import (
	"encoding/binary"
	"slices"
)

// set is the number of a finite set of numbers in a sets.
type set = uint32

// noElements is the empty set.
const noElements set = 0

// sets numbers sets; equal sets have equal numbers.
type sets struct {
	elements [][]uint32 // by set, sorted
	unique   map[string]set
	size     int // number of sets and of their elements
}

func newSets() *sets {
	s := &sets{unique: map[string]set{}}
	s.of(nil)
	return s
}

// of returns the set of these elements, which it may reorder and keep.
func (s *sets) of(elements []uint32) set {
	slices.Sort(elements)
	elements = slices.Compact(elements)
	key := make([]byte, 0, 4*len(elements))
	for _, e := range elements {
		key = binary.LittleEndian.AppendUint32(key, e)
	}
	n, ok := s.unique[string(key)]
	if !ok {
		n = set(len(s.elements))
		s.elements = append(s.elements, elements)
		s.unique[string(key)] = n
		s.size += 1 + len(elements)
	}
	return n
}

func (s *sets) union(a, b set) set {
	switch {
	case a == b || b == noElements:
		return a
	case a == noElements:
		return b
	}
	return s.of(append(slices.Clone(s.elements[a]), s.elements[b]...))
}

// within reports whether every element of a is in b.
func (s *sets) within(a, b set) bool {
	if a == b || a == noElements {
		return true
	}
	rest := s.elements[b]
	for _, e := range s.elements[a] {
		for len(rest) > 0 && rest[0] < e {
			rest = rest[1:]
		}
		if len(rest) == 0 || rest[0] != e {
			return false
		}
	}
	return true
}

// minimal returns the elements that no other one is below, in ascending order. The function
// below is a partial order.
func minimal(elements []uint32, below func(a, b uint32) bool) []uint32 {
	slices.Sort(elements)
	elements = slices.Compact(elements)
	var least []uint32
	for _, e := range elements {
		if !slices.ContainsFunc(elements, func(o uint32) bool { return o != e && below(o, e) }) {
			least = append(least, e)
		}
	}
	return least
}
