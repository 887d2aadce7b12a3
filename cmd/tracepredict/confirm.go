package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/tracepredict/tracepredict/analysis/confirm"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/suppress"
	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/loader/attach"
	"github.com/tracepredict/tracepredict/loader/steer"
	"github.com/tracepredict/tracepredict/loader/tries"
	"github.com/tracepredict/tracepredict/observer/event"
)

// confirmFlags say whether, and how often, the program is run again to confirm findings.
type confirmFlags struct {
	confirm      bool
	tries        int
	confirmTime  time.Duration
	confirmStdin string // --confirm-stdin
	confirmSetup string // --confirm-setup
	confirmCore  bool   // --confirm-core
}

// The defaults of the flags, and the time that one finding may take.
const (
	defaultTries       = 5
	defaultConfirmTime = 2 * time.Minute
	maxFindingTime     = 30 * time.Second
)

func (f *confirmFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.BoolVar(&f.confirm, "confirm", false, "run the program again to confirm findings: its threads are held so that the run follows the schedule that shows the deadlock or violation, until it happens, or, of a race, so that both stand before their accesses at the same time (docs/confirm.md)")
	f.registerTries(cmd)
}

// registerTries registers the flags that say how findings are confirmed.
func (f *confirmFlags) registerTries(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.IntVar(&f.tries, "tries", defaultTries, "to confirm a finding, run the program at most `N` times")
	durationVar(fs, &f.confirmTime, "confirm-time", defaultConfirmTime, "how long all tries to confirm findings may take together, a time `D`; one finding takes 30s at most")
	fs.StringVar(&f.confirmStdin, "confirm-stdin", "", "read standard input from `FILE` when the program is run to confirm findings, each time from its beginning")
	fs.StringVar(&f.confirmSetup, "confirm-setup", "", "run `COMMAND` in a shell each time before the program is run to confirm findings, as to remove its files; if it fails, nothing more is tried")
	fs.BoolVar(&f.confirmCore, "confirm-core", false, "keep a core dump of each deadlock that is confirmed; the report says where the kernel puts it")
}

func (f *confirmFlags) check() error {
	if f.tries < 1 {
		return usage("--tries %d: it is at least 1", f.tries)
	}
	if f.confirmStdin != "" {
		if err := tries.CheckInput(f.confirmStdin); err != nil {
			return usage("--confirm-stdin: %w", err)
		}
	}
	return notNegative("confirm-time", f.confirmTime)
}

// checkExec is check for exec, which confirms findings only if it is asked to.
func (f *confirmFlags) checkExec(repeats bool) error {
	for name, given := range map[string]bool{"stdin": f.confirmStdin != "" && !repeats, "setup": f.confirmSetup != "" && !repeats, "core": f.confirmCore} {
		if given && !f.confirm {
			return usage("--confirm-%s is about runs that confirm findings: add --confirm", name)
		}
	}
	return f.check()
}

// tryOptions returns the options of tries.
func (f *confirmFlags) tryOptions() tries.Options {
	return tries.Options{Input: f.confirmStdin, Setup: f.confirmSetup}
}

// tryOrder is what a try is to do.
type tryOrder struct {
	steer.Plan
	// Specified: it observes what the specification speaks of, and says what is violated.
	Specified bool  `json:"specified,omitempty"`
	Core      *hang `json:"core,omitempty"` // the deadlock of which a core dump is kept; nil: of none
	// Bounded: a thread of the deadlock that is to happen gives up waiting after a time, for which the try does not wait.
	Bounded bool `json:"bounded,omitempty"`
	// Repeat: the run is one of several that are observed in full, and not one to confirm a finding.
	Repeat bool `json:"repeat,omitempty"`
}

// become makes the flags those of a try.
func (f *observeFlags) become(order *tryOrder) {
	if order.Repeat {
		f.becomeRepetition()
	} else {
		f.becomeTry(order.Specified)
	}
}

