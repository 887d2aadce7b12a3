package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/loader/steer"
)

// pair returns the accesses of a race, before which the threads of another run are to stand.
func (t *trying) pair(f *report.Finding) (*steer.Pair, error) {
	if len(f.Evidence) != 2 {
		return nil, errors.New("only races between two accesses are tried")
	}
	var pair steer.Pair
	for i := range f.Evidence {
		step := &f.Evidence[i].Step
		path, err := t.path(step.Thread)
		if err != nil {
			return nil, err
		}
		side := steer.Side{Thread: path, What: fmt.Sprintf("T%d accesses %s", step.Thread, objectName(f))}
		site, err := t.instruction(step.Stack)
		if err != nil {
			return nil, err
		}
		side.Module, side.At = site.Module, site.At
		if at := where(t.run.live.Frames(step.Stack)); at != "" {
			side.What += " at " + at
		}
		pair.Sides[i] = side
	}
	return &pair, pair.Check()
}

// race returns a schedule of a race that has the numbers of its operations: up to the accesses, and the pair of these. If
// there is no schedule, or nothing on its way at which a thread could be stopped, it is the pair alone.
func (t *trying) race(f *report.Finding, pair *steer.Pair) *steer.Plan {
	r, err := t.router(f)
	if err != nil {
		return &steer.Plan{Pair: pair}
	}
	plan, err := r.plan()
	if err != nil {
		return &steer.Plan{Pair: pair}
	}
	for i := range pair.Sides {
		pair.Sides[i].Count = r.accesses(&f.Evidence[i].Step, &pair.Sides[i])
	}
	plan.Pair = pair
	return plan
}

// accesses returns how often a thread comes to the access of its side behind the end of the route, that access included.
func (r *router) accesses(s *finding.Step, side *steer.Side) uint32 {
	since := uint64(0)
	for i := range r.route {
		if r.route[i].Step.Thread == s.Thread {
			since = r.route[i].Step.Seq
		}
	}
	return r.count(s, since, steer.Site{Module: side.Module, At: side.At})
}

// met says how a race was confirmed by a plan, and lets another run go on in the other order, to compare the values.
func (t *trying) met(f *report.Finding, plan *steer.Plan, first *steer.Met, left time.Duration) string {
	places := make([]string, len(f.Evidence))
	for i := range f.Evidence {
		places[i] = cmp.Or(where(f.Evidence[i].Frames), "a place without a line")
	}
	how := "both threads stood before their accesses of " + objectName(f) + " at " + strings.Join(slices.Compact(places), " and ") + " at the same time"
	if left <= 0 || isClosed(t.stop) {
		return how
	}
	reversed, other := *plan, *plan.Pair
	other.First = 1 - other.First
	reversed.Pair = &other
	answer, why := t.try(f, &reversed, left)
	second := answer.Outcome.Met
	if why != "" || len(first.Values) < 3 || len(second.Values) < 3 || slices.Equal(first.Values, second.Values) {
		return how
	}
	return fmt.Sprintf("%s; its memory had the values %s with T%d first, and %s with T%d first", how,
		values(first), f.Evidence[first.First].Thread, values(second), f.Evidence[second.First].Thread)
}

// values returns what memory held, as unsigned numbers.
func values(m *steer.Met) string {
	all := make([]string, len(m.Values))
	for i, v := range m.Values {
		all[i] = fmt.Sprint(v)
	}
	return strings.Join(all, ", ")
}

// objectName returns the name of the memory that a race is on.
func objectName(f *report.Finding) string {
	if len(f.Objects) == 0 {
		return "memory"
	}
	return f.Objects[0].Name
}
