package function

import (
	"debug/dwarf"
	"encoding/binary"

	"github.com/tracepredict/tracepredict/probes/insn"
)

// Where a parameter is at one address, as the debug information has it: in a
// register, a constant, at a register's distance. What takes more to compute, or
// is in pieces, is not had. Location lists: DWARF 5, section 7.7.3; DWARF 4, 2.6.2.

// at gives the place of a parameter at pc; ok is false if that is not known.
func (d *debug) at(e *dwarf.Entry, in *scope, pc uint64) (o Operand, ok bool) {
	u := in.unit
	if v, has := constant(e.Val(dwarf.AttrConstValue)); has {
		return Operand{From: Const, Disp: v}, true
	}
	f := e.AttrField(dwarf.AttrLocation)
	if f == nil || u == nil {
		return o, false
	}
	switch v := f.Val.(type) {
	case []byte:
		return d.expression(v)
	case int64:
		if expr := d.listed(f.Class, v, u, pc); expr != nil {
			return d.expression(expr)
		}
	}
	return o, false
}

func constant(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case uint64:
		return int64(v), true
	}
	return 0, false
}

// reader reads numbers; beyond the end they are 0.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.b, r.bad = nil, true
		return make([]byte, 8)
	}
	v := r.b[:n]
	r.b = r.b[n:]
	return v
}

func (r *reader) u8() byte    { return r.take(1)[0] }
func (r *reader) u16() uint16 { return binary.LittleEndian.Uint16(r.take(2)) }
func (r *reader) u64() uint64 { return binary.LittleEndian.Uint64(r.take(8)) }

func (r *reader) uleb() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.b, r.bad = nil, true
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) sleb() int64 {
	var v int64
	for shift := uint(0); shift < 70; shift += 7 {
		b := r.u8()
		if shift < 64 {
			v |= int64(b&0x7f) << shift
		}
		if b&0x80 == 0 {
			if b&0x40 != 0 && shift+7 < 64 {
				v |= -1 << (shift + 7)
			}
			return v
		}
	}
	r.bad = true
	return 0
}

// expression reads those location expressions that one operand can stand for.
// Operations: DWARF 5, section 7.7.1.
func (d *debug) expression(b []byte) (o Operand, ok bool) {
	const (
		consts, lit0, reg0, breg0, regx, bregx, stackValue = 0x11, 0x30, 0x50, 0x70, 0x90, 0x92, 0x9f
	)
	r := reader{b: b}
	op := r.u8()
	number := uint64(1 << 32)
	value := true // the operand is the value, and not where it is
	switch {
	case op >= reg0 && op < reg0+32:
		number = uint64(op - reg0)
		o.From = Reg
	case op == regx:
		number = r.uleb()
		o.From = Reg
	case op >= breg0 && op < breg0+32, op == bregx:
		if number = uint64(op - breg0); op == bregx {
			number = r.uleb()
		}
		o.From, o.Disp, value = Reg, r.sleb(), false
	case op >= lit0 && op < lit0+32:
		o.From, o.Disp, value = Const, int64(op-lit0), false
	case op == consts || op >= 0x08 && op <= 0x10:
		o.From, o.Disp, value = Const, r.number(op), false
	default:
		return o, false
	}
	if !value {
		if len(r.b) > 0 && r.b[0] == stackValue {
			r.u8()
		} else if o.From == Reg {
			o.From = Memory
		} else {
			return Operand{}, false // at a fixed address
		}
	}
	if r.bad || len(r.b) > 0 {
		return Operand{}, false
	}
	if o.From == Const {
		return o, true
	}
	o.Reg, ok = d.register(number)
	return o, ok
}

// number reads the constant of an operation from DW_OP_const1u to DW_OP_consts.
func (r *reader) number(op byte) int64 {
	le := binary.LittleEndian
	switch op {
	case 0x08:
		return int64(r.u8())
	case 0x09:
		return int64(int8(r.u8()))
	case 0x0a:
		return int64(r.u16())
	case 0x0b:
		return int64(int16(r.u16()))
	case 0x0c:
		return int64(le.Uint32(r.take(4)))
	case 0x0d:
		return int64(int32(le.Uint32(r.take(4))))
	case 0x0e, 0x0f:
		return int64(r.u64())
	case 0x10:
		return int64(r.uleb())
	}
	return r.sleb()
}