// becomeTry makes the flags those of a try to confirm a finding: it observes locks alone, or what the specification says
// too, ends a program that hangs, and writes nothing.
func (f *observeFlags) becomeTry(specified bool) {
	f.confirm, f.watchShared, f.onHang, f.analysisTime = false, sharedOff, hangKill, "1s"
	f.on, f.modules, f.action = nil, nil, nil
	if f.sites = "entry"; !specified {
		f.watch, f.hw, f.spec = nil, nil, specFlags{formula: formulaOrder}
	}
	f.record, f.profile, f.to, f.baseline, f.generate, f.monitor = "", "", destinations{}, "", "", monitorAuto
	f.duration, f.stats, f.progress, f.repeatFlags = 0, false, false, repeatFlags{}
}

// tryAnswer is what a try says of its run.
type tryAnswer struct {
	Outcome steer.Outcome `json:"outcome"`
	Failed  string        `json:"failed,omitempty"` // why threads could not be steered
	Hangs   []hang        `json:"hangs"`            // the deadlocks that happened
	Core    string        `json:"core,omitempty"`   // where the core dump is; "": there is none
	// Violations are what the run has violated of the specification.
	Violations []violation `json:"violations,omitempty"`
}

// hang is a deadlock that happened in a try, or that is to happen.
type hang struct {
	Fingerprint string `json:"fingerprint"`
	// Roles are those of its threads. Of one that is to happen they are none if its threads wait for locks alone.
	Roles []string `json:"roles"`
	// Places are the source locations at which its threads wait, sorted. Of one that is to happen there are none if its threads
	// wait for others than holders of locks, or if one is not known.
	Places []string `json:"places"`
}

// hangOf returns the deadlock that confirms a finding. If threads wait for others than holders of locks, more may hang
// than the finding has, such as those that wait for their ends.
func hangOf(f *report.Finding) *hang {
	h := happenedAs(f)
	if slices.ContainsFunc(f.Evidence, func(s report.Step) bool { return !s.Op.IsAcquire() }) || slices.Contains(h.Places, "") {
		h.Places = []string{}
	} else {
		h.Roles = []string{}
	}
	return &h
}

// happenedAs returns a deadlock that happened.
func happenedAs(f *report.Finding) hang { return hang{f.Fingerprint, f.Roles(), f.Places()} }

// is reports whether the deadlock is one that was to happen. Where threads wait tells which it is if they wait for locks
// alone: a try, which observes less, may name a lock by something else.
func (h *hang) is(want *hang) bool {
	missing := func(role string) bool { return !slices.Contains(h.Roles, role) }
	return h.Fingerprint == want.Fingerprint || len(want.Places) > 0 && slices.Equal(h.Places, want.Places) ||
		len(want.Roles) > 0 && !slices.ContainsFunc(want.Roles, missing)
}

// prepareTries makes the run a try, if it is one, and otherwise starts what makes tries, if they are asked for. The
// tool has all its privileges then, and the program has not run.
func (r *observation) prepareTries(try *tries.Try, order *tryOrder) (err error) {
	if try != nil {
		r.hangs.coreOf, r.hangs.bounded = order.Core, order.Bounded
		r.answer = func(rep report.Report) error { return r.answerTry(try, rep) }
		if order.Repeat {
			r.answer = func(rep report.Report) error { return r.answerRepetition(try, rep) }
			if order.Jitter == nil && order.Serial == nil {
				return nil
			}
		}
		r.steer = &order.Plan
		return nil
	}
	if !r.flags.confirm && r.flags.repeat < 2 {
		return nil
	}
	if r.runner, err = tries.Start(r.flags.confirmFlags.tryOptions()); err != nil {
		r.untried = err.Error()
	}
	return nil
}

func (r *observation) endTries() {
	if r.runner != nil {
		r.runner.Close()
	}
}

// readOrder returns what a try is to do; nil if the run is no try.
func readOrder(try *tries.Try) (*tryOrder, error) {
	if try == nil {
		return nil, nil
	}
	order := &tryOrder{}
	if err := json.Unmarshal(try.Order, order); err != nil {
		return nil, fmt.Errorf("read the schedule of a try: %w", err)
	}
	return order, nil
}

// answerTry says what happened in a try.
func (r *observation) answerTry(try *tries.Try, rep report.Report) error {
	b, err := json.Marshal(r.happened(rep))
	if err != nil {
		return fmt.Errorf("say what came of the try: %w", err)
	}
	return try.Answer(b)
}

