package replay

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/trace/std"
)

// TestRepairedTracesAreAnalysed checks that the report of a random text, mended, has no schedule
// that the checker refuses, and that a mended trace that may lack an order has no finding better
// than likely, except what is misuse.
func TestRepairedTracesAreAnalysed(t *testing.T) {
	doubted, certain := 0, 0
	for seed := range 3000 {
		r := rand.New(rand.NewPCG(uint64(seed), 18))
		var text strings.Builder
		for range 5 + r.IntN(30) {
			op := []string{"acq", "acq", "rel", "rel", "r", "w", "w", "fork", "join", "wait", "notify"}[r.IntN(11)]
			operand := []string{"l", "m"}[r.IntN(2)]
			if op == "fork" || op == "join" {
				operand = fmt.Sprintf("T%d", 1+r.IntN(3))
			}
			fmt.Fprintf(&text, "T%d|%s(%s)|%d\n", 1+r.IntN(3), op, operand, r.IntN(9))
		}
		repairs, err := std.Scan(strings.NewReader(text.String()), "text")
		if err != nil {
			t.Fatal(err)
		}
		rep, err := Report(std.NewReader(strings.NewReader(text.String()), "text", std.ReaderOptions{Repairs: repairs}), Options{})
		if err != nil {
			t.Fatalf("%v\n%s", err, text.String())
		}
		if notes := strings.Join(rep.Run.Notes, "\n"); strings.Contains(notes, "error of tracepredict") {
			t.Fatalf("%s\n%s", notes, text.String())
		}
		for _, f := range rep.Findings {
			switch {
			case f.Kind == finding.Misuse:
			case rep.Run.Doubt == "":
				certain++
			case !finding.Likely.AtLeast(f.Confidence):
				t.Fatalf("%s %s in spite of %q\n%s", f.Confidence, f.Kind, rep.Run.Doubt, text.String())
			default:
				doubted++
			}
		}
	}
	if doubted == 0 || certain == 0 {
		t.Errorf("%d findings with a doubt, %d without: the test shows little", doubted, certain)
	}
}
