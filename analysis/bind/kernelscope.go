package bind

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cilium/ebpf/asm"

	"github.com/tracepredict/tracepredict/analysis/monitor"
	"github.com/tracepredict/tracepredict/analysis/scope"
	"github.com/tracepredict/tracepredict/analysis/spec"
	"github.com/tracepredict/tracepredict/analysis/spec/syntax"
	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/observer/event"
)

// KernelScope is the scope of a specification whose local properties are monitored in the observed threads, by others:
// they say with Close, just before the event of each synchronising action, in which states the threads are.
type KernelScope struct {
	Tables []*monitor.Table // by local property
	// Conditions is the code of the conditions of local events, as bpf.SetScopeConditions takes it; nil: they have none.
	Conditions asm.Instructions

	whens   []int // the indices in Spec.Events of those events
	spec    *spec.Spec
	scope   *spec.Scope
	ids     map[uint64]event.ThreadID // by process and thread ID: the latest thread
	last    event.ThreadID            // the thread of the last event, which is in ids
	ended   []endedThread             // in the present region
	closed  []Closed                  // of actions whose events have not come
	end     *Closed                   // the last region
	out     scope.Results             // reused
	Counted KernelCounts
}

// KernelCounts are figures of a scope that was monitored in the observed threads.
type KernelCounts struct {
	Events  uint64 // of local properties
	Records uint64 // of actions
}

// Closed says what the threads have done in a region.
type Closed struct {
	// Time, TID and TGID are those of the action that ends the region.
	Time      uint64
	TID, TGID uint32
	Region    uint64 // from 0
	Missed    uint64 // events in all regions so far that are in no state, for lack of room
	Together  bool   // another action was under way
	// States has the threads that have left the first state of some property.
	States []ThreadState
}

// endedThread is a thread that has ended, and its key in KernelScope.ids.
type endedThread struct {
	id     uint64
	thread event.ThreadID
}

// ThreadState has the states of a thread, by local property.
type ThreadState struct {
	TID    uint32
	Named  bool // it got a name behind events that the states have
	States [maxKernelLocals]uint8
}

// maxKernelLocals is the most local properties of a scope in the kernel: SCOPE_LOCALS of bpf/scope.h.
const maxKernelLocals = 6

// SiteIs is what an event at a site is to a scope.
type SiteIs struct {
	Letters [maxKernelLocals]uint8 // by local property; 0: no event of it
	Local   bool                   // an event of a local property
	Action  bool                   // a synchronising action
	Whens   []WhenIs               // events of which it is one if their conditions hold
}

// WhenIs is an event that has a condition.
type WhenIs struct {
	Letters [maxKernelLocals]uint8 // as of SiteIs
	Number  int                    // for the code of Conditions
	From    []int                  // what the condition reads, as spec.Event.Inputs
}

// NewKernelScope returns the scope of a specification for the kernel. The error says why it has none.
func NewKernelScope(s *spec.Spec) (*KernelScope, error) {
	switch {
	case len(s.Scopes) == 0:
		return nil, errors.New("the specification has no scope")
	case len(s.Scopes) > 1:
		return nil, fmt.Errorf("the specification has %d scopes, and one can be there", len(s.Scopes))
	case len(s.Properties)+len(s.Typestates)+len(s.Formulas)+len(s.Locals) > 0:
		return nil, errors.New("the specification has more than a scope, and that may need the same events")
	}
	k := &KernelScope{spec: s, scope: s.Scopes[0], ids: map[uint64]event.ThreadID{}}
	if len(k.scope.Locals) > maxKernelLocals {
		return nil, fmt.Errorf("scope %s has %d local properties, and at most %d can be there", k.scope.Name, len(k.scope.Locals), maxKernelLocals)
	}
	if why := k.cannotAct(&s.Events[k.scope.Sync]); why != "" {
		return nil, fmt.Errorf("the synchronising action %s %s", s.Events[k.scope.Sync].Name, why)
	}
	monitors, problems := s.ScopeMonitors(k.scope, spec.MonitorOptions{})
	if problems.HasErrors() {
		return nil, problems
	}
	for i := range k.scope.Locals {
		l := &k.scope.Locals[i]
		if err := k.fits(l); err != nil {
			return nil, fmt.Errorf("the local property %s %w", l.Name, err)
		}
		t := monitors.Locals[i].Table(len(l.Events))
		if t == nil {
			return nil, fmt.Errorf("the automaton of the local property %s is too large", l.Name)
		}
		k.Tables = append(k.Tables, t)
	}
	return k, k.compile()
}

// compile makes the code of conditions.
func (k *KernelScope) compile() (err error) {
	for i := range k.scope.Locals {
		for _, e := range k.scope.Locals[i].Events {
			if k.spec.Events[e].When != nil && !slices.Contains(k.whens, e) {
				k.whens = append(k.whens, e)
			}
		}
	}
	k.Conditions, err = k.spec.KernelConditions(k.whens)
	return err
}

// cannotAct says why an event cannot be a synchronising action that the kernel sees; "" if it can.
func (k *KernelScope) cannotAct(e *spec.Event) string {
	switch {
	case e.When != nil:
		return "has a condition"
	case e.By >= 0:
		return "is of threads of one type"
	case e.Op == syntax.OpCall || e.Op == syntax.OpReturn:
		return ""
	case e.Op != syntax.OpAcquire && e.Op != syntax.OpRelease:
		return "is no call, return, acquire or release"
	case e.Sync < 0 || k.spec.Syncs[e.Sync].Class != "":
		return "is of no lock with a name"
	}
	return ""
}

