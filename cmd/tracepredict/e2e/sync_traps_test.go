package e2e

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCancel checks that after a cancellation, which unwinds the frames of observed
// calls, the cleanup handlers are observed, and that the mutex of a wait is acquired
// and released.
func TestCancel(t *testing.T) { expectLogs(t, "cancel.c") }

// TestHandlerInWait checks that an operation of a signal handler during a wait does not
// end the wait.
func TestHandlerInWait(t *testing.T) { expectLogs(t, "handler.c") }

// TestDeep checks that calls are observed that nest deeper than the kernel follows
// return probes (64).
func TestDeep(t *testing.T) { expectLogs(t, "deep.c") }

// TestOldVersions checks condition variables linked against the versions of before
// 2003, which are at another address.
func TestOldVersions(t *testing.T) {
	t.Parallel()
	program := build(t, "gcc", "oldversion.c", "-pthread")
	eachSites(t, func(t *testing.T, opts options) {
		observe(t, program, opts).expectLog(t)
	})
}

// TestLongjmp checks that events are right after a handler has left a wait by longjmp.
// (With musl such a program crashes by itself.)
func TestLongjmp(t *testing.T) {
	t.Parallel()
	for _, libc := range libcs {
		if libc.compiler == "musl-gcc" {
			continue
		}
		t.Run(libc.name, func(t *testing.T) {
			program := build(t, libc.compiler, "longjmp.c", libc.flags...)
			eachSites(t, func(t *testing.T, opts options) {
				r := observe(t, program, opts)
				r.expectExit(t, 0)
				want := map[string]int{"acquire m": 12, "release m": 12}
				if diff := cmp.Diff(want, r.tally(t)); diff != "" {
					t.Errorf("did (-), observed (+):\n%s", diff)
				}
			})
		})
	}
}
