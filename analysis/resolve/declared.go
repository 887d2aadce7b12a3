package resolve

import (
	"maps"
	"slices"

	"github.com/tracepredict/tracepredict/loader"
	"github.com/tracepredict/tracepredict/observer"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/probes/variable"
)

// Declared are the watched variables with their values, as the observer has them.
func Declared(values []loader.Initial) []observer.Declared {
	var out []observer.Declared
	for _, v := range values {
		form := formOf(&v.Variable)
		value := v.Value >> v.Variable.Bits.Offset & (^uint64(0) >> (64 - form.Bits))
		out = append(out, observer.Declared{Addr: v.Addr, Variable: v.Variable.Name, Form: form, Value: value})
	}
	return out
}

// Written is how the program names and writes a variable.
type Written struct {
	Path string // that asked for it
	Name string
	Form *event.Form
}

// Writing tells of variables, by the names that asked for them, how they are written;
// sorted by these.
func Writing(found map[string]variable.Variable) []Written {
	var out []Written
	for _, path := range slices.Sorted(maps.Keys(found)) {
		v := found[path]
		out = append(out, Written{path, v.Name, formOf(&v)})
	}
	return out
}
