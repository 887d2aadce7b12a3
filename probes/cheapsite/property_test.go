package cheapsite

import (
	"testing"

	"pgregory.net/rapid"

	_ "github.com/tracepredict/tracepredict/internal/fixedseed"

	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// piece is an instruction of the palette with its effects as a person describes them: the property
// test relies on this description, not on the decoder.
type piece struct {
	code    string
	writes  insn.RegSet
	sp      int64 // bytes that it adds to sp
	spLost  bool
	store   bool // a store to memory that other threads can access
	stackAt int64
	onStack bool // a store at sp+stackAt, 8 bytes
	barrier bool // call, system call, return, branch: nothing passes
	locked  bool
	cheap   bool
	refused bool
	branch  bool // the last byte is a displacement to be chosen
}

var (
	rcx = insn.RegSet(0).With(insn.RCX)
	rsi = insn.RegSet(0).With(insn.RSI)
)

var palette = []piece{
	{code: "\x90", cheap: true},
	{code: "\x66\x90", cheap: true},
	{code: "\x53", sp: -8, cheap: true},
	{code: "\x41\x54", sp: -8, cheap: true},
	{code: "\x6a\x03", sp: -8},
	{code: "\x5b", sp: 8, writes: insn.RegSet(0).With(insn.RBX)},
	{code: "\x48\x83\xec\x10", sp: -16},
	{code: "\x48\x83\xc4\x10", sp: 16},
	{code: "\x48\x83\xe4\xf0", spLost: true},
	{code: "\x89\xf8", writes: rax},
	{code: "\x31\xc9", writes: rcx},
	{code: "\x48\x89\xce", writes: rsi},
	{code: "\x40\x88\xf7", writes: rdi},
	{code: "\x8b\x07", writes: rax},
	{code: "\x85\xff"},
	{code: "\x85\xf6"},
	{code: "\x89\x06", store: true},
	{code: "\x89\x05\x00\x70\x00\x00", store: true},
	{code: "\xf3\x0f\x11\x06", store: true},
	{code: "\x48\x89\x44\x24\x08", onStack: true, stackAt: 8},
	{code: "\x48\x89\x44\x24\xf8", onStack: true, stackAt: -8},
	{code: "\x48\x89\x04\x24", onStack: true},
	{code: "\xf0\xff\x07", store: true, locked: true, refused: true},
	{code: "\x87\x06", store: true, locked: true, writes: rax},
	{code: "\x0f\xae\xf0", locked: true},
	{code: "\xe8\x00\x00\x00\x00", barrier: true, cheap: true},
	{code: "\xff\xd0", barrier: true},
	{code: "\x0f\x05", barrier: true},
	{code: "\xc3", barrier: true},
	{code: "\x75\x00", barrier: true, cheap: true, branch: true},
	{code: "\xeb\x00", barrier: true, cheap: true, branch: true},
	{code: "\xc5\xf8\x77", refused: true},
	{code: "\xc5\xf8\x58\xc1"},
}

// program is straight-line code of pieces with branches between them.
type program struct {
	pieces  []piece
	at      []uint64
	targets map[uint64]bool
	code    *memCode
}

func drawProgram(t *rapid.T) *program {
	n := rapid.IntRange(2, 20).Draw(t, "n")
	p := &program{targets: map[uint64]bool{}, code: &memCode{arch: insn.AMD64, base: base}}
	for range n {
		x := rapid.SampledFrom(palette).Draw(t, "piece")
		// Calls are landings of the instruction after them only in this
		// palette (call +0); keep them rare, so that blocks have some length.
		if x.barrier && rapid.IntRange(0, 2).Draw(t, "keep") > 0 {
			x = palette[0]
		}
		p.pieces = append(p.pieces, x)
		p.at = append(p.at, base+uint64(len(p.code.code)))
		p.code.code = append(p.code.code, x.code...)
	}
	end := base + uint64(len(p.code.code))
	for i, x := range p.pieces {
		next := p.at[i] + uint64(len(x.code))
		if x.code[0] == 0xe8 {
			p.targets[next] = true
		}
		if x.branch {
			to := rapid.SampledFrom(p.at).Draw(t, "target")
			if rapid.IntRange(0, 3).Draw(t, "inside") == 0 {
				to++
			}
			if d := int64(to) - int64(next); d >= -128 && d < 128 {
				p.code.code[next-base-1] = byte(d)
			} else {
				to = next
			}
			p.targets[to] = true
		}
	}
	p.code.code = append(p.code.code, 0xc3)
	p.code.funcs = []elf.Range{{Lo: base, Hi: end + 1}}
	return p
}

// naive reports whether the probe wanted at piece i may sit at piece j > i. It checks the
// conditions of the rule one after the other.
func (p *program) naive(w *Want, i, j int) bool {
	reads := w.Reads &^ rsp
	stack := w.Reads.Has(insn.RSP) || w.Return
	sp := int64(0) // relative to sp at piece i
	for k := i; k < j; k++ {
		x := p.pieces[k]
		own := w.Sense == After && k == i
		if x.barrier || x.spLost {
			return false
		}
		if !own {
			if x.locked && w.Sense != Entry || x.writes&reads != 0 || x.store && w.Sense != Entry {
				return false
			}
			if x.onStack && stack && sp+x.stackAt+8 > 0 {
				return false
			}
			if x.sp == -8 && stack && sp > 0 {
				return false
			}
		}
		sp += x.sp
		if stack && sp > 0 || p.targets[p.at[k+1]] {
			return false
		}
	}
	if p.pieces[j].refused || p.jumpedInto(i, j) {
		return false
	}
	return !w.Return || sp == 0
}

// jumpedInto reports whether a branch lands inside a piece from i to j, other than just after the
// lock prefix of piece i.
func (p *program) jumpedInto(i, j int) bool {
	for k := i; k <= j; k++ {
		for n := 1; n < len(p.pieces[k].code); n++ {
			if p.targets[p.at[k]+uint64(n)] && !(k == i && n == 1 && p.pieces[k].code[0] == 0xf0) {
				return true
			}
		}
	}
	return false
}

func (p *program) spBetween(i, j int) (sum int64) {
	for _, x := range p.pieces[i:j] {
		sum += x.sp
	}
	return sum
}

func (p *program) index(addr uint64) int {
	for i, a := range p.at {
		if a == addr {
			return i
		}
	}
	return -1
}

// TestPlaceProperty checks on random code that Place never breaks the rule as the naive checker
// states it, finds the first cheap site that the rule allows, and returns the right stack pointer.
func TestPlaceProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProgram(t)
		i := rapid.IntRange(0, len(p.at)-1).Draw(t, "at")
		w := Want{
			At:     p.at[i],
			Reads:  rapid.SampledFrom([]insn.RegSet{0, rdi, rdi | rsi, rax, rdi | rsp, rsp | rcx}).Draw(t, "reads"),
			Sense:  rapid.SampledFrom([]Sense{Before, Entry, After}).Draw(t, "sense"),
			Return: rapid.Bool().Draw(t, "return"),
		}
		w.Return = w.Return && w.Sense == Entry
		got, err := NewImage(p.code).Place(w)
		if err != nil {
			t.Fatal(err)
		}
		p.judge(t, &w, i, got)
	})
}

