package cheapsite

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// Image is code under examination; make it with NewImage. It decodes what is
// asked of it; the landing set, the one thing that needs all of the text, is
// computed when a probe first has somewhere to move. Not for concurrent use.
type Image struct {
	code    Code
	arch    insn.Arch
	text    []elf.Range
	extents []extent
	land    *landings
	last    elf.Range         // the section last read from,
	bytesOf []byte            // and its bytes
	held    map[uint64][]byte // sections by where they begin; nil: not held
	room    uint64            // for more of them, in bytes
	work    uint64            // instructions that may still be decoded on the way to others
	entries int               // of jump tables that may still be read
	never   map[uint64]bool   // functions: whether they surely do not return
}

// mostHeld bounds the sections that are held in memory, in bytes. Others are
// read piece by piece.
const mostHeld = 256 << 20

// Code can be made so that every probe has the whole of it to be read again, or
// every jump the same long table. What is read is bounded by these and the
// code's size; then nothing moves any more, and not every return is known.
const (
	mostWork    = 1 << 26 // instructions
	mostEntries = 1 << 22 // of all tables together
)

// extent is the code of one function, or of a part split off one.
type extent struct {
	elf.Range
	// untiled: its instructions, decoded one after the other, do not end at
	// its end: there is data among them.
	untiled bool
	// open: an indirect jump in it or in a part of the same function may
	// land anywhere in it.
	open bool
	// marked: it begins with endbr64, so that indirect jumps in it without
	// notrack land only on endbr64 (control-flow enforcement).
	marked bool
}

// Landmarks is what a Code may offer besides: addresses that control may reach
// without a direct branch, such as symbols within a function, exception
// landing pads and addresses in relocations. No probe moves across one.
type Landmarks interface {
	Landmarks() []uint64
}

// NewImage gives an Image of the code.
func NewImage(c Code) *Image {
	im := &Image{code: c, arch: c.Arch(), text: slices.Clone(c.Text()), held: map[uint64][]byte{}, room: mostHeld, work: mostWork, entries: mostEntries, never: map[uint64]bool{}}
	for _, t := range im.text {
		im.work += 4 * (t.Hi - t.Lo)
	}
	byLo := func(a, b elf.Range) int { return cmp.Or(cmp.Compare(a.Lo, b.Lo), cmp.Compare(a.Hi, b.Hi)) }
	slices.SortFunc(im.text, byLo)
	fs := slices.Clone(c.Functions())
	slices.SortFunc(fs, byLo)
	for _, f := range fs {
		if t, ok := im.section(f.Lo); ok && f.Lo < f.Hi {
			im.extents = append(im.extents, extent{Range: elf.Range{Lo: f.Lo, Hi: min(f.Hi, t.Hi)}})
		}
	}
	im.disjoin()
	return im
}

// disjoin cuts each extent where the next begins: an inner symbol is an entry.
func (im *Image) disjoin() {
	im.extents = slices.CompactFunc(im.extents, func(a, b extent) bool { return a.Lo == b.Lo })
	for i := range im.extents[:max(0, len(im.extents)-1)] {
		im.extents[i].Hi = min(im.extents[i].Hi, im.extents[i+1].Lo)
	}
}

// section gives the executable section that holds addr.
func (im *Image) section(addr uint64) (elf.Range, bool) {
	i, ok := slices.BinarySearchFunc(im.text, addr, func(r elf.Range, a uint64) int { return cmp.Compare(r.Lo, a) })
	if !ok {
		i--
	}
	if i < 0 || !im.text[i].Contains(addr) {
		return elf.Range{}, false
	}
	return im.text[i], true
}

// extentAt gives the extent that holds addr, nil if none does.
func (im *Image) extentAt(addr uint64) *extent {
	i, ok := slices.BinarySearchFunc(im.extents, addr, func(e extent, a uint64) int { return cmp.Compare(e.Lo, a) })
	if !ok {
		i--
	}
	if i < 0 || !im.extents[i].Contains(addr) {
		return nil
	}
	return &im.extents[i]
}

var errNoCode = errors.New("no executable section there")

// bytes gives up to n bytes of code from addr on.
func (im *Image) bytes(addr uint64, n int) ([]byte, error) {
	t, ok := im.section(addr)
	if !ok {
		return nil, fmt.Errorf("read code at 0x%x: %w", addr, errNoCode)
	}
	n = int(min(uint64(n), t.Hi-addr))
	if held := im.hold(t); held != nil {
		return held[addr-t.Lo:][:n], nil
	}
	b, err := im.code.Bytes(addr, n)
	if err != nil {
		return nil, fmt.Errorf("read code at 0x%x: %w", addr, err)
	}
	return b, nil
}

// hold reads a section, if it can be had as a whole.
func (im *Image) hold(t elf.Range) []byte {
	if im.last == t {
		return im.bytesOf
	}
	b, known := im.held[t.Lo]
	if known {
		im.last, im.bytesOf = t, b
		return b
	}
	if n := t.Hi - t.Lo; n <= im.room {
		if all, err := im.code.Bytes(t.Lo, int(n)); err == nil && uint64(len(all)) == n {
			b = all
			im.room -= n
		}
	}
	im.held[t.Lo], im.last, im.bytesOf = b, t, b
	return b
}

// spend counts an instruction; false if there have been too many.
func (im *Image) spend() bool {
	if im.work == 0 {
		return false
	}
	im.work--
	return true
}

// decode decodes the instruction at addr.
func (im *Image) decode(addr uint64) (insn.Inst, error) {
	b, err := im.bytes(addr, im.arch.MaxLen())
	if err != nil {
		return insn.Inst{}, err
	}
	return insn.Decode(im.arch, b, addr)
}

// format gives the text of an instruction that decodes.
func (im *Image) format(addr uint64) string {
	b, err := im.bytes(addr, im.arch.MaxLen())
	if err != nil {
		return "?"
	}
	return insn.Format(im.arch, b, addr)
}

// sweep decodes r from its start, calling f with each instruction, which is good
// until f returns, until f answers false, the bytes do not decode, or there is no work left. It answers whether the
// instructions end exactly where r does.
func (im *Image) sweep(r elf.Range, f func(*insn.Inst) bool) bool {
	b, err := im.bytes(r.Lo, int(r.Hi-r.Lo))
	if err != nil {
		return false
	}
	at := 0
	var in insn.Inst // one for all: f makes it escape
	for at < len(b) {
		if in, err = insn.Decode(im.arch, b[at:], r.Lo+uint64(at)); err != nil {
			return false
		}
		at += in.Len
		if !im.spend() || !f(&in) {
			return false
		}
	}
	return uint64(at) == r.Hi-r.Lo
}

// skim is sweep for who needs of the instructions no more than their steps, at a
// tenth of the price; f gets the address, the step and the bytes from there on.
func (im *Image) skim(r elf.Range, f func(at uint64, s insn.Step, code []byte) bool) bool {
	b, err := im.bytes(r.Lo, int(r.Hi-r.Lo))
	if err != nil {
		return false
	}
	at := 0
	for at < len(b) {
		s, ok := insn.Skim(im.arch, b[at:], r.Lo+uint64(at))
		if !ok || !im.spend() || !f(r.Lo+uint64(at), s, b[at:]) {
			return false
		}
		at += s.Len
	}
	return uint64(at) == r.Hi-r.Lo
}
