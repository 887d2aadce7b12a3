package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/bind"
	"github.com/tracepredict/tracepredict/analysis/spec"
	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/loader"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/probes/function"
)

// chooseScope decides where the local properties of the specification are monitored.
func (f *observeFlags) chooseScope() error {
	s := f.specification
	if s == nil || len(s.Scopes) == 0 || f.monitor != monitorKernel {
		return nil
	}
	err := f.needsEvents()
	if err == nil {
		s.kernel, err = bind.NewKernelScope(s.Spec)
	}
	if err != nil {
		return usage("--monitor=kernel: %w; --monitor=user monitors it", err)
	}
	return nil
}

// needsEvents returns an error if something else needs the events of local properties.
func (f *observeFlags) needsEvents() error {
	switch {
	case f.record != "":
		return errors.New("--record needs each event as a record")
	case len(f.on) > 0:
		return errors.New("--on may ask for the same events as records")
	case f.follow:
		return errors.New("--follow observes several processes, and the scope of one can be there")
	case f.pointers():
		return errors.New("--watch-shared=all may analyse the events of the run again, which needs them as records")
	}
	return nil
}

// kernelScope returns what is to be monitored in the observed threads; nil if nothing is.
func (s *specification) kernelScope(patterns []function.Pattern) (*loader.Scope, error) {
	if s == nil || s.kernel == nil {
		return nil, nil
	}
	var tables []bpf.ScopeTable
	for _, t := range s.kernel.Tables {
		tables = append(tables, bpf.ScopeTable{Shift: uint32(t.Propositions), Next: t.Next})
	}
	automata, err := bpf.NewScopeAutomata(tables)
	if err != nil {
		return nil, usage("--monitor=kernel: %w; --monitor=user monitors it", err)
	}
	out := &loader.Scope{
		Automata: automata, Conditions: s.kernel.Conditions,
		Site: func(fn *function.Function) (call, returned bpf.ScopeSite, err error) {
			matches := func(on string, returns bool) bool {
				for _, i := range fn.Patterns {
					if p := &patterns[i]; p.Text == on && p.Return == returns {
						return true
					}
				}
				return false
			}
			var params []event.Param
			for _, p := range fn.Params {
				params = append(params, event.Param{Index: p.Index, Stored: p.Stored != 0, Element: p.Element})
			}
			if call, err = scopeSite(s.kernel.Site(false, params, matches)); err == nil {
				returned, err = scopeSite(s.kernel.Site(true, params, matches))
			}
			return call, returned, err
		},
		Closed: func(r *bpf.ScopeRecord, states []bpf.ScopeState) { s.kernel.Close(closedOf(r, states)) },
		Last: func(r *bpf.ScopeRecord, states []bpf.ScopeState, n loader.ScopeCounts) {
			s.kernel.End(closedOf(r, states), bind.KernelCounts{Events: n.Events, Records: n.Records})
		},
	}
	if path, releases, ok := s.kernel.Lock(); ok {
		ops := []bpf.Op{bpf.OpAcquire, bpf.OpAcquireRead}
		if releases {
			ops = []bpf.Op{bpf.OpRelease}
		}
		out.Actions = map[string][]bpf.Op{path: ops}
	}
	return out, nil
}

// recorded returns the patterns of which matching calls and returns are recorded.
func (s *specification) recorded(patterns []event.Pattern) []event.Pattern {
	switch {
	case s == nil:
		return patterns
	case s.outside:
		return nil // all are the formula's
	case s.kernel == nil:
		return patterns
	}
	return slices.DeleteFunc(patterns, func(p event.Pattern) bool { return s.kernel.Monitors(p.Pattern, p.Return) })
}

func scopeSite(is bind.SiteIs) (bpf.ScopeSite, error) {
	out := bpf.ScopeSite{Letter: is.Letters, Local: bit(is.Local), Action: bit(is.Action)}
	for _, w := range is.Whens {
		when := bpf.ScopeWhen{Letter: w.Letters, Number: uint8(w.Number)}
		for _, from := range w.From {
			switch from {
			case spec.InputResult:
				from = bpf.ScopeResult
			case -1:
				return out, errors.New("a parameter that a condition reads is not recorded")
			}
			when.From = append(when.From, uint8(from))
		}
		if err := out.AddWhen(when); err != nil {
			return out, err
		}
	}
	return out, nil
}

func bit(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

// closedOf copies what the kernel says of a region.
func closedOf(r *bpf.ScopeRecord, states []bpf.ScopeState) bind.Closed {
	c := bind.Closed{Time: r.Head.Time, TID: r.Head.Tid, TGID: r.Head.Tgid, Region: r.Region, Missed: r.Missed, Together: r.Together > 0}
	for i := range states {
		c.States = append(c.States, bind.ThreadState{TID: states[i].Tid, Named: states[i].Named(), States: states[i].States()})
	}
	return c
}

// monitored says where the scopes of the specification were monitored, for --stats.
func (f *observeFlags) monitored() []string {
	s := f.specification
	if s == nil || len(s.Scopes) == 0 {
		return nil
	}
	if k := s.kernel; k != nil {
		return []string{plural.Sprintf("scope %s in the kernel: %d {event|events} of local properties, %d {record|records} of actions", k.Name(), k.Counted.Events, k.Counted.Records)}
	}
	why := "--monitor=user"
	if f.monitor == monitorAuto {
		why = "which also looks at other runs"
		if _, err := bind.NewKernelScope(s.Spec); err != nil {
			why = err.Error()
		}
	}
	var out []string
	for _, sc := range s.Scopes {
		out = append(out, fmt.Sprintf("scope %s in user space: %s", sc.Name, why))
	}
	return out
}
