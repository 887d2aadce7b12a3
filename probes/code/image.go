package code

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// Source is the file that an Image is made from. Addresses are virtual ones as linked.
type Source interface {
	// Arch returns the machine whose instructions the code is made of.
	Arch() insn.Arch
	// Bytes returns up to n bytes from addr on, fewer where the section ends.
	Bytes(addr uint64, n int) ([]byte, error)
	// Functions returns the extents of functions, from unwind tables or symbols.
	Functions() []elf.Range
	// Text returns the executable sections.
	Text() []elf.Range
}

// Landmarks is an interface that a Source may implement too. It returns addresses that control may
// reach without a direct branch, such as symbols within a function, exception landing pads and
// addresses in relocations.
type Landmarks interface {
	Landmarks() []uint64
}

// Entries is an interface that a Source may implement too. It returns the Landmarks at which
// control certainly may arrive: code begins there, and not data.
type Entries interface {
	Entries() []uint64
}

// Image is the code of one file. It decodes instructions on request. The landings, which alone need
// all of the text, are computed at their first use. It is not safe for concurrent use.
type Image struct {
	// Work is the number of instructions that may still be decoded on the way to others. It bounds
	// the time for hostile code in which each request makes all of the code be decoded again. When
	// it is 0, sweeps end early and Spend returns false.
	Work uint64
	// TableEntries is the number of jump table entries that may still be read. It bounds the time
	// for hostile code in which every jump has the same long table.
	TableEntries int

	source     Source
	arch       insn.Arch
	text       []elf.Range
	extents    []Extent
	landings   *Landings         // nil: not computed yet
	last       elf.Range         // the section that was read last
	lastBytes  []byte            // its bytes; nil if not cached
	cached     map[uint64][]byte // contents of sections, by address; nil: too large, or unreadable
	cacheSpace uint64            // bytes of sections that may still be cached
	// decoded is a direct-mapped cache of Decode, by the low bits of addresses: the instructions around an access
	// are decoded for each question about it. An entry with Len 0 is empty.
	decoded   [128]insn.Inst
	certain   map[uint64]map[uint64]bool // by the beginning of an extent: see IsCode
	registers map[uint64]*registers      // likewise: see kept
}

const (
	maxCached = 256 << 20 // bytes of all cached sections; what does not fit is read piece by piece
	maxWork   = 1 << 26   // instructions, besides four for each byte of code
	maxTables = 1 << 22   // entries of all jump tables together
)

// Extent is the code of one function, or of a part of a function that the compiler split off.
type Extent struct {
	elf.Range
	// Untiled means that the instructions, decoded one after the other, do not end at the extent's
	// end: there is data among them. It is set once the landings are computed.
	Untiled bool
	// Open means that an indirect jump in the extent, or in another part of the same function, may
	// land anywhere in it. It is set once the landings are computed.
	Open bool
	// marked means that the extent begins with endbr64, so that its indirect jumps without the
	// notrack prefix land only on endbr64 (control-flow enforcement).
	marked bool
}

// NewImage returns an Image of the code of a file.
func NewImage(s Source) *Image {
	im := &Image{source: s, arch: s.Arch(), text: slices.Clone(s.Text()), cached: map[uint64][]byte{}, cacheSpace: maxCached, Work: maxWork, TableEntries: maxTables}
	for _, t := range im.text {
		im.Work += 4 * (t.Hi - t.Lo)
	}
	byLo := func(a, b elf.Range) int { return cmp.Or(cmp.Compare(a.Lo, b.Lo), cmp.Compare(a.Hi, b.Hi)) }
	slices.SortFunc(im.text, byLo)
	functions := slices.Clone(s.Functions())
	slices.SortFunc(functions, byLo)
	for _, f := range functions {
		if t, ok := im.section(f.Lo); ok && f.Lo < f.Hi {
			im.extents = append(im.extents, Extent{Range: elf.Range{Lo: f.Lo, Hi: min(f.Hi, t.Hi)}})
		}
	}
	im.disjoin()
	return im
}

// Fork returns an Image of the same code for another goroutine. The landings must have been computed: nothing
// else of what the two share changes.
func (im *Image) Fork() *Image {
	fork := *im
	fork.cached, fork.certain, fork.registers = maps.Clone(im.cached), nil, nil
	return &fork
}

// disjoin ends each extent where the next one begins: a symbol inside a function is an entry.
func (im *Image) disjoin() {
	im.extents = slices.CompactFunc(im.extents, func(a, b Extent) bool { return a.Lo == b.Lo })
	for i := range im.extents[:max(0, len(im.extents)-1)] {
		im.extents[i].Hi = min(im.extents[i].Hi, im.extents[i+1].Lo)
	}
}

// Arch returns the machine whose instructions the code is made of.
func (im *Image) Arch() insn.Arch { return im.arch }

