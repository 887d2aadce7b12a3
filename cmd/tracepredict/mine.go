package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tracepredict/tracepredict/analysis/learn"
	"github.com/tracepredict/tracepredict/analysis/mine"
	"github.com/tracepredict/tracepredict/analysis/spec"
	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/loader/target"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/function"
	"github.com/tracepredict/tracepredict/specs"
)

type mineFlags struct {
	spec, typ, output string
	user              string
	include           []string
	k, s, tails       int
	rule              string
	dot, racingTypes  bool
}

func (a *app) mineCommand() *cobra.Command {
	var f mineFlags
	var program bool
	cmd := &cobra.Command{
		Use:   "mine {--spec FILE | --type TYPE} [flags] {-- PROGRAM [ARG...] | TRACE...}",
		Short: "Learn in which order objects are used",
		Long: `mine learns protocols of the use of objects from successful runs, and writes them as typestate blocks of a specification
(docs/typestates.md), for people to read, correct and check with exec --spec.

Which calls matter, the typestates of --spec say: their lines NAME = PATTERN; states that they have do not matter. With --type,
these are all functions of PROGRAM that get the address of an object of the type, or return one, as its debug information says.

PROGRAM is run and observed, as by exec. TRACEs are runs that --record wrote, which observed these calls (--on). The calls of each
object are a sequence; states are merged that are followed by the same strings of K calls, as far as the most probable S percent
of them tell (sk-strings), or by the same K calls at most (--tails).

Exit status: 0; 125 if nothing could be learned or PROGRAM could not be observed; 2 for wrong usage.`,
		Example: `  sudo tracepredict mine --type 'struct conn' -o conn.tps -- ./client
  sudo tracepredict exec --record client.trace --on 'return conn_new -> c' --on 'call conn_close(c)' -- ./client
  tracepredict mine --spec calls.tps --dot client.trace | dot -Tsvg > conn.svg`,
		Args: func(cmd *cobra.Command, args []string) error {
			if program = cmd.ArgsLenAtDash() == 0; len(args) == 0 || !program && cmd.ArgsLenAtDash() > 0 {
				return errors.New("from which runs? give TRACEs, or -- and a PROGRAM")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.mine(&f, program, args) },
	}
	fs := cmd.Flags()
	fs.StringVar(&f.spec, "spec", "", "specification `FILE`.tps, whose typestates say which calls matter")
	fs.StringArrayVar(&f.include, "include", nil, "folder `DIR` in which includes of the specification are looked for; may be given several times")
	fs.StringVar(&f.typ, "type", "", "`TYPE` of the objects, as the source names it: 'struct conn', shop::Till")
	fs.StringVarP(&f.output, "output", "o", standard, "write the specification to `FILE`; - is standard output")
	fs.IntVar(&f.k, "k", 1, "length `K` of the strings of calls by which states are told apart")
	fs.IntVar(&f.s, "s", 100, "states are told apart by the most probable strings that reach `S` percent together")
	fs.StringVar(&f.rule, "rule", mine.Equal.String(), "which states are merged: those whose top strings are `strict|equal|and|or` (docs/typestates.md)")
	fs.IntVar(&f.tails, "tails", 0, "merge states by k-tails instead: those that are followed by the same `K` calls at most")
	fs.StringVar(&f.user, "user", "", "run PROGRAM as user `NAME`; under sudo, as the user who called it by default")
	fs.BoolVar(&f.racingTypes, "racing-types", false, "learn only typestates of types with an object whose calls race in a run: by different threads, under no common lock, and ordered by no message")
	fs.BoolVar(&f.dot, "dot", false, "write the automata for Graphviz instead")
	return cmd
}

func (f *mineFlags) check(program bool) error {
	switch {
	case (f.spec == "") == (f.typ == ""):
		return usage("which calls? give --spec or --type, one of the two")
	case f.typ != "" && !program:
		return usage("--type: the debug information of a PROGRAM says which functions get an object; for a TRACE, give --spec")
	case f.user != "" && !program:
		return usage("--user: who runs a PROGRAM; there is only a TRACE")
	case f.tails < 0:
		return notNegative("tails", f.tails)
	}
	return nil
}

// mine learns typestates from traces, or from a run of a program.
func (a *app) mine(f *mineFlags, program bool, args []string) error {
	if err := f.check(program); err != nil {
		return err
	}
	rule, err := mine.ParseRule(f.rule)
	if err != nil {
		return usage("--rule: %w", err)
	}
	how := learn.Options{Options: mine.Options{K: f.k, S: f.s, Rule: rule}, Tails: f.tails, RacingTypes: f.racingTypes}
	if err := how.Check(); err != nil {
		return usage("%w", err)
	}
	s, err := f.alphabet(args[0])
	if err != nil {
		return err
	}
	if program {
		folder, err := folderFor(f.user)
		if err != nil {
			return fmt.Errorf("record a run to learn from: %w", err)
		}
		defer os.RemoveAll(folder)
		file := filepath.Join(folder, "trace")
		if err := a.recordFor(s, file, f.user, args); err != nil {
			return err
		}
		args = []string{file}
	}
	l := learn.New(s)
	for _, name := range args {
		if err := learnFrom(l, name); err != nil {
			return err
		}
	}
	learned, err := l.Learn(how)
	if err != nil {
		return err
	}
	if left := l.WithoutRace(); f.racingTypes && len(left) > 0 {
		fmt.Fprintf(a.stderr, "tracepredict: left out by --racing-types, since no two calls of an object by different threads race: %s\n", strings.Join(left, ", "))
	}
	return a.writeMined(f, learned)
}

// alphabet returns a specification whose typestates have the calls that matter.
func (f *mineFlags) alphabet(program string) (*spec.Spec, error) {
	var s *spec.Spec
	if f.typ != "" {
		text, err := callsOf(program, f.typ)
		if err != nil {
			return nil, err
		}
		parsed, list := spec.Parse(fmt.Sprintf("--type %s", f.typ), text)
		if s = parsed; list.HasErrors() {
			return nil, usage("--type %s: %w", f.typ, list)
		}
	} else {
		loaded, list := spec.Load(f.spec, spec.Options{Path: f.include, Installed: specs.Files()})
		if s = loaded; s == nil || list.HasErrors() {
			return nil, usage("%w", list)
		}
	}
	if len(s.Typestates) == 0 {
		return nil, usage("%s has no typestate, whose calls would be learned from", cmp.Or(f.spec, f.typ))
	}
	return s, nil
}

// callsOf returns a typestate without states, with the functions of a program that handle objects of a type.
func callsOf(program, typ string) (string, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return "", fmt.Errorf("find the functions of %s: %w", program, err)
	}
	file, err := elf.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	all, err := function.Handling(file, typ)
	if err != nil {
		return "", err
	}
	if len(all) == 0 {
		return "", usage("no function of %s gets or returns the address of a %s", path, typ)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "typestate %s (o : %s) {\n", identifier(typ, nil), typ)
	var names []string
	for _, h := range all {
		name := identifier(h.Name, names)
		names = append(names, name)
		if h.Object < 0 {
			fmt.Fprintf(&b, "  %s = return %s -> o\n", name, spec.Quoted(h.Name))
			continue
		}
		params := slices.Repeat([]string{"_"}, h.Object+1)
		if params[h.Object] = "o"; h.Params[0] == "this" && h.Object == 0 {
			params[0] = "this"
		}
		fmt.Fprintf(&b, "  %s = call %s(%s)\n", name, spec.Quoted(h.Name), strings.Join(params, ", "))
	}
	b.WriteString("}\n")
	text := b.String()
	if slices.ContainsFunc(all, func(h function.Handled) bool { return h.Object == 0 && h.Params[0] == "this" }) {
		text = strings.Replace(text, "(o : ", "(this : ", 1)
	}
	return text, nil
}

