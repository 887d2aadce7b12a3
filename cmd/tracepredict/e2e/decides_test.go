package e2e

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWhatSectionsDecide checks what is said of deadlocks whose schedules leave critical sections out or move them.
// Where all that these sections access was recorded, or their code shows that it decides nothing, the finding assumes
// nothing of it. Where it was not, it is potential, and says what was not. What the recorded reads forbid is not
// predicted.
func TestWhatSectionsDecide(t *testing.T) {
	needBPF(t)
	t.Parallel()
	const moves = "the schedule leaves critical sections out or moves them, and "
	for _, c := range []struct {
		decides, flags string // decides: a case of decides.c, and other macros
		want, reason   string // want "": none that is predicted
	}{
		{"1", "", "predicted", ""},
		{"1", "--watch-shared=off", "potential", moves + "what they wrote may decide what T3 does in its own (the address accessed at decides.c:"},
		{"2", "", "", ""},
		{"2", "--watch-shared=off", "", ""},
		{"3", "", "", ""},
		{"3", "--watch-shared=off", "", ""},
		{"4", "", "likely", "T3 reads another value of a variable at decides.c:"},
		{"5", "", "potential", moves + "what they wrote may decide what T3 does in its own (strtok is called at decides.c:"},
		{"6", "", "", ""},
		{"7 -DROUNDS=8000", "--budget 1.05x", "potential", ", and accesses in look were observed in samples)"},
		{"7 -DROUNDS=400", "--budget none", "predicted", ""},
	} {
		t.Run(c.decides+c.flags, func(t *testing.T) {
			trace := filepath.Join(t.TempDir(), "run.trace")
			program := build(t, "gcc", "decides.c", append(strings.Fields("-DDECIDES="+c.decides), "-O2", "-g", "-pthread")...)
			_, live := reported(t, slices.Concat([]string{"exec", "--record", trace}, strings.Fields(c.flags), []string{"--", program})...)
			if _, again := reported(t, "analyze", trace); cmp.Diff(live.Findings, again.Findings) != "" {
				t.Errorf("analyze (-live +again):\n%s", cmp.Diff(live.Findings, again.Findings))
			}
			found := 0
			for _, f := range live.Findings {
				if f.Kind != "deadlock" {
					continue
				}
				found++
				assumes := slices.Contains(f.Assumes, "guarded-data")
				switch {
				case c.want == "" && f.Confidence != "predicted":
				case f.Confidence != c.want || assumes != (c.want != "predicted") || !strings.Contains(f.Reason, c.reason):
					t.Errorf("%s deadlock, assumes %v: %q", f.Confidence, f.Assumes, f.Reason)
				}
			}
			if c.want != "" && found != 1 {
				t.Errorf("%d deadlocks", found)
			}
		})
	}
}

// TestShopAssumesNoGuardedData checks that nothing is assumed of the sections of the demonstration.
func TestShopAssumesNoGuardedData(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for _, flags := range []string{"", "--watch tickets", "--watch-shared=off"} {
		_, r := reported(t, slices.Concat([]string{"exec"}, strings.Fields(flags), []string{"--", example(t, "shop")})...)
		at := slices.IndexFunc(r.Findings, func(f jsonFinding) bool { return f.Kind == "deadlock" })
		if at < 0 || r.Findings[at].Confidence != "predicted" || cmp.Diff([]string{"race-free"}, r.Findings[at].Assumes) != "" {
			t.Errorf("%q: %+v", flags, r.Findings)
		}
	}
}
