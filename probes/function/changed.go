package function

import (
	"debug/dwarf"

	dw "github.com/tracepredict/tracepredict/probes/dwarf"
)

// A parameter need not be where the ABI puts it. If only its own file calls a function, a compiler
// may remove parameters and pass the others in other registers. GCC gives such a copy a name of its
// own (cloneChanged). LLVM keeps the name and states DW_CC_nocall (DWARF 5, section 3.3.1.1), or in
// older versions nothing: then the locations of the parameters show it. Callers in the same file
// may also leave the register of a parameter that is never read unset. LLVM states no location for
// such a parameter.

// noCall is DW_CC_nocall: the function does not follow the ABI.
const noCall = 3

// unlocated is the reason why a parameter without a location is not recorded.
const unlocated = "used nowhere in it, so that its callers need not pass it"

// changed reports whether a function's parameters are not passed as the ABI specifies. abi are the
// locations according to the ABI.
func (x *finder) changed(fn *Function, chain []*subprogram, ps []param, abi []location) bool {
	if fn.Inlined || x.clones[fn.Addr] == cloneChanged {
		return true
	}
	if e := x.debug.entry(chain[0].off); e != nil {
		if dw.Number(e, dwarf.AttrCalling) == noCall {
			return true
		}
	}
	for i, p := range ps {
		at, ok := x.debug.at(p.entry, chain[0].unit, fn.Addr)
		if ok && at.Kind == Reg && at.Disp == 0 && abi[i].why == "" && (abi[i].Kind != Reg || abi[i].Reg != at.Reg) {
			return true
		}
	}
	return false
}

// setDescribed sets the location of a parameter of a changed function to the one that the debug
// information states.
func (x *finder) setDescribed(o *location, p param, u *dw.CompileUnit, pc uint64) {
	width := o.Width
	at, ok := x.debug.at(p.entry, u, pc)
	if !ok {
		o.Operand, o.why = Operand{}, "not told by the debug information of this copy"
		return
	}
	o.Operand, o.Width = at, width
}

// hasLocation reports whether the debug information states any location, or a value, for a
// parameter.
func hasLocation(e *dwarf.Entry) bool {
	if e.Val(dwarf.AttrConstValue) != nil {
		return true
	}
	f := e.AttrField(dwarf.AttrLocation)
	if f == nil {
		return false
	}
	expr, whole := f.Val.([]byte)
	return !whole || len(expr) > 0
}
