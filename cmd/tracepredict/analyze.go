package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/spf13/cobra"

	"github.com/tracepredict/tracepredict/analysis/bind"
	"github.com/tracepredict/tracepredict/analysis/engine"
	"github.com/tracepredict/tracepredict/analysis/replay"
	"github.com/tracepredict/tracepredict/analysis/report/format"
	"github.com/tracepredict/tracepredict/analysis/spec/syntax"
	"github.com/tracepredict/tracepredict/internal/safely"
	"github.com/tracepredict/tracepredict/observer/run"
	"github.com/tracepredict/tracepredict/observer/trace"
	"github.com/tracepredict/tracepredict/observer/trace/std"
)

type analyzeFlags struct {
	reportFlags
	coneFlags
	lockFlags
	misuseFlags
	spec           specFlags
	specification  *specification // the content of spec; nil without --spec
	strict, repair bool
}

func (a *app) analyzeCommand() *cobra.Command {
	var f analyzeFlags
	cmd := &cobra.Command{
		Use: "analyze [flags] TRACE...",

		SuggestFor: []string{"replay", "report"},

		Short: "Analyse recorded traces",
		Long: `analyze prints for a recorded run the report that the live run printed. TRACE is a file that --record wrote, or one
in the STD text format of the RAPID tools (T1|acq(L2)|17); the content decides which. - is standard input. Each trace is analysed
separately and has its own report, in the order given: with --format json, one object after the other. Neither privileges nor
the program are needed.

A trace that is cut short, such as the TRACE.part that kill -9 leaves, is analysed up to that point, and the report says so.
Published STD text may have lines that no run can have: --repair reads it all the same, and notes in the report say what it mended.

Exit status: 0 without findings (of the confidence that --fail-on names), 66 if any trace has some, 125 if a trace cannot be read, 2 for wrong usage.`,
		Example: `  sudo tracepredict exec --record shop.trace --watch tickets -- ./shop
  tracepredict analyze shop.trace
  ssh server sudo tracepredict attach --record - --duration 30s -p 4711 | tracepredict analyze -`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("which trace?")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			return a.analyze(&f, args)
		},
	}
	f.reportFlags.register(cmd, analysisNone)
	f.spec.register(cmd)
	f.coneFlags.register(cmd)
	f.lockFlags.register(cmd)
	f.misuseFlags.register(cmd)
	cmd.Flags().BoolVar(&f.strict, "strict", false, "accept only STD text that RAPID itself reads")
	cmd.Flags().BoolVar(&f.repair, "repair", false, "mend STD text that no run can have, and say how")
	return cmd
}

// analyze reports on each trace, also on those after one that cannot be read.
func (a *app) analyze(f *analyzeFlags, names []string) error {
	if err := errors.Join(f.reportFlags.check(), f.coneFlags.check(), f.lockFlags.check(), f.misuseFlags.check()); err != nil {
		return err
	}
	if f.strict && f.repair {
		return usage("--strict and --repair: a text that is mended is not what RAPID reads")
	}
	var err error
	if f.specification, err = f.spec.load(); err != nil {
		return err
	}
	f.specification.warn(a.stderr)
	files := f.reportFlags.files(f.spec.file)
	for _, name := range names {
		files = append(files, userFile{flag: "the trace", name: name})
	}
	if err := refuseSame(files...); err != nil {
		return err
	}
	for _, d := range f.to.list() {
		if len(names) > 1 && format.IsSingle(d.format) {
			return usage("--format %s: a file in it has the report of one trace, and %d are given: analyze them one by one", d.format, len(names))
		}
	}
	p, err := newPrinter(&f.reportFlags, a.stderr)
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range names {
		fails, err := f.analyzeSafely(p, name)
		errs = append(errs, err)
		if fails {
			a.status = f.findings
		}
	}
	return errors.Join(append(errs, p.close())...)
}

