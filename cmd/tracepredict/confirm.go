package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/tracepredict/tracepredict/analysis/confirm"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/loader/steer"
	"github.com/tracepredict/tracepredict/loader/tries"
	"github.com/tracepredict/tracepredict/observer/event"
)

// confirmFlags say whether, and how often, the program is run again to confirm findings.
type confirmFlags struct {
	confirm     bool
	tries       int
	confirmTime time.Duration
}

// The defaults of the flags, and the time that one finding may take.
const (
	defaultTries       = 5
	defaultConfirmTime = 2 * time.Minute
	maxFindingTime     = 30 * time.Second
)

func (f *confirmFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.BoolVar(&f.confirm, "confirm", false, "run the program again to confirm deadlocks and races: its threads are held so that the run follows the schedule that shows the deadlock, until it happens, or so that both stand before their accesses at the same time (docs/confirm.md)")
	fs.IntVar(&f.tries, "tries", defaultTries, "with --confirm, run the program at most `N` times for a finding")
	fs.DurationVar(&f.confirmTime, "confirm-time", defaultConfirmTime, "with --confirm, how long all tries may take together; one finding takes 30s at most")
}

func (f *confirmFlags) check() error {
	if f.tries < 1 {
		return usage("--tries %d: it is at least 1", f.tries)
	}
	return notNegative("confirm-time", f.confirmTime)
}

// becomeTry makes the flags those of a try: it observes locks alone, ends a program that hangs, and writes nothing.
func (f *observeFlags) becomeTry() {
	f.confirm, f.watchShared, f.onHang, f.analysisTime = false, sharedOff, hangKill, "1s"
	f.watch, f.hw, f.on, f.modules, f.spec, f.action = nil, nil, nil, nil, specFlags{formula: formulaOrder}, nil
	f.record, f.profile, f.to, f.baseline, f.generate, f.monitor = "", "", destinations{}, "", "", monitorAuto
	f.duration, f.stats, f.progress = 0, false, false
}

// tryAnswer is what a try says of its run.
type tryAnswer struct {
	Outcome steer.Outcome `json:"outcome"`
	Failed  string        `json:"failed,omitempty"` // why threads could not be steered
	Hangs   []string      `json:"hangs"`            // the fingerprints of the deadlocks that happened
}

// prepareTries makes the run a try, if it is one, and otherwise starts what makes tries, if they are asked for. The
// tool has all its privileges then, and the program has not run.
func (r *observation) prepareTries(try *tries.Try) (err error) {
	if try != nil {
		r.steer = &steer.Plan{}
		r.answer = func(rep report.Report) error { return r.answerTry(try, rep) }
		if err := json.Unmarshal(try.Order, r.steer); err != nil {
			return fmt.Errorf("read the schedule of a try: %w", err)
		}
		return nil
	}
	if !r.flags.confirm {
		return nil
	}
	if r.runner, err = tries.Start(); err != nil {
		r.untried = err.Error()
	}
	return nil
}

func (r *observation) endTries() {
	if r.runner != nil {
		r.runner.Close()
	}
}

// answerTry says what happened in a try.
func (r *observation) answerTry(try *tries.Try, rep report.Report) error {
	out, err := r.live.Session.Steered()
	answer := tryAnswer{Outcome: out, Hangs: []string{}}
	if err != nil {
		answer.Failed = err.Error()
	}
	for i := range rep.Findings {
		if f := &rep.Findings[i]; f.Kind == finding.Deadlock && f.Confidence == finding.Observed {
			answer.Hangs = append(answer.Hangs, f.Fingerprint)
		}
	}
	b, err := json.Marshal(answer)
	if err != nil {
		return fmt.Errorf("say what came of the try: %w", err)
	}
	return try.Answer(b)
}

// confirm tries to confirm the findings of a report, the predicted ones first, and enters what came of it.
func (r *observation) confirm(rep *report.Report) {
	if !r.flags.confirm {
		return
	}
	chosen := r.candidates(rep)
	if r.untried != "" || len(chosen) == 0 {
		for _, f := range chosen {
			f.Confirmation = &report.Confirmation{Reason: r.untried}
		}
		return
	}
	fmt.Fprintf(r.stderr, "tracepredict: %s, for %v at most; Ctrl-C reports at once\n", plural.Sprintf("running the program again to confirm %d {finding|findings}", len(chosen)), r.flags.confirmTime)
	t := trying{run: r, stop: r.end.signalled, end: time.Now().Add(r.flags.confirmTime)}
	for _, f := range chosen {
		f.Confirmation = t.finding(f)
	}
}

// candidates returns the findings that are tried, in this order: also races that were observed, since that says that
// nothing ordered the accesses, and not that they came together.
func (r *observation) candidates(rep *report.Report) (chosen []*report.Finding) {
	for _, c := range []finding.Confidence{finding.Predicted, finding.Likely, finding.Observed} {
		for i := range rep.Findings {
			f := &rep.Findings[i]
			tried := f.Kind == finding.Race || f.Kind == finding.Deadlock && c != finding.Observed
			if tried && f.Confidence == c && !r.flags.set.Suppresses(f) {
				chosen = append(chosen, f)
			}
		}
	}
	return chosen
}

// trying is the work of confirming the findings of a run.
type trying struct {
	run  *observation
	stop <-chan struct{} // closed by a signal
	end  time.Time
}

