package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/predict"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/report/format"
	"github.com/tracepredict/tracepredict/analysis/suppress"
	"github.com/tracepredict/tracepredict/internal/printable"
)

// failOnNever is the value of --fail-on with which no finding determines the exit status.
const failOnNever = "never"

// reportFlags are the flags of all commands that print reports.
type reportFlags struct {
	suppressFlags
	format   string
	output   string
	findings int
	history  int
	// reversals is the budget of the search for schedules, in steps; negative: no search.
	reversals int
	// analysisTime is how long the analysis may take after a run, as parseAnalysisTime reads it.
	analysisTime string
	memory       string // how much the tool may use, as parseMemory reads it
	memoryLimit  int64  // what parseMemory returned for it, once it was checked
	verbose      bool
	stats        bool
	// confidence is the weakest confidence of findings that are shown.
	confidence string
	// failOn is the weakest confidence of findings that determine the exit status, whether they
	// are shown or not; failOnNever: none does.
	failOn string
	// failOnMined: findings on protocols that were learned from runs do so too.
	failOnMined bool
}

func (f *reportFlags) register(cmd *cobra.Command, analysisTime string) {
	f.suppressFlags.register(cmd)
	fs := cmd.Flags()
	fs.StringVar(&f.format, "format", format.Default(), format.Help())
	fs.StringVar(&f.output, "output", "", "write the report to `FILE` instead of standard error, in place of an older one when it is complete; - is standard output")
	fs.IntVar(&f.findings, "findings-exit", exitFindings, "exit status `N` that says there are findings")
	fs.StringVar(&f.confidence, "confidence", string(finding.Likely), "show findings of this confidence or a stronger one, and count the others: `observed|predicted|likely|potential`")
	fs.StringVar(&f.failOn, "fail-on", string(finding.Likely), "end with the status of --findings-exit if there are findings of this confidence or a stronger one, shown or not: `observed|predicted|likely|potential|never`")
	fs.BoolVar(&f.failOnMined, "fail-on-mined", false, "let findings on typestates that are marked as mined determine the exit status as others do; without it, somebody must have read the typestate and removed the mark")
	fs.BoolVar(&f.verbose, "verbose", false, "list in a text report every variable that --watch-shared watched and what became of it, every suppression and what it left out, the details of all findings if they are more than ten, each note by itself, and long call stacks in full")
	fs.BoolVar(&f.stats, "stats", false, "report statistics too: events by kind, CPU time and memory of the tool, CPU time of the program, how full the ring buffer was and, with --spec, how much of the lattice was built and how long verdicts took")
	fs.IntVar(&f.history, "history", 0, fmt.Sprintf("critical sections `N` kept for each lock and thread, to predict from (%d if 0, at least 2), and events in proportion; what is discarded or evicted is counted and reported", predict.DefaultSections))
	fs.StringVar(&f.analysisTime, "analysis-time", analysisTime, "how long the analysis may take after the run has ended: what it has not searched then is counted, and potential at most; `D` is a time (30s), auto, which is 10s or a tenth of the run's time, whichever is more, or none")
	fs.StringVar(&f.memory, "memory", memoryAuto, "memory `SIZE` (512M, 4G) that the tool may use: when it is full, the oldest of what is kept of the run goes, and the report says so; auto is a quarter of the machine's, or of what its control group may use")
	fs.IntVar(&f.reversals, "reversals", 0, fmt.Sprintf("steps `N` that may be spent on schedules that reorder the critical sections of a lock; 0 is the default, %d; with -1 there is no such search", predict.DefaultReversals))
}

// files returns the files that the flags name.
func (f *reportFlags) files(spec string) []userFile {
	all := []userFile{{flag: "--output", name: f.output, written: true}, {flag: "--spec", name: spec}}
	for _, name := range f.suppressFlags.files {
		all = append(all, userFile{flag: "--suppressions", name: name})
	}
	return all
}