// identifier returns a name for what has a name in the program, other than the names that are taken.
func identifier(name string, taken []string) string {
	if i := strings.LastIndex(name, "::"); i >= 0 {
		name = name[i+2:]
	}
	name = strings.TrimPrefix(name, "struct ")
	clean := strings.Map(func(c rune) rune {
		if c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			return c
		}
		return '_'
	}, name)
	if clean == "" || clean[0] >= '0' && clean[0] <= '9' {
		clean = "_" + clean
	}
	out := clean
	for n := 2; slices.Contains(taken, out); n++ {
		out = fmt.Sprintf("%s_%d", clean, n)
	}
	return out
}

// folderFor returns a new folder for the recorded run of a program. It belongs to the user that the program runs as, whose
// rights exec has by the time that it writes.
func folderFor(name string) (string, error) {
	user, err := target.LookupUser(name)
	if err != nil {
		return "", err
	}
	folder, err := os.MkdirTemp("", "tracepredict-mine-")
	if err != nil || user == nil {
		return folder, err
	}
	if err := os.Chown(folder, user.UID, user.GID); err != nil {
		return "", errors.Join(err, os.Remove(folder))
	}
	return folder, nil
}

// recordFor runs a program under exec, as a user unless that is "", which records the calls of typestates.
func (a *app) recordFor(s *spec.Spec, file, user string, args []string) error {
	own, err := os.Executable()
	if err != nil {
		return fmt.Errorf("run a program to learn from: %w", err)
	}
	flags := []string{"exec", "--watch-shared=off", "--fail-on", failOnNever, "--output", file + ".report", "--record", file}
	if user != "" {
		flags = append(flags, "--user", user)
	}
	for _, on := range s.Plan().On {
		flags = append(flags, "--on", on)
	}
	run := exec.Command(own, append(append(flags, "--"), args...)...)
	run.Stdin, run.Stdout, run.Stderr = os.Stdin, os.Stdout, a.stderr
	if err := run.Run(); err != nil {
		if _, missing := os.Stat(file); missing != nil {
			return fmt.Errorf("run %s to learn from: %w", args[0], err)
		}
		fmt.Fprintf(a.stderr, "tracepredict: %s did not succeed (%v): what is learned from its run may be wrong\n", args[0], err)
	}
	return nil
}

