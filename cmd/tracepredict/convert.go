package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/tracepredict/tracepredict/analysis/perfetto"
	"github.com/tracepredict/tracepredict/analysis/profile"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
	"github.com/tracepredict/tracepredict/observer/trace"
	"github.com/tracepredict/tracepredict/observer/trace/std"
)

type convertFlags struct {
	to      string
	dialect string
	strict  bool
}

func (a *app) convertCommand() *cobra.Command {
	var f convertFlags
	cmd := &cobra.Command{
		Use:   "convert --to std|trace|perfetto|pprof [flags] TRACE OUT",
		Short: "Write a trace in another format",
		Long: `convert reads a trace, in tracepredict's format or in STD text (the content decides which), and writes it as

  std       STD text, for the RAPID and related tools; what it cannot represent is counted and reported
  trace     tracepredict's own format
  perfetto  a timeline of threads, critical sections and waits, as a Perfetto trace for ui.perfetto.dev
  pprof     a profile of critical sections and waits by call stack, for go tool pprof and other readers of profile.proto

- is standard input, or output. Exit status: 0, 125 if the trace cannot be read to its end or OUT cannot be written, 2 for wrong usage.`,
		Example: `  tracepredict convert --to std shop.trace shop.std
  tracepredict convert --to std --dialect spd shop.trace - | less
  tracepredict convert --to trace avrora.std avrora.trace
  tracepredict convert --to perfetto shop.trace shop.pftrace
  tracepredict convert --to pprof shop.trace shop.pb.gz`,
		Args: cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.convert(&f, args[0], args[1])
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.to, "to", "", "format of OUT: `std|trace|perfetto|pprof`")
	fs.StringVar(&f.dialect, "dialect", string(std.Rapid), "dialect of --to std, `rapid|spd|sunhang`: pure; with requests; with requests and condition waits")
	fs.BoolVar(&f.strict, "strict", false, "accept only STD text that RAPID itself reads")
	return cmd
}

func (a *app) convert(f *convertFlags, from, to string) error {
	if !slices.Contains([]string{"std", "trace", "perfetto", "pprof"}, f.to) {
		return usage("--to %q: it is std, trace, perfetto or pprof", f.to)
	}
	if err := oneOf("dialect", f.dialect, std.Dialects()...); err != nil {
		return err
	}
	src, closeTrace, err := openTrace(from, f.strict, false)
	if err != nil {
		return err
	}
	defer closeTrace()
	if sameFile(from, to) {
		return usage("%s: a trace cannot be written over itself", to)
	}
	out, err := createOutput(to, f.to)
	if err != nil {
		return err
	}
	defer out.Close()
	return a.convertTo(f, src, out)
}

// createOutput opens the output for a trace.
func createOutput(name, form string) (*outputFile, error) {
	if name != standard {
		return openOutput("write the trace", name, partOfNothing)
	}
	if form != "std" && term.IsTerminal(int(os.Stdout.Fd())) {
		return nil, usage("standard output is a terminal; pipe it, or give a file")
	}
	return &outputFile{file: os.Stdout, begun: true}, nil
}

// convertTo converts a trace. The output holds what it held if nothing of the trace can be read.
func (a *app) convertTo(f *convertFlags, src trace.Source, out *outputFile) error {
	var e event.Event
	err := src.Next(&e) // the source knows the program from its first event on
	if err != nil && err != io.EOF {
		return err
	}
	w, failed := newEventWriter(f, src, out)
	if failed != nil {
		return failed
	}
	for ; err == nil; err = src.Next(&e) {
		w.Event(&e)
	}
	if err == io.EOF {
		err = nil
	}
	cut, _ := src.(interface{ Cut() *trace.Cut })
	whole := err == nil && (cut == nil || cut.Cut() == nil)
	omissions, closing := w.finish(whole)
	if closing == nil {
		closing = out.commit()
	}
	if err == nil && !whole {
		fmt.Fprintf(a.stderr, "tracepredict: %s\n", cut.Cut())
	}
	if omissions != "" {
		fmt.Fprintf(a.stderr, "tracepredict: %s\n", omissions)
	}
	return errors.Join(err, closing)
}

// eventWriter writes a trace in some format. finish ends it, also after a source that was cut
// short, and returns a sentence on what the format could not represent.
type eventWriter interface {
	Event(*event.Event)
	finish(whole bool) (omissions string, err error)
}

func newEventWriter(f *convertFlags, src trace.Source, out io.Writer) (eventWriter, error) {
	s, _ := src.Summary()
	switch f.to {
	case "std":
		return stdWriter{std.NewWriter(out, std.WriterOptions{Dialect: std.Dialect(f.dialect), Names: src.Names(), Location: location})}, nil
	case "perfetto":
		return timeline{perfetto.New(out, perfetto.Options{Names: src.Names(), Program: s.Program, PID: s.PID, Funcs: src.Names().Func})}, nil
	case "pprof":
		return profileWriter{profile.New(out, profile.Options{Names: src.Names(), Program: s.Program, Modules: modulesOf(src)})}, nil
	}
	start := run.Summary{Program: s.Program, PID: s.PID}
	w, err := trace.NewWriter(out, trace.WriterOptions{Names: src.Names(), Start: func() run.Summary { return start }, FlushEvery: -1})
	return nativeWriter{w, src}, err
}

// modulesOf returns a function that returns what code the run had mapped, which the source knows at its end.
func modulesOf(src trace.Source) func() []run.Module {
	return func() []run.Module {
		s, _ := src.Summary()
		return s.Modules
	}
}

type stdWriter struct{ *std.Writer }

func (w stdWriter) finish(bool) (string, error) { return w.Omissions(), w.Close() }

// location returns a text that distinguishes source locations as reports do: by the frame that a
// reader looks for.
func location(frames []event.Frame) string {
	f := run.OwnFrame(frames)
	if f.Line != 0 {
		return fmt.Sprint(f.File, ":", f.Line)
	}
	return fmt.Sprint(f.Module, "+", f.Function, "+", f.Offset)
}

type timeline struct{ *perfetto.Writer }

func (w timeline) finish(bool) (string, error) { return "", w.Close() }

type profileWriter struct{ *profile.Writer }

func (w profileWriter) finish(bool) (string, error) { return "", w.Close() }

type nativeWriter struct {
	*trace.Writer
	src trace.Source
}

func (w nativeWriter) finish(whole bool) (string, error) {
	if !whole {
		return "", w.CloseCut()
	}
	s, _ := w.src.Summary()
	return "", w.Close(s)
}
