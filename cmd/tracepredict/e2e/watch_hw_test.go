package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/observer/event"
)

// accesses lists, by thread, what was observed of a variable, as the fixtures
// of watchpoints say it.
func (r *run) accesses(s story, variable string) map[string][]string {
	n := r.names(s)
	seen := map[string][]string{}
	for i := range r.Events {
		e := &r.Events[i]
		if info, _ := r.Observer.ObjectInfo(e.Object); !e.Op.IsAccess() || info.Variable != variable {
			continue
		}
		line := fmt.Sprintf("%s %d", e.Op, int64(e.Value))
		if e.Flags&event.HasValue == 0 {
			line = fmt.Sprintf("%s ?", e.Op)
		}
		if e.Flags&event.Atomic != 0 {
			line += " atomic"
		}
		if e.Flags&event.Kernel != 0 {
			line += " kernel"
		}
		name := n.threads[e.Thread]
		seen[name] = append(seen[name], line)
	}
	return seen
}

// TestWatchpointSeesAll: one access by each means, through pointers alone, in
// threads that were made before and after, is one event with its value.
func TestWatchpointSeesAll(t *testing.T) {
	for _, flags := range []string{"-O0", "-O2", "-O2 -static", "-O2 -no-pie"} {
		t.Run(flags, func(t *testing.T) {
			program := build(t, "gcc", "watched.c", append(strings.Fields(flags), "-pthread")...)
			r := observe(t, program, options{Hardware: []string{"shared"}})
			r.expectExit(t, 0)
			s := parseStory(t, r.Output)
			if diff := cmp.Diff(s.said, r.accesses(s, "shared")); diff != "" {
				t.Errorf("the program did (-), observed were (+):\n%s", diff)
			}
			if st := r.Observer.Stats(); st.Untold != 0 || st.Contradicted != 0 {
				t.Errorf("%+v", st)
			}
		})
	}
}
