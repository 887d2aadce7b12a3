package e2e

import "testing"

// TestIdioms checks that idioms of modern C++ that order nothing do not hide a deadlock, and that none is reported
// where they keep its sides apart.
func TestIdioms(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "g++", "idioms.cc", "-std=c++20", "-O1", "-g", "-pthread")
	for _, name := range []string{
		"shared_ptr", "async", "jthread", "stop_token", "promise", "heap_atomic", "stack_atomic", "static_counter", "filesystem", "latch", "barrier",
		"atomic_wait", "once",
	} {
		t.Run(name, func(t *testing.T) {
			_, r := reported(t, "exec", "--", program, name, "guilty")
			// A loop of std::stop_source may have ordered the threads, unless the first thread came to it after both.
			if name != "jthread" || r.summary() != "likely deadlock of one, two" {
				wantSummary(t, r, "predicted deadlock of one, two")
			}
			_, r = reported(t, "exec", "--", program, name, "innocent")
			wantSummary(t, r, "")
		})
	}
	t.Run("counting_semaphore", func(t *testing.T) {
		_, r := reported(t, "exec", "--", program, "semaphore", "innocent")
		wantSummary(t, r, "")
	})
}

// TestWithoutDebugInformation checks that a race on what an atomic flag publishes is likely at most in code of which
// nothing shows that the flag is atomic, and that debug information decides it.
func TestWithoutDebugInformation(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for _, c := range []struct{ flag, name, confidence string }{{"-g", "published", ""}, {"-g", "changed", "observed"}, {"-g0", "changed", "likely"}} {
		program := build(t, "gcc", "parcel.c", "-O1", c.flag, "-pthread")
		t.Run(c.name+c.flag, func(t *testing.T) {
			_, r := reported(t, "exec", "--watch-shared", "--", program, c.name)
			if (len(r.Findings) > 0) != (c.confidence != "") {
				t.Errorf("%d findings", len(r.Findings))
			}
			for i := range r.Findings {
				if f := &r.Findings[i]; f.Kind != "race" || f.Confidence != c.confidence {
					t.Errorf("%s %s, want a race that is %q", f.Confidence, f.Kind, c.confidence)
				}
			}
		})
	}
}
