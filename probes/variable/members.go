package variable

import (
	"debug/dwarf"
	"fmt"

	dw "github.com/tracepredict/tracepredict/probes/dwarf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// memberPlace is a scalar within a type.
type memberPlace struct {
	path  string // ".stats.hits", "[3].state"; "" for the type itself
	start int64  // bytes from the type's beginning
	info  typeInfo
}

// memberAt returns the scalar that contains offset at of a type. ok is false for unions and bit
// fields, where several members share a byte, and for bytes between members.
func (x *index) memberAt(typ dwarf.Offset, u *unit, at int64) (m memberPlace, ok bool) {
	x.Left = maxTypeEntries
	for range 4 * maxChain {
		if t := x.typeAt(typ, u, 0); t.bad == "" {
			m.info = t
			return m, t.size > 0 && t.size <= 8 && at >= m.start && at < m.start+t.size
		}
		e := x.Bare(x.Entry(typ))
		if e == nil {
			return m, false
		}
		switch e.Tag {
		case dwarf.TagStructType, dwarf.TagClassType:
			typ, ok = x.fieldAt(e, at, &m)
		case dwarf.TagArrayType:
			typ, ok = x.elementAt(e, at, &m)
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
func (x *index) fieldAt(e *dwarf.Entry, at int64, m *memberPlace) (typ dwarf.Offset, ok bool) {
	base := m.start
	x.Members(e, func(f dw.Member) bool {
		lo := base + f.Start
		if f.Type == 0 || at < lo || at >= lo+x.Size(f.Type) {
			return true
		}
		if f.Bits > 0 || f.Entry.AttrField(dwarf.AttrDataBitOffset) != nil {
			ok = false
			return false
		}
		typ, ok, m.start = f.Type, true, lo
		if f.Name != "" {
			m.path += "." + f.Name
		}
		return false
	})
	return typ, ok
}

// elementAt descends into the element of an array that contains offset at.
func (x *index) elementAt(e *dwarf.Entry, at int64, m *memberPlace) (typ dwarf.Offset, ok bool) {
	typ, has := e.Val(dwarf.AttrType).(dwarf.Offset)
	size := x.Size(typ)
	if !has || size <= 0 {
		return 0, false
	}
	counts := x.Counts(e)
	i := (at - m.start) / size
	m.start += i * size
	path := ""
	for d := len(counts) - 1; d >= 0; d-- {
		n := max(counts[d], 1)
		if d == 0 {
			n = i + 1 // an index beyond the array counts in the outermost dimension
		}
		path = fmt.Sprintf("[%d]", i%n) + path
		i /= n
	}
	m.path += path
	return typ, true
}

// mentioned returns the addresses that the instruction at an address has as operands.
func (t *taker) mentioned(at uint64) []uint64 {
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
