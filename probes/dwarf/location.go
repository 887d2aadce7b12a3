package dwarf

import (
	"bytes"
	"debug/dwarf"
	"encoding/binary"

	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// Location is the location of a variable, or its value, if a location expression of a few
// operations states it. A location that needs more computation, or is in pieces (Pieces), is Unclear.
type Location struct {
	Kind LocationKind
	Reg  insn.Reg // NoReg for a register that is not an integer register
	// Off is the offset from the frame's base (InFrame, PointedFromFrame), the number that is added
	// to the register to obtain the value (InRegister) or its address (AtRegister), or the value
	// itself (Constant).
	Off  int64
	Addr uint64 // InMemory, as linked
}

// LocationKind is the kind of a Location.
type LocationKind uint8

// The kinds of location.
const (
	Unclear          LocationKind = iota
	InRegister                    // the value is that of a register, plus Off
	AtRegister                    // in memory, Off bytes from where a register points
	InFrame                       // in memory, Off bytes from the frame's base
	PointedFromFrame              // in memory, where the pointer at Off in the frame points
	InMemory                      // in memory, at Addr
	Constant                      // the value is Off
	ThreadLocal                   // in the thread-local storage
)

// Operations of location expressions: DWARF 5, section 7.7.1, and GNU's from before it.
const (
	opAddr         = 0x03
	opDeref        = 0x06
	opConst1u      = 0x08
	opConsts       = 0x11
	opLit0         = 0x30
	opReg0         = 0x50
	opBreg0        = 0x70
	opRegx         = 0x90
	opFbreg        = 0x91
	opBregx        = 0x92
	opFormTLS      = 0x9b
	opCallFrameCFA = 0x9c
	opPiece        = 0x93
	opStackValue   = 0x9f
	opAddrx        = 0xa1
	opGNUPushTLS   = 0xe0
	opGNUAddrIndex = 0xfb
)

// registersAMD64 are the integer registers of x86-64 by their DWARF numbers (System V ABI, figure
// 3.36).
var registersAMD64 = [...]insn.Reg{insn.RAX, insn.RDX, insn.RCX, insn.RBX, insn.RSI, insn.RDI, insn.RBP, insn.RSP,
	insn.R8, insn.R9, insn.R10, insn.R11, insn.R12, insn.R13, insn.R14, insn.R15}

// Register returns the register with the DWARF number n; NoReg if it is not an integer register.
// For arm64: DWARF for the Arm 64-bit architecture, section 4.1.
func Register(arch insn.Arch, n uint64) insn.Reg {
	switch {
	case arch == insn.AMD64 && n < uint64(len(registersAMD64)):
		return registersAMD64[n]
	case arch == insn.ARM64 && n < 32:
		return insn.Reg(n)
	}
	return insn.NoReg
}

// IsCallFrame reports whether the expression of a frame's base is just the canonical frame address.
func IsCallFrame(expr []byte) bool { return len(expr) == 1 && expr[0] == opCallFrameCFA }

// Base is the base of the addresses and indices in a unit's locations.
type Base struct {
	Version uint16
	Low     uint64 // DW_AT_low_pc: the base of the offsets in a location list
	Addr    int64  // DW_AT_addr_base: where the unit's part of .debug_addr begins
	List    int64  // DW_AT_loclists_base: where the unit's table of lists begins
}

// baseOf returns the base that a unit and its root entry state.
func baseOf(u Unit, root *dwarf.Entry) Base {
	b := Base{Version: u.Version, Addr: Number(root, dwarf.AttrAddrBase), List: Number(root, dwarf.AttrLoclistsBase)}
	b.Low, _ = root.Val(dwarf.AttrLowpc).(uint64)
	return b
}

// Locations reads the locations of variables: location expressions, and the location lists of
// .debug_loclists (DWARF 5, section 7.7.3) and .debug_loc (DWARF 4, section 2.6.2).
type Locations struct {
	arch               insn.Arch
	loc, loclists, add []byte
	perList, left      int // number of list entries that may be read
}

// Addresses returns Locations without location lists, which have hundreds of megabytes in large
// programs.
func (i *Info) Addresses() (*Locations, error) {
	b, err := i.Section("addr")
	return &Locations{arch: i.file.Arch(), add: b}, err
}

// Locations returns the locations of a file. At most perList entries of one list are read, and at
// most total entries of all lists.
func (i *Info) Locations(perList, total int) (*Locations, error) {
	l, err := i.Addresses()
	if err == nil {
		l.loc, err = i.Section("loc")
	}
	if err == nil {
		l.loclists, err = i.Section("loclists")
	}
	l.perList, l.left = perList, total
	return l, err
}

// address returns address i of a unit's part of .debug_addr.
func (l *Locations) address(b Base, i uint64) (addr uint64, ok bool) {
	if b.Addr < 0 || i > uint64(len(l.add))/8 {
		return 0, false
	}
	r := elf.NewCursor(l.add, 0, 0)
	r.Skip(uint64(b.Addr) + 8*i)
	addr = r.U64()
	return addr, !r.Failed()
}

// IndexOf returns the offset in .debug_addr, at or after from, where addr is stored; -1 if it is
// not.
func (l *Locations) IndexOf(addr uint64, from int) int {
	i := bytes.Index(l.add[from:], binary.LittleEndian.AppendUint64(nil, addr))
	if i < 0 {
		return -1
	}
	return from + i
}

// AddressExpression returns the bytes that the entry of a variable at addr contains: the length of
// the expression, and the expression DW_OP_addr addr.
func AddressExpression(addr uint64) []byte {
	return binary.LittleEndian.AppendUint64([]byte{9, opAddr}, addr)
}

// Decode reads a location expression.
func (l *Locations) Decode(expr []byte, b Base) Location {
	if len(expr) == 0 {
		return Location{}
	}
	if last := expr[len(expr)-1]; last == opFormTLS || last == opGNUPushTLS {
		return Location{Kind: ThreadLocal}
	}
	r := elf.NewCursor(expr, 0, 0)
	p := l.operation(&r, b)
	if p.Kind == 0 {
		return Location{}
	}
	value := p.Kind == Constant
	if r.Left() == 1 {
		switch last := r.U8(); {
		case last == opStackValue && p.Kind == AtRegister:
			p.Kind = InRegister
		case last == opStackValue && value:
			value = false
		case last == opDeref && p.Kind == InFrame:
			p.Kind = PointedFromFrame
		default:
			return Location{}
		}
	}
	// A constant alone is an address that is not known at link time.
	if r.Failed() || r.Left() > 0 || value {
		return Location{}
	}
	return p
}

// Piece is a part of a variable that has an address of its own.
type Piece struct {
	Off, Size uint64 // in bytes, from the variable's beginning
	Addr      uint64 // as linked
}

// Pieces returns the parts of a variable that are in memory, if its location expression is a list of pieces (DWARF 5,
// section 2.6.1.2); nil if it is another one, or a piece needs computation.
func (l *Locations) Pieces(expr []byte, b Base) (all []Piece) {
	r, off := elf.NewCursor(expr, 0, 0), uint64(0)
	for r.Left() > 0 {
		var at Location
		if next := r; next.U8() != opPiece { // otherwise the part is kept nowhere
			if at = l.operation(&r, b); at.Kind == Unclear {
				return nil
			}
		}
		if r.U8() != opPiece {
			return nil
		}
		size := r.LEB(false)
		if r.Failed() || size == 0 || size > maxPieces-off {
			return nil
		}
		if at.Kind == InMemory {
			all = append(all, Piece{Off: off, Size: size, Addr: at.Addr})
		}
		off += size
	}
	return all
}

// maxPieces bounds the bytes of a variable in pieces.
const maxPieces = 1 << 30

// operation reads the first operation of an expression.
func (l *Locations) operation(r *elf.Cursor, b Base) Location {
	switch op := r.U8(); {
	case op == opAddr:
		return Location{Kind: InMemory, Addr: r.U64()}
	case op == opAddrx, op == opGNUAddrIndex:
		if addr, ok := l.address(b, r.LEB(false)); ok {
			return Location{Kind: InMemory, Addr: addr}
		}
	case op >= opReg0 && op < opReg0+32:
		return Location{Kind: InRegister, Reg: Register(l.arch, uint64(op-opReg0))}
	case op == opRegx:
		return Location{Kind: InRegister, Reg: Register(l.arch, r.LEB(false))}
	case op >= opBreg0 && op < opBreg0+32:
		return Location{Kind: AtRegister, Reg: Register(l.arch, uint64(op-opBreg0)), Off: int64(r.LEB(true))}
	case op == opBregx:
		return Location{Kind: AtRegister, Reg: Register(l.arch, r.LEB(false)), Off: int64(r.LEB(true))}
	case op == opFbreg:
		return Location{Kind: InFrame, Off: int64(r.LEB(true))}
	case op >= opLit0 && op < opLit0+32:
		return Location{Kind: Constant, Off: int64(op - opLit0)}
	case op >= opConst1u && op <= opConsts:
		return Location{Kind: Constant, Off: constant(r, op)}
	}
	return Location{}
}

// constant reads the operand of an operation from DW_OP_const1u to DW_OP_consts.
func constant(r *elf.Cursor, op byte) int64 {
	switch op - opConst1u {
	case 1:
		return int64(int8(r.U8()))
	case 3:
		return int64(int16(r.U16()))
	case 5:
		return int64(int32(r.U32()))
	case 0, 2, 4, 6, 7:
		return int64(r.Uint(1 << ((op - opConst1u) / 2)))
	case 8:
		return int64(r.LEB(false))
	}
	return int64(r.LEB(true))
}

// ListedLocation is a location and the range of code addresses in which it is valid.
type ListedLocation struct {
	elf.Range
	Location
}

// Of returns the locations of a variable's entry. everywhere are the ranges of a location that is
// not from a list. Default locations of lists are left out.
func (l *Locations) Of(e *dwarf.Entry, b Base, everywhere []elf.Range) (out []ListedLocation) {
	l.each(e, b, func(r elf.Range, expr []byte, bounded bool) bool {
		p := l.Decode(expr, b)
		switch {
		case bounded:
			out = append(out, ListedLocation{r, p})
		case r == elf.Range{}:
			for _, r := range everywhere {
				out = append(out, ListedLocation{r, p})
			}
		}
		return true
	})
	return out
}

// At returns the location of a variable's entry at a code address; ok is false if it has none
// there.
func (l *Locations) At(e *dwarf.Entry, b Base, pc uint64) (p Location, ok bool) {
	l.each(e, b, func(r elf.Range, expr []byte, bounded bool) bool {
		if ok = !bounded || r.Contains(pc); ok {
			p = l.Decode(expr, b)
		}
		return !ok
	})
	return p, ok
}

// each calls visit for the location expressions of a variable's entry until visit returns false. If
// bounded is true, the expression is valid in the range r. If it is false, the expression is valid
// everywhere and r is empty, or it is the default of a list and r is the whole address space.
func (l *Locations) each(e *dwarf.Entry, b Base, visit func(r elf.Range, expr []byte, bounded bool) bool) {
	switch v := e.Val(dwarf.AttrLocation).(type) {
	case []byte:
		visit(elf.Range{}, v, false)
	case int64:
		if b.Version >= 5 {
			l.list5(v, b, visit)
		} else {
			l.list4(v, b, visit)
		}
	case uint64: // DW_FORM_loclistx: an index into the unit's table of offsets
		if b.List < 0 || v > uint64(len(l.loclists)) {
			return
		}
		r := elf.NewCursor(l.loclists, 0, 0)
		r.Skip(uint64(b.List) + 4*v)
		if at := r.U32(); !r.Failed() {
			l.list5(b.List+int64(at), b, visit)
		}
	}
}

// mayRead counts entry n of a list, and reports whether it may still be read.
func (l *Locations) mayRead(n int) bool {
	l.left--
	return l.left >= 0 && n < l.perList
}

func (l *Locations) list5(at int64, b Base, visit func(elf.Range, []byte, bool) bool) {
	if at < 0 {
		return
	}
	c := elf.NewCursor(l.loclists, 0, 0)
	c.Skip(uint64(at))
	indexed := func() uint64 {
		addr, ok := l.address(b, c.LEB(false))
		if !ok {
			c.Fail()
		}
		return addr
	}
	base := b.Low
	for n := 0; !c.Failed() && l.mayRead(n); n++ {
		var r elf.Range
		bounded := true
		switch c.U8() {
		case 1: // DW_LLE_base_addressx
			base = indexed()
			continue
		case 2: // startx_endx
			r.Lo, r.Hi = indexed(), indexed()
		case 3: // startx_length
			r.Lo = indexed()
			r.Hi = r.Lo + c.LEB(false)
		case 4: // offset_pair
			r.Lo = base + c.LEB(false)
			r.Hi = base + c.LEB(false)
		case 5: // default_location
			r.Hi, bounded = ^uint64(0), false
		case 6: // base_address
			base = c.U64()
			continue
		case 7: // start_end
			r.Lo, r.Hi = c.U64(), c.U64()
		case 8: // start_length
			r.Lo = c.U64()
			r.Hi = r.Lo + c.LEB(false)
		case 9: // GNU's pair of views
			c.LEB(false)
			c.LEB(false)
			continue
		default: // the end of the list, or an entry that DWARF does not define
			return
		}
		expr := c.Take(c.LEB(false))
		if !c.Failed() && r.Lo < r.Hi && !visit(r, expr, bounded) {
			return
		}
	}
}

func (l *Locations) list4(at int64, b Base, visit func(elf.Range, []byte, bool) bool) {
	if at < 0 {
		return
	}
	c := elf.NewCursor(l.loc, 0, 0)
	c.Skip(uint64(at))
	base := b.Low
	for n := 0; !c.Failed() && l.mayRead(n); n++ {
		r := elf.Range{Lo: c.U64(), Hi: c.U64()}
		switch {
		case c.Failed() || r.Lo == 0 && r.Hi == 0:
			return
		case r.Lo == ^uint64(0):
			base = r.Hi
			continue
		}
		expr := c.Take(uint64(c.U16()))
		if r.Lo < r.Hi && !c.Failed() && !visit(elf.Range{Lo: base + r.Lo, Hi: base + r.Hi}, expr, true) {
			return
		}
	}
}
