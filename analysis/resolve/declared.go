package resolve

import (
	"github.com/tracepredict/tracepredict/loader"
	"github.com/tracepredict/tracepredict/observer"
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