func (f *reportFlags) check() error {
	if err := cmp.Or(oneOf("format", f.format, format.Names()...),
		oneOf("confidence", f.confidence, finding.Confidences()...),
		oneOf("fail-on", f.failOn, append(finding.Confidences(), failOnNever)...)); err != nil {
		return err
	}
	if _, _, err := parseAnalysisTime(f.analysisTime); err != nil {
		return err
	}
	var err error
	if f.memoryLimit, err = parseMemory(f.memory); err != nil {
		return err
	}
	if f.findings < 0 || f.findings > 255 {
		return usage("--findings-exit %d: an exit status is 0 to 255", f.findings)
	}
	return notNegative("history", f.history)
}

// printer writes reports to the destination that the flags name.
type printer struct {
	flags *reportFlags
	std   io.Writer   // the destination without --output
	out   *outputFile // the destination of --output; nil without

	printed bool // a report was written to out
}

func newPrinter(f *reportFlags, std io.Writer) (*printer, error) {
	if err := f.suppressFlags.load(); err != nil {
		return nil, err
	}
	p := &printer{flags: f, std: std}
	var err error
	switch f.output {
	case "":
	case standard:
		p.out, err = standardOutput()
	default:
		p.out, err = openOutput("--output", f.output, partOfReport)
	}
	return p, err
}

// print writes the whole report at once, so that the program's output to the same terminal does
// not come between its lines. It reports whether there are findings that --fail-on names.
func (p *printer) print(rep report.Report) (fails bool, err error) {
	rep = p.flags.apply(rep)
	fails = p.flags.fails(rep)
	rep = rep.AtLeast(finding.Confidence(p.flags.confidence))
	if p.flags.generate {
		rep = suppress.Generate(rep)
	}
	err = p.write(rep)
	if ended := report.EndedBySignal(rep.Run); err == nil && ended != "" && p.out != nil && p.flags.output != standard {
		fmt.Fprintln(p.std, ended)
	}
	if err == nil && len(rep.Findings) > 0 && p.out != nil && p.flags.output != standard {
		// Without this line the log of a job that fails because of the findings would not show
		// why.
		fmt.Fprintf(p.std, "%s; the report is in %s\n", report.Headline(rep), report.Sanitize(p.flags.output))
	}
	return fails, err
}

// fails reports whether a report has findings that --fail-on names.
func (f *reportFlags) fails(rep report.Report) bool {
	counts := func(x report.Finding) bool { return f.failOnMined || !x.Mined }
	return f.failOn != failOnNever && slices.ContainsFunc(rep.AtLeast(finding.Confidence(f.failOn)).Findings, counts)
}

func (p *printer) write(rep report.Report) error {
	var text bytes.Buffer
	err := format.Write(&text, p.flags.format, rep, p.layout())
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	if p.out == nil {
		_, err = p.std.Write(text.Bytes())
	} else if _, err = printable.NewWriter(p.out).Write(text.Bytes()); err == nil {
		p.printed, p.out.keeps = true, true // where another report fails, this one stays
	}
	if err != nil && p.out != nil {
		// The run may not be repeatable, so the report is written to the other destination.
		if _, again := p.std.Write(text.Bytes()); again == nil {
			return fmt.Errorf("write the report: %w; it is here instead, above", err)
		}
	}
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// close ends the file of --output, which holds what it held if no report was written to it.
func (p *printer) close() error {
	if p.out == nil {
		return nil
	}
	if !p.printed {
		p.out.Close()
		return nil
	}
	if err := p.out.commit(); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// layout returns the layout for the terminal. A report that goes elsewhere is wide enough for
// two call stacks side by side. One in a file has the details of all findings.
func (p *printer) layout() report.Options {
	if p.out == nil {
		return p.layoutOf(p.std)
	}
	o := p.layoutOf(nil)
	o.Complete = p.flags.output != standard
	return o
}

// layoutOf returns the layout of what is written to w.
func (p *printer) layoutOf(w io.Writer) report.Options {
	f, ok := printable.File(w)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return report.Options{Width: 120, Verbose: p.flags.verbose}
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		width = 80
	}
	return report.Options{Width: width, Verbose: p.flags.verbose, Color: os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}
