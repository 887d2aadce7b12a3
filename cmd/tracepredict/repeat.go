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
	"github.com/tracepredict/tracepredict/observer/run"
)

// repeatFlags say how often the program is run.
type repeatFlags struct {
	repeat     int
	jitter     bool
	serial     int // the depth of --serial; 0: threads do not take turns
	seed       uint32
	repetition bool // this run is one of several, and not the first
}

func (f *repeatFlags) register(cmd *cobra.Command) {
	cmd.Flags().IntVar(&f.repeat, "repeat", 1, "run the program `N` times, and join the findings and lock orders of all runs; output and exit status are the first run's (docs/repeat.md)")
	cmd.Flags().BoolVar(&f.jitter, "jitter", false, "with --repeat, delay the threads of all runs but the first at random: some before they begin, all before some of their requests of locks; the report says with which seeds")
	cmd.Flags().IntVar(&f.serial, "serial", 0, "with --repeat, let one thread at a time run in all runs but the first, from one request of a lock to the next, by random priorities that change `D`-1 times (3 if no number is given): what D constraints on their order decide is met with a probability of which the report gives a bound")
	cmd.Flags().Lookup("serial").NoOptDefVal = "3"
	cmd.Flags().Uint32Var(&f.seed, "seed", 0, "with --jitter and --serial, the `SEED` of what is random in the second run; each further run has the next number. 0 is a seed drawn at random")
}

// maxRepeat is the largest number of runs: their reports are in memory together.
const maxRepeat = 1000

// maxDepth is the largest depth of --serial. The bound is of no use long before.
const maxDepth = 16

func (f *repeatFlags) check() error {
	if f.repeat < 1 || f.repeat > maxRepeat {
		return usage("--repeat %d: it is 1 to %d", f.repeat, maxRepeat)
	}
	switch {
	case f.jitter && f.repeat == 1:
		return usage("--jitter is about the runs after the first one: add --repeat N")
	case f.serial != 0 && f.repeat == 1:
		return usage("--serial is about the runs after the first one: add --repeat N")
	case f.serial < 0 || f.serial > maxDepth:
		return usage("--serial=%d: it is 1 to %d", f.serial, maxDepth)
	case f.serial != 0 && f.jitter:
		return usage("--serial and --jitter: only one of them")
	case f.seed != 0 && !f.jitter && f.serial == 0:
		return usage("--seed is that of --jitter and --serial: add one of them")
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
	seed := uint64(cmp.Or(r.flags.seed, rand.Uint32N(1<<31), 1))
	plan, with := r.chance(seed)
	fmt.Fprintf(r.stderr, "tracepredict: running the program again%s, until it has run %s; Ctrl-C reports at once\n", with, plural.Sprintf("%d {time|times}", r.flags.repeat))
	all := []runs.Run{{Report: *rep, Orders: r.resolvedOrders()}}
	limit := repetitionFactor*rep.Run.Duration + repetitionTime
	for len(all) < r.flags.repeat && !isClosed(r.end.signalled) {
		next := r.repetition(seeded(plan, seed), limit)
		if with != "" {
			next.Seed = seed
		}
		seed++
		if all = append(all, next); next.Failed != "" {
			fmt.Fprintf(r.stderr, "tracepredict: run %d: %s\n", len(all), report.Sanitize(next.Failed))
		}
		if isClosed(r.end.signalled) {
			all = all[:len(all)-1] // it was ended
		}
	}
	*rep = runs.Join(all)
	rep.Run.AddFirst(report.RepeatedNote(rep.Run.Repeated, r.flags.repeat))
	if plan.Serial != nil {
		rep.Run.Serial = report.NewSerial(plan.Serial.Depth, r.counter.Threads(), plan.Serial.Events)
		rep.Run.AddFirst(rep.Run.Serial.Text())
	}
}

// The bounds of the calls at which threads are delayed or wait for their turns, and of threads together with such calls.
const (
	maxJitterSites = 64
	maxSerialStops = 2048
)

// chance returns where the threads of the next run are held at random, if they are, before the calls by which the first
// run requested locks, and says so for people; "" if they are not.
func (r *observation) chance(seed uint64) (plan steer.Plan, with string) {
	switch {
	case r.flags.jitter:
		sites, _ := r.requests(maxJitterSites, func(event.StackID) bool { return true })
		return steer.Plan{Jitter: &steer.Jitter{Seed: seed}, Sites: sites}, fmt.Sprintf(" with random delays (--seed %d)", seed)
	case r.flags.serial > 0:
		threads := r.counter.Threads()
		sites, requests := r.requests(max(1, min(maxJitterSites, maxSerialStops/threads)), r.ownRequest)
		turns := &steer.Serial{Seed: seed, Depth: r.flags.serial, Events: max(1, requests+threads-1)}
		return steer.Plan{Serial: turns, Sites: sites}, fmt.Sprintf(" with one thread at a time (--serial=%d --seed %d)", turns.Depth, seed)
	}
	return steer.Plan{}, ""
}

// seeded returns a plan with another seed.
func seeded(plan steer.Plan, seed uint64) steer.Plan {
	if plan.Jitter != nil {
		plan.Jitter = &steer.Jitter{Seed: seed}
	}
	if plan.Serial != nil {
		turns := *plan.Serial
		turns.Seed = seed
		plan.Serial = &turns
	}
	return plan
}

// requests returns the first calls, at most so many, by which the run requested locks at call stacks that in accepts, and
// how often it did by these.
func (r *observation) requests(most int, in func(event.StackID) bool) (sites []steer.Site, n int) {
	t := r.leading()
	sites = []steer.Site{}
	for _, stack := range r.counter.Stacks() {
		if call := t.site(stack); in(stack) && call.err == nil && !slices.Contains(sites, call.site) && len(sites) < most {
			sites = append(sites, call.site)
		}
	}
	n = r.counter.Acquires(func(stack event.StackID) bool {
		call := t.site(stack)
		return call.err == nil && slices.Contains(sites, call.site)
	})
	return sites, n
}

// ownRequest reports whether a lock was requested by code that is not a library's of the system.
func (r *observation) ownRequest(stack event.StackID) bool {
	frames := r.live.Frames(stack)
	i := slices.IndexFunc(frames, func(f event.Frame) bool { return f.Addr != frames[0].Addr })
	return i >= 0 && !run.OfLibrary(frames[i])
}

// repetition runs the program once more, with delays or turns if the plan has them.
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