func (p *program) judge(t *rapid.T, w *Want, i int, got Site) {
	j := p.index(got.Addr)
	want := i
	if !p.pieces[i].cheap || p.pieces[i].refused {
		want = p.firstCheap(w, i)
	}
	switch {
	case !got.Moved && j != i:
		t.Fatalf("%+v: not moved, but elsewhere", got)
	case got.Moved && got.Addr == p.at[len(p.at)-1]+uint64(len(p.pieces[len(p.pieces)-1].code)):
		if !p.pieces[i].refused {
			t.Fatalf("%+v: the ret at the end is not cheap", got)
		}
		return // the ret that ends the program
	case got.Moved && !p.naive(w, i, j):
		t.Fatalf("%+v: the rule forbids it (% x, want %+v)", got, p.code.code, *w)
	case got.SPDelta != -p.spBetween(i, j):
		t.Fatalf("%+v: sp is off by %d", got, p.spBetween(i, j))
	case want >= 0 && j != want:
		t.Fatalf("%+v: piece %d at 0x%x is cheap and allowed (% x, want %+v)", got, want, p.at[want], p.code.code, *w)
	}
}

func (p *program) firstCheap(w *Want, i int) int {
	for j := i + 1; j < len(p.pieces); j++ {
		if p.pieces[j].cheap && p.naive(w, i, j) {
			return j
		}
	}
	return -1
}

