package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tracepredict/tracepredict/scripts/figures"
	"github.com/tracepredict/tracepredict/scripts/trial"
)

// confirmMarks enclose what is written of --confirm, which is measured without the other tools.
var confirmMarks = figures.Marks{Begin: "<!-- confirmed: written by make compare -->", End: "<!-- end of confirmed -->"}

// confirmTime is what all tries of a program may take together: the default of --confirm-time, and what is beside the tries.
const confirmTime = 3 * time.Minute

// confirmName names the files of what tracepredict reports with --confirm.
const confirmName = "confirm"

// confirming is the tool whose report says what was confirmed.
func confirming(own string) tool {
	plain := ownTool(own)
	command := plain.command
	plain.name = confirmName
	plain.command = func(p program, binary, report string) []string {
		args := command(p, binary, report)
		return append([]string{args[0], args[1], "--confirm"}, args[2:]...)
	}
	return plain
}

// tried is what came of confirming the findings of a program.
type tried struct {
	program
	findings []trial.Finding
}

// allConfirmed runs each program with --confirm, several at once. Programs that failed are left out.
func (r *runner) allConfirmed(ctx context.Context, programs []program) ([]tried, error) {
	r.progress = newProgress(os.Stderr, len(programs), 0, r.jobs)
	found := make([]tried, len(programs))
	errs := trial.Each(r.jobs, programs, func(i int, p program) (err error) {
		if found[i], err = r.confirmed(ctx, p); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		return nil
	})
	if ctx.Err() != nil {
		return nil, trial.ErrInterrupted
	}
	var all []tried
	for i, err := range errs {
		if err == nil {
			all = append(all, found[i])
		}
	}
	return all, errors.Join(errs...)
}

// confirmed runs a program with --confirm, unless what the same tool reported of the same binary is kept.
func (r *runner) confirmed(ctx context.Context, p program) (tried, error) {
	began := time.Now()
	if err := r.compile(ctx, p, ""); err != nil {
		return tried{}, err
	}
	limit := func() (time.Duration, error) {
		plain, err := r.limit(ctx, p)
		return plain + confirmTime, err
	}
	// A program that is held in a try does not hang.
	v, kept, err := r.look(ctx, p, r.confirms, confirmTime, limit)
	if err != nil {
		return tried{}, err
	}
	if v.unended {
		return tried{}, fmt.Errorf("tracepredict exec --confirm did not end: see %s", r.said(p, r.confirms)+".txt")
	}
	text, err := os.ReadFile(r.said(p, r.confirms) + ".json")
	if err != nil {
		return tried{}, err
	}
	findings, err := trial.Findings(string(text))
	r.progress.looked(p.name, !kept, time.Since(began))
	return tried{p, findings}, err
}

// said is where what a tool said of a program is kept, without a suffix.
func (r *runner) said(p program, t tool) string {
	return filepath.Join(r.logs, p.name+"-"+t.name)
}

// renderConfirmed writes what came of --confirm: the sums, and each finding that is at least likely.
func renderConfirmed(all []tried) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Made with `make compare` on %s.\n\n", figures.Machine())
	confirmedSums(&b, all)
	b.WriteString("\n| program | finding | without `--confirm` | with `--confirm` |\n| --- | --- | --- | --- |\n")
	for _, p := range all {
		for _, f := range p.findings {
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", p.name, describe(f), f.Level(), figures.Cell(f.Confirmation.Text()))
		}
	}
	return b.String()
}

// describe names a finding: its kind and objects.
func describe(f trial.Finding) string {
	if len(f.Objects) == 0 {
		return f.Kind
	}
	return f.Kind + " `" + strings.Join(f.Objects, "`, `") + "`"
}

// confirmedSums writes how many findings were confirmed, for each confidence of the kinds that are tried, and how many
// innocent programs have one that was.
func confirmedSums(b *strings.Builder, all []tried) {
	b.WriteString("| findings | deadlocks | confirmed | races | confirmed |\n| --- | ---: | ---: | ---: | ---: |\n")
	for _, level := range []string{"predicted", "likely", "observed"} {
		fmt.Fprintf(b, "| *%s* |", level)
		for _, kind := range []string{"deadlock", "race"} {
			found, confirmed := countConfirmed(all, kind, level)
			fmt.Fprintf(b, " %d | %d |", found, confirmed)
		}
		b.WriteString("\n")
	}
	innocent, wrong := 0, 0
	for _, p := range all {
		if len(p.expect) > 0 {
			continue
		}
		if innocent++; slices.ContainsFunc(p.findings, trial.Finding.IsConfirmed) {
			wrong++
		}
	}
	fmt.Fprintf(b, "\nInnocent programs with a finding that was confirmed: %d of %d.\n", wrong, innocent)
}

// countConfirmed counts the findings of a kind that had a confidence before they were confirmed, and those that were.
func countConfirmed(all []tried, kind, level string) (found, confirmed int) {
	for _, p := range all {
		for _, f := range p.findings {
			if f.Kind != kind || f.Level() != level {
				continue
			}
			if found++; f.IsConfirmed() {
				confirmed++
			}
		}
	}
	return found, confirmed
}
