package misuse

import "github.com/tracepredict/tracepredict/observer/event"

// recentSteps holds the last maxRecentSteps steps, in a circular buffer.
type recentSteps struct {
	steps []step
	next  int // index of the oldest step, once the buffer is full
}

func (r *recentSteps) add(s step) {
	if len(r.steps) < maxRecentSteps {
		r.steps = append(r.steps, s)
		return
	}
	r.steps[r.next] = s
	r.next = (r.next + 1) % maxRecentSteps
}

// last returns the latest step for which is returns true, and whether there is one.
func (r *recentSteps) last(is func(*step) bool) (step, bool) {
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

func (r *recentSteps) remember(n *event.Names) {
	for i := range r.steps {
		s := &r.steps[i]
		n.AddObject(s.object)
		n.AddThread(s.thread)
		n.AddThread(s.peer)
	}
}
