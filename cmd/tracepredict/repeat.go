package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
	jsonreport "github.com/tracepredict/tracepredict/analysis/report/json"
	"github.com/tracepredict/tracepredict/analysis/runs"
	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/loader/steer"
	"github.com/tracepredict/tracepredict/loader/tries"
	"github.com/tracepredict/tracepredict/observer/event"
)

// repeatFlags say how often the program is run.
type repeatFlags struct {
	repeat     int
	jitter     bool
	seed       uint32
	repetition bool // this run is one of several, and not the first
}

func (f *repeatFlags) register(cmd *cobra.Command) {
	cmd.Flags().IntVar(&f.repeat, "repeat", 1, "run the program `N` times, and join the findings and lock orders of all runs; output and exit status are the first run's (docs/repeat.md)")
	cmd.Flags().BoolVar(&f.jitter, "jitter", false, "with --repeat, delay the threads of all runs but the first at random: some before they begin, all before some of their requests of locks; the report says with which seeds")
	cmd.Flags().Uint32Var(&f.seed, "seed", 0, "with --jitter, the `SEED` of the delays of the second run; each further run has the next number. 0 is a seed drawn at random")
}

// maxRepeat is the largest number of runs: their reports are in memory together.
const maxRepeat = 1000

func (f *repeatFlags) check() error {
	if f.repeat < 1 || f.repeat > maxRepeat {
		return usage("--repeat %d: it is 1 to %d", f.repeat, maxRepeat)
	}
	switch {
	case f.jitter && f.repeat == 1:
		return usage("--jitter is about the runs after the first one: add --repeat N")
	case f.seed != 0 && !f.jitter:
		return usage("--seed is that of --jitter: add --jitter")
	}
	return nil
}

// repeats reports whether the run is one of several.
func (f *repeatFlags) repeats() bool { return f.repeat > 1 || f.repetition }

// becomeRepetition makes the flags those of a run that is one of several, and not the first: it is observed as that was,
// ends if it hangs, and writes nothing.
func (f *observeFlags) becomeRepetition() {
	f.confirm, f.repeat, f.repetition, f.onHang = false, 1, true, hangKill
	f.action, f.record, f.profile, f.to, f.baseline, f.generate = nil, "", "", destinations{}, "", ""
	f.duration, f.stats, f.progress, f.explain = 0, false, false, false
}

// lockOrders keeps the first acquire of each lock order of a run. It is a Sink of the observer, so that the names of what
// it keeps are kept too.
type lockOrders []finding.Step

// maxOrders is the number of lock orders of a run that are compared with those of others.
const maxOrders = 4096

func (l *lockOrders) add(s finding.Step) {
	if len(*l) < maxOrders {
		*l = append(*l, s)
	}
}

// Event implements observer.Sink.
func (l *lockOrders) Event(*event.Event) {}

// Remember implements observer.Rememberer.
func (l *lockOrders) Remember(n *event.Names) {
	for i := range *l {
		(*l)[i].Remember(n)
	}
}

// repetitionAnswer is what a run says that is one of several: two reports in JSON.
type repetitionAnswer struct {
	Report []byte `json:"report"`
	Orders []byte `json:"orders"` // a finding of one side for each lock order
}

// resolvedOrders returns the lock orders of the run as findings of one side.
func (r *observation) resolvedOrders() (out []report.Finding) {
	for _, s := range r.orders {
		f := finding.Finding{Kind: finding.Deadlock, Confidence: finding.Potential, Evidence: []finding.Step{s}}
		f.AddSides()
		out = append(out, report.Resolve(f, r.live))
	}
	return out
}

// answerRepetition says what a run showed that is one of several.
func (r *observation) answerRepetition(try *tries.Try, rep report.Report) error {
	r.addSteering(&rep)
	var found, orders bytes.Buffer
	if err := errors.Join(jsonreport.Write(&found, rep, report.Options{}), jsonreport.Write(&orders, report.Report{Run: rep.Run}.WithFindings(r.resolvedOrders()), report.Options{})); err != nil {
		return err
	}
	b, err := json.Marshal(repetitionAnswer{found.Bytes(), orders.Bytes()})
	if err != nil {
		return fmt.Errorf("say what the run showed: %w", err)
	}
	return try.Answer(b)
}

