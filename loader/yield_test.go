package loader

import "testing"

// TestYields: a process is not traced from a time on, until another has its ID.
func TestYields(t *testing.T) {
	var y yields
	if y.before(7, 100) || y.any.Load() {
		t.Error("before any process has yielded")
	}
	y.add(7, 50)
	for at, want := range map[uint64]bool{49: false, 50: true, 51: true} {
		if y.before(7, at) != want {
			t.Errorf("at %d: %v", at, !want)
		}
	}
	if y.before(8, 100) {
		t.Error("of another process")
	}
	if y.forget(7); y.before(7, 100) || !y.any.Load() {
		t.Error("of another process with the same ID")
	}
}
