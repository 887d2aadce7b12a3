package variable

import (
	"debug/dwarf"

	dw "github.com/tracepredict/tracepredict/probes/dwarf"
	bin "github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// innerScalar is a scalar within a type.
type innerScalar struct {
	path  string // ".stats.hits", "[3].state"; "" for the type itself
	start int64  // bytes from the type's beginning
	info  typeInfo
	// bits are the bytes of the bit fields that are one memory location with the one at the offset;
	// empty if there is none.
	bits bin.Range
}

// memberAt returns the scalar that contains offset at of a type. ok is false for unions and bit
// fields, where several members share a byte, and for bytes between members.
func (x *index) memberAt(typ dwarf.Offset, u *dw.CompileUnit, at int64) (m innerScalar, ok bool) {
	x.Budget = maxTypeEntries
	for range 4 * maxChain {
		if t := x.typeAt(typ, u, 0); t.refusal == "" {
			m.info = t
			return m, t.size > 0 && t.size <= 8 && at >= m.start && at < m.start+t.size
		}
		t := x.TypeAt(typ).Unqualified()
		if t == nil {
			return m, false
		}
		switch t.Tag {
		case dwarf.TagStructType, dwarf.TagClassType:
			typ, ok = x.fieldAt(t, at, &m)
		case dwarf.TagArrayType:
			typ, ok = x.elementAt(t, at, &m)
		default:
			ok = false
		}
		if !ok {
			return m, false
		}
	}
	return m, false
}

// fieldAt descends into the member or base class of a structure that contains offset at, counted
// from the beginning of the outermost type.
func (x *index) fieldAt(s *dw.Type, at int64, m *innerScalar) (typ dwarf.Offset, ok bool) {
	for _, f := range s.Members() {
		lo := m.start + f.Start
		if f.Bits > 0 {
			if first := 8*m.start + f.Bit; at >= first/8 && 8*at < first+f.Bits {
				m.bits = x.bitFields(s, f, m.start)
				return 0, false
			}
			continue
		}
		if f.Type == 0 || at < lo || at >= lo+x.Size(f.Type) {
			continue
		}
		if f.InBits {
			return 0, false
		}
		m.start = lo
		if f.Name != "" {
			m.path += "." + f.Name
		}
		return f.Type, true
	}
	return 0, false
}

// bitFields returns the bytes, counted from the beginning of the outermost type, of the bit fields that
// are one memory location with f, of a structure at start. The debug information does not have fields of
// width zero, which separate locations: where there may be one, fields are together only if they share a
// byte.
func (x *index) bitFields(s *dw.Type, f dw.Member, start int64) bin.Range {
	lo, hi := f.Bit, f.Bit+f.Bits
	for again, n := true, 0; again && n < maxChain; n++ {
		again = false
		for _, g := range s.Members() {
			if g.Bits == 0 || g.Bit >= lo && g.Bit+g.Bits <= hi {
				continue
			}
			before := g.Bit < lo && x.continues(f.Type, g.Bit+g.Bits, lo)
			if after := g.Bit+g.Bits > hi && x.continues(g.Type, hi, g.Bit); before || after {
				lo, hi, again = min(lo, g.Bit), max(hi, g.Bit+g.Bits), true
			}
		}
	}
	return bin.Range{Lo: uint64(start + lo/8), Hi: uint64(start + (hi+7)/8)}
}

// continues reports whether a bit field of a type that begins at a bit is one location with the field
// that ends at another.
func (x *index) continues(typ dwarf.Offset, end, begin int64) bool {
	if (end-1)/8 == begin/8 {
		return true
	}
	unit := 8 * x.Size(typ)
	return end == begin && unit > 0 && begin%unit != 0
}

// elementAt descends into the element of an array that contains offset at.
func (x *index) elementAt(array *dw.Type, at int64, m *innerScalar) (typ dwarf.Offset, ok bool) {
	size := x.Size(array.Of)
	if size <= 0 {
		return 0, false
	}
	i := (at - m.start) / size
	m.start += i * size
	m.path += subscripts(array.Counts(), i)
	return array.Of, true
}

// decode decodes the instruction at an address; false if that is not possible.
func (t *surveyor) decode(at uint64) (insn.Inst, bool) {
	arch := t.file.Arch()
	code, err := t.file.Bytes(at, arch.MaxLen())
	if err != nil {
		return insn.Inst{}, false
	}
	in, err := insn.Decode(arch, code, at)
	return in, err == nil
}

// mentioned returns the addresses that the instruction at an address has as operands.
func (t *surveyor) mentioned(at uint64) []uint64 {
	in, ok := t.decode(at)
	if !ok {
		return nil
	}
	var out []uint64
	if in.Sum.Const() {
		out = append(out, uint64(in.Sum.Imm))
	}
	if in.HasImm {
		out = append(out, in.ValueImm)
	}
	return out
}
