package resolve

import (
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/probes/variable"
)

// classes translates how the values of a variable are read.
var classes = map[variable.Class]event.FormClass{
	variable.Int: event.FormSigned, variable.Uint: event.FormUnsigned, variable.Bool: event.FormBool, variable.Enum: event.FormUnsigned,
	variable.Pointer: event.FormPointer, variable.Float: event.FormFloat,
}

// formOf says how the values of a variable are written. It has no more bits than
// what is watched.
func formOf(v *variable.Variable) *event.Form {
	bits := 8 * min(max(v.Size, 1), 8)
	if v.Bits.Size > 0 {
		bits = min(v.Bits.Size, 64)
	}
	f := &event.Form{Class: classes[v.Class], Bits: uint8(bits)}
	switch {
	case v.Char && v.Class == variable.Int:
		f.Class = event.FormChar
	case v.Char:
		f.Class = event.FormUChar
	case v.Class == variable.Enum && v.Signed:
		f.Class = event.FormSigned
	}
	mask := ^uint64(0) >> (64 - bits)
	var names []event.Name
	for _, c := range v.Constants {
		names = append(names, event.Name{Value: uint64(c.Value) & mask, Text: c.Name})
	}
	f.Names = event.SortNames(names)
	return f
}
