package function

import (
	"debug/dwarf"

	dw "github.com/tracepredict/tracepredict/probes/dwarf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// at returns the location of a parameter at pc; ok is false if it is not known, or is not a
// register, a constant or memory at a distance from a register.
func (d *debug) at(e *dwarf.Entry, u *dw.CompileUnit, pc uint64) (o Operand, ok bool) {
	switch v := e.Val(dwarf.AttrConstValue).(type) {
	case int64:
		return Operand{Kind: Const, Disp: v}, true
	case uint64:
		return Operand{Kind: Const, Disp: int64(v)}, true
	}
	if u == nil {
		return o, false
	}
	p, ok := d.locations.At(e, u.Base, pc)
	o = Operand{Reg: p.Reg, Disp: p.Off}
	switch {
	case !ok:
	case p.Kind == dw.Constant:
		return Operand{Kind: Const, Disp: p.Off}, true
	case p.Kind == dw.InRegister && p.Reg != insn.NoReg:
		o.Kind = Reg
		return o, true
	case p.Kind == dw.AtRegister && p.Reg != insn.NoReg:
		o.Kind = Memory
		return o, true
	}
	return Operand{}, false
}
