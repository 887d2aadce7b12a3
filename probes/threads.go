package probes

import (
	"slices"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/libname"
	"github.com/tracepredict/tracepredict/probes/synctab"
)

// createsThreads reports whether the code of a file creates threads, as far as the functions tell that it imports.
// One that is statically linked may.
func createsThreads(f *elf.File, table synctab.Table) bool {
	return f.Static() || slices.ContainsFunc(f.Undefined(), func(name string) bool {
		e, known := table.Match(name, "")
		return known && e.Op == bpf.OpCreate || libname.BeginsAs(name, libname.CreatesThreads)
	})
}
