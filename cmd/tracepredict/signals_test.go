package main

import (
	"os"
	"os/signal"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// TestEndSignals: SIGHUP ends an observation, except under nohup; SIGINT does so always, since
// scripts that start attach in the background end it thus.
func TestEndSignals(t *testing.T) {
	hup := signal.Ignored(unix.SIGHUP)
	t.Cleanup(func() {
		if !hup {
			signal.Reset(unix.SIGHUP)
		}
	})
	if got := slices.Contains(endSignals(), os.Signal(unix.SIGHUP)); got == hup {
		t.Errorf("SIGHUP ends the observation: %v; it is ignored: %v", got, hup)
	}
	signal.Ignore(unix.SIGHUP)
	if got := endSignals(); slices.Contains(got, os.Signal(unix.SIGHUP)) || !slices.Contains(got, os.Signal(unix.SIGINT)) {
		t.Errorf("with SIGHUP ignored: %v", got)
	}
}
