package variable

import (
	"cmp"
	"maps"
	"slices"

	bin "github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// collector collects what the functions do with the target.
type collector struct {
	*target
	out          Result
	addressTaken map[uint64]struct{}
	escaped      map[Escape]struct{}
	direct       bool // do not look for escapes of the address
	err          error
	found        []indexedAccess // by one of several goroutines; see target.parallel
}

// add adds what another goroutine has found, up to its error.
func (c *collector) add(o *collector) {
	if c.err != nil {
		return
	}
	c.err = o.err
	c.out.Accesses, c.out.GOT = append(c.out.Accesses, o.out.Accesses...), append(c.out.GOT, o.out.GOT...)
	c.out.Unknown, c.out.Undecoded = append(c.out.Unknown, o.out.Unknown...), append(c.out.Undecoded, o.out.Undecoded...)
	maps.Copy(c.addressTaken, o.addressTaken)
	maps.Copy(c.escaped, o.escaped)
	c.indexedAccesses = append(c.indexedAccesses, o.found...)
}

func newCollector(t *target) *collector {
	return &collector{target: t, addressTaken: map[uint64]struct{}{}, escaped: map[Escape]struct{}{}}
}

// escape records that the address which the instructions made escapes.
func (c *collector) escape(e Escape, made []uint64) {
	c.escaped[e] = struct{}{}
	for _, at := range made {
		c.addressTaken[at] = struct{}{}
	}
}

// data records the escapes by words of data that hold the address.
func (c *collector) data() {
	for _, p := range c.pointers {
		if !p.Table && (p.To == 0 || !c.direct || c.v.reached(p.To)) {
			c.escape(Escape{Addr: p.At, Kind: InData}, nil)
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
		return cmp.Or(cmp.Compare(a.Addr, b.Addr), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Callee, b.Callee))
	})
	for addr := range c.addressTaken {
		c.out.AddressTaken = append(c.out.AddressTaken, addr)
	}
	slices.SortFunc(c.out.Accesses, func(a, b Access) int { return cmp.Compare(a.Addr, b.Addr) })
	for _, s := range []*[]uint64{&c.out.AddressTaken, &c.out.GOT, &c.out.Unknown, &c.out.Undecoded} {
		slices.Sort(*s)
		*s = slices.Compact(*s)
	}
	return c.out
}

// follow follows the variable's address through a function.
func (c *collector) follow(r *routine) {
	c.out.Undecoded = append(c.out.Undecoded, r.undecoded...)
	if r.Open && len(r.Insts) > maxOpen {
		c.out.Undecoded = append(c.out.Undecoded, r.fn.Lo)
		return
	}
	fl := newFlow(c.target, r)
	if !fl.run() {
		c.out.Undecoded = append(c.out.Undecoded, r.fn.Lo)
		return
	}
	fl.report(c)
}

// maxOpen bounds the instructions of a function in which an indirect jump may land anywhere: the
// flow then keeps a state for each instruction.
const maxOpen = 1 << 13

// indexed records an access whose address may be any part of the enclosing object.
func (c *collector) indexed(fn bin.Range, in *insn.Inst, m *insn.Mem, sure bool) {
	a := Access{
		Addr: in.Addr, Len: in.Len, Kind: kindOf(m), Atomic: in.Locked, Width: m.Size, Inside: true, Certain: sure,
		Base: m.Base, Index: m.Index, Scale: m.Scale, Disp: m.Disp, Func: fn,
		Value: Value{Source: FromMemory, Reg: insn.NoReg}, If: in.WritesIf, New: in.ValueReg,
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

// access records an access of the memory at addr.
func (c *collector) access(fn bin.Range, in *insn.Inst, m *insn.Mem, addr uint64, maybe bool) {
	a := Access{
		Addr: in.Addr, Len: in.Len, Kind: kindOf(m), Atomic: in.Locked, Width: m.Size,
		Offset: int64(addr - c.v.Addr), Base: insn.NoReg, Index: insn.NoReg, Maybe: maybe, Func: fn,
		Value: Value{Source: FromMemory, Reg: insn.NoReg}, If: in.WritesIf, New: in.ValueReg,
	}
	if !m.Fixed {
		// Disp leads from Base to the variable's own address, not to the accessed bytes.
		a.Base, a.Disp = m.Base, m.Disp-a.Offset
	}
	a.Partial = m.Size > 0 && (a.Offset > 0 || a.Offset+int64(m.Size) < int64(c.v.Size))
	if c.several || c.v.begins(addr) && m.Size == c.v.Size {
		a.Value = ValueOf(a.Kind, in)
	}
	c.out.Accesses = append(c.out.Accesses, a)
}

// ValueOf returns where the value of an access that covers the variable exactly can be found.
func ValueOf(k Kind, in *insn.Inst) Value {
	switch {
	case k == Update:
	case k == Write && in.HasImm:
		return Value{Source: FromImm, Reg: insn.NoReg, Imm: in.ValueImm}
	case in.ValueReg != insn.NoReg:
		return Value{Source: FromReg, Reg: in.ValueReg}
	}
	return Value{Source: FromMemory, Reg: insn.NoReg}
}