// finding tries to confirm a finding.
func (t *trying) finding(f *report.Finding) *report.Confirmation {
	begun := time.Now()
	end := begun.Add(min(maxFindingTime, time.Until(t.end)))
	out := &report.Confirmation{Tries: t.run.flags.tries}
	plan, err := t.planner(f)
	if err != nil {
		out.Reason = err.Error()
		return out
	}
	for n := range t.run.flags.tries {
		left := time.Until(end)
		switch {
		case isClosed(t.stop):
			out.Reason = cmp.Or(out.Reason, "it was ended by a signal")
			return out
		case left <= 0:
			out.Reason = cmp.Or(out.Reason, "there was no time left")
			return out
		}
		tryBegun := time.Now()
		answer, why := t.try(f, plan(n), left)
		out.Try, out.Time = n+1, time.Since(tryBegun)
		if why == "" {
			out.Confirmed, out.Reason = true, ""
			if f.Kind == finding.Race {
				out.How = t.met(f, plan(n), answer.Outcome.Met, time.Until(end))
			}
			return out
		}
		out.Reason = why
	}
	return out
}

// planner returns the schedule of each try of a finding, from 0.
func (t *trying) planner(f *report.Finding) (plan func(n int) *steer.Plan, err error) {
	if f.Kind == finding.Race {
		pair, err := t.pair(f)
		if err != nil {
			return nil, err
		}
		return func(n int) *steer.Plan {
			p := *pair
			p.Skip = uint32(n)
			return &steer.Plan{Pair: &p}
		}, nil
	}
	plans, err := t.plans(f)
	return func(n int) *steer.Plan { return plans[n%len(plans)] }, err
}

// try runs the program once. It returns why the finding is not confirmed; "" if it is.
func (t *trying) try(f *report.Finding, plan *steer.Plan, limit time.Duration) (a tryAnswer, why string) {
	text, err := json.Marshal(plan)
	if err != nil {
		return a, fmt.Sprintf("write the schedule: %v", err)
	}
	b, err := t.run.runner.Run(text, limit, t.stop)
	switch {
	case errors.Is(err, tries.ErrLate):
		return a, fmt.Sprintf("the run had not ended after %.1f s", limit.Seconds())
	case err != nil:
		return a, err.Error()
	}
	if err := json.Unmarshal(b, &a); err != nil {
		return a, fmt.Sprintf("what the try says is not understood: %v", err)
	}
	return a, a.unconfirmed(f)
}

// unconfirmed returns why a try has not confirmed a finding; "" if it has.
func (a *tryAnswer) unconfirmed(f *report.Finding) string {
	race := f.Kind == finding.Race
	switch {
	case race && a.Outcome.Met != nil, !race && a.Outcome.Held == 0 && slices.Contains(a.Hangs, f.Fingerprint):
		return ""
	case a.Failed != "":
		return a.Failed
	case race:
		return a.Outcome.Reason
	case a.Outcome.Diverged > 0:
		return fmt.Sprintf("diverged at step %d: %s", a.Outcome.Diverged, a.Outcome.Reason)
	case len(a.Hangs) > 0:
		return "another deadlock happened"
	}
	return "the threads were at their requests at the same time, and went on"
}

// plans returns the schedules of the tries of a finding, which take turns: with the numbers that the calls had in the
// run, and without.
func (t *trying) plans(f *report.Finding) (out []*steer.Plan, err error) {
	holds, err := confirm.Schedule(&f.Finding)
	if err != nil {
		return nil, err
	}
	for _, counted := range []bool{true, false} {
		plan, err := t.plan(f, holds, counted)
		if err != nil {
			return nil, err
		}
		out = append(out, plan)
	}
	return out, nil
}

// plan returns a schedule for the loader. With counted, calls have the numbers that they had in the run.
func (t *trying) plan(f *report.Finding, holds []confirm.Hold, counted bool) (*steer.Plan, error) {
	plan := &steer.Plan{}
	for _, h := range holds {
		site, caller, err := t.site(h.Step.Stack)
		if err != nil {
			return nil, err
		}
		path, err := t.path(h.Step.Thread)
		if err != nil {
			return nil, err
		}
		g := steer.Gate{Thread: path, After: h.After, What: t.what(f, &h.Step)}
		if g.Site = slices.Index(plan.Sites, site); g.Site < 0 {
			g.Site = len(plan.Sites)
			plan.Sites = append(plan.Sites, site)
		}
		if counted {
			g.Count, _ = t.run.counter.Number(h.Step.Thread, h.Step.Seq, t.run.number, func(s event.StackID) bool {
				_, other, err := t.site(s)
				return err == nil && other == caller
			})
		}
		plan.Gates = append(plan.Gates, g)
	}
	return plan, nil
}

// site returns the call by which a lock was requested, and the address behind it in the process.
func (t *trying) site(stack event.StackID) (s steer.Site, behind uint64, err error) {
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

// what returns a step for people: "T2 requests b at gate.c:17".
func (t *trying) what(f *report.Finding, s *finding.Step) string {
	name := "a lock"
	for i := range f.Evidence {
		e := &f.Evidence[i]
		if e.Object != nil && e.Step.Object == s.Object {
			name = e.Object.Name
		}
	}
	at := ""
	if where := t.where(t.run.live.Frames(s.Stack)[1:]); where != "" {
		at = " at " + where
	}
	return fmt.Sprintf("T%d requests %s%s", s.Thread, name, at)
}

// where returns the source location of the innermost frame that has one; "" if none has.
func (t *trying) where(frames []event.Frame) string {
	for _, frame := range frames {
		if frame.File != "" {
			return fmt.Sprintf("%s:%d", path.Base(frame.File), frame.Line)
		}
	}
	return ""
}
