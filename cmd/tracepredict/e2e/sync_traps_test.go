package e2e

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Cancellation unwinds the frames of observed calls: the cleanup handlers run,
// and the mutex of a wait is seen taken and released.
func TestCancel(t *testing.T) { stories(t, "cancel.c") }

// A signal handler's operation within a wait does not end the wait.
func TestHandlerInWait(t *testing.T) { stories(t, "handler.c") }

// What nests deeper than the kernel follows return probes (64) is seen.
func TestDeep(t *testing.T) { stories(t, "deep.c") }

// Conditions linked against their versions of before 2003 are those of today,
// at another address.
func TestOldVersions(t *testing.T) {
	program := build(t, "gcc", "oldversion.c", "-pthread")
	eachSites(t, func(t *testing.T, opts options) {
		observe(t, program, opts).expectStory(t)
	})
}

// A handler that leaves a wait by longjmp does no harm to what comes after.
// (With musl such a program dies of itself.)
func TestLongjmp(t *testing.T) {
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
