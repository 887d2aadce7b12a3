package function

import (
	"debug/dwarf"
)

// Where the ABI says that a parameter is, it need not be: of a function that only
// its own file calls a compiler may leave parameters out, and pass the others in
// fewer registers. GCC gives such a copy a name of its own (cloneChanged). LLVM
// keeps the name and says DW_CC_nocall (DWARF 5, section 3.3.1.1), in older
// versions nothing: then the places of the parameters tell. Callers in the same
// file may not even fill the register of a parameter that nobody reads; LLVM gives
// it no place at all.

// noCall is DW_CC_nocall: the function does not keep to the ABI.
const noCall = 3

// unplaced says why a parameter is not had that has no place.
const unplaced = "used nowhere in it, so that its callers need not pass it"

// changed reports whether a function is not passed its parameters as the ABI says;
// abi are the places by it.
func (x *finder) changed(fn *Function, chain []*sub, ps []param, abi []place) bool {
	if fn.Inlined || x.clones[fn.Addr] == cloneChanged {
		return true
	}
	if e := x.debug.entry(chain[0].off); e != nil {
		if cc, _ := e.Val(dwarf.AttrCalling).(int64); cc == noCall {
			return true
		}
	}
	for i, p := range ps {
		at, ok := x.debug.at(p.entry, chain[0].in, fn.Addr)
		if ok && at.From == Reg && at.Disp == 0 && abi[i].why == "" && (abi[i].From != Reg || abi[i].Reg != at.Reg) {
			return true
		}
	}
	return false
}

// told returns the place of a parameter of a changed function, which the debug
// information alone states.
func (x *finder) told(o *place, p param, in *scope, pc uint64) {
	width := o.Width
	at, ok := x.debug.at(p.entry, in, pc)
	if !ok {
		o.Operand, o.why = Operand{}, "not told by the debug information of this copy"
		return
	}
	o.Operand, o.Width = at, width
}

// hasPlace reports whether the debug information gives a parameter any place, or a
// value.
func hasPlace(e *dwarf.Entry) bool {
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