// analyzeSafely is analyzeTrace, with a report even if that fails.
func (f *analyzeFlags) analyzeSafely(p *printer, name string) (fails bool, err error) {
	broken := safely.Call(func() { fails, err = f.analyzeTrace(p, name) })
	if broken == nil {
		return fails, err
	}
	fault := failure{stderr: p.std}
	fault.add(broken)
	_, err = p.print(failedReport(broken, name, 0))
	return false, errors.Join(fmt.Errorf("%s: %w", name, failed(broken)), err)
}

// analyzeTrace reports on one trace, and whether it has findings that --fail-on names.
func (f *analyzeFlags) analyzeTrace(p *printer, name string) (fails bool, err error) {
	limitMemory(p.flags.memoryLimit)
	src, closeTrace, err := openTrace(name, f.strict, f.repair)
	if err != nil {
		return false, err
	}
	defer closeTrace()
	own := startUsage()
	fault := failure{stderr: p.std}
	end := newEnding(f.analysisTime, p.std, fault.add)
	end.begin(0)
	end.watch(nil)
	defer end.unwatch()
	rep, err := replay.Report(src, replay.Options{
		Engine: engine.Options{
			History: p.flags.history, Reversals: p.flags.reversals, Locks: f.locks(), LockClasses: f.classes, Misuse: f.checked,
			Raced:   func(name string) bool { return f.specification.reportsRaces(name, nil) },
			Explain: f.explain, Done: end.over, Asked: end.progress, Full: end.memory.shrink, Room: memoryForFindings(),
		},
		Bind: func(names run.Namer) (*bind.Run, error) {
			return f.specification.bound(f.coneFlags, f.stats, names, nil, nil)
		},
		Stats: f.stats,
	})
	var unfit syntax.List
	var wrong *std.Error
	switch {
	case errors.As(err, &wrong) && wrong.Mendable && !f.strict:
		return false, fmt.Errorf("%w; --repair mends such lines, and says how", err)
	case errors.As(err, &unfit):
		return false, usage("%s: %w", name, err)
	case err != nil:
		return false, err
	}
	if rep.Stats != nil {
		rep.Stats.Tool = own.since()
	}
	end.unwatch()
	return p.print(rep)
}

// openTrace opens a trace in any format, which it recognises by the content. strict and repair
// concern STD text.
func openTrace(name string, strict, repair bool) (src trace.Source, closeTrace func(), err error) {
	var in io.Reader = os.Stdin
	closeTrace = func() {}
	if name != standard {
		file, err := openTraceFile(name)
		if err != nil {
			return nil, nil, err
		}
		in, closeTrace = file, func() { file.Close() }
	} else {
		name = "standard input"
	}
	buffered := bufio.NewReaderSize(in, 1<<16)
	start, err := buffered.Peek(64)
	switch {
	case trace.IsTrace(start):
		src, closeTrace, err = openSettled(in, buffered, name, closeTrace)
	case err == io.EOF && len(start) == 0:
		err = fmt.Errorf("%s: it is empty%s", name, hintAtPart(name))
	case err != nil && err != io.EOF:
		err = fmt.Errorf("%s: %w", name, err)
	case bytes.ContainsFunc(start, notInText):
		err = fmt.Errorf("%s: this is not a trace: neither tracepredict's format nor STD text", name)
	case repair:
		src, closeTrace, err = openRepaired(buffered, name, closeTrace)
	default:
		src, err = std.NewReader(buffered, name, std.ReaderOptions{Strict: strict}), nil
	}
	if err != nil {
		closeTrace()
		return nil, nil, err
	}
	return src, closeTrace, nil
}

// openTraceFile opens a file to be read as a trace. A FIFO is refused, since nobody may write to it, and a device, since
// it may never end; /dev/fd/N, which is open already, is not.
func openTraceFile(name string) (*os.File, error) {
	_, own := ownDescriptor(name)
	own = own || name == "/dev/stdin"
	info, err := os.Stat(name)
	switch {
	case os.IsNotExist(err):
		return nil, fmt.Errorf("%w%s", err, hintAtPart(name))
	case err != nil:
		return nil, err
	case own:
	case info.Mode()&os.ModeNamedPipe != 0:
		return nil, fmt.Errorf("%s is a pipe (FIFO): to read it, name the trace - and redirect standard input, - < %s", name, name)
	case info.Mode()&os.ModeDevice != 0:
		return nil, fmt.Errorf("%s is a device: name a file, or - for standard input", name)
	}
	return os.Open(name)
}

