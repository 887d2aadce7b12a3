package observer

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// observeTeams observes records of a process in which threads that begin at 7 are libgomp's. It returns the events
// that order threads, without those of creation and end, and the doubts.
func observeTeams(t *testing.T, text string) (events, doubts []string) {
	t.Helper()
	l := &listener{checker: newChecker()}
	l.o = New(Options{Sites: site, Sinks: []Sink{l}, OpenMP: func(_ uint32, start uint64) bool { return start == 7 }})
	records := parseRecords(t, text)
	for i := range records {
		l.o.Record(&records[i])
	}
	l.o.Finish()
	for _, line := range l.lines {
		if op := strings.Fields(line)[1]; op != "fork" && op != "begin" && op != "end" {
			events = append(events, strings.ReplaceAll(line, "\x00", "@")) // of an object without an address
		}
	}
	for _, e := range l.o.Executed() {
		doubts = append(doubts, e.Description)
	}
	for _, b := range l.broken {
		t.Error(b)
	}
	return events, doubts
}

// TestRegions checks that each region orders the threads of its team with the master, whether it creates them or
// finds them waiting, and whether they end in it.
func TestRegions(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"members are created once": {`
			1 parallel sp=900
			1 create A start=7
			1 fork 11 tp=p1
			1 parallel sp=900 leave
			1 parallel sp=900
			1 parallel sp=900 leave`, []string{
			"T2 send end-of-a-parallel-region1 inferred", "T1 receive end-of-a-parallel-region1",
			"T1 send parallel-region2", "T2 receive parallel-region2 inferred",
			"T2 send end-of-a-parallel-region1 inferred", "T1 receive end-of-a-parallel-region1",
		}},
		"a thread of the program's own is no member": {`
			1 parallel sp=900
			1 create A start=8
			1 fork 11 tp=p1
			1 parallel sp=900 leave`, nil},
		"a member of an inner region ends in it": {`
			1 parallel sp=900
			1 parallel sp=800
			1 create A start=7
			1 fork 11 tp=p1
			11 exit
			1 parallel sp=800 leave
			1 parallel sp=800
			1 parallel sp=800 leave
			1 parallel sp=900 leave`, []string{
			"T2 send end-of-a-parallel-region1 inferred", "T1 receive end-of-a-parallel-region1",
		}},
		"an inner region does not end the outer one": {`
			1 parallel sp=900
			1 create A start=7
			1 fork 11 tp=p1
			1 parallel sp=800
			1 parallel sp=800 leave
			1 parallel sp=900 leave`, []string{
			"T2 send end-of-a-parallel-region1 inferred", "T1 receive end-of-a-parallel-region1",
		}},
		"a region whose end is not recorded": {`
			1 parallel sp=800
			1 create A start=7
			1 fork 11 tp=p1
			1 parallel sp=900
			1 parallel sp=900 leave`, []string{
			"T2 send end-of-a-parallel-region1 inferred", "T1 receive end-of-a-parallel-region1",
			"T1 send parallel-region2", "T2 receive parallel-region2 inferred",
			"T2 send end-of-a-parallel-region1 inferred", "T1 receive end-of-a-parallel-region1",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			events, doubts := observeTeams(t, c.text)
			if diff := cmp.Diff(c.want, events); diff != "" || len(doubts) > 0 {
				t.Errorf("doubts %q, events (-want +got):\n%s", doubts, diff)
			}
		})
	}
}

// inRegion puts lines into a region of thread 1, with one member, thread 11.
func inRegion(lines string) string {
	return "1 parallel sp=900\n1 create A start=7\n1 fork 11 tp=p1\n" + lines + "1 parallel sp=900 leave\n"
}

// TestConstructs checks what orders the threads of a team within a region.
func TestConstructs(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"barrier": {"1 team-barrier\n11 team-barrier\n11 team-barrier sp=800 leave\n1 team-barrier sp=800 leave\n", []string{
			"T1 barrier-arrive @1", "T2 barrier-arrive @1", "T2 barrier-depart @1", "T1 barrier-depart @1",
		}},
		"ordered": {"1 ordered-loop\n1 ordered-begin sp=800 leave\n1 ordered-end\n11 ordered-loop\n11 ordered-begin sp=800 leave\n11 ordered-end\n", []string{
			"T1 send ordered-loop1", "T2 receive ordered-loop1", "T2 send ordered-loop1",
		}},
		"the next loop": {"1 ordered-loop\n1 ordered-begin sp=800 leave\n1 ordered-end\n11 ordered-loop\n11 ordered-loop\n11 ordered-begin sp=800 leave\n", []string{
			"T1 send ordered-loop1",
		}},
		"copy": {"1 copy-begin\n1 copy-begin sp=800 leave failed\n11 copy-begin\n1 copy-end\n11 copy-begin sp=800 leave\n1 copy-end sp=800 leave\n", []string{
			"T1 barrier-arrive @1", "T2 barrier-arrive @1", "T1 send copied-result2", "T2 barrier-depart @1", "T2 receive copied-result2", "T1 barrier-depart @1",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			events, doubts := observeTeams(t, inRegion(c.text))
			if n := len(c.want); len(events) != n+2 || len(doubts) > 0 {
				t.Fatalf("doubts %q, events %q", doubts, events)
			}
			if diff := cmp.Diff(c.want, events[:len(c.want)]); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
	if events, _ := observeTeams(t, "1 team-barrier\n1 team-barrier sp=800 leave\n1 ordered-begin sp=800 leave\n1 ordered-end\n1 copy-begin\n1 copy-begin sp=800 leave\n"); events != nil {
		t.Errorf("outside of a region: %q", events)
	}
}

// TestUnknownTeams checks that the orders of threads that calls which are not observed have created are doubts.
func TestUnknownTeams(t *testing.T) {
	const doubt = "a parallel region of OpenMP, whose threads are not known"
	for name, c := range map[string]struct {
		text string
		want bool
	}{
		"barrier":       {"1 create A start=7\n1 fork 11 tp=p1\n11 team-barrier\n11 team-barrier sp=800 leave\n", true},
		"region":        {"1 create A start=7\n1 fork 11 tp=p1\n1 parallel sp=900\n1 parallel sp=900 leave\n", true},
		"known members": {inRegion("11 team-barrier\n11 team-barrier sp=800 leave\n"), false},
		"other threads": {"1 create A start=8\n1 fork 11 tp=p1\n1 parallel sp=900\n1 parallel sp=900 leave\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			_, doubts := observeTeams(t, c.text)
			if got := strings.Contains(strings.Join(doubts, "\n"), doubt); got != c.want {
				t.Errorf("doubts %q", doubts)
			}
		})
	}
}
