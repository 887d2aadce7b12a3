package loader

import (
	"path"
	"sync"
	"time"

	"github.com/tracepredict/tracepredict/probes"
)

// Plans are figures about the plans of a session.
type Plans struct {
	Made   int           // how many were made
	Cached int           // how many were taken from probes.Options.Cache
	Time   time.Duration // that both took
}

// planning makes plans, or takes them from the cache, and says so.
type planning struct {
	tell func(what string, done float64) // Options.Planning
	what string                          // what plan does now, for people; changed while no other goroutine plans

	mu      sync.Mutex // guards figures; no other lock is acquired while it is held
	figures Plans
}

// Plans returns how many plans there are, and what they took.
func (s *Session) Plans() Plans {
	s.planning.mu.Lock()
	defer s.planning.mu.Unlock()
	return s.planning.figures
}

// plan makes the plan of a module, or takes it from the cache.
func (p *planning) plan(planner *probes.Planner, mod *Module) (*probes.Plan, error) {
	p.what = "reading code of " + path.Base(mod.Path)
	p.say(p.what, 0)
	began := time.Now()
	plan, err := planner.Plan(mod.Bin)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.figures.Time += time.Since(began)
	switch {
	case err != nil:
	case plan.Cached:
		p.figures.Cached++
	default:
		p.figures.Made++
	}
	return plan, err
}

// options returns the options of a planner. While a plan is made, the session's lock is held.
func (p *planning) options(opts probes.Options) probes.Options {
	if p.tell != nil {
		opts.Progress = func(done, all int) { p.tell(p.what, float64(done)/float64(max(all, 1))) }
	}
	return opts
}

// say reports to the user what is being done now, and which part of it is done, from 0 to 1.
func (p *planning) say(what string, done float64) {
	if p.tell != nil {
		p.tell(what, done)
	}
}