// section returns the executable section that contains addr.
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

// ExtentAt returns the extent that contains addr, nil if none does.
func (im *Image) ExtentAt(addr uint64) *Extent {
	i := im.extentIndex(addr)
	if i < 0 || !im.extents[i].Contains(addr) {
		return nil
	}
	return &im.extents[i]
}

// Text returns the executable sections, by address. The slice is shared: do not change it.
func (im *Image) Text() []elf.Range { return im.text }

// Extents returns the extents of the functions, by address. The slice is shared: do not change it.
func (im *Image) Extents() []Extent { return im.extents }

// extentIndex returns the index of the last extent that begins at addr or before; -1
// if none does.
func (im *Image) extentIndex(addr uint64) int {
	i, ok := slices.BinarySearchFunc(im.extents, addr, func(e Extent, a uint64) int { return cmp.Compare(e.Lo, a) })
	if !ok {
		i--
	}
	return i
}

var errNoCode = errors.New("no executable section there")

// Bytes returns up to n bytes of code from addr on, fewer where the section ends.
func (im *Image) Bytes(addr uint64, n int) ([]byte, error) {
	t, ok := im.section(addr)
	if !ok {
		return nil, fmt.Errorf("read code at 0x%x: %w", addr, errNoCode)
	}
	n = int(min(uint64(n), t.Hi-addr))
	if all := im.sectionBytes(t); all != nil {
		return all[addr-t.Lo:][:n], nil
	}
	b, err := im.source.Bytes(addr, n)
	if err != nil {
		return nil, fmt.Errorf("read code at 0x%x: %w", addr, err)
	}
	return b, nil
}

// sectionBytes returns the bytes of a section, nil if the section is not cached as a whole.
func (im *Image) sectionBytes(t elf.Range) []byte {
	if im.last == t {
		return im.lastBytes
	}
	b, known := im.cached[t.Lo]
	if known {
		im.last, im.lastBytes = t, b
		return b
	}
	if n := t.Hi - t.Lo; n <= im.cacheSpace {
		if all, err := im.source.Bytes(t.Lo, int(n)); err == nil && uint64(len(all)) == n {
			b = all
			im.cacheSpace -= n
		}
	}
	im.cached[t.Lo], im.last, im.lastBytes = b, t, b
	return b
}

// Spend subtracts one instruction from Work; it returns false if Work is 0.
func (im *Image) Spend() bool {
	if im.Work == 0 {
		return false
	}
	im.Work--
	return true
}

// Decode decodes the instruction at addr.
func (im *Image) Decode(addr uint64) (insn.Inst, error) {
	known := &im.decoded[addr%uint64(len(im.decoded))]
	if known.Addr == addr && known.Len > 0 {
		return *known, nil
	}
	b, err := im.Bytes(addr, im.arch.MaxLen())
	if err != nil {
		return insn.Inst{}, err
	}
	in, err := insn.Decode(im.arch, b, addr)
	if err == nil {
		*known = in
	}
	return in, err
}

// Format returns the text of the instruction at addr, "?" if there is no code.
func (im *Image) Format(addr uint64) string {
	b, err := im.Bytes(addr, im.arch.MaxLen())
	if err != nil {
		return "?"
	}
	return insn.Format(im.arch, b, addr)
}

// Sweep decodes r from its start and calls f for each instruction, which is valid until f returns.
// It ends when f returns false, the bytes do not decode, or Work is used up. It reports whether the
// instructions end exactly at the end of r.
func (im *Image) Sweep(r elf.Range, f func(*insn.Inst) bool) bool {
	b, err := im.Bytes(r.Lo, int(r.Hi-r.Lo))
	if err != nil {
		return false
	}
	at := 0
	var in insn.Inst // one variable for all, because f makes it escape to the heap
	for at < len(b) {
		if in, err = insn.Decode(im.arch, b[at:], r.Lo+uint64(at)); err != nil {
			return false
		}
		at += in.Len
		if !im.Spend() || !f(&in) {
			return false
		}
	}
	return uint64(at) == r.Hi-r.Lo
}

// skim is Sweep for a caller that needs only the insn.Step of each instruction, at a tenth of the
// cost. f receives the address, the step and the bytes from there on.
func (im *Image) skim(r elf.Range, f func(at uint64, s insn.Step, code []byte) bool) bool {
	b, err := im.Bytes(r.Lo, int(r.Hi-r.Lo))
	if err != nil {
		return false
	}
	at := 0
	for at < len(b) {
		s, ok := insn.Skim(im.arch, b[at:], r.Lo+uint64(at))
		if !ok || !im.Spend() || !f(r.Lo+uint64(at), s, b[at:]) {
			return false
		}
		at += s.Len
	}
	return uint64(at) == r.Hi-r.Lo
}