// TestPlaceReturnProperty checks the same for PlaceReturn, backwards from each ret.
func TestPlaceReturnProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProgram(t)
		last := p.at[len(p.at)-1] + uint64(len(p.pieces[len(p.pieces)-1].code))
		p.pieces, p.at = append(p.pieces, piece{code: "\xc3", barrier: true}), append(p.at, last)
		got, err := NewImage(p.code).PlaceReturn(last, rax)
		if err != nil {
			t.Fatal(err)
		}
		i, j := p.index(got.Addr), len(p.at)-1
		w := Want{Reads: rax, Sense: Before}
		if got.Moved && (!p.naive(&w, i, j) || !p.pieces[i].cheap) {
			t.Fatalf("%+v: the rule forbids it (% x)", got, p.code.code)
		}
		if got.SPDelta != p.spBetween(i, j) {
			t.Fatalf("%+v: sp is off", got)
		}
	})
}

// FuzzImage checks for any bytes that nothing panics and that each site lies in the code.
func FuzzImage(f *testing.F) {
	f.Add([]byte("\x85\xff\x90\xc3\xff\xe0"), uint16(2), uint16(0), false)
	f.Add([]byte("\x48\x8d\x15\xf9\x6f\x00\x00\x48\x63\x04\x82\x48\x01\xd0\xff\xe0"), uint16(9), uint16(0), true)
	f.Fuzz(func(t *testing.T, b []byte, split, at uint16, arm bool) {
		if len(b) == 0 || len(b) > 4096 {
			return
		}
		cut := base + uint64(split)%uint64(len(b))
		c := &memCode{arch: insn.AMD64, base: base, code: b, data: b,
			funcs: []elf.Range{{Lo: base, Hi: cut}, {Lo: cut, Hi: base + uint64(len(b)) + 7}}}
		if arm {
			c.arch = insn.ARM64
		}
		im := NewImage(c)
		where := base + uint64(at)%uint64(len(b))
		for _, sense := range []Sense{Before, Entry, After} {
			s, err := im.Place(Want{At: where, Reads: rdi | rsp, Mem: fix, Sense: sense})
			if err == nil && (s.Addr < where || s.Addr >= base+uint64(len(b)) || s.Moved != (s.Addr != where)) {
				t.Errorf("%+v for 0x%x", s, where)
			}
		}
		if s, err := im.PlaceReturn(where, rax); err == nil && s.Addr > where {
			t.Errorf("%+v for the return 0x%x", s, where)
		}
		im.Returns(where)
		im.WrapperOf(where, rdi)
		out, err := im.Outcomes(OutcomeWant{Entry: where, Reads: rdi, Result: insn.RAX, Foreign: func(addr uint64) bool { return addr%64 == 5 }})
		for _, p := range out.Sites {
			if err != nil || p.Class == Refused || len(p.Operands) != 1 || p.Addr < base || p.Addr >= base+uint64(len(b)) {
				t.Errorf("%+v for 0x%x, %v", p, where, err)
			}
		}
	})
}

func BenchmarkLandingsOfFile(b *testing.B) {
	f, err := elf.Open(glibc)
	if err != nil {
		b.Skip(err)
	}
	defer f.Close()
	for b.Loop() {
		NewImage(f).Landings()
	}
}

func BenchmarkLandings(b *testing.B) {
	c := openCode(b, glibc)
	for b.Loop() {
		NewImage(c).Landings()
	}
}

func BenchmarkPlace(b *testing.B) {
	c := openCode(b, glibc)
	im := NewImage(c)
	im.Landings()
	n := 0
	for b.Loop() {
		f := c.funcs[n%len(c.funcs)]
		n++
		if _, err := im.Place(Want{At: f.Lo, Reads: rdi | rsp, Sense: Entry, Return: true}); err != nil {
			b.Fatal(err)
		}
	}
}
