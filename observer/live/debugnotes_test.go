package live

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/observer/event"
)

func TestMissingNames(t *testing.T) {
	const libc = "/lib/libc.so.6"
	named := event.Frame{Module: "/bin/a", Function: "main", File: "a.c", Line: 3}
	noLine := event.Frame{Module: "/lib/libx.so.1", Function: "x_lock"}
	noName := event.Frame{Module: "/lib/libx.so.1"}
	for _, c := range []struct {
		name   string
		frames []event.Frame
		want   map[string]missingInfo
	}{
		{"all named", []event.Frame{named}, nil},
		{"a line is missing", []event.Frame{noLine, named}, map[string]missingInfo{noLine.Module: {}}},
		{"a name is missing too", []event.Frame{noName, noLine, named}, map[string]missingInfo{noLine.Module: {functions: true}}},
		{"how a thread starts", []event.Frame{named, {Module: libc}, {Module: libc}}, nil},
		{"a function of libc", []event.Frame{{Module: libc, Function: "qsort"}, named}, nil},
		{"inside libc", []event.Frame{{Module: libc}, named}, map[string]missingInfo{libc: {functions: true}}},
		{"the kernel", []event.Frame{{Module: event.KernelModule, Function: "read(2)"}, {}, named}, nil},
	} {
		got := map[string]missingInfo{}
		missingNames(c.frames, got)
		if len(got)+len(c.want) > 0 && !cmp.Equal(got, c.want, cmp.AllowUnexported(missingInfo{})) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