// happened returns what happened in a run along a schedule.
func (r *observation) happened(rep report.Report) tryAnswer {
	out, err := r.live.Session.Steered()
	answer := tryAnswer{Outcome: out, Hangs: []hang{}, Core: r.hangs.core}
	if err != nil {
		answer.Failed = err.Error()
	}
	for i := range rep.Findings {
		switch f := &rep.Findings[i]; {
		case f.Confidence != finding.Observed:
		case f.Kind == finding.Deadlock:
			answer.Hangs = append(answer.Hangs, happenedAs(f))
		case f.Kind.Specified():
			answer.Violations = append(answer.Violations, violationOf(f, realPath(rep.Run.Program)))
		}
	}
	return answer
}

// confirm tries to confirm the findings of a report, the predicted ones first, and enters what came of it.
func (r *observation) confirm(rep *report.Report) {
	if !r.flags.confirm {
		return
	}
	chosen := candidates(rep, r.flags.set)
	if r.untried != "" || len(chosen) == 0 {
		for _, f := range chosen {
			enter(f, &report.Confirmation{Reason: r.untried})
		}
		return
	}
	t := r.leading()
	t.runner, t.stop, t.program = r.runner, r.end.signalled, realPath(rep.Run.Program)
	other := reported{program: t.program, specified: true}
	t.planner = func(f *report.Finding) (func(int) *steer.Plan, error) {
		if f.Runs != nil && f.Runs.Shown > 1 { // it is of another run, of which no more is known
			return other.planned(f)
		}
		return t.planned(f)
	}
	t.all(chosen, &r.flags.confirmFlags, r.stderr)
	rep.TakeConfirmations()
}

// all tries to confirm findings, and enters what came of it.
func (t *trying) all(chosen []*report.Finding, f *confirmFlags, stderr io.Writer) {
	fmt.Fprintf(stderr, "tracepredict: %s, for %v at most; Ctrl-C reports at once\n", plural.Sprintf("running the program again to confirm %d {finding|findings}", len(chosen)), f.confirmTime)
	t.tries, t.core, t.end = f.tries, f.confirmCore, time.Now().Add(f.confirmTime)
	for _, f := range chosen {
		enter(f, t.finding(f))
		if c := f.Confirmation; f.Confidence == finding.Confirmed && !c.Confirmed {
			c.Reason += "; other tries confirmed it before"
		}
	}
}

// enter says what came of trying to confirm a finding. What it was before other tries confirmed it stays known.
func enter(f *report.Finding, c *report.Confirmation) {
	if f.Confirmation != nil {
		c.Was = f.Confirmation.Was
	}
	f.Confirmation = c
}

// candidates returns the findings that are tried, in this order: also races that were observed, since that says that
// nothing ordered the accesses, and not that they came together. Those of a report may have been confirmed before.
func candidates(rep *report.Report, suppressed *suppress.Set) (chosen []*report.Finding) {
	for _, c := range []finding.Confidence{finding.Confirmed, finding.Predicted, finding.Likely, finding.Observed} {
		for i := range rep.Findings {
			f := &rep.Findings[i]
			tried := f.Kind == finding.Race || c != finding.Observed && (f.Kind == finding.Deadlock || f.Kind.Specified())
			if tried && f.Confidence == c && !suppressed.Suppresses(f) {
				chosen = append(chosen, f)
			}
		}
	}
	return chosen
}

// trying is the work of confirming the findings of a run.
type trying struct {
	run    *observation // nil: of a run that a report was read of
	runner *tries.Runner
	// program is the path of the program in the call stacks of the findings.
	program string
	tries   int    // for a finding
	core    bool   // keep one of each deadlock that is confirmed
	ended   string // why nothing more is tried; "": something is
	// planner returns the schedule of each try of a finding, from 0, or why there is none.
	planner func(*report.Finding) (func(n int) *steer.Plan, error)
	stop    <-chan struct{} // closed by a signal
	end     time.Time
	sites   map[event.StackID]callSite
	firsts  map[*report.Finding]firstPlan // what first has found out
	// noHardware is why no hardware breakpoint stops a thread; "": one does, or triedHardware is not set.
	noHardware    string
	triedHardware bool
}

