package resolve

import (
	"slices"

	"github.com/tracepredict/tracepredict/loader"
	"github.com/tracepredict/tracepredict/probes/variable"
)

func (r *Resolver) namesOf(m *loader.Module) *variable.Names {
	n := r.names[m]
	if n == nil {
		n = variable.NewNames(m.Bin)
		r.names[m] = n
	}
	return n
}

// variable names what lies at an address of the process in a variable of static
// storage: as a specification declares it, or with the member or element that it is.
func (r *Resolver) variable(pid int, addr uint64) variable.Named {
	for _, seg := range slices.Backward(r.process.Segments(pid)) { // the latest program's, after an execve
		linked := addr - seg.Bias
		t := r.table(seg.Module)
		base, off, ok := t.Data(linked)
		var named variable.Named
		if ok {
			named = r.namesOf(seg.Module).Static(base, linked-off, off, t.SharesName(linked))
		}
		if plan := seg.Module.Plan; plan != nil {
			if name, ok := plan.Object(linked); ok {
				named.Name = name
			}
		}
		if named.Name != "" {
			return named
		}
	}
	return variable.Named{}
}
