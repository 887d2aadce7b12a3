package variable

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"sort"

	bin "github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// Decoding all of a large program to find one variable would take seconds. An instruction that
// mentions an address contains it, or its distance from the instruction, as four bytes (x86-64), or
// the sequence begins with an ADRP of its page (arm64). So the text is first scanned for such bytes
// at every offset. This finds all true mentions and a few false ones. Only the functions around
// them are decoded, from their beginning, where an instruction is known to start.

// maxOperand is the widest memory operand: a vector of 64 bytes.
const maxOperand = 64

// maxImmediate is the longest immediate after a PC-relative displacement.
const maxImmediate = 4

// target is the variable whose mentions are searched for in the code of one binary.
type target struct {
	file   *bin.File
	arch   insn.Arch
	v      Variable
	whole  bin.Range // the object that encloses the variable, or the variable itself
	near   bin.Range // the addresses from which arithmetic may lead into the object
	direct bool      // the variable lives in this file
	// slots are the words of the global offset table that hold an address of the object, each with
	// that address.
	slots    map[uint64]uint64
	pointers []bin.Pointer // all words of data that hold addresses of the object
	fixed    bool          // the file is loaded at the addresses where it was linked
	facts    *Code         // nil until first used
	// several reports that v is a span of several variables. The value of an access is then
	// recorded as if the access covered one of them exactly.
	several         bool
	indexedAccesses []indexedAccess // for several: accesses of array elements
}

// maxReach bounds the distance beside an object of several parts at which an address is attributed
// to the object: compilers make the addresses of elements before the first (a[i-1]) and after the
// last.
const maxReach = 4096

func newTarget(c *Code, v Variable) *target {
	f := c.file
	t := &target{file: f, facts: c, arch: f.Arch(), v: v, whole: v.enclosing(), direct: v.File == f, slots: map[uint64]uint64{}, fixed: !f.PIE()}
	t.near = t.whole
	if n := t.whole.Hi - t.whole.Lo; n > uint64(v.Size) {
		reach := min(n, maxReach)
		if v.Array != nil {
			reach = min(reach, v.Array.Stride)
		}
		t.near = bin.Range{Lo: t.whole.Lo - min(reach, t.whole.Lo), Hi: t.whole.Hi + reach}
	}
	if v.Symbol != "" {
		for slot, name := range f.GOTSlots() {
			if name == v.Symbol {
				t.slots[slot] = t.whole.Lo
			}
		}
	}
	t.findPointers()
	return t
}

// findPointers finds the words of data that hold addresses of the object.
func (t *target) findPointers() {
	lo, hi := t.whole.Lo, t.whole.Hi
	if !t.direct {
		lo, hi = 0, 0
	}
	t.pointers = t.file.Pointers(lo, hi, t.v.Symbol)
	for _, p := range t.pointers {
		if !p.Table {
			continue
		}
		if t.slots[p.At] = p.To; !t.direct || p.To == 0 {
			t.slots[p.At] = t.whole.Lo + p.Addend
		}
	}
}

// isNear reports whether arithmetic may lead from an address into the object. An address outside
// the object at which another object of several parts begins is attributed to that one, unless it
// is within 64 bytes before the object or at its end.
func (t *target) isNear(addr uint64) bool {
	const away = 64
	if addr-t.near.Lo >= t.near.Hi-t.near.Lo {
		return false
	}
	other := !t.whole.Contains(addr) && t.known().begins(addr)
	if t.v.Array != nil { // not asked for by the user: do not probe code for the next object
		return !other
	}
	return addr <= t.whole.Hi && addr+away >= t.whole.Lo || !other
}

func (t *target) isSlot(addr uint64) bool {
	_, ok := t.slots[addr]
	return ok
}

// windows returns the address ranges whose mentions are searched for.
func (t *target) windows() []bin.Range {
	var w []bin.Range
	if t.direct {
		lo := min(t.near.Lo, t.v.Addr-min(t.v.Addr, maxOperand-1))
		w = append(w, bin.Range{Lo: lo, Hi: t.near.Hi})
	}
	for _, slot := range slices.Sorted(maps.Keys(t.slots)) {
		if last := len(w) - 1; t.several && last >= 0 && w[last].Hi <= slot && slot-w[last].Hi <= maxSlotGap {
			w[last].Hi = slot + 1 // of many variables, the slots are one table
			continue
		}
		w = append(w, bin.Range{Lo: slot, Hi: slot + 1})
	}
	return w
}

// maxSlotGap bounds the distance in bytes between two slots that are searched for as one range.
const maxSlotGap = 64

// maxSlots bounds the slots of the global offset table that hold the address. Linkers make one, or
// one for each of a few parts of a large program.
const maxSlots = 64

