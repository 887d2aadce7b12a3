package attach

import (
	"io"
	"slices"
	"testing"
)

// TestReplaceOnlyWhatIsThere: the links of a process that has ended cannot be replaced.
func TestReplaceOnlyWhatIsThere(t *testing.T) {
	tr := &Tracer{closers: map[int][]io.Closer{7: {Link(3), Link(4), Link(5)}}}
	if !tr.Replace(7, 4, 9) || !tr.Replace(7, 3, 0) || tr.Replace(7, 4, 8) || tr.Replace(8, 5, 8) {
		t.Error("links were replaced that are not there, or were not that are")
	}
	if got := tr.RemoveLinks(7); !slices.Equal(got, []io.Closer{Link(9), Link(5)}) {
		t.Errorf("left are %v", got)
	}
}
