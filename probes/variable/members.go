package variable

import (
	"debug/dwarf"

	dw "github.com/tracepredict/tracepredict/probes/dwarf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// innerScalar is a scalar within a type.
type innerScalar struct {
	path  string // ".stats.hits", "[3].state"; "" for the type itself
	start int64  // bytes from the type's beginning
	info  typeInfo
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
		if f.Type == 0 || at < lo || at >= lo+x.Size(f.Type) {
			continue
		}
		if f.Bits > 0 || f.InBits {
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

// mentioned returns the addresses that the instruction at an address has as operands.
func (t *surveyor) mentioned(at uint64) []uint64 {
	arch := t.file.Arch()
	code, err := t.file.Bytes(at, arch.MaxLen())
	if err != nil {
		return nil
	}
	in, err := insn.Decode(arch, code, at)
	if err != nil {
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
