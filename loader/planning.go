package loader

import (
	"path"
	"time"

	"github.com/tracepredict/tracepredict/probes"
)

// Plans are figures about the plans of a session.
type Plans struct {
	Made   int           // how many were made
	Cached int           // how many were taken from probes.Options.Cache
	Time   time.Duration // that both took
}

// Plans returns how many plans there are, and what they took.
func (s *Session) Plans() Plans {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.plans
}

// planFile makes the plan of a module, or takes it from the cache.
func (s *Session) planFile(p *process, mod *Module) (*probes.Plan, error) {
	s.planned = "reading code of " + path.Base(mod.Path)
	s.planning(s.planned, 0)
	began := time.Now()
	plan, err := p.planner.Plan(mod.Bin)
	s.plans.Time += time.Since(began)
	switch {
	case err != nil:
	case plan.Cached:
		s.plans.Cached++
	default:
		s.plans.Made++
	}
	return plan, err
}

// planOptions returns the options of a planner. While a plan is made, the session's lock is held.
func (s *Session) planOptions() probes.Options {
	opts := s.opts.Plan
	if s.opts.Planning != nil {
		opts.Progress = func(done, all int) { s.planning(s.planned, float64(done)/float64(max(all, 1))) }
	}
	return opts
}

// planning tells what is done now.
func (s *Session) planning(what string, done float64) {
	if s.opts.Planning != nil {
		s.opts.Planning(what, done)
	}
}
