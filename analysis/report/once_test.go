package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/analysis/finding"
)

func TestExplaining(t *testing.T) {
	for _, c := range []struct {
		kind  finding.Kind
		roles string
		want  []int
	}{
		{finding.Deadlock, "", nil},
		{finding.Deadlock, "a", []int{0}},
		{finding.Deadlock, "ab", []int{0, 1}},
		{finding.Deadlock, "aa", []int{0, 1}},
		{finding.Deadlock, "aaaa", []int{0, 1}},
		{finding.Deadlock, "aabab", []int{0, 2}},
		{finding.Deadlock, "abca", []int{0, 1, 2}},
		{finding.Deadlock, "aaa", []int{0, 1, 2}},
		{finding.Race, "aa", []int{0, 1}},
		{finding.Property, "aaa", []int{0, 1, 2}},
	} {
		f := Finding{Finding: finding.Finding{Kind: c.kind}}
		if c.roles != "" {
			f.roles = strings.Split(c.roles, "")
		}
		if d := cmp.Diff(c.want, explaining(&f)); d != "" {
			t.Errorf("%s: %s", c.roles, d)
		}
	}
}
