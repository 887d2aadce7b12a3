package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/internal/testtool"
)

// TestFingerprintsOfOtherBuilds checks that builds with the same functions at other
// addresses give the same fingerprints.
func TestFingerprintsOfOtherBuilds(t *testing.T) {
	needBPF(t)
	t.Parallel()
	testtool.Need(t, "gcc")
	text, err := os.ReadFile("../../../examples/shop/shop.c")
	if err != nil {
		t.Fatal(err)
	}
	source := string(text)
	const first, other = "__attribute__((noinline)) static void sell", "static void *front_desk"
	for _, part := range []string{first, other, "tickets--;"} {
		if strings.Count(source, part) != 1 {
			t.Fatalf("the source has not one %q", part)
		}
	}
	var want []string
	for _, c := range []struct {
		name, source string
		flags        []string
		same         bool
	}{
		{"plain", source, []string{"-O2"}, true},
		{"not optimised", source, []string{"-O0"}, true},
		{"at a fixed address", source, []string{"-O2", "-no-pie"}, true},
		{"functions in other sections", source, []string{"-O2", "-ffunction-sections", "-Wl,--sort-section=name"}, true},
		{"lines and a function above", strings.Replace(source, first, "\n\nint reopened(void) {\n\treturn entries++;\n}\n\n"+first, 1), []string{"-O2"}, true},
		{"another function changed", strings.Replace(source, other, "int late = 3;\n"+other, 1), []string{"-O2"}, true},
		{"a line in the functions", strings.Replace(source, "tickets--;", "\n\ttickets--;", 1), []string{"-O2"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			file, program := filepath.Join(dir, "shop.c"), filepath.Join(dir, "shop")
			if err := os.WriteFile(file, []byte(c.source), 0o644); err != nil {
				t.Fatal(err)
			}
			if out, err := command(t, "gcc", slices.Concat([]string{"-g", "-fno-omit-frame-pointer", "-pthread", "-o", program, file}, c.flags)...).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			status, r := reported(t, "exec", "--watch", "tickets", "--", program)
			if status != 66 || len(r.Findings) != 2 {
				t.Fatalf("status %d: %s", status, r.summary())
			}
			got := fingerprints(r)
			slices.Sort(got)
			if want == nil {
				want = got
			}
			if diff := cmp.Diff(want, got); (diff == "") != c.same {
				t.Errorf("same is not %v: %s", c.same, diff)
			}
		})
	}
}

// TestManyPhilosophers checks that many philosophers are the same defect as few, with a
// report of the same length.
func TestManyPhilosophers(t *testing.T) {
	needBPF(t)
	t.Parallel()
	var first jsonFinding
	for _, n := range []string{"5", "200"} {
		status, r := reported(t, "exec", "--", example(t, "philosophers"), n)
		if status != 66 || len(r.Findings) != 1 {
			t.Fatalf("%s: status %d: %q", n, status, r.summary())
		}
		f := r.Findings[0]
		if first.Fingerprint == "" {
			first = f
		}
		many := n == "200" && f.Confidence == "potential" // their sections are too many to be examined
		if f.Confidence != "likely" && f.Confidence != "predicted" && !many || f.Fingerprint != first.Fingerprint {
			t.Errorf("%s: %s, fingerprint %s, want that of five, %s", n, f.Confidence, f.Fingerprint, first.Fingerprint)
		}
	}
}