// hintAtPart returns where the trace of a run is that has not written it to its end.
func hintAtPart(name string) string {
	if left := partOf(name); left != "" {
		return fmt.Sprintf("; %s is there: the trace of a run that goes on, or was killed, which can be analysed up to there", left)
	}
	return ""
}

// openSettled opens a trace of our own format, with accesses that were recorded late where they were
// made. It reads the trace twice, and so copies one that is no regular file to a temporary file first.
// buffered has read the beginning of in.
func openSettled(in io.Reader, buffered *bufio.Reader, name string, closeIn func()) (src trace.Source, closeAll func(), err error) {
	if file, ok := in.(*os.File); ok {
		if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
			src, err := settled(file, name, nil)
			return src, closeIn, err
		}
	}
	kept, err := unnamedFile()
	if err != nil {
		return nil, closeIn, fmt.Errorf("%s: %w", name, err)
	}
	closeAll = func() {
		kept.Close()
		closeIn()
	}
	if _, err := io.Copy(kept, buffered); err != nil {
		return nil, closeAll, fmt.Errorf("%s: copy the trace: %w", name, err)
	}
	src, err = settled(kept, name, nil)
	return src, closeAll, err
}

// settled returns the events of a trace, with accesses that were recorded late where they were made.
// over is that of untilOver.
func settled(file *os.File, name string, over func() string) (*trace.Settled, error) {
	open := func() (*trace.Reader, error) {
		r, err := trace.NewReader(bufio.NewReaderSize(untilOver{io.NewSectionReader(file, 0, math.MaxInt64), over}, 1<<16), name)
		if err == nil {
			r.Reread(file)
			r.KeepNames(memoryForNames())
		}
		return r, err
	}
	first, err := open()
	if err != nil {
		return nil, err
	}
	again, err := open()
	if err != nil {
		return nil, err
	}
	return trace.Settle(first, again), nil
}

// unnamedFile creates a temporary file that ends when it is closed.
func unnamedFile() (*os.File, error) {
	file, err := os.CreateTemp("", "tracepredict-*.trace")
	if err != nil {
		return nil, fmt.Errorf("make a copy of the trace: %w", err)
	}
	if err := os.Remove(file.Name()); err != nil {
		file.Close()
		return nil, fmt.Errorf("make a copy of the trace: %w", err)
	}
	return file, nil
}

// openRepaired opens STD text that is mended. It reads the text twice, and so copies it to a
// temporary file first: it may come from a pipe. closeText closes in, and the function that is
// returned does so too.
func openRepaired(in io.Reader, name string, closeText func()) (src trace.Source, closeAll func(), err error) {
	text, err := os.CreateTemp("", "tracepredict-*.std")
	if err != nil {
		return nil, closeText, fmt.Errorf("%s: repair: %w", name, err)
	}
	closeAll = func() {
		text.Close()
		closeText()
	}
	if err := os.Remove(text.Name()); err != nil {
		return nil, closeAll, fmt.Errorf("%s: repair: %w", name, err)
	}
	repairs, err := std.Scan(io.TeeReader(in, text), name)
	if err != nil {
		return nil, closeAll, err
	}
	if _, err := text.Seek(0, io.SeekStart); err != nil {
		return nil, closeAll, fmt.Errorf("%s: repair: %w", name, err)
	}
	return std.NewReader(text, name, std.ReaderOptions{Repairs: repairs}), closeAll, nil
}

// notInText reports whether a character occurs in no text, and so not in STD text.
func notInText(c rune) bool { return c < ' ' && c != '\t' && c != '\n' && c != '\r' || c == 0x7f }
