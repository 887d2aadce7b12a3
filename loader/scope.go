package loader

import (
	"fmt"

	"github.com/cilium/ebpf/asm"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/loader/attach"
	"github.com/tracepredict/tracepredict/probes/function"
)

// Scope is a scope whose local properties are monitored in the observed threads.
type Scope struct {
	Automata *bpf.ScopeAutomata
	// Conditions is the code of the conditions of its events, as bpf.SetScopeConditions takes it; nil: they have none.
	Conditions asm.Instructions
	// Site returns what the calls of a function, and its returns, are to the scope.
	Site func(*function.Function) (call, returned bpf.ScopeSite, err error)
	// Actions are the operations that are synchronising actions, by the name of the lock as in Plan.Objects.
	Actions map[string][]bpf.Op
	// Closed receives, just before the record of an action, the states of the threads that have left their first ones.
	Closed func(*bpf.ScopeRecord, []bpf.ScopeState)
	// Last receives, once all records have been read, what Closed would if an action came then.
	Last func(*bpf.ScopeRecord, []bpf.ScopeState, ScopeCounts)
}

// ScopeCounts are figures of a scope.
type ScopeCounts = attach.ScopeCounts

func (s *Scope) automata() *bpf.ScopeAutomata {
	if s == nil {
		return nil
	}
	return s.Automata
}

func (s *Scope) conditions() asm.Instructions {
	if s == nil {
		return nil
	}
	return s.Conditions
}

// enterScope says what the sites of a module are to the scope.
func (s *Session) enterScope(mod *Module) error {
	if s.opts.Scope == nil {
		return nil
	}
	for i := range mod.Plan.Sites {
		fn := mod.Plan.Sites[i].Method
		if fn == nil {
			continue
		}
		call, returned, err := s.opts.Scope.Site(fn)
		if err != nil {
			return fmt.Errorf("monitor the scope at %s: %w", fn.Name, err)
		}
		for _, x := range []struct {
			returns bool
			is      bpf.ScopeSite
		}{{false, call}, {true, returned}} {
			if x.is == (bpf.ScopeSite{}) {
				continue
			}
			if err := s.tracer.SetScopeSite(mod.Base+uint32(i), x.returns, x.is); err != nil {
				return err
			}
		}
	}
	return nil
}

// findActions finds the locks of synchronising actions in modules that are newly mapped. They may be in one that has no site:
// the functions that use a lock are the C library's.
func (s *Session) findActions(p *process, mapped []*Module) error {
	if s.opts.Scope == nil {
		return nil
	}
	for _, seg := range s.Segments(p.pid) {
		for _, mod := range mapped {
			if seg.Module != mod {
				continue
			}
			for i := range mod.Plan.Objects {
				v := &mod.Plan.Objects[i]
				for _, op := range s.opts.Scope.Actions[v.Name] {
					if err := s.tracer.AddScopeLock(bpf.ScopeLock{Object: seg.Bias + v.Addr, Tgid: uint32(p.pid), Op: uint32(op)}); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// lastRegion passes on the region that no action has ended.
func (s *Session) lastRegion() error {
	if s.opts.Scope == nil {
		return nil
	}
	r, states, counts, err := s.tracer.LastRegion()
	if err == nil {
		r.Head.Tgid = uint32(s.PID())
		s.opts.Scope.Last(&r, states, counts)
	}
	return err
}

// Scope implements ring.Handler.
func (f *filter) Scope(r *bpf.ScopeRecord, states []bpf.ScopeState) {
	if f.afterEnd(&r.Head) {
		return
	}
	f.s.opts.Scope.Closed(r, states)
	f.Record(&r.Head)
}
