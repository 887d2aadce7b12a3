package textreport

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	_ "github.com/tracepredict/tracepredict/internal/fixedseed"
)

// TestBesideAgainstLipgloss checks that beside joins lines that fit in the same way as lines
// that must be wrapped.
func TestBesideAgainstLipgloss(t *testing.T) {
	line := rapid.StringMatching(`( {0,3}[a-z<>:_.0-9größe线程]{1,12}){0,4}`)
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 3).Draw(t, "blocks")
		var blocks [][]string
		var widths []int
		for range n {
			blocks = append(blocks, rapid.SliceOfN(line, 1, 5).Draw(t, "block"))
			widths = append(widths, rapid.IntRange(30, 90).Draw(t, "width"))
		}
		if diff := cmp.Diff(trimmed(besideWrapped(blocks, widths)), trimmed(beside(blocks, widths))); diff != "" {
			t.Fatal(diff)
		}
	})
}

func trimmed(lines []string) []string {
	var out []string
	for _, l := range lines {
		out = append(out, strings.TrimRight(l, " "))
	}
	return out
}
