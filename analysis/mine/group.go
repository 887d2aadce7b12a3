package mine

import (
	"encoding/binary"
	"slices"
)

// group returns for each state the one that it merges into, by the rule: itself if it is kept.
func (t *tops) group(table *stringTable, rule Rule) []int32 {
	class := make([]int32, len(t.first)-1)
	numbers := map[string]int32{}
	var sorted []int32
	var key []byte
	for s := range class {
		sorted = append(sorted[:0], t.of(int32(s))...)
		if rule != Strict {
			slices.Sort(sorted)
		}
		key = appendIDs(key[:0], sorted)
		if rule == And || rule == Or {
			key = binary.LittleEndian.AppendUint32(key, uint32(len(sorted)))
			key = appendIDs(key, table.of(int32(s)))
		}
		class[s] = numberOf(numbers, key)
	}
	into := firstOf(class)
	if rule == And || rule == Or {
		t.groupByContent(table, rule, into)
	}
	return into
}

func appendIDs(key []byte, ids []int32) []byte {
	for _, id := range ids {
		key = binary.LittleEndian.AppendUint32(key, uint32(id))
	}
	return key
}

// groupByContent merges the first states of classes into kept ones, for the rules that are not
// transitive. All states of a class have the same strings and top strings. What its first one
// merges into is also the smallest kept state that the others are equivalent to: those kept since
// are greater.
func (t *tops) groupByContent(table *stringTable, rule Rule, into []int32) {
	c := newContent(t, table, rule)
	for s, first := range into {
		if int32(s) != first {
			into[s] = into[first]
			continue
		}
		into[s] = c.find(int32(s))
		if into[s] == int32(s) {
			c.keep(int32(s))
		}
	}
}

// content finds kept states by their strings.
type content struct {
	tops     *tops
	table    *stringTable
	rule     Rule
	byTop    map[int32][]int32 // by string: the kept states whose first top string it is, ascending
	byString map[int32][]int32 // by string: the kept states that have it, ascending; only for Or
	topBits  []uint64          // by state: a bit of each top string, by which most pairs are told apart
	allBits  []uint64          // by state: a bit of each string
}

func newContent(t *tops, table *stringTable, rule Rule) *content {
	c := &content{tops: t, table: table, rule: rule, byTop: map[int32][]int32{}, byString: map[int32][]int32{}}
	states := len(t.first) - 1
	c.topBits, c.allBits = make([]uint64, states), make([]uint64, states)
	for s := range int32(states) {
		c.topBits[s], c.allBits[s] = bitsOf(t.of(s)), bitsOf(table.of(s))
	}
	return c
}

// bitsOf returns a set of bits, one for each number. Numbers may share a bit.
func bitsOf(ids []int32) (set uint64) {
	const golden = 0x9e3779b97f4a7c15
	for _, id := range ids {
		set |= 1 << (uint64(id) * golden >> 58)
	}
	return set
}

func (c *content) keep(s int32) {
	top := c.tops.of(s)
	if len(top) == 0 {
		return
	}
	c.byTop[top[0]] = append(c.byTop[top[0]], s)
	if c.rule == Or {
		for _, id := range c.table.of(s) {
			c.byString[id] = append(c.byString[id], s)
		}
	}
}

// find returns the smallest kept state that s is equivalent to, or s. A state whose top strings are
// strings of s has its first top string among them.
func (c *content) find(s int32) int32 {
	found := s
	for _, id := range c.table.of(s) {
		found = c.first(c.byTop[id], s, found)
	}
	if top := c.tops.of(s); c.rule == Or && len(top) > 0 {
		rarest := c.byString[top[0]]
		for _, id := range top[1:] {
			if other := c.byString[id]; len(other) < len(rarest) {
				rarest = other
			}
		}
		found = c.first(rarest, s, found)
	}
	return found
}

// first returns the first of the kept states that is equivalent to s, if it is smaller than
// found.
func (c *content) first(kept []int32, s, found int32) int32 {
	for _, k := range kept {
		if k >= found {
			break
		}
		if c.equivalent(k, s) {
			return k
		}
	}
	return found
}

func (c *content) equivalent(x, y int32) bool {
	if c.rule == And {
		return c.within(x, y) && c.within(y, x)
	}
	return c.within(x, y) || c.within(y, x)
}

// within reports whether the top strings of x are strings of y.
func (c *content) within(x, y int32) bool {
	if c.topBits[x]&^c.allBits[y] != 0 {
		return false
	}
	all := c.table.of(y)
	for _, id := range c.tops.of(x) {
		if _, ok := slices.BinarySearch(all, id); !ok {
			return false
		}
	}
	return true
}
