package eraser

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

var truePair = regexp.MustCompile(`\(\d+, \d+\)`)

// silent names the traces in which locks, forks and joins protect everything. Locksets alone warn
// in two of them.
var silent = []string{"02_locked.std", "08_fork_join_safe.std", "11_read_share.std", "12_eraser_fp_handoff.std", "13_eraser_fp_two_locks.std"}

// TestTraces checks that every pair that some schedule brings together is among the findings with
// EveryPair, for which a later stage searches a witness.
func TestTraces(t *testing.T) {
	table, err := os.ReadFile("testdata/traces/expected_races.tsv")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(table)), "\n")[1:]
	if len(lines) != 14 {
		t.Errorf("%d traces, want 14", len(lines))
	}
	for _, line := range lines {
		name, _, _ := strings.Cut(line, "\t")
		got := pairsOf(t, name)
		for _, want := range truePair.FindAllString(line, -1) {
			if !slices.Contains(got, want) {
				t.Errorf("%s: lost %s, have %s", name, want, got)
			}
		}
		if slices.Contains(silent, name) && len(got) > 0 {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func pairsOf(t *testing.T, name string) []string {
	events, _, err := eventtest.ReadSTD(filepath.Join("testdata/traces", name))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range analyse(Options{EveryPair: true}, events).Finish() {
		out = append(out, fmt.Sprintf("(%d, %d)", f.Evidence[0].Seq, f.Evidence[1].Seq))
	}
	return out
}
