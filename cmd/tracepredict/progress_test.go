package main

import (
	"io"
	"testing"
	"time"
)

// TestOneQuiet: the second look at the events of a run has the --settle of the first, which knows whether it ended the
// observation.
func TestOneQuiet(t *testing.T) {
	for settle, wanted := range map[time.Duration]bool{0: false, time.Second: true} {
		r := &observation{flags: &observeFlags{settle: settle}}
		r.locks(io.Discard)
		first := r.quiet
		r.locks(io.Discard)
		if (first != nil) != wanted || r.quiet != first {
			t.Errorf("--settle %v: %p, then %p", settle, first, r.quiet)
		}
	}
}
