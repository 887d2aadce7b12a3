package steer

import "slices"

// Ahead returns the gate at which a thread is that has come to a site, before Came is called; false if it is none of the
// plan.
func (s *Steering) Ahead(tid, site int) (gate int, ok bool) {
	t := s.threads[tid]
	if t == nil || s.free {
		return 0, false
	}
	at := slices.IndexFunc(t.gates, func(i int) bool { return s.state[i] == ahead && s.plan.Gates[i].Site == site })
	if at < 0 {
		return 0, false
	}
	return t.gates[at], true
}

// Done reports whether all gates that are not optional have been passed in the order of the plan.
func (s *Steering) Done() bool {
	left := func(i int) bool { return s.state[i] != passed && !s.plan.Gates[i].Optional }
	for i := range s.state {
		if left(i) {
			return false
		}
	}
	return s.outcome.Diverged == 0
}
