package steer

import (
	"testing"
	"time"
)

// TestDone: a plan is done when all gates but optional ones are passed, and where a thread comes to a gate is known before.
func TestDone(t *testing.T) {
	now := time.Unix(1, 0)
	s := New(Plan{Exact: true, Sites: []Site{{At: 1}, {At: 2}}, Gates: []Gate{
		{Thread: []int{}, Site: 0}, {Thread: []int{0}, Site: 1, Behind: []int{0}}, {Thread: []int{0}, Site: 0, Optional: true},
	}})
	s.First(7)
	s.Created(7, 8)
	if gate, ok := s.Ahead(8, 1); !ok || gate != 1 {
		t.Errorf("thread 8 comes to gate %d, %v", gate, ok)
	}
	if _, ok := s.Ahead(7, 1); ok {
		t.Error("thread 7 has a gate of another")
	}
	s.Came(8, 1, now)
	s.Came(7, 0, now)
	if s.Executed(7, now); s.Done() {
		t.Error("done before the last step")
	}
	if s.Executed(8, now); !s.Done() {
		t.Error("not done behind the last step")
	}
	if gate, ok := s.Ahead(8, 0); !ok || gate != 2 {
		t.Errorf("thread 8 comes to gate %d, %v", gate, ok)
	}
}
