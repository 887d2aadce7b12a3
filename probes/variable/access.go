package variable

import (
	"cmp"
	"fmt"
	"slices"

	bin "github.com/tracepredict/tracepredict/probes/binary"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// maxFunction bounds the function that is followed, in bytes: what is known at
// each of its instructions and blocks takes a thousand times as much. Of code
// that compilers make, only tables of machine descriptions and the like come
// near.
const maxFunction = 1 << 19

// Accesses finds the instructions of f that access v. If v lives in another
// file, those are the ones that go through f's global offset table. It fails
// only if f's code cannot be read; what could not be understood is in the
// result.
func Accesses(f *bin.File, v Variable) (Result, error) { return AccessesWith(f, v, nil) }

// Landings gives the addresses in a range where control may arrive otherwise
// than by falling through or by a branch of the range itself; open says that
// those may be any.
type Landings func(bin.Range) (at []uint64, open bool)

// AccessesWith is Accesses that knows where jump tables and exceptions land.
// Without, a function that has an indirect jump may be entered anywhere.
func AccessesWith(f *bin.File, v Variable, landings Landings) (Result, error) {
	if v.Size <= 0 || v.File == nil {
		return Result{}, fmt.Errorf("find accesses of %q: not a variable that Find has given", v.Name)
	}
	t := newTarget(f, v)
	t.landings = landings
	return t.accesses()
}

// AccessesIn is AccessesWith for some functions of f alone.
func AccessesIn(f *bin.File, v Variable, functions []bin.Range, landings Landings) (Result, error) {
	t := newTarget(f, v)
	t.landings = landings
	return t.accessesIn(functions)
}

func (t *target) accesses() (Result, error) {
	functions, err := t.functions()
	if err != nil {
		return Result{}, fmt.Errorf("find accesses of %s: %w", t.v.Name, err)
	}
	return t.accessesIn(functions)
}

func (t *target) accessesIn(functions []bin.Range) (Result, error) {
	f, v := t.file, t.v
	c := newCollector(t)
	c.data()
	for _, fn := range functions {
		if fn.Hi-fn.Lo > maxFunction {
			c.out.Undecoded = append(c.out.Undecoded, fn.Lo)
			continue
		}
		code, err := f.Bytes(fn.Lo, int(fn.Hi-fn.Lo))
		if err != nil {
			return Result{}, fmt.Errorf("find accesses of %s: read function at 0x%x of %s: %w", v.Name, fn.Lo, f.Name(), err)
		}
		c.function(fn, code)
	}
	return c.result(), nil
}

// collector gathers what the functions do with the target.
type collector struct {
	*target
	out     Result
	taken   map[uint64]struct{}
	escaped map[Escape]struct{}
	// returns remembers, by a function's beginning, whether it can return
	// an address.
	returns map[uint64]bool
	results *results // nil until asked
}

func newCollector(t *target) *collector {
	return &collector{target: t, taken: map[uint64]struct{}{}, escaped: map[Escape]struct{}{}, returns: map[uint64]bool{}}
}

// escape notes that the address that the instructions made leaves.
func (c *collector) escape(e Escape, made []uint64) {
	c.escaped[e] = struct{}{}
	for _, at := range made {
		c.taken[at] = struct{}{}
	}
}

// data notes the words of data that hold the address.
func (c *collector) data() {
	for _, p := range c.pointers {
		if !p.Table && (p.To == 0 || !c.direct || c.v.reached(p.To)) {
			c.escape(Escape{Addr: p.At, How: InData}, nil)
		}
	}
}

func (c *collector) result() Result {
	for e := range c.escaped {
		c.out.Escapes = append(c.out.Escapes, e)
	}
	for slot, holds := range c.slots {
		if c.out.Slot == 0 || slot < c.out.Slot {
			c.out.Slot, c.out.SlotHolds = slot, holds
		}
	}
	slices.SortFunc(c.out.Escapes, func(a, b Escape) int {
		return cmp.Or(cmp.Compare(a.Addr, b.Addr), cmp.Compare(a.How, b.How), cmp.Compare(a.Callee, b.Callee))
	})
	for addr := range c.taken {
		c.out.AddressTaken = append(c.out.AddressTaken, addr)
	}
	slices.SortFunc(c.out.Accesses, func(a, b Access) int { return cmp.Compare(a.Addr, b.Addr) })
	for _, s := range []*[]uint64{&c.out.AddressTaken, &c.out.GOT, &c.out.Unknown, &c.out.Undecoded} {
		slices.Sort(*s)
		*s = slices.Compact(*s)
	}
	return c.out
}

// function decodes a function and follows the variable's address through it.
func (c *collector) function(fn bin.Range, code []byte) {
	body := insn.DecodeRun(make([]insn.Inst, 0, len(code)/4), c.arch, code, fn.Lo, func(at uint64) {
		c.out.Undecoded = append(c.out.Undecoded, at)
	})
	fl := newFlow(c.target, fn, code, body)
	if fl.open && len(body) > maxOpen {
		c.out.Undecoded = append(c.out.Undecoded, fn.Lo)
		return
	}
	fl.run()
	fl.report(c)
}

// maxOpen bounds the instructions of a function in which an indirect jump may
// land anywhere: what is known is then kept for each of them.
const maxOpen = 1 << 13

// indexed notes an access of what may be any part of the enclosing object.
func (c *collector) indexed(fn bin.Range, in *insn.Inst, m *insn.Mem) {
	a := Access{
		Addr: in.Addr, Len: in.Len, Kind: kindOf(m), Atomic: in.Locked, Width: m.Size, Inside: true,
		Base: m.Base, Index: m.Index, Scale: m.Scale, Disp: m.Disp, Func: fn,
		Value: Value{From: FromMemory, Reg: insn.NoReg}, If: in.WritesIf, New: in.ValueReg,
	}
	switch {
	case in.Repeats > 0:
		a.Width, a.Repeats = in.Repeats, true
	case in.BitIndex != insn.NoReg:
		if m.Index != insn.NoReg || in.BitWord < 4 {
			c.out.Unknown = append(c.out.Unknown, in.Addr)
			return
		}
		a.Width, a.Index, a.Scale = 1, in.BitIndex, BitString
		if in.BitWord == 4 {
			a.Scale = BitString32
		}
		if m.Fixed {
			a.Disp = int64(m.Addr)
		}
	case m.Size == c.v.Size:
		a.Value = ValueOf(a.Kind, in)
	}
	c.out.Accesses = append(c.out.Accesses, a)
}

func kindOf(m *insn.Mem) Kind {
	switch {
	case m.Read && m.Write:
		return Update
	case m.Write:
		return Write
	}
	return Read
}

// access notes an access of the memory at addr.
func (c *collector) access(fn bin.Range, in *insn.Inst, m *insn.Mem, addr uint64, maybe bool) {
	a := Access{
		Addr: in.Addr, Len: in.Len, Kind: kindOf(m), Atomic: in.Locked, Width: m.Size,
		Offset: int64(addr - c.v.Addr), Base: insn.NoReg, Index: insn.NoReg, Maybe: maybe, Func: fn,
		Value: Value{From: FromMemory, Reg: insn.NoReg}, If: in.WritesIf, New: in.ValueReg,
	}
	if !m.Fixed {
		// From Base to the variable's own address, not to what is accessed.
		a.Base, a.Disp = m.Base, m.Disp-a.Offset
	}
	a.Partial = m.Size > 0 && (a.Offset > 0 || a.Offset+int64(m.Size) < int64(c.v.Size))
	if c.several || a.Offset == 0 && m.Size == c.v.Size {
		a.Value = ValueOf(a.Kind, in)
	}
	c.out.Accesses = append(c.out.Accesses, a)
}

// ValueOf tells where the value of an access of exactly the variable is.
func ValueOf(k Kind, in *insn.Inst) Value {
	switch {
	case k == Update:
	case k == Write && in.HasImm:
		return Value{From: FromImm, Reg: insn.NoReg, Imm: in.ValueImm}
	case in.ValueReg != insn.NoReg:
		return Value{From: FromReg, Reg: in.ValueReg}
	}
	return Value{From: FromMemory, Reg: insn.NoReg}
}

// returnsAddress reports whether what a function leaves in the first register
// may be an address. A function that returns nothing, or less than eight bytes,
// leaves there what it last used it for; without debug information nobody
// knows.
func (c *collector) returnsAddress(fn bin.Range) bool {
	may, ok := c.returns[fn.Lo]
	if !ok {
		if c.results == nil {
			c.results = newResults(c.file)
		}
		may = c.results.mayReturnAddress(fn.Lo)
		c.returns[fn.Lo] = may
	}
	return may
}
