package main

import (
	"io"
	"strings"
	"testing"
)

// TestCompletion: shells complete commands, flags, and the values that the help of a flag lists.
func TestCompletion(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"att"}, "attach\t"},
		{[]string{"exec", "--fail"}, "--fail-on\t"},
		{[]string{"exec", "--fail-on", ""}, "observed\nconfirmed\npredicted\nlikely\npotential\nnever\n:4\n"},
		{[]string{"convert", "--to", ""}, "std\ntrace\nperfetto\npprof\n:4\n"},
		{[]string{"exec", "--source-root", ""}, ":16\n"},
		{[]string{"exec", "--baseline", ""}, ":0\n"},
	} {
		var out strings.Builder
		if status := execute(append([]string{"__complete"}, c.args...), &out, io.Discard); status != 0 || !strings.Contains(out.String(), c.want) {
			t.Errorf("%q: status %d, %q; want %q", c.args, status, out.String(), c.want)
		}
	}
}
