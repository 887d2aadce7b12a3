package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/probes"
	"github.com/tracepredict/tracepredict/probes/cheapsite"
	"github.com/tracepredict/tracepredict/probes/variable"
)

// writeVariables prints the instructions that access each variable that the user named, and the
// accesses that are not seen.
func writeVariables(w io.Writer, plan *probes.Plan) error {
	for _, c := range plan.Coverage {
		if !watchedIn(plan, c.Variable) {
			continue
		}
		var sites []probes.Site
		for _, s := range plan.Sites {
			if s.Variable == c.Variable.Name && isAccess(s) {
				sites = append(sites, s)
			}
		}
		if err := writeVariable(w, plan, c, sites); err != nil {
			return err
		}
	}
	return nil
}

// watchedIn reports whether a variable is watched because the user named it, and not only as an
// atomic variable.
func watchedIn(plan *probes.Plan, v variable.Variable) bool {
	for _, known := range plan.Atomics {
		if known.Name == v.Name && known.Addr == v.Addr && known.File == v.File {
			return false
		}
	}
	return true
}

// isAccess reports whether a site is that of an instruction that accesses a variable.
func isAccess(s probes.Site) bool {
	op := bpf.Op(s.BPF.Op)
	return op >= bpf.OpRead && op <= bpf.OpUpdate && s.Program != probes.ProgramWatch
}

func writeVariable(w io.Writer, plan *probes.Plan, c probes.Coverage, sites []probes.Site) error {
	v := c.Variable
	fmt.Fprintf(w, "\n%s at 0x%x, %s, %s\n", report.Sanitize(v.Name), v.Addr, report.Sanitize(v.Type), plural.Sprintf("%d {byte|bytes}", v.Size))
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	if len(sites) > 0 {
		fmt.Fprintln(t, "  INSTRUCTION\tACCESS\tPROBE\tCOST\tTOUCHES IT\tSOURCE")
	}
	for _, s := range sites {
		touches := "always"
		if s.Conditional || bpf.Reach(s.BPF.Access.Reach) != bpf.ReachVariable {
			touches = "if compared equal"
		}
		fmt.Fprintf(t, "  0x%x\t%s\t0x%x\t%s\t%s\t%s\n", s.At, bpf.Op(s.BPF.Op), s.Addr, s.Class, touches, report.Sanitize(source(plan, s.At)))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, e := range c.Escapes {
		fmt.Fprintf(w, "  unseen: %s\n", report.Sanitize(e.String()))
	}
	_, err := fmt.Fprintf(w, "  %s\n", summary(c, sites))
	return err
}

// source returns the source location of an instruction, such as "bump at shop.c:12".
func source(plan *probes.Plan, addr uint64) string {
	f := plan.Source(addr)
	if f.File == "" {
		return f.Function
	}
	return fmt.Sprintf("%s at %s:%d", f.Function, filepath.Base(f.File), f.Line)
}

// summary returns the numbers of sites of each operation and cost class, and whether all
// accesses are seen.
func summary(c probes.Coverage, sites []probes.Site) string {
	ops, costs := map[bpf.Op]int{}, map[cheapsite.Class]int{}
	for _, s := range sites {
		ops[bpf.Op(s.BPF.Op)]++
		costs[s.Class]++
	}
	var parts []string
	for _, op := range []bpf.Op{bpf.OpRead, bpf.OpWrite, bpf.OpUpdate} {
		parts = append(parts, fmt.Sprintf("%d %s", ops[op], op))
	}
	for _, class := range []cheapsite.Class{cheapsite.Emulated, cheapsite.Stepped} {
		parts = append(parts, fmt.Sprintf("%d %s", costs[class], class))
	}
	if c.Complete() {
		return strings.Join(parts, ", ") + ": every access by this file is seen"
	}
	return strings.Join(parts, ", ") + plural.Sprintf("; %d {place|places} from which on accesses may go unseen", len(c.Escapes))
}
