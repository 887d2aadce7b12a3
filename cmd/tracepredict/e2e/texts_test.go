package e2e

import (
	"strings"
	"testing"
)

// checkWays runs a program once for each way, which is its argument, and checks that it has one finding, which begins
// as wanted and mentions a function, or none.
func checkWays(t *testing.T, program string, ways map[string][2]string) {
	t.Helper()
	for way, want := range ways {
		t.Run(way, func(t *testing.T) {
			_, r := reported(t, "exec", "--watch-shared=all", "--", program, way)
			got := r.summary()
			if len(r.Findings) != min(1, len(want[0])) || !strings.HasPrefix(got, want[0]) || len(r.Findings) > 0 && !strings.Contains(r.Findings[0].Message, want[1]) {
				t.Errorf("findings: %q, want one of %q (notes: %q)", got, want, r.Run.Notes)
			}
		})
	}
}

// TestTexts checks that the texts that functions of the C library read by their arguments and formats are one side of
// a race, with and without fortified functions; and that nothing is which they may not read.
func TestTexts(t *testing.T) {
	needBPF(t)
	t.Parallel()
	const race = "predicted race of struct letter.text"
	for _, fortified := range []string{"-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2"} {
		ways := map[string][2]string{
			"scanned": {race, " by sscanf of "}, "printed": {race, " by fprintf of "}, "noted": {race, " by snprintf of "},
			"locked": {}, "behind": {}, "number": {}, "nothing": {},
		}
		if fortified == "-D_FORTIFY_SOURCE=2" {
			ways["noted"] = [2]string{} // the text is the seventh argument, on the stack
		}
		checkWays(t, build(t, "gcc", "texts.c", "-O2", "-g", "-pthread", fortified), ways)
	}
}

// TestStrings checks that what functions of std::string access is one side of a race.
func TestStrings(t *testing.T) {
	needBPF(t)
	t.Parallel()
	const race = "predicted race of "
	checkWays(t, build(t, "g++", "strings.cc", "-O2", "-g", "-pthread"), map[string][2]string{
		"appended": {race, " by std::string::append of "}, "replaced": {race, " by std::string::replace of "},
		"assigned": {race, " by std::string::assign of "}, "source": {race, " by std::string::assign of "},
		"locked": {}, "both": {},
	})
}

// TestVirtualTables checks that the pointer to the table of virtual functions is shared memory: constructors and
// destructors write it, virtual calls read it.
func TestVirtualTables(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for _, level := range []string{"-O1", "-O2"} {
		checkWays(t, build(t, "g++", "vptr.cc", level, "-g", "-pthread"), map[string][2]string{
			"destroyed": {"predicted race of Base._vptr.Base", "~Derived"}, "built": {"predicted race of Derived._vptr.Base", "Derived::Derived"},
			"locked": {}, "joined": {},
		})
	}
}
