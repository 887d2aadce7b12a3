package function

import (
	"debug/dwarf"

	dw "github.com/tracepredict/tracepredict/probes/dwarf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// at returns the operand that holds a parameter at pc; ok is false if that is not known:
// where it takes more than a register, a constant or a distance from a register.
func (d *debug) at(e *dwarf.Entry, in *scope, pc uint64) (o Operand, ok bool) {
	switch v := e.Val(dwarf.AttrConstValue).(type) {
	case int64:
		return Operand{From: Const, Disp: v}, true
	case uint64:
		return Operand{From: Const, Disp: int64(v)}, true
	}
	if in.unit == nil {
		return o, false
	}
	p, ok := d.locations.At(e, in.unit.base, pc)
	o = Operand{Reg: p.Reg, Disp: p.Off}
	switch {
	case !ok:
	case p.Kind == dw.Constant:
		return Operand{From: Const, Disp: p.Off}, true
	case p.Kind == dw.InRegister && p.Reg != insn.NoReg:
		o.From = Reg
		return o, true
	case p.Kind == dw.AtRegister && p.Reg != insn.NoReg:
		o.From = Memory
		return o, true
	}
	return Operand{}, false
}
