package parent

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestSignalsAreCountedOnce checks that a signal counts as often as it was sent, whether to this process, to its
// parent, or to both of them.
func TestSignalsAreCountedOnce(t *testing.T) {
	const direct, passed = 'd', 'p'
	for sent, want := range map[string]int{"": 0, "d": 1, "p": 1, "dp": 1, "pd": 1, "dd": 2, "pp": 2, "dpdp": 2, "ddpp": 2, "ppd": 2, "ppdd": 2, "dppp": 3} {
		to := make(chan os.Signal, 8)
		n := &listener{to: to, had: map[os.Signal]*counts{unix.SIGINT: {}}}
		for _, way := range sent {
			n.count(unix.SIGINT, func(c *counts) *int {
				if way == direct {
					return &c.direct
				}
				return &c.passed
			})
		}
		if len(to) != want {
			t.Errorf("%q: told %d times, want %d", sent, len(to), want)
		}
	}
}

func TestUnwantedSignal(t *testing.T) {
	n := &listener{to: make(chan os.Signal), had: map[os.Signal]*counts{unix.SIGINT: {}}}
	l := &Link{listeners: []*listener{n}}
	if l.pass(unix.SIGTERM) {
		t.Error("somebody listens to SIGTERM")
	}
	if !l.pass(unix.SIGINT) { // the channel is full: the signal is lost, as by signal.Notify
		t.Error("nobody listens to SIGINT")
	}
}

func TestWithoutParent(t *testing.T) {
	for _, text := range []string{"", "x", "2", "123456789"} {
		t.Setenv("TRACEPREDICT_PARENT", text)
		if l := Inherited(); l != nil {
			t.Errorf("%q leads to a parent", text)
		}
		if _, ok := os.LookupEnv("TRACEPREDICT_PARENT"); ok {
			t.Errorf("%q stays in the environment", text)
		}
	}
	var l *Link
	l.Started(1)
	l.Stopping()
	l.Ending()
	to := make(chan os.Signal, 1)
	stop := l.Notify(to, unix.SIGUSR1)
	defer stop()
	if err := unix.Kill(os.Getpid(), unix.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	<-to
}
