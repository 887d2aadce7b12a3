package misuse

import "github.com/tracepredict/tracepredict/observer/event"

// ring is a ring buffer of the last maxRing steps.
type ring struct {
	steps []step
	next  int // index of the oldest step, once the ring is full
}

func (r *ring) add(s step) {
	if len(r.steps) < maxRing {
		r.steps = append(r.steps, s)
		return
	}
	r.steps[r.next] = s
	r.next = (r.next + 1) % maxRing
}

// last returns the latest step for which is returns true, and whether there is one.
func (r *ring) last(is func(*step) bool) (step, bool) {
	for i := range r.steps {
		at := r.next - 1 - i
		if at < 0 {
			at += len(r.steps)
		}
		if s := &r.steps[at]; is(s) {
			return *s, true
		}
	}
	return step{}, false
}

func (r *ring) remember(n *event.Names) {
	for i := range r.steps {
		s := &r.steps[i]
		n.Object(s.object)
		n.Thread(s.thread)
		n.Thread(s.peer)
	}
}
