package observer

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/observer/run"
)

// A hit of a place counts from the thread's previous event on, since the record may be late, until the
// last event before the record; where a loop is left, it counts from before what its thread accessed there. While there is only one thread, a place orders nothing.
func TestExecuted(t *testing.T) {
	tests := []struct {
		name, records string
		want          []run.Executed
	}{
		{"none", "1 write X value=1", nil},
		{"alone", "1 unseen 7", nil},
		{"alone, until nobody looked", "1 write X value=1\n1 unseen 7 result=1\n1 fork 2 tp=p2\n2 unseen 7", []run.Executed{{Number: 7, Hits: []run.Hit{{Thread: 2, Since: 3, Until: 4}}, ObservedUntil: 3}}},
		{"of two", "1 fork 2 tp=p2\n2 write X value=1\n1 write X value=2\n1 write X value=3\n2 unseen 7\n1 unseen 7\n2 unseen 7", []run.Executed{{Number: 7, Hits: []run.Hit{{Thread: 2, Since: 5, Until: 6}, {Thread: 1, Since: 7, Until: 6}, {Thread: 2, Since: 5, Until: 6}}}}},
		{"a loop is left where the thread accesses something", "1 fork 2 tp=p2\n2 write X value=1\n1 write X value=2\n2 read X kind=exit value=2\n2 write X kind=exit value=3\n2 unseen 7\n2 write X value=4\n2 unseen 7",
			[]run.Executed{{Number: 7, Hits: []run.Hit{{Thread: 2, Since: 5, Until: 7}, {Thread: 2, Since: 9, Until: 8}}}}},
		{"two places", "1 fork 2 tp=p2\n2 unseen 9\n2 unseen 8 result=1", []run.Executed{{Number: 8, Hits: []run.Hit{{Thread: 2, Since: 2, Until: 3}}, ObservedUntil: 2}, {Number: 9, Hits: []run.Hit{{Thread: 2, Since: 2, Until: 3}}}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newListener()
			for _, r := range parseRecords(t, tt.records) {
				l.o.Record(&r)
			}
			if diff := cmp.Diff(tt.want, l.o.Executed()); diff != "" {
				t.Errorf("%s\nevents: %q", diff, l.lines)
			}
		})
	}
}
