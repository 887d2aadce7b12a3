package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/tracepredict/tracepredict/analysis/baseline"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/predict"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/report/format"
	"github.com/tracepredict/tracepredict/internal/printable"
)

// failOnNever is the value of --fail-on with which no finding determines the exit status.
const failOnNever = "never"

// reportFlags are the flags of all commands that print reports.
type reportFlags struct {
	suppressFlags
	to       destinations
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
	// baseline is a file with an earlier report, "" for none; its findings do not fail a run.
	baseline string
	earlier  *baseline.Set // what it holds
	// failOnMined: findings on protocols that were learned from runs do so too.
	failOnMined bool
}

func (f *reportFlags) register(cmd *cobra.Command, analysisTime string) {
	f.registerShown(cmd)
	fs := cmd.Flags()
	fs.BoolVar(&f.stats, "stats", false, "report statistics too: events by kind, CPU time and memory of the tool, CPU time of the program, how full the ring buffer was and, with --spec, how much of the lattice was built and how long verdicts took")
	fs.IntVar(&f.history, "history", 0, fmt.Sprintf("critical sections `N` kept for each lock and thread, to predict from (%d if 0, at least 2), and events in proportion; what is discarded or evicted is counted and reported", predict.DefaultSections))
	fs.StringVar(&f.analysisTime, "analysis-time", analysisTime, "how long the analysis may take after the run has ended: what it has not searched then is counted, and potential at most; `D` is a time (30s), auto, which is 10s or a tenth of the run's time, whichever is more, or none")
	fs.StringVar(&f.memory, "memory", memoryAuto, "memory `SIZE` (512M, 4G) that the tool may use: when it is full, the oldest of what is kept of the run goes, and the report says so; auto is a quarter of the machine's, or of what its control group may use")
	fs.IntVar(&f.reversals, "reversals", 0, fmt.Sprintf("steps `N` that may be spent on schedules that reorder the critical sections of a lock; 0 is the default, %d; with -1 there is no such search", predict.DefaultReversals))
}

// registerShown registers the flags that say what of a report is shown, and where.
func (f *reportFlags) registerShown(cmd *cobra.Command) {
	f.suppressFlags.register(cmd)
	fs := cmd.Flags()
	f.to.register(fs)
	fs.IntVar(&f.findings, "findings-exit", exitFindings, "exit status `N` that says there are findings")
	fs.StringVar(&f.confidence, "confidence", string(finding.Likely), "show findings of this confidence or a stronger one, and count the others: `observed|confirmed|predicted|likely|potential`")
	fs.StringVar(&f.failOn, "fail-on", string(finding.Likely), "end with the status of --findings-exit if there are findings of this confidence or a stronger one, shown or not: `observed|confirmed|predicted|likely|potential|never`")
	fs.StringVar(&f.baseline, "baseline", "", "compare with the report in `FILE`, which --format json or sarif wrote: only findings that it does not have are shown, and determine the exit status; the others are named in one line")
	fs.BoolVar(&f.failOnMined, "fail-on-mined", false, "let findings on typestates that are marked as mined determine the exit status as others do; without it, somebody must have read the typestate and removed the mark")
	fs.BoolVar(&f.verbose, "verbose", false, "list in a text report every variable that --watch-shared watched and what became of it, every suppression and what it left out, the details of all findings if they are more than ten, each note by itself, and long call stacks in full")
}

// files returns the files that the flags name.
func (f *reportFlags) files(spec string) []userFile {
	all := []userFile{{flag: "--spec", name: spec}, {flag: "--baseline", name: f.baseline}}
	for _, d := range f.to.list() {
		all = append(all, userFile{flag: "--output", name: d.output, written: true})
	}
	for _, name := range f.suppressFlags.files {
		all = append(all, userFile{flag: "--suppressions", name: name})
	}
	return all
}

