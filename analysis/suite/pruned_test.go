package suite_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/analysis/suite"
	"github.com/tracepredict/tracepredict/observer/event"
)

// TestPruned: what is no finding is told with the reason, of deadlocks and of races.
func TestPruned(t *testing.T) {
	for name, want := range map[string][]string{
		"01_simple_ww":                nil,
		"02_locked":                   {"race common-lock"},
		"08_fork_join_safe":           {"race ordered"},
		"d01_abba":                    nil,
		"d02_gatelock":                {"deadlock gate-lock"},
		"d21_bcc_example_joined":      {"deadlock ordered by join"},
		"d07_gate_in_parent":          {"deadlock parent-gate-lock"},
		"d11_single_thread_inversion": {"deadlock one-thread"},
		"d19_data_dep_blocks":         {"deadlock ordered"},
	} {
		s := suite.New(suite.Options{Explain: true})
		for _, e := range read(t, name) {
			s.Event(&e)
		}
		s.Finish(nil)
		var got []string
		for _, p := range s.Pruned() {
			text := fmt.Sprintf("%s %s", p.Kind, p.Why)
			if p.By.Op != event.None {
				text += " by " + p.By.Op.String()
			}
			got = append(got, text)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
