package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tracepredict/tracepredict/analysis/spec"
	"github.com/tracepredict/tracepredict/analysis/suggest"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
	"github.com/tracepredict/tracepredict/specs"
)

type suggestFlags struct {
	spec, scope, output string
	include             []string
	rank                int
}

func (a *app) suggestCommand() *cobra.Command {
	var f suggestFlags
	cmd := &cobra.Command{
		Use:   "suggest-scope --spec FILE [flags] TRACE",
		Short: "Find at which lock or call a scope can be cut",
		Long: `suggest-scope looks in a recorded run for synchronising actions of a scope (docs/scopes.md): operations of locks, conditions,
semaphores and barriers, forks and joins of declared types of threads, and the declared events. It lists those that are
totally ordered in the run and separate the events of the specification, the best one first: many regions, with equally
many events, few of which another run may have in another region.

The events are those of the scope in FILE; if there is none, those of its properties; if there are none, all that it declares.
TRACE must have them: exec --spec FILE --record TRACE records what scopes and properties use, --on PATTERN the rest.

With --output, a scope for the action of --rank is written, to be pasted behind what FILE declares. Its checks are those of the
scope in FILE, or else some that the run satisfies.

Exit status: 0; 125 if TRACE cannot be read, or if no action can be suggested that --output would write; 2 for wrong usage.`,
		Example: `  sudo tracepredict exec --on 'call board_read' --on 'call board_write' --record board.trace -- build/examples/board
  tracepredict suggest-scope --spec events.tps board.trace
  tracepredict suggest-scope --spec events.tps -o scope.tps board.trace`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("from which run? give one TRACE")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.suggest(&f, args[0]) },
	}
	fs := cmd.Flags()
	fs.StringVar(&f.spec, "spec", "", "specification `FILE`.tps with the events that regions are to separate")
	fs.StringArrayVar(&f.include, "include", nil, "folder `DIR` in which includes of the specification are looked for; may be given several times")
	fs.StringVar(&f.scope, "scope", "", "the scope `NAME` of the specification whose events count, if it has several")
	fs.IntVar(&f.rank, "rank", 1, "write a scope for the action of this `RANK`")
	fs.StringVarP(&f.output, "output", "o", "", "write a scope block to `FILE`; - is standard output, and the table then goes to standard error")
	return cmd
}

func (f *suggestFlags) options() spec.Options {
	return spec.Options{Path: f.include, Installed: specs.Files(), AllEvents: true}
}

// check returns a usage error if the flags have no meaning together.
func (f *suggestFlags) check(trace string) error {
	switch {
	case f.spec == "":
		return usage("which events are to be separated? give --spec FILE")
	case trace == standard:
		return usage("the trace is read twice: name a file")
	case f.rank < 1:
		return usage("--rank %d: it is 1 or more", f.rank)
	}
	return nil
}

// scopeOf returns the scope whose events count; nil if the specification has none.
func (f *suggestFlags) scopeOf(s *spec.Spec) (*spec.Scope, error) {
	var names []string
	for _, sc := range s.Scopes {
		names = append(names, sc.Name)
	}
	switch i := slices.Index(names, f.scope); {
	case i >= 0:
		return s.Scopes[i], nil
	case f.scope != "" && len(names) == 0:
		return nil, usage("--scope %s: %s has no scope", f.scope, f.spec)
	case f.scope != "":
		return nil, usage("--scope %s: the scopes of %s are %s", f.scope, f.spec, strings.Join(names, ", "))
	case len(names) > 1:
		return nil, usage("%s has several scopes: choose one with --scope: %s", f.spec, strings.Join(names, ", "))
	case len(names) == 1:
		return s.Scopes[0], nil
	}
	return nil, nil
}

// suggest prints at which actions of a run a scope can be cut.
func (a *app) suggest(f *suggestFlags, trace string) error {
	if err := f.check(trace); err != nil {
		return err
	}
	if err := refuseSame(userFile{flag: "--spec", name: f.spec}, userFile{flag: "the trace", name: trace}, userFile{flag: "--output", name: f.output}); err != nil {
		return err
	}
	s, list := spec.Load(f.spec, f.options())
	if list.HasErrors() {
		return usage("%w", list)
	}
	of, err := f.scopeOf(s)
	if err != nil {
		return err
	}
	var search *suggest.Run
	if err := eachEvent(trace, func(names run.Namer) (func(*event.Event), error) {
		var err error
		if search, err = suggest.New(s, of, names); err != nil {
			return nil, usage("%w", err)
		}
		return search.Event, nil
	}); err != nil {
		return err
	}
	result := search.Finish()
	table := a.stdout
	if f.output == standard {
		table = a.stderr
	}
	if err := result.WriteTable(table); err != nil {
		return err
	}
	if f.output == "" {
		return nil
	}
	if f.rank > len(result.Suggestions) {
		return fmt.Errorf("write a scope: there is no action of rank %d", f.rank)
	}
	return a.writeScope(f, result, trace)
}

// writeScope writes the scope of a suggestion, once the run has shown which of its checks it satisfies.
func (a *app) writeScope(f *suggestFlags, result *suggest.Result, trace string) error {
	block, err := result.Block(f.rank - 1)
	if err != nil {
		return err
	}
	o := f.options()
	o.More, o.MoreName = block.Text(), "the suggested scope"
	s, list := spec.Load(f.spec, o)
	if list.HasErrors() {
		return fmt.Errorf("write a scope: %w", list)
	}
	var trial *suggest.Trial
	if err := eachEvent(trace, func(names run.Namer) (func(*event.Event), error) {
		var err error
		if trial, err = block.Try(s, names); err != nil {
			return nil, err
		}
		return trial.Event, nil
	}); err != nil {
		return err
	}
	if err := trial.Finish(); err != nil {
		return fmt.Errorf("write a scope: %w", err)
	}
	if f.output == standard {
		_, err := fmt.Fprint(a.stdout, block.Text())
		return err
	}
	out, err := openOutput("--output", f.output, partOfNothing)
	if err != nil {
		return err
	}
	defer out.Close()
	if _, err := io.WriteString(out, block.Text()); err != nil {
		return fmt.Errorf("write %s: %w", f.output, err)
	}
	return out.commit()
}

// eachEvent passes the events of a trace to what begin returns for the names of the run.
func eachEvent(trace string, begin func(run.Namer) (func(*event.Event), error)) error {
	src, closeTrace, err := openTrace(trace, false, false)
	if err != nil {
		return err
	}
	defer closeTrace()
	do, err := begin(src.Names())
	if err != nil {
		return err
	}
	var e event.Event
	for err = src.Next(&e); err == nil; err = src.Next(&e) {
		do(&e)
	}
	if err != io.EOF {
		return err
	}
	return nil
}
