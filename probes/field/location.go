package field

import (
	"debug/dwarf"
	"encoding/binary"

	dw "github.com/tracepredict/tracepredict/probes/dwarf"
	bin "github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// Operations of location expressions (DWARF 5, section 7.7.1).
const (
	opAddr         = 0x03
	opDeref        = 0x06
	opReg0         = 0x50
	opReg31        = 0x6f
	opBreg0        = 0x70
	opBreg31       = 0x8f
	opFbreg        = 0x91
	opStackValue   = 0x9f
	opCallFrameCFA = 0x9c
)

// where is what a location expression says, as far as it matters.
type where struct {
	kind whereKind
	reg  insn.Reg
	// off is from the frame's base (inFrame, pointedFromFrame), or what is added to
	// the register for the value (inRegister) or its address (atRegister).
	off  int64
	addr uint64 // inMemory
}

type whereKind uint8

const (
	unclear whereKind = iota
	inRegister
	inFrame
	inMemory
	atRegister       // in memory, where a register points
	pointedFromFrame // in memory, where a pointer in the frame points
)

// registers of x86-64 in DWARF's order (System V ABI, figure 3.36).
var registersAMD64 = [16]insn.Reg{insn.RAX, insn.RDX, insn.RCX, insn.RBX, insn.RSI, insn.RDI, insn.RBP, insn.RSP,
	insn.R8, insn.R9, insn.R10, insn.R11, insn.R12, insn.R13, insn.R14, insn.R15}

func register(arch insn.Arch, n int) insn.Reg {
	switch {
	case arch == insn.AMD64 && n < len(registersAMD64):
		return registersAMD64[n]
	case arch == insn.ARM64 && n < 32:
		return insn.Reg(n)
	}
	return insn.NoReg
}

// decode reads a location expression. One that it does not know is unclear.
func decode(arch insn.Arch, expr []byte) where {
	if len(expr) == 0 {
		return where{}
	}
	switch op := expr[0]; {
	case op == opAddr && len(expr) == 9:
		return where{kind: inMemory, addr: binary.LittleEndian.Uint64(expr[1:])}
	case op >= opReg0 && op <= opReg31 && len(expr) == 1:
		return where{kind: inRegister, reg: register(arch, int(op-opReg0))}
	case op >= opBreg0 && op <= opBreg31:
		off, n := sleb(expr[1:])
		w := where{reg: register(arch, int(op-opBreg0)), off: off}
		switch {
		case n > 0 && len(expr) == 1+n:
			w.kind = atRegister
		case n > 0 && len(expr) == 2+n && expr[1+n] == opStackValue:
			w.kind = inRegister
		}
		return w
	case op == opFbreg:
		off, n := sleb(expr[1:])
		switch {
		case n > 0 && len(expr) == 1+n:
			return where{kind: inFrame, off: off}
		case n > 0 && len(expr) == 2+n && expr[1+n] == opDeref:
			return where{kind: pointedFromFrame, off: off}
		}
	}
	return where{}
}

// sleb reads a signed number (DWARF 5, section 7.6); n is 0 if it is cut short.
func sleb(b []byte) (v int64, n int) {
	shift := uint(0)
	for i, c := range b {
		if shift < 64 {
			v |= int64(c&0x7f) << shift
		}
		shift += 7
		if c&0x80 == 0 {
			if shift < 64 && c&0x40 != 0 {
				v |= -1 << shift
			}
			return v, i + 1
		}
		if i == 9 {
			break
		}
	}
	return 0, 0
}

// located is a location and the addresses at which it holds.
type located struct {
	bin.Range
	where
}

// unit is what location lists of a compilation unit are read with.
type unit struct {
	version  int
	low      uint64 // DW_AT_low_pc: the base of offsets
	addrBase int64
	listBase int64 // DW_AT_loclists_base
}

// lists reads location lists: .debug_loclists of DWARF 5, .debug_loc before.
type lists struct {
	arch          insn.Arch
	v5, v4, addrs []byte
	left          int
}

// maxLocations bounds how many locations are read for one file.
const maxLocations = 1 << 22

func (db *database) newLists() (*lists, error) {
	l := &lists{arch: db.file.Arch(), left: maxLocations}
	for _, s := range []struct {
		name string
		to   *[]byte
	}{{"loclists", &l.v5}, {"loc", &l.v4}, {"addr", &l.addrs}} {
		b, err := dw.Of(db.file).Section(s.name)
		if err != nil {
			return nil, err
		}
		*s.to = b
	}
	return l, nil
}

// of gives the locations of a variable; all is where the scope holds that a
// location without a list is for.
func (l *lists) of(e *dwarf.Entry, u *unit, all []bin.Range) []located {
	f := e.AttrField(dwarf.AttrLocation)
	if f == nil {
		return nil
	}
	switch v := f.Val.(type) {
	case []byte:
		w := l.decode(v, u)
		var out []located
		for _, r := range all {
			out = append(out, located{r, w})
		}
		return out
	case int64:
		return l.list(v, u)
	case uint64: // DW_FORM_loclistx
		return l.indexed(v, u)
	}
	return nil
}

func (l *lists) decode(expr []byte, u *unit) where {
	if len(expr) > 1 && (expr[0] == 0xa1 || expr[0] == 0xfb) { // DW_OP_addrx, DW_OP_GNU_addr_index
		i, n := binary.Uvarint(expr[1:])
		if addr, ok := l.address(u, i); ok && n == len(expr)-1 {
			return where{kind: inMemory, addr: addr}
		}
		return where{}
	}
	return decode(l.arch, expr)
}

func (l *lists) address(u *unit, i uint64) (uint64, bool) {
	n := uint64(len(l.addrs))
	if u.addrBase < 0 || uint64(u.addrBase) > n || i > n/8 || n < 8 {
		return 0, false
	}
	at := uint64(u.addrBase) + 8*i
	if at > n-8 {
		return 0, false
	}
	return binary.LittleEndian.Uint64(l.addrs[at:]), true
}

func (l *lists) list(at int64, u *unit) []located {
	if u.version >= 5 {
		return l.list5(at, u)
	}
	return l.list4(at, u)
}

// indexed reads the list that entry i of the unit's table of offsets gives.
func (l *lists) indexed(i uint64, u *unit) []located {
	c := &bytes{b: l.v5, at: u.listBase}
	c.take(4 * min(i, uint64(len(l.v5))))
	offset := c.take(4)
	if offset == nil {
		return nil
	}
	return l.list5(u.listBase+int64(binary.LittleEndian.Uint32(offset)), u)
}

// list5 reads a list of .debug_loclists (DWARF 5, section 7.7.3).
func (l *lists) list5(at int64, u *unit) (out []located) {
	c := &bytes{b: l.v5, at: at}
	base := u.low
	for l.left > 0 && !c.bad {
		var r bin.Range
		kind := c.u8()
		switch kind {
		case 0: // end of list
			return out
		case 1: // base_addressx
			base, c.bad = l.need(c, u)
			continue
		case 2: // startx_endx
			r.Lo, c.bad = l.need(c, u)
			if !c.bad {
				r.Hi, c.bad = l.need(c, u)
			}
		case 3: // startx_length
			r.Lo, c.bad = l.need(c, u)
			r.Hi = r.Lo + c.uleb()
		case 4: // offset_pair
			r.Lo = base + c.uleb()
			r.Hi = base + c.uleb()
		case 5: // default_location
		case 6: // base_address
			base = c.u64()
			continue
		case 7: // start_end
			r.Lo, r.Hi = c.u64(), c.u64()
		case 8: // start_length
			r.Lo = c.u64()
			r.Hi = r.Lo + c.uleb()
		case 9: // GNU's view pair
			c.uleb()
			c.uleb()
			continue
		default:
			return out
		}
		expr := c.take(c.uleb())
		l.left--
		if !c.bad && kind != 5 && r.Lo < r.Hi {
			out = append(out, located{r, l.decode(expr, u)})
		}
	}
	return out
}

// need reads an index of .debug_addr; missing tells that there is none.
func (l *lists) need(c *bytes, u *unit) (addr uint64, missing bool) {
	addr, ok := l.address(u, c.uleb())
	return addr, !ok || c.bad
}

// list4 reads a list of .debug_loc (DWARF 4, section 2.6.2).
func (l *lists) list4(at int64, u *unit) (out []located) {
	c := &bytes{b: l.v4, at: at}
	base := u.low
	for l.left > 0 && !c.bad {
		lo, hi := c.u64(), c.u64()
		switch {
		case c.bad || lo == 0 && hi == 0:
			return out
		case lo == ^uint64(0):
			base = hi
			continue
		}
		expr := c.take(uint64(c.u16()))
		l.left--
		if !c.bad && lo < hi {
			out = append(out, located{bin.Range{Lo: base + lo, Hi: base + hi}, l.decode(expr, u)})
		}
	}
	return out
}

// bytes is a cursor; bad is set by whoever reads beyond the end.
type bytes struct {
	b   []byte
	at  int64
	bad bool
}

func (c *bytes) take(n uint64) []byte {
	if c.bad || c.at < 0 || c.at > int64(len(c.b)) || n > uint64(int64(len(c.b))-c.at) {
		c.bad = true
		return nil
	}
	b := c.b[c.at : c.at+int64(n)]
	c.at += int64(n)
	return b
}

func (c *bytes) u8() byte {
	if b := c.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (c *bytes) u16() uint16 {
	if b := c.take(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (c *bytes) u64() uint64 {
	if b := c.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (c *bytes) uleb() uint64 {
	if c.bad || c.at < 0 || c.at > int64(len(c.b)) {
		c.bad = true
		return 0
	}
	v, n := binary.Uvarint(c.b[c.at:])
	if n <= 0 {
		c.bad = true
		return 0
	}
	c.at += int64(n)
	return v
}