// learnFrom passes the events of a trace to a learner.
func learnFrom(l *learn.Learner, name string) error {
	var r *learn.Run
	if err := eachEvent(name, func(names run.Namer) (func(*event.Event), error) {
		r = l.Run(names)
		return r.Event, nil
	}); err != nil {
		return err
	}
	r.Finish()
	return nil
}

// writeMined writes what was learned, and says how much of it there is.
func (a *app) writeMined(f *mineFlags, learned []learn.Typestate) error {
	var text bytes.Buffer
	for i := range learned {
		t := &learned[i]
		write := t.WriteSpec
		if f.dot {
			write = t.WriteDOT
		}
		if i > 0 {
			text.WriteByte('\n')
		}
		if err := write(&text); err != nil {
			return err
		}
		states := plural.Sprintf("tracepredict: typestate %[2]s: %[1]d {state|states}", len(t.Automaton.States), t.Name)
		fmt.Fprintf(a.stderr, "%s, learned from %s\n", states, plural.Counted(uint64(t.Objects), "object", "objects"))
		if t.Partial > 0 {
			fmt.Fprintf(a.stderr, "tracepredict: %s not seen to be created: what was done with them before is not known, and nothing was learned from them\n",
				plural.Sprintf("%d {object was|objects were}", t.Partial))
		}
	}
	if f.output == standard {
		_, err := os.Stdout.Write(text.Bytes())
		return err
	}
	out, err := openOutput("--output", f.output, partOfNothing)
	if err != nil {
		return err
	}
	defer out.Close()
	if _, err := out.Write(text.Bytes()); err != nil {
		return fmt.Errorf("write %s: %w", f.output, err)
	}
	return out.commit()
}
