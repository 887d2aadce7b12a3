package engine

import (
	"testing"

	"github.com/tracepredict/tracepredict/observer/event"
)

// TestAtomicWait checks which loads are those of waits and of notifications, by the functions of their call stacks.
func TestAtomicWait(t *testing.T) {
	const (
		load   = "std::__atomic_base<int>::load(std::memory_order) const"
		lambda = "std::__atomic_base<int>::wait(int, std::memory_order) const::{lambda()#1}::operator()() const"
		spin   = "bool std::__detail::__waiter_base<std::__detail::__waiter_pool>::_M_do_spin_v<int>(int const&, int&)"
		wait   = "std::__atomic_base<int>::wait(int, std::memory_order) const"
		notify = "std::__atomic_base<int>::notify_all()"
	)
	for _, c := range []struct {
		name            string
		frames          []string
		waits, notifies bool
	}{
		{"a wait", []string{load, lambda, spin, wait, "main"}, true, false},
		{"a notification", []string{"std::__detail::__waiter_pool_base::_M_waiting() const", "void std::__atomic_notify_address<int>(int const*, bool)", notify, "main"}, false, true},
		{"a notification that was jumped to", []string{"std::__detail::__waiter_pool_base::_M_waiting() const", "void std::__atomic_notify_address<int>(int const*, bool)", "start_thread"}, false, true},
		{"another load", []string{load, "main"}, false, false},
		{"a wait of another library", []string{load, wait, "main"}, false, false},
		{"a wait of a class of the program", []string{load, spin, "gate<std::atomic<int> >::wait(int)"}, false, false},
		{"no name", []string{""}, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var frames []event.Frame
			for _, f := range c.frames {
				frames = append(frames, event.Frame{Function: f})
			}
			if waits, notifies := atomicWait(frames); waits != c.waits || notifies != c.notifies {
				t.Errorf("waits %t, notifies %t", waits, notifies)
			}
		})
	}
}