// fits returns an error if the kernel cannot monitor a local property.
func (k *KernelScope) fits(l *spec.LocalProperty) error {
	if l.Across {
		return errors.New("continues across scopes")
	}
	for _, i := range l.Events {
		switch e := &k.spec.Events[i]; {
		case e.Op != syntax.OpCall && e.Op != syntax.OpReturn:
			return fmt.Errorf("is over %s, which is no call or return: which operations on locks are events is known in user space alone", e.Name)
		case e.By >= 0 && e.By != l.Type:
			return fmt.Errorf("is over %s, which is of threads of another type", e.Name)
		}
	}
	return nil
}

// Site returns what the calls of a function are, or its returns. Matches says whether a pattern of Spec.Plan matches the
// function, of which params are recorded.
func (k *KernelScope) Site(returns bool, params []event.Param, matches func(on string, returns bool) bool) (is SiteIs) {
	of := func(i int) bool {
		e := &k.spec.Events[i]
		return (e.Op == syntax.OpCall && !returns || e.Op == syntax.OpReturn && returns) && matches(e.On, returns)
	}
	is.Action = of(k.scope.Sync)
	for i := range k.scope.Locals {
		for bit, e := range k.scope.Locals[i].Events {
			if !of(e) {
				continue
			}
			is.Local = true
			if w := is.when(slices.Index(k.whens, e)); w != nil {
				w.Letters[i] |= 1 << bit
				w.From = k.spec.Events[e].Inputs(params)
				continue
			}
			is.Letters[i] |= 1 << bit
		}
	}
	return is
}

// when returns the event that has the condition of a number; nil for -1.
func (s *SiteIs) when(number int) *WhenIs {
	if number < 0 {
		return nil
	}
	i := slices.IndexFunc(s.Whens, func(w WhenIs) bool { return w.Number == number })
	if i < 0 {
		i = len(s.Whens)
		s.Whens = append(s.Whens, WhenIs{Number: number})
	}
	return &s.Whens[i]
}

// Monitors reports whether the events of a pattern of Spec.Plan are no events of the run.
func (k *KernelScope) Monitors(on string, returns bool) bool {
	is := k.Site(returns, nil, func(o string, r bool) bool { return o == on && r == returns })
	return is.Local && !is.Action
}

// Lock returns the name of the lock whose operation is the synchronising action, and whether that is its release; ok is
// false if the action is a call or a return.
func (k *KernelScope) Lock() (path string, releases, ok bool) {
	e := &k.spec.Events[k.scope.Sync]
	if e.Op == syntax.OpCall || e.Op == syntax.OpReturn {
		return "", false, false
	}
	return k.spec.Syncs[e.Sync].Path, e.Op == syntax.OpRelease, true
}

// Name returns the name of the scope.
func (k *KernelScope) Name() string { return k.scope.Name }

// Close says what the threads have done in a region that an action ends, whose event follows.
func (k *KernelScope) Close(c Closed) { k.closed = append(k.closed, c) }

// End says what the threads have done in the last region, and the figures of the run.
func (k *KernelScope) End(c Closed, n KernelCounts) { k.end, k.Counted = &c, n }

func idOf(tgid, tid uint32) uint64 { return uint64(tgid)<<32 | uint64(tid) }

// see keeps who the threads are.
func (k *KernelScope) see(e *event.Event, threads Threads) {
	if e.Thread == k.last && e.Op != event.End {
		return
	}
	x := threads.of(e.Thread)
	k.last = e.Thread
	id := idOf(x.TGID, x.TID)
	k.ids[id] = e.Thread
	if e.Op == event.End {
		k.ended = append(k.ended, endedThread{id, e.Thread})
	}
}

// results implements scope.Outside.
func (k *KernelScope) results(action scope.Action) (*scope.Results, error) {
	c := k.end
	if action != (scope.Action{}) {
		if len(k.closed) == 0 {
			return nil, errors.New("an action was not seen in the kernel")
		}
		c = &k.closed[0]
		k.closed = k.closed[1:]
		if c.Time != action.Time || k.ids[idOf(c.TGID, c.TID)] != action.Thread {
			return nil, errors.New("what the kernel took for an action is none, such as another acquire by who holds the lock")
		}
	}
	switch {
	case c == nil:
		return nil, errors.New("the state of the last region could not be read")
	case c.Missed > 0:
		return nil, errors.New(plural.Sprintf("%d {event was|events were} not counted: there were more than 1,024 threads, or what a condition reads was not there", c.Missed))
	case c.Together:
		return nil, errors.New("two actions were made at once")
	}
	return k.translate(c)
}

// translate returns results by threads of the run.
func (k *KernelScope) translate(c *Closed) (*scope.Results, error) {
	k.out.Region, k.out.Threads = c.Region, k.out.Threads[:0]
	seen := map[uint32]bool{}
	for i := range c.States {
		s := &c.States[i]
		id, known := k.ids[idOf(c.TGID, s.TID)]
		if !known || seen[s.TID] {
			return nil, fmt.Errorf("thread %d of the kernel is not one of the run", s.TID)
		}
		seen[s.TID] = true
		r := scope.ThreadResult{Thread: id, Named: s.Named}
		for j, t := range k.Tables {
			r.Verdicts = append(r.Verdicts, scope.Verdict(t.Verdicts[s.States[j]]))
		}
		k.out.Threads = append(k.out.Threads, r)
	}
	for _, x := range k.ended {
		if k.ids[x.id] == x.thread { // else another thread has the ID by now
			delete(k.ids, x.id)
		}
	}
	k.ended = k.ended[:0]
	return &k.out, nil
}
