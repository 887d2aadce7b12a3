package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tracepredict/tracepredict/analysis/confirm"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/property"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/loader/steer"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// violation is a violation of a specification that a try has seen.
type violation struct {
	Kind     finding.Kind `json:"kind"`
	Property string       `json:"property"`
	// At is the check of a scope, or where in the code, with "program" for the file of the program, which may have been
	// moved; "" if the property says that.
	At string `json:"at"`
}

// violationOf returns what a finding violates. program is the path of the program in the run that it is of.
func violationOf(f *report.Finding, program string) violation {
	v := violation{Kind: f.Kind, Property: f.Property}
	var step *report.Step
	switch {
	case f.Scope != nil:
		v.At = f.Scope.Check
		return v
	case f.Kind == finding.Property && len(f.Witness) > 0:
		step = &f.Witness[len(f.Witness)-1]
	case f.Kind == finding.Typestate && len(f.Evidence) > 0:
		step = &f.Evidence[0]
	default:
		return v
	}
	if len(step.Frames) == 0 {
		return v
	}
	frame := &step.Frames[0]
	file := frame.Module
	if file == program {
		file = "program"
	}
	v.At = fmt.Sprintf("%s %s+%#x", file, frame.Function, frame.Offset)
	return v
}

// unviolated returns why a try has not confirmed a finding about a specification; "" if it has.
func (a *tryAnswer) unviolated(want violation) string {
	elsewhere := slices.ContainsFunc(a.Violations, func(v violation) bool { return v.Kind == want.Kind && v.Property == want.Property })
	switch {
	case slices.Contains(a.Violations, want):
		return ""
	case a.Failed != "":
		return a.Failed
	case a.Outcome.Diverged > 0:
		return fmt.Sprintf("diverged at step %d: %s", a.Outcome.Diverged, a.Outcome.Reason)
	case elsewhere:
		return want.Property + " was violated, but at another place"
	}
	return "the run followed the schedule, and did not violate " + want.Property
}

// route returns a schedule along the witness of a finding, with the numbers that the operations had in the run.
func (t *trying) route(f *report.Finding) (*steer.Plan, error) {
	r, err := t.router(f)
	if err != nil {
		return nil, err
	}
	return r.plan()
}

// router returns the router of a finding.
func (t *trying) router(f *report.Finding) (r *router, err error) {
	r = &router{trying: t, of: f, places: map[operation]steer.Site{}}
	r.route, err = t.run.counter.Route(&f.Finding, r.stops)
	return r, err
}

// router makes schedules for the loader of the route of a finding.
type router struct {
	*trying
	of     *report.Finding
	route  []confirm.Stop
	places map[operation]steer.Site // the zero Site: threads cannot be stopped there
}

// operation is what is done at a call stack: by an instruction itself, or by a call.
type operation struct {
	stack event.StackID
	own   bool
}

// place returns the instruction before which a thread stops that is to do an operation; false if there is none.
func (r *router) place(op event.Op, stack event.StackID) (steer.Site, bool) {
	own := op == event.Read || op == event.Write || op == event.Update || op == event.Call || op == event.Return
	key := operation{stack, own}
	site, known := r.places[key]
	if !known {
		if own {
			site, _ = r.instruction(stack) // the zero Site where it is not known
		} else {
			site = r.call(stack)
		}
		r.places[key] = site
	}
	return site, site != steer.Site{}
}

// call returns the call by which the program does an operation; the zero Site if it is not known, or if a library of the
// system does it by itself: its locks and how often it acquires them are not the program's.
func (r *router) call(stack event.StackID) steer.Site {
	frames := r.run.live.Frames(stack)
	i := slices.IndexFunc(frames, func(f event.Frame) bool { return f.Addr != frames[0].Addr })
	if i < 0 || run.InLibrary(frames[i]) {
		return steer.Site{}
	}
	return r.site(stack).site // the zero Site where it is not known
}

func (r *router) stops(s *finding.Step) bool {
	_, ok := r.place(s.Op, s.Stack)
	return ok
}

// plan returns a schedule for the loader, with the numbers that operations had in the run.
func (r *router) plan() (*steer.Plan, error) {
	plan := &steer.Plan{Exact: true}
	for i := range r.route {
		s := &r.route[i]
		thread, err := r.path(s.Step.Thread)
		if err != nil {
			return nil, err
		}
		site, _ := r.place(s.Step.Op, s.Step.Stack)
		g := steer.Gate{Thread: thread, Site: plan.Use(site), Behind: s.Behind, Optional: s.After, What: r.what(r.of, &s.Step)}
		g.Returns = site.At == 0 && confirm.Returns(s.Step.Op, s.Step.Flags) || s.Step.Op == event.Return && r.atEntry(s.Step.Stack)
		if r.of.Kind.Specified() && s.Step.Op < event.Acquire {
			g.Pause = 2*property.MaxDelay + time.Millisecond // the record proves the order of two accesses then
		}
		g.Count = r.count(&s.Step, s.Since, site)
		plan.Gates = append(plan.Gates, g)
	}
	return plan, plan.Check()
}

// count returns which of its thread's operations at a site a step is, from 1, behind an event.
func (r *router) count(s *finding.Step, since uint64, site steer.Site) uint32 {
	n, _ := r.run.counter.Since(s.Thread, since, s.Seq, func(op event.Op, stack event.StackID) bool {
		other, ok := r.place(op, stack)
		return ok && other == site && attempt(op) == attempt(s.Op)
	})
	return n
}

// attempt returns the operation that an event is an attempt of: one call makes either event. Events of others may be of
// the same instruction, as where the first one of a function writes a variable.
func attempt(op event.Op) event.Op {
	switch op {
	case event.AcquireRead, event.AcquireFailed:
		return event.Acquire
	case event.SemFailed:
		return event.SemWait
	}
	return op
}

// atEntry reports whether a call stack ends at the first instruction of a function.
func (r *router) atEntry(stack event.StackID) bool {
	frames := r.run.live.Frames(stack)
	outer := slices.IndexFunc(frames, func(f event.Frame) bool { return !f.Inlined })
	return outer >= 0 && frames[outer].Addr == frames[0].Addr && frames[outer].Offset == 0
}

// instruction returns the instruction that does an operation itself.
func (t *trying) instruction(stack event.StackID) (s steer.Site, err error) {
	frames := t.run.live.Frames(stack)
	if len(frames) == 0 || frames[0].Module == event.LibraryModule || frames[0].Module == event.KernelModule {
		return s, errors.New("one access is not an instruction of the program's, but made by a library function or the kernel")
	}
	session := t.run.live.Session
	seg, ok := session.Segment(session.PID(), frames[0].Addr)
	if !ok {
		return s, fmt.Errorf("the file of the instruction at %#x is not known", frames[0].Addr)
	}
	return steer.Site{Module: seg.Module.Path, At: frames[0].Addr - seg.Bias}, nil
}
