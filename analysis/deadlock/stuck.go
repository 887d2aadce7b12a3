package deadlock

import (
	"slices"
	"sync"

	"github.com/tracepredict/tracepredict/analysis/deadlock/goodlock"
	"github.com/tracepredict/tracepredict/analysis/deadlock/lockout"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/analysis/predict"
	"github.com/tracepredict/tracepredict/observer/event"
)

// stuck returns the deadlocks of other schedules that are no cycle of locks alone. It is called
// after all other questions, since the history then takes no more events.
func (a *Analysis) stuck() []finding.Finding {
	if a.shared.Search.Over() {
		return nil
	}
	candidates, leftOut := lockout.Find(a.keptWaits)
	a.shared.NotAsked += leftOut
	var out []finding.Finding
	at := map[string]int{} // by cycleKey
	for _, c := range candidates {
		r := a.shared.Search.Count(a.askStuck(&c))
		if r.Verdict != predict.Predicted {
			continue
		}
		f := finding.Finding{Kind: finding.Deadlock, Count: 1}
		a.shared.History.SetStuck(&f, &r)
		key := cycleKey(&f)
		if i, known := at[key]; known {
			out[i].Count++
			continue
		}
		if f.Reason = a.mayBePrevented(&f, &r); f.Reason.Given() {
			f.Confidence = finding.Likely
		}
		at[key] = len(out)
		out = append(out, f)
	}
	return out
}

// askStuck returns the answer about a candidate. What the code decides is asked only where threads are left waiting, or
// that was not searched: an answer takes longer than to find out.
func (a *Analysis) askStuck(c *lockout.Candidate) predict.Result {
	var r predict.Result
	var possible func() bool
	if c.Taken != 0 {
		possible = sync.OnceValue(func() bool { return a.mayBeLost(c) })
		r = a.shared.History.StuckByTaken(c.Taken, c.Wake, possible)
	} else {
		possible = sync.OnceValue(func() bool { return a.comesToWait(c.Decides) })
		r = a.shared.History.Stuck(c.Later, c.Left, c.Wait, possible)
	}
	if r.NotSearched() && !possible() {
		return predict.Result{} // there is no such schedule
	}
	return r
}

// mayBeLost reports whether a thread that takes the signal of a candidate waits for something else, and
// does not pass the signal on.
func (a *Analysis) mayBeLost(c *lockout.Candidate) bool {
	if a.shared.Known.PassesNothingOn == nil || !a.shared.Known.PassesNothingOn(c.Sites[1]) {
		return false
	}
	return c.Data || a.shared.Known.Elsewhere != nil && a.shared.Known.Elsewhere(c.Sites[0], c.Sites[1])
}

// comesToWait reports whether a thread certainly comes to its wait by some code.
func (a *Analysis) comesToWait(code []lockout.Code) bool {
	return !slices.ContainsFunc(code, func(c lockout.Code) bool {
		return a.shared.Known.DecidesNothing == nil || !a.shared.Known.DecidesNothing(c.From, c.To)
	})
}

// withoutCycles returns the deadlocks without those that contain a cycle that is a finding itself: the
// other threads wait only because those of the cycle do.
func withoutCycles(stuck, cycles []finding.Finding) []finding.Finding {
	return slices.DeleteFunc(stuck, func(f finding.Finding) bool {
		return slices.ContainsFunc(cycles, func(c finding.Finding) bool {
			return c.Confidence != finding.Potential && len(c.Evidence) < len(f.Evidence) && containsRequests(&f, &c)
		})
	})
}

// keptWaits calls yield for the kept events, without the second acquires of readers if these are not to
// wait behind writers.
func (a *Analysis) keptWaits(yield func(*event.Event) bool) {
	a.shared.History.Kept(func(e *event.Event) bool {
		return e.Op == event.AcquireAgain && a.lockOptions.Policy == goodlock.ReaderPreferring || yield(e)
	})
}

// addSchedules adds to each potential cycle of locks the schedule of the deadlock in stuck that has the
// same requests, if there is one, and returns the other deadlocks of stuck. Of a cycle in which a reader
// waits behind a writer, only stuck has a schedule.
func addSchedules(cycles, stuck []finding.Finding) []finding.Finding {
	return slices.DeleteFunc(stuck, func(g finding.Finding) bool {
		for i := range cycles {
			f := &cycles[i]
			if f.Confidence == finding.Potential && len(f.Evidence) == len(g.Evidence) && hasRequests(f, &g) {
				f.Confidence, f.Reason, f.Order, f.HasTimeout = g.Confidence, g.Reason, g.Order, g.HasTimeout
				f.Witness, f.Assumes, f.Spans, f.Moved, f.MovedUnknown = g.Witness, g.Assumes, g.Spans, g.Moved, g.MovedUnknown
				return true
			}
		}
		return false
	})
}

// hasRequests reports whether each request of f is also one of g: of the same object, at the same call
// stack, by the same thread.
func hasRequests(f, g *finding.Finding) bool {
	return !slices.ContainsFunc(f.Evidence, func(x finding.Step) bool {
		return !slices.ContainsFunc(g.Evidence, func(y finding.Step) bool {
			return x.Object == y.Object && x.Stack == y.Stack && x.Thread == y.Thread
		})
	})
}

// containsRequests reports whether a deadlock has, at the same call stacks, each request of a cycle.
func containsRequests(f, cycle *finding.Finding) bool {
	for i := range cycle.Evidence {
		want := &cycle.Evidence[i]
		if !slices.ContainsFunc(f.Evidence, func(s finding.Step) bool { return s.Stack == want.Stack && s.Op == want.Op }) {
			return false
		}
	}
	return len(cycle.Evidence) > 0
}

// mayBePrevented returns the reason why the schedule of a deadlock may not lead there, as far as something is known that
// could prevent it.
func (a *Analysis) mayBePrevented(f *finding.Finding, r *predict.Result) reason.Reason {
	if f.HasTimeout {
		return reason.Reason{What: reason.TimedWait}
	}
	if r.Taken != 0 {
		return reason.Reason{What: reason.SignalTaken, Thread: a.shared.History.ThreadOf(r.Taken)}
	}
	if len(f.Lost) > 0 {
		return reason.Reason{What: reason.SignalAgain, Thread: f.Lost[0].Thread}
	}
	if !f.NoCycle && !slices.ContainsFunc(f.Evidence, helpable) {
		return reason.Reason{} // what its critical sections read decides (finding.GuardedData)
	}
	if r.Reordered[0] == 0 {
		return reason.Reason{What: reason.Helped}
	}
	x, y := a.shared.History.ThreadOf(r.Reordered[0]), a.shared.History.ThreadOf(r.Reordered[1])
	return reason.Reason{What: reason.PerhapsPrevented, Thread: min(x, y), Other: max(x, y)}
}

// helpable reports whether a thread waits for something that a signal handler or another process may
// do too, unlike the end of a thread, the release of a lock or the end of an initialisation.
func helpable(s finding.Step) bool {
	return !s.Op.IsAcquire() && s.Op != event.AcquireAgain && s.Op != event.Join && s.Op != event.OnceEnter
}