// register translates DWARF's numbers: System V ABI for x86-64, figure 3.36; DWARF
// for the Arm 64-bit architecture, 4.1.
func (d *debug) register(n uint64) (insn.Reg, bool) {
	if d.file.Arch() == insn.ARM64 {
		return insn.Reg(n), n < 32
	}
	order := [...]insn.Reg{insn.RAX, insn.RDX, insn.RCX, insn.RBX, insn.RSI, insn.RDI, insn.RBP, insn.RSP,
		insn.R8, insn.R9, insn.R10, insn.R11, insn.R12, insn.R13, insn.R14, insn.R15}
	if n >= uint64(len(order)) {
		return insn.NoReg, false
	}
	return order[n], true
}

// maxList bounds the entries of a location list that are read.
const maxList = 1 << 12

// listed gives the expression that a location list has for pc; nil if none.
func (d *debug) listed(class dwarf.Class, at int64, u *unit, pc uint64) []byte {
	if len(d.locs) > 0 {
		if class == dwarf.ClassLocList { // an index
			base := u.version5
			if at < 0 || at > int64(len(d.locs))/4 || base < 0 || base+4*at+4 > int64(len(d.locs)) {
				return nil
			}
			at = base + int64(binary.LittleEndian.Uint32(d.locs[base+4*at:]))
		}
		return d.list5(at, u, pc)
	}
	return d.list4(at, u, pc)
}

func (d *debug) list4(at int64, u *unit, pc uint64) []byte {
	if at < 0 || at > int64(len(d.loc)) {
		return nil
	}
	r, base := reader{b: d.loc[at:]}, u.low
	for range maxList {
		lo, hi := r.u64(), r.u64()
		switch {
		case r.bad || lo == 0 && hi == 0:
			return nil
		case lo == 1<<64-1:
			base = hi
			continue
		}
		expr := r.take(int(r.u16()))
		if !r.bad && pc >= base+lo && pc < base+hi {
			return expr
		}
	}
	return nil
}

func (d *debug) list5(at int64, u *unit, pc uint64) []byte {
	if at < 0 || at > int64(len(d.locs)) {
		return nil
	}
	r, base := reader{b: d.locs[at:]}, u.low
	for range maxList {
		var lo, hi uint64
		switch kind := r.u8(); kind {
		case 1: // base_addressx
			base = d.indexed(u, r.uleb())
			continue
		case 2: // startx_endx
			lo, hi = d.indexed(u, r.uleb()), d.indexed(u, r.uleb())
		case 3: // startx_length
			lo = d.indexed(u, r.uleb())
			hi = lo + r.uleb()
		case 4: // offset_pair
			lo, hi = base+r.uleb(), base+r.uleb()
		case 5: // default_location
			lo, hi = 0, 1<<64-1
		case 6: // base_address
			base = r.u64()
			continue
		case 7: // start_end
			lo, hi = r.u64(), r.u64()
		case 8: // start_length
			lo = r.u64()
			hi = lo + r.uleb()
		case 9: // GCC's pair of views
			r.uleb()
			r.uleb()
			continue
		default:
			return nil
		}
		expr := r.take(int(min(r.uleb(), 1<<16)))
		if r.bad {
			return nil
		}
		if pc >= lo && pc < hi {
			return expr
		}
	}
	return nil
}

// indexed reads address i of the unit's part of .debug_addr; 0 if there is none.
func (d *debug) indexed(u *unit, i uint64) uint64 {
	base, _ := u.entry.Val(dwarf.AttrAddrBase).(int64)
	n := uint64(len(d.addrs))
	if base < 0 || uint64(base) > n || i > n/8 {
		return 0
	}
	at := uint64(base) + 8*i
	if n < 8 || at > n-8 {
		return 0
	}
	return binary.LittleEndian.Uint64(d.addrs[at:])
}
