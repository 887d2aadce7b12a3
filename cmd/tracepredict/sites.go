package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/probes"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/function"
	"github.com/tracepredict/tracepredict/probes/synctab"
)

func (a *app) sitesCommand() *cobra.Command {
	var f planFlags
	var locks bool
	cmd := &cobra.Command{
		Use:   "sites [flags] BINARY",
		Short: "Show the plan: each site, its address, what it observes, its cost class",
		Long: `sites shows where probes would sit in one binary or library, without running it; no privileges are needed.

Columns: the address of the probe, its distance from the instruction that it observes, what it costs (emulated: one
exception; stepped: two, about 20 times as expensive), the kind of probe, what it observes, the function, and why it sits there.

A watchpoint (cost: trapped) is set in the processor: the address is the variable's, and each access costs two exceptions, some microseconds.

Kinds: call is a probe at a call, return one at a return; call+return observes both, and its return goes through the kernel once more.
outcome sits where the effect of a call is certain, and replaces both: each call passes exactly one of these probes, or one
of the others. one-shot records whether, and by which threads, an instruction is executed that synchronises in a way that is not
observed; it is soon removed.

After the table, each watched variable is listed with its instructions and their source lines, whether each touches the variable
always or only if a comparison says so when the probe is hit (elements of arrays), and where its address goes so that accesses may not be seen.

Functions that only have the names of the C library's calls are listed with the reason: they are not observed, unless --sync says what they do.

A program's lock calls are in its C library: see tracepredict sites /lib/x86_64-linux-gnu/libc.so.6.`,
		Example: `  tracepredict sites /lib/x86_64-linux-gnu/libc.so.6
  tracepredict sites --watch tickets ./shop
  tracepredict sites --locks ./shop`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.sites(&f, locks, args[0])
		},
	}
	f.register(cmd)
	cmd.Flags().BoolVar(&locks, "locks", false, "show the sites of locks alone: calls, and the instructions of locks that are inlined or written by hand")
	return cmd
}

func (a *app) sites(f *planFlags, locks bool, name string) error {
	opts, err := f.options()
	if err != nil {
		return err
	}
	bin, err := elf.Open(name)
	if err != nil {
		return err
	}
	defer bin.Close()
	planner := probes.NewPlanner(opts)
	plan, err := planner.Plan(bin)
	if err == nil {
		err = errors.Join(planner.Unresolved(), f.specification.accept(planner, a.stderr))
	}
	if err != nil {
		return f.specification.withLocations(usage("%w", err))
	}
	plan.Sites = slices.DeleteFunc(plan.Sites, func(s probes.Site) bool { return s.Moves == probes.MovesHere }) // they have no probes now
	if len(plan.Sites)+len(plan.Watchpoints)+len(plan.UnseenProbes) == 0 {
		fmt.Fprintf(a.stderr, "tracepredict: %s\n", report.Sanitize(nothingIn(bin)))
	}
	if locks {
		return writeLocks(a.stdout, plan)
	}
	return writeSites(a.stdout, plan)
}

// writeLocks writes the sites of locks.
func writeLocks(w io.Writer, plan *probes.Plan) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, siteHeader)
	for _, s := range plan.Sites {
		if ofLock(&s) {
			writeSite(t, &s)
		}
	}
	return t.Flush()
}

// ofLock reports whether a site is of a lock, as far as the code shows.
func ofLock(s *probes.Site) bool {
	switch s.Kind {
	case synctab.KindMutex, synctab.KindRWLock, synctab.KindSpin:
		return true
	}
	return s.Lock != bpf.LockNone || s.Repeats
}

const siteHeader = "ADDRESS\tMOVED\tCOST\tPROBE\tOBSERVES\tFUNCTION\tWHY"

func writeSite(w io.Writer, s *probes.Site) {
	fmt.Fprintf(w, "0x%x\t%+d\t%s\t%s\t%s\t%s\t%s\n", s.Addr, int64(s.Addr-s.At), s.Class, probeKind(*s), report.Sanitize(observes(*s)), report.Sanitize(s.Function), s.Why)
}

// nothingIn returns a note for a binary without a site, on where the sites of its library calls
// are.
func nothingIn(bin *elf.File) string {
	text := "nothing to observe in " + bin.Name() + " itself"
	if libraries := bin.Needed(); len(libraries) > 0 {
		return text + ": what it locks with is in its libraries (" + strings.Join(libraries, ", ") + "), whose sites are shown if you give their paths"
	}
	if bin.IsGo() {
		return text + ": it is a Go program, whose locks are not observed"
	}
	return text + ", and it loads no libraries"
}