// firstPlan is the schedule of the first try of a finding, or why there is none.
type firstPlan struct {
	plan *steer.Plan
	err  error
}

// leading returns what knows how other runs are led into the findings of this one.
func (r *observation) leading() *trying {
	if r.leads == nil {
		r.leads = &trying{run: r, firsts: map[*report.Finding]firstPlan{}}
	}
	return r.leads
}

// callSite is a call by which a lock was requested, with the address behind it in the process.
type callSite struct {
	site   steer.Site
	behind uint64
	err    error
}

// bySignal is why a finding is not confirmed when a signal has ended the tries.
const bySignal = "it was ended by a signal"

// finding tries to confirm a finding.
func (t *trying) finding(f *report.Finding) *report.Confirmation {
	begun := time.Now()
	end := begun.Add(min(maxFindingTime, time.Until(t.end)))
	out := &report.Confirmation{Tries: t.tries}
	plan, err := t.planner(f)
	if err != nil {
		out.Reason = err.Error()
		return out
	}
	if p := plan(0); p.Exact || p.Pair != nil {
		if out.Reason = t.unstopped(); out.Reason != "" {
			return out
		}
	}
	for n := range t.tries {
		left := time.Until(end)
		switch {
		case t.ended != "":
			out.Reason = t.ended
			return out
		case isClosed(t.stop):
			out.Reason = cmp.Or(out.Reason, bySignal)
			return out
		case left <= 0:
			out.Reason = cmp.Or(out.Reason, "there was no time left")
			return out
		}
		tryBegun := time.Now()
		answer, why := t.try(f, plan(n), left)
		if t.ended != "" { // the program did not run
			out.Reason = t.ended
			return out
		}
		out.Try, out.Time = n+1, time.Since(tryBegun)
		out.Total += out.Time
		if why == "" {
			out.Confirmed, out.Reason, out.Core = true, "", report.Clean(answer.Core)
			switch {
			case f.Kind == finding.Race:
				out.How = t.met(f, plan(n), answer.Outcome.Met, time.Until(end))
			case f.HasTimeout:
				out.How = "the program was run again along the schedule, and hung; it was ended before a thread could give up"
			case f.Kind.Specified():
				out.How = "the program was run again along the schedule, and violated " + f.Property
			}
			return out
		}
		out.Reason = why
	}
	return out
}

// unstopped returns why threads cannot be stopped before chosen instructions; "" if they can.
func (t *trying) unstopped() string {
	if !t.triedHardware {
		t.triedHardware = true
		if err := attach.TryWatchpoint(); errors.Is(err, attach.ErrNoWatchpoint) {
			t.noHardware = "threads are stopped before their operations by hardware breakpoints, which do not work here: tracepredict doctor says why"
		}
	}
	return t.noHardware
}

// planned returns the schedule of each try of a finding of the observed run, from 0.
func (t *trying) planned(f *report.Finding) (plan func(n int) *steer.Plan, err error) {
	first, err := t.first(f)
	if err != nil {
		return nil, err
	}
	return variants(first), nil
}

// first returns the schedule of the first try of a finding, which must not be changed.
func (t *trying) first(f *report.Finding) (*steer.Plan, error) {
	found, known := t.firsts[f]
	if !known {
		found.plan, found.err = t.findFirst(f)
		t.firsts[f] = found
	}
	return found.plan, found.err
}

func (t *trying) findFirst(f *report.Finding) (*steer.Plan, error) {
	if f.Kind == finding.Race {
		pair, err := t.pair(f)
		if err != nil {
			return nil, err
		}
		return t.race(f, pair), nil
	}
	holds, err := confirm.Schedule(&f.Finding)
	switch {
	case errors.Is(err, confirm.ErrKind):
		return t.route(f)
	case err != nil:
		return nil, err
	}
	return t.plan(f, holds)
}

// variants returns the schedule of each try, from 0, by the first one that has all numbers. In every second try operations
// have no numbers. Of a race, threads follow the schedule up to the accesses in every second try: what comes before these
// may need another order than that in which threads come by themselves. The first one leaves the threads alone until then,
// as that needs the fewest stops; each further one of that sort holds one access later.
func variants(first *steer.Plan) func(n int) *steer.Plan {
	return func(n int) *steer.Plan {
		switch {
		case first.Pair == nil && n%2 == 0:
			return first
		case first.Pair == nil:
			return uncounted(first)
		case len(first.Gates) == 0:
			return meetingAlone(first.Pair, n)
		case n%2 == 0:
			return meetingAlone(first.Pair, n/2)
		case n/2%2 == 0:
			return first
		}
		return uncounted(first)
	}
}