func (f *reportFlags) check() error {
	if err := cmp.Or(f.to.check(), oneOf("confidence", f.confidence, finding.Confidences()...),
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

// printer writes reports to the destinations that the flags name.
type printer struct {
	flags   *reportFlags
	std     io.Writer // the destination without --output
	outs    []*output
	sources *sources
	hub     *actions // nil: this is no step of GitHub Actions, or it has annotations already
}

// output is a destination of reports.
type output struct {
	destination
	file    *outputFile // nil: standard error
	printed bool        // a report was written to file
}

func newPrinter(f *reportFlags, std io.Writer) (*printer, error) {
	if err := f.suppressFlags.load(); err != nil {
		return nil, err
	}
	if f.baseline != "" {
		var err error
		if f.earlier, err = baseline.Open(f.baseline); err != nil {
			return nil, fmt.Errorf("--baseline: %w", err)
		}
	}
	p := &printer{flags: f, std: std, sources: newSources(f.to.root)}
	for _, d := range f.to.list() {
		o := &output{destination: d}
		var err error
		switch d.output {
		case "":
		case standard:
			o.file, err = standardOutput()
		default:
			o.file, err = openOutput("--output", d.output, partOfReport)
		}
		if err != nil {
			p.discard()
			return p, err
		}
		p.outs = append(p.outs, o)
	}
	if !f.to.has("github") {
		p.hub = newActions(os.Getenv)
	}
	return p, nil
}

// named returns the names of the files of --output.
func (p *printer) named() []string {
	var names []string
	for _, o := range p.outs {
		if o.output != "" && o.output != standard {
			names = append(names, o.output)
		}
	}
	return names
}

// shown reports whether some report is where a person reads it: on standard error or standard output.
func (p *printer) shown() bool {
	return len(p.named()) < len(p.outs)
}

// discard closes the files of --output, which hold what they held.
func (p *printer) discard() {
	for _, o := range p.outs {
		if o.file != nil {
			o.file.Close()
		}
	}
	p.hub.close()
}

// print writes the whole report at once, so that the program's output to the same terminal does
// not come between its lines. It reports whether there are findings that --fail-on names.
func (p *printer) print(rep report.Report) (fails bool, err error) {
	rep = p.flags.earlier.Apply(p.flags.apply(rep))
	fails = p.flags.fails(rep)
	rep = rep.AtLeast(finding.Confidence(p.flags.confidence))
	if rep, err = p.flags.generated(rep); err != nil {
		return fails, errors.Join(err, p.write(rep))
	}
	err = p.write(rep)
	if err != nil || p.shown() {
		return fails, err
	}
	if ended := report.EndedBySignal(rep.Run); ended != "" {
		fmt.Fprintln(p.std, ended)
	}
	if len(rep.Findings) > 0 {
		// Without this line the log of a job that fails because of the findings would not show
		// why.
		fmt.Fprintf(p.std, "%s; the report is in %s\n", report.Headline(rep), report.Sanitize(strings.Join(p.named(), ", ")))
	}
	return fails, err
}

// fails reports whether a report has findings that --fail-on names.
func (f *reportFlags) fails(rep report.Report) bool {
	return slices.ContainsFunc(rep.Findings, func(x report.Finding) bool { return f.failsBy(&x) })
}

// failsBy reports whether --fail-on names a finding.
func (f *reportFlags) failsBy(x *report.Finding) bool {
	return f.failOn != failOnNever && x.Confidence.AtLeast(finding.Confidence(f.failOn)) && (f.failOnMined || !x.Mined)
}

// write writes a report to each destination.
func (p *printer) write(rep report.Report) error {
	var errs []error
	for _, o := range p.outs {
		errs = append(errs, p.writeTo(o, rep))
	}
	return errors.Join(append(errs, p.hub.write(p.std, rep, p.layoutOf(nil)))...)
}

func (p *printer) writeTo(o *output, rep report.Report) error {
	var text bytes.Buffer
	err := format.Write(&text, o.format, rep, p.layout(o))
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	if o.file == nil {
		_, err = p.std.Write(text.Bytes())
	} else if _, err = printable.NewWriter(o.file).Write(text.Bytes()); err == nil {
		o.printed, o.file.keeps = true, true // where another report fails, this one stays
	}
	if err != nil && o.file != nil {
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

// close ends the files of --output. One to which no report was written holds what it held.
func (p *printer) close() error {
	var errs []error
	for _, o := range p.outs {
		switch {
		case o.file == nil:
		case !o.printed:
			o.file.Close()
		default:
			if err := o.file.commit(); err != nil {
				errs = append(errs, fmt.Errorf("write the report: %w", err))
			}
		}
	}
	p.hub.close()
	return errors.Join(errs...)
}

// layout returns the layout for the terminal. A report that goes elsewhere is wide enough for
// two call stacks side by side. One in a file has the details of all findings.
func (p *printer) layout(o *output) report.Options {
	if o.file == nil {
		return p.layoutOf(p.std)
	}
	l := p.layoutOf(nil)
	l.Complete = o.output != standard
	return l
}

// layoutOf returns the layout of what is written to w.
func (p *printer) layoutOf(w io.Writer) report.Options {
	o := report.Options{Width: 120, Verbose: p.flags.verbose, SourceRoot: p.sources.root, Locate: p.sources.locate, Version: version(), Fails: p.flags.failsBy}
	f, ok := printable.File(w)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return o
	}
	var err error
	if o.Width, _, err = term.GetSize(int(f.Fd())); err != nil {
		o.Width = 80
	}
	o.Color = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return o
}
