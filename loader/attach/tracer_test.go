package attach

import (
	"io"
	"slices"
	"testing"
)

// TestReplaceOnlyWhatIsThere: the links of a process that has ended cannot be replaced.
func TestReplaceOnlyWhatIsThere(t *testing.T) {
	a, b, c, d, gone := &Link{}, &Link{}, &Link{}, &Link{}, &Link{}
	tr := &Tracer{closers: map[int][]io.Closer{7: {a, b, c}}}
	if !tr.Replace(7, b, d) || !tr.Replace(7, a, nil) || tr.Replace(7, b, gone) || tr.Replace(8, c, gone) {
		t.Error("links were replaced that are not there, or were not that are")
	}
	if got := tr.RemoveLinks(7); !slices.Equal(got, []io.Closer{d, c}) {
		t.Errorf("left are %v", got)
	}
}