// meetingAlone returns a schedule that leaves threads alone until their accesses of a race, of which as many pass as skip
// says before one is held.
func meetingAlone(p *steer.Pair, skip int) *steer.Plan {
	plan := uncounted(&steer.Plan{Pair: p})
	plan.Pair.Skip = uint32(skip)
	return plan
}

// uncounted returns a schedule whose operations have no numbers.
func uncounted(first *steer.Plan) *steer.Plan {
	plan := *first
	plan.Gates = slices.Clone(first.Gates)
	for i := range plan.Gates {
		plan.Gates[i].Count = 0
	}
	if first.Pair != nil {
		pair := *first.Pair
		for i := range pair.Sides {
			pair.Sides[i].Count = 0
		}
		plan.Pair = &pair
	}
	return &plan
}

// try runs the program once. It returns why the finding is not confirmed; "" if it is.
func (t *trying) try(f *report.Finding, plan *steer.Plan, limit time.Duration) (a tryAnswer, why string) {
	order := tryOrder{Plan: *plan, Specified: f.Kind.Specified(), Bounded: f.HasTimeout}
	if t.core && f.Kind == finding.Deadlock {
		order.Core = hangOf(f)
	}
	text, err := json.Marshal(order)
	if err != nil {
		return a, fmt.Sprintf("write the schedule: %v", err)
	}
	b, err := t.runner.Run(text, limit, t.stop)
	var setup *tries.SetupError
	switch {
	case errors.As(err, &setup):
		t.ended = setupFailed(setup)
		return a, t.ended
	case errors.Is(err, tries.ErrLate):
		return a, fmt.Sprintf("the run had not ended after %.1f s", limit.Seconds())
	case err != nil && isClosed(t.stop):
		return a, bySignal
	case err != nil:
		return a, err.Error()
	}
	if err := json.Unmarshal(b, &a); err != nil {
		return a, fmt.Sprintf("what the try says is not understood: %v", err)
	}
	return a, a.missing(f, t.program)
}

// missing returns why a try has not confirmed a finding; "" if it has. program is the path of the program in the run that
// the finding is of.
func (a *tryAnswer) missing(f *report.Finding, program string) string {
	if f.Kind.Specified() {
		return a.unviolated(violationOf(f, program))
	}
	return a.unconfirmed(f)
}

// setupFailed says why a program was not run again.
func setupFailed(err *tries.SetupError) string {
	return "the command of --confirm-setup " + report.Clean(err.Why)
}

// unconfirmed returns why a try has not confirmed a finding; "" if it has.
func (a *tryAnswer) unconfirmed(f *report.Finding) string {
	race := f.Kind == finding.Race
	switch {
	case !race && a.Outcome.Stayed && spins(f):
		return ""
	case race && a.Outcome.Met != nil, !race && a.Outcome.Held == 0 && slices.ContainsFunc(a.Hangs, func(h hang) bool { return h.is(hangOf(f)) }):
		return ""
	case a.Failed != "":
		return a.Failed
	case race && a.Outcome.Diverged == 0:
		return a.Outcome.Reason
	case a.Outcome.Diverged > 0:
		return fmt.Sprintf("diverged at step %d: %s", a.Outcome.Diverged, a.Outcome.Reason)
	case len(a.Hangs) > 0:
		return "another deadlock happened"
	}
	return "the threads were at their requests at the same time, and went on"
}

// spins reports whether the threads of a deadlock wait for spin locks alone: none of them leaves its request then before
// another one has left its own.
func spins(f *report.Finding) bool {
	return f.Kind == finding.Deadlock && !slices.ContainsFunc(f.Evidence, func(s report.Step) bool {
		return !s.Op.IsAcquire() || s.Object == nil || s.Object.Kind != event.KindSpin
	})
}

