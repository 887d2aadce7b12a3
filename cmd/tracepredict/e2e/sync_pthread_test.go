package e2e

import "testing"

// glibcStory runs a fixture with glibc, at both placements of the probes, and
// compares the events with what it says.
func glibcStory(t *testing.T, source string, flags ...string) {
	t.Helper()
	eachSites(t, func(t *testing.T, opts options) {
		observe(t, build(t, "gcc", source, append(flags, "-pthread")...), opts).expectStory(t)
	})
}

func TestMutex(t *testing.T) { glibcStory(t, "mutex.c") }
