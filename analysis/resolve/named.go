package resolve

import (
	"fmt"
	"path"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/loader"
	"github.com/tracepredict/tracepredict/observer/run"
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

// named gives an object what names it has: of the variable that holds it, or of the
// type whose member it is; and its class, for one without a type by where it was made.
func (r *Resolver) named(o *run.Object) {
	v := r.variable(int(o.TGID), o.Addr)
	if o.Name, o.Class = v.Name, v.Class; o.Name != "" {
		return
	}
	m := r.member(o)
	o.Member, o.Class = m.Name, m.Class
	if o.Member == "" {
		o.Name = r.inModule(int(o.TGID), o.Addr)
	}
	if f := report.OwnFrame(r.Frames(o.Init)); o.Class == "" && f.Function != "" {
		o.Class = fmt.Sprintf("%s initialised in %s", o.Kind, f.Function)
		if f.File != "" && f.Line > 0 {
			o.Class += fmt.Sprintf(" at %s:%d", path.Base(f.File), f.Line)
		}
	}
}

// inModule says where in a module's own data an object lies, as module+0x…, for one that no symbol
// tells of; "" if it is elsewhere, on the heap or a stack.
func (r *Resolver) inModule(pid int, addr uint64) string {
	for _, seg := range slices.Backward(r.process.Segments(pid)) {
		if linked := addr - seg.Bias; seg.Module.Bin.IsData(linked) {
			return fmt.Sprintf("%s+%#x", path.Base(seg.Module.Path), linked)
		}
	}
	return ""
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