// plan returns a schedule for the loader. Calls have the numbers that they had in the run.
func (t *trying) plan(f *report.Finding, holds []confirm.Hold) (*steer.Plan, error) {
	plan := &steer.Plan{}
	for _, h := range holds {
		call := t.site(h.Step.Stack)
		if call.err != nil {
			return nil, call.err
		}
		path, err := t.path(h.Step.Thread)
		if err != nil {
			return nil, err
		}
		g := steer.Gate{Thread: path, Site: plan.Use(call.site), After: h.After, What: t.what(f, &h.Step)}
		g.Count, _ = t.run.counter.Number(h.Step.Thread, h.Step.Seq, func(s event.StackID) bool {
			other := t.site(s)
			return other.err == nil && other.behind == call.behind
		})
		plan.Gates = append(plan.Gates, g)
	}
	return plan, nil
}

// site returns the call by which a lock was requested.
func (t *trying) site(stack event.StackID) callSite {
	c, known := t.sites[stack]
	if known {
		return c
	}
	if t.sites == nil {
		t.sites = map[event.StackID]callSite{}
	}
	c.site, c.behind, c.err = t.findSite(stack)
	t.sites[stack] = c
	return c
}

func (t *trying) findSite(stack event.StackID) (s steer.Site, behind uint64, err error) {
	frames := t.run.live.Frames(stack)
	i := slices.IndexFunc(frames, func(f event.Frame) bool { return f.Addr != frames[0].Addr })
	if i < 0 {
		return s, 0, errors.New("the call that requests a lock is not known, as where it is in the code itself")
	}
	behind = frames[i].Addr
	session := t.run.live.Session
	seg, ok := session.Segment(session.PID(), behind)
	if !ok {
		return s, 0, fmt.Errorf("the file of the call at %#x is not known", behind)
	}
	return steer.Site{Module: seg.Module.Path, Return: behind - seg.Bias}, behind, nil
}

// path returns which thread of another run a thread is.
func (t *trying) path(thread event.ThreadID) ([]int, error) {
	path, known := t.run.counter.Path(thread)
	if !known {
		return nil, fmt.Errorf("it is not known which thread of another run T%d is", thread)
	}
	return path, nil
}

// does are the operations before which threads are stopped, as a report says them.
var does = map[event.Op]string{
	event.Read: "reads", event.Write: "writes", event.Update: "changes", event.Call: "calls", event.Return: "returns from",
	event.Acquire: "requests", event.AcquireRead: "requests", event.AcquireFailed: "tries", event.Release: "releases",
	event.Join: "joins", event.Signal: "signals", event.Broadcast: "wakes all of", event.BarrierArrive: "comes to",
	event.SemPost: "posts", event.SemWait: "takes", event.SemFailed: "tries to take", event.OnceEnter: "initialises",
}

// what returns a step for people: "T2 requests b at gate.c:17".
func (t *trying) what(f *report.Finding, s *finding.Step) string {
	frames, name := t.run.live.Frames(s.Stack), nameIn(f, s)
	switch {
	case s.Op == event.Call || s.Op == event.Return:
		name = frames[0].Function
	case s.Op >= event.Acquire:
		frames = frames[1:]
	}
	at := ""
	if where := where(frames); where != "" {
		at = " at " + where
	}
	return fmt.Sprintf("T%d %s %s%s", s.Thread, does[s.Op], name, at)
}

// nameIn returns the name of the object of a step, as a finding has it.
func nameIn(f *report.Finding, s *finding.Step) string {
	for i := range f.Evidence {
		if e := &f.Evidence[i]; e.Object != nil && e.Step.Object == s.Object {
			return e.Object.Name
		}
	}
	switch {
	case s.Op == event.Join && s.Peer == 0:
		return "a thread"
	case s.Op == event.Join:
		return fmt.Sprintf("T%d", s.Peer)
	case s.Op.IsAcquire() || s.Op == event.AcquireFailed || s.Op == event.Release:
		return "a lock"
	}
	return "an object"
}

// where returns the source location of the innermost frame that has one; "" if none has.
func where(frames []event.Frame) string {
	for _, frame := range frames {
		if frame.File != "" {
			return fmt.Sprintf("%s:%d", path.Base(frame.File), frame.Line)
		}
	}
	return ""
}
