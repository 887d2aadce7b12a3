package e2e

import "testing"

// TestCPP checks C++'s own locks, threads, conditions and static variables, also where
// exceptions pass through observed calls.
func TestCPP(t *testing.T) {
	t.Parallel()
	for _, flags := range [][]string{{"-O0"}, {"-O2"}, {"-O2", "-static"}} {
		t.Run(flags[len(flags)-1], func(t *testing.T) {
			program := build(t, "g++", "cpp.cc", append(flags, "-std=c++17", "-pthread")...)
			eachSites(t, func(t *testing.T, opts options) {
				observe(t, program, opts).expectLog(t)
			})
		})
	}
}