// functions returns the functions that may mention the target, sorted. Code that belongs to no
// function counts as one function from the end of the previous to the beginning of the next.
func (t *target) functions() ([]bin.Range, error) {
	windows := t.windows()
	if len(windows) == 0 {
		return nil, nil
	}
	if len(t.slots) > maxSlots && !t.several {
		return nil, fmt.Errorf("%s has %d slots for the address of %s in its global offset table, at most %d are followed", t.file.Name(), len(t.slots), t.v.Symbol, maxSlots)
	}
	var out []bin.Range
	extents := t.file.Functions()
	if found, ok := t.mentions(windows); ok {
		for _, text := range t.file.Text() {
			for _, at := range found {
				if text.Contains(at) {
					out = append(out, enclosing(extents, text, at))
				}
			}
		}
		slices.SortFunc(out, func(a, b bin.Range) int { return cmp.Compare(a.Lo, b.Lo) })
		return slices.Compact(out), nil
	}
	for _, text := range t.file.Text() {
		code, err := t.file.Bytes(text.Lo, int(text.Hi-text.Lo))
		if err != nil {
			return nil, fmt.Errorf("read code of %s at 0x%x: %w", t.file.Name(), text.Lo, err)
		}
		t.scan(code, text.Lo, windows, func(addr uint64) uint64 {
			fn := enclosing(extents, text, addr)
			out = append(out, fn)
			return fn.Hi
		})
	}
	slices.SortFunc(out, func(a, b bin.Range) int { return cmp.Compare(a.Lo, b.Lo) })
	return slices.Compact(out), nil
}

// mentions returns the mentions of the windows in the file's index; false if the index does not
// cover one of them.
func (t *target) mentions(windows []bin.Range) (found []uint64, ok bool) {
	for _, w := range windows {
		at, ok := t.file.Mentions(w.Lo, w.Hi)
		if !ok {
			return nil, false
		}
		found = append(found, at...)
	}
	return found, true
}

// enclosing returns the function around addr, or the gap between functions.
func enclosing(extents []bin.Range, text bin.Range, addr uint64) bin.Range {
	i := sort.Search(len(extents), func(i int) bool { return extents[i].Lo > addr })
	gap := text
	if i > 0 {
		if extents[i-1].Contains(addr) {
			return extents[i-1]
		}
		gap.Lo = max(gap.Lo, extents[i-1].Hi)
	}
	if i < len(extents) {
		gap.Hi = min(gap.Hi, extents[i].Lo)
	}
	return gap
}

// scan calls hit for each address whose bytes may mention a window. hit returns the address at
// which to continue.
func (t *target) scan(code []byte, base uint64, windows []bin.Range, hit func(addr uint64) uint64) {
	test, step := t.mayMention, uint64(1)
	if t.arch == insn.ARM64 {
		test, step = t.mayMentionARM, 4
	}
	for p := uint64(0); p+4 <= uint64(len(code)); p += step {
		if d := binary.LittleEndian.Uint32(code[p:]); test(base+p, d, windows) {
			if next := hit(base+p) - base; next > p+step {
				p = next - step
			}
		}
	}
}

// mayMention tests four bytes at an address as a displacement and as an absolute address.
func (t *target) mayMention(at uint64, bytes uint32, windows []bin.Range) bool {
	to := at + 4 + uint64(int64(int32(bytes)))
	for i := range windows {
		w := &windows[i]
		if to-(w.Lo-maxImmediate) < w.Hi-w.Lo+maxImmediate {
			return true
		}
		if t.fixed && bytes-uint32(w.Lo) < uint32(w.Hi-w.Lo) {
			return true
		}
	}
	return false
}

// armReach is the maximum distance from the beginning of a page at which code addresses variables:
// a load's scaled offset reaches 32 KiB.
const armReach = 0x9000

// mayMentionARM tests an instruction word: ADR, ADRP or a load of a literal may mention a window.
func (t *target) mayMentionARM(at uint64, word uint32, windows []bin.Range) bool {
	adr := word&0x1f000000 == 0x10000000
	literal := word&0x3b000000 == 0x18000000
	if !adr && !literal {
		return false
	}
	var to uint64
	switch imm := int64(int32(word<<8)) >> 13; {
	case literal:
		to = at + uint64(imm<<2)
	case word>>31 == 1:
		to = at&^0xfff + uint64((imm<<2|int64(word>>29&3))<<12)
	default:
		to = at + uint64(imm<<2|int64(word>>29&3))
	}
	for i := range windows {
		if windows[i].Hi-1-to < armReach {
			return true
		}
	}
	return false
}