// A repetition may take some times as long as the first run, and the time that the analysis of a long run needs.
const (
	repetitionFactor = 10
	repetitionTime   = time.Minute
)

// repeat runs the program again as often as --repeat says, and joins what the runs show.
func (r *observation) repeat(rep *report.Report) {
	if r.flags.repeat < 2 {
		return
	}
	if r.untried != "" {
		rep.Run.AddFirst("the program was run once, and not as --repeat says: " + r.untried)
		return
	}
	plan := r.jitter()
	with := ""
	if plan.Jitter != nil {
		with = fmt.Sprintf(" with random delays (--seed %d)", plan.Jitter.Seed)
	}
	fmt.Fprintf(r.stderr, "tracepredict: running the program again%s, until it has run %s; Ctrl-C reports at once\n", with, plural.Sprintf("%d {time|times}", r.flags.repeat))
	all := []runs.Run{{Report: *rep, Orders: r.resolvedOrders()}}
	limit := repetitionFactor*rep.Run.Duration + repetitionTime
	for len(all) < r.flags.repeat && !isClosed(r.end.signalled) {
		next := r.repetition(plan, limit)
		if plan.Jitter != nil {
			next.Seed = plan.Jitter.Seed
			plan.Jitter = &steer.Jitter{Seed: next.Seed + 1}
		}
		if all = append(all, next); next.Failed != "" {
			fmt.Fprintf(r.stderr, "tracepredict: run %d: %s\n", len(all), report.Sanitize(next.Failed))
		}
		if isClosed(r.end.signalled) {
			all = all[:len(all)-1] // it was ended
		}
	}
	*rep = runs.Join(all)
	rep.Run.AddFirst(report.RepeatedNote(rep.Run.Repeated, r.flags.repeat))
}

// maxJitterSites bounds the calls at which threads are delayed.
const maxJitterSites = 64

// jitter returns where the threads of the next run are delayed, at random, if they are: before the calls by which the first
// run requested locks.
func (r *observation) jitter() steer.Plan {
	if !r.flags.jitter {
		return steer.Plan{}
	}
	seed := cmp.Or(r.flags.seed, rand.Uint32N(1<<31), 1)
	plan := steer.Plan{Jitter: &steer.Jitter{Seed: uint64(seed)}, Sites: []steer.Site{}}
	t := r.leading()
	for _, stack := range r.counter.Stacks() {
		if call := t.site(stack); call.err == nil && !slices.Contains(plan.Sites, call.site) && len(plan.Sites) < maxJitterSites {
			plan.Sites = append(plan.Sites, call.site)
		}
	}
	return plan
}

// repetition runs the program once more, with delays.
func (r *observation) repetition(delays steer.Plan, limit time.Duration) (out runs.Run) {
	order, err := json.Marshal(tryOrder{Plan: delays, Repeat: true})
	if err != nil {
		return runs.Run{Failed: err.Error()}
	}
	var answer struct {
		repetitionAnswer
		tryAnswer
	}
	b, err := r.runner.Run(order, limit, r.end.signalled)
	var setup *tries.SetupError
	switch {
	case errors.As(err, &setup):
		return runs.Run{Failed: setupFailed(setup)}
	case errors.Is(err, tries.ErrLate):
		return runs.Run{Failed: fmt.Sprintf("it had not ended after %.0f s, and was ended", limit.Seconds())}
	case err != nil:
		return runs.Run{Failed: report.Clean(err.Error())}
	}
	if err := json.Unmarshal(b, &answer); err != nil {
		return runs.Run{Failed: fmt.Sprintf("what it says is not understood: %v", err)}
	}
	if answer.Failed != "" {
		return runs.Run{Failed: answer.Failed}
	}
	found, err := jsonreport.Read(bytes.NewReader(answer.repetitionAnswer.Report), "of the run")
	if err != nil {
		return runs.Run{Failed: err.Error()}
	}
	orders, err := jsonreport.Read(bytes.NewReader(answer.Orders), "of its lock orders")
	if err != nil {
		return runs.Run{Failed: err.Error()}
	}
	return runs.Run{Report: found, Orders: orders.Findings}
}
