package loader

import (
	"slices"
	"testing"
)

// TestVisit: when a debugger has been at a stopped program and has left it so, the program is to go on, once. Until then, and
// after it has gone on by itself, it is left alone.
func TestVisit(t *testing.T) {
	still, again := look{stopped: true, switches: "7 1 1"}, look{stopped: true, switches: "7 3 1"}
	debugged, runs := look{traced: true, switches: "7 2 1"}, look{switches: "7 4 1"}
	for _, c := range []struct {
		name  string
		looks []look
		want  []bool
	}{
		{"nobody comes", []look{still, still}, []bool{false, false}},
		{"one comes and leaves", []look{still, debugged, debugged, again, again}, []bool{false, false, false, true, false}},
		{"between two looks", []look{still, again, runs}, []bool{false, true, false}},
		{"a look as it leaves", []look{debugged, runs, again}, []bool{false, false, true}},
		{"SIGCONT, and a stop of the user's", []look{runs, runs, again}, []bool{false, false, false}},
		{"it runs under the debugger", []look{debugged, runs, debugged, runs, again}, []bool{false, false, false, false, true}},
	} {
		v := visit{first: still}
		var got []bool
		for _, l := range c.looks {
			got = append(got, v.over(l))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