func writeSites(w io.Writer, plan *probes.Plan) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, siteHeader)
	for _, s := range plan.Sites {
		writeSite(t, &s)
	}
	for _, w := range plan.Watchpoints {
		for _, part := range w.Parts {
			fmt.Fprintf(t, "0x%x\t\ttrapped\twatchpoint of %d\tevery access of %s\t\t%s\n", part.Addr, part.Size, report.Sanitize(w.Variable.Name), report.Sanitize(w.Site.Why))
		}
	}
	for _, p := range plan.UnseenProbes {
		fmt.Fprintf(t, "0x%x\t%+d\t%s\tone-shot\t%s\t\t%s\n", p.Addr, int64(p.Addr-p.At), p.Class, report.Sanitize(plan.Describe(p)), p.Why)
	}
	for _, n := range slices.Concat(plural.Texts(plan.Notes), namesakes(plan)) {
		fmt.Fprintf(t, "note: %s\n", report.Sanitize(n))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	return writeVariables(w, plan)
}

// maxNamesakes bounds the number of functions that one line lists.
const maxNamesakes = 12

// namesakes returns, for each reason, a line on the functions that have names of the C library's
// calls and are not observed.
func namesakes(plan *probes.Plan) []string {
	var reasons []string
	names, more := map[string][]string{}, map[string]int{}
	for _, n := range plan.Namesakes {
		switch list := names[n.Why]; {
		case slices.Contains(list, n.Name):
		case len(list) == maxNamesakes:
			more[n.Why]++
		default:
			if len(list) == 0 {
				reasons = append(reasons, n.Why)
			}
			names[n.Why] = append(list, n.Name)
		}
	}
	for i, why := range reasons {
		list := strings.Join(names[why], ", ")
		if n := more[why]; n > 0 {
			list += fmt.Sprintf(" and %d more", n)
		}
		reasons[i] = fmt.Sprintf("not observed, %s: %s; a file for --sync can say what they do", why, list)
	}
	return reasons
}

// probeKind returns the text of the column PROBE.
func probeKind(s probes.Site) string {
	switch {
	case s.Return:
		return "call+return"
	case bpf.Action(s.BPF.Action) == bpf.ActionReturn:
		return "return"
	case bpf.Action(s.BPF.Action) == bpf.ActionOutcome:
		return "outcome"
	case bpf.Action(s.BPF.Action) == bpf.ActionTail:
		return "jump"
	case bpf.Action(s.BPF.Action) >= bpf.ActionEnterLines:
		return "edge"
	case s.Program == probes.ProgramCall && s.Method == nil:
		return "return"
	case s.Variable != "" && !s.Allocates():
		return "access"
	}
	return "call"
}

// observes returns the text of the column OBSERVES.
func observes(s probes.Site) string {
	if bpf.Action(s.BPF.Action) == bpf.ActionReturn {
		return "its return"
	}
	if bpf.Action(s.BPF.Action) == bpf.ActionCaller {
		return "its caller, for the call that it wraps"
	}
	if bpf.Action(s.BPF.Action) == bpf.ActionTail {
		return "its last jump, to a function that returns for it"
	}
	switch bpf.Action(s.BPF.Action) {
	case bpf.ActionEnterLines:
		return "enter " + s.Method.Name
	case bpf.ActionLeaveLines:
		return "leave the lines of " + s.Function
	case bpf.ActionUnwind:
		return "frames that it removes"
	}
	text := bpf.Op(s.BPF.Op).String()
	if s.Method != nil {
		return signature(s.Method)
	}
	switch {
	case s.Allocates():
		text += " by " + s.Callee
	case s.Lock != bpf.LockNone:
		return s.Lock.String() + " " + s.LockType + ", " + s.Variable
	case s.Array != nil:
		text += " an element of " + s.Variable
	case s.Variable != "":
		text += " " + s.Variable
	case s.Kind != 0:
		text += " " + s.Kind.String()
	}
	if s.Try {
		text += " (try)"
	}
	if s.Timed {
		text += " (timed)"
	}
	if s.Repeats {
		text += ", repeated until it finds 0"
	}
	return text
}

// signature returns what is recorded of a function's calls, such as "call queue_put(q int*)".
func signature(fn *function.Function) string {
	text := "call " + fn.Name
	if fn.Inlined {
		text = "inlined " + text
	}
	var params []string
	for _, p := range fn.Params {
		name := p.Name
		switch {
		case p.Element > 0:
			name = fmt.Sprintf("%s[%d]", name, p.Element)
		case p.Stored != 0:
			name = "*" + name
		}
		params = append(params, strings.TrimSpace(name+" "+p.Type))
	}
	if len(params) > 0 {
		text += "(" + strings.Join(params, ", ") + ")"
	}
	return text
}
