package observer

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// firstRelease are the records of a thread that releases the lock of an interpreter for the first time, as CPython does:
// G is the mutex, C the condition.
const firstRelease = `
	1 interpreter-release sp=900
	1 acquire G sp=850
	1 signal C sp=850
	1 release G sp=850
	1 interpreter-release sp=900 leave`

// TestInterpreterLock checks that the lock of an interpreter is one, however its parts are used, and that these order
// nothing.
func TestInterpreterLock(t *testing.T) {
	tests := []struct {
		name, records string
		want          []string
	}{
		{"its first release", firstRelease, []string{
			"T1 begin inferred", "T1 acquire G1", "T1 release G1", "T1 destroy G1 inferred", "T1 acquire G2 inferred", "T1 release G2",
		}},
		{"acquired after a wait, released by who was there first", `
			1 fork 11 tp=p1` + firstRelease + `
			1 acquire G
			1 acquire S
			1 signal T
			1 release S
			1 release G
			11 acquire G
			11 wait C with=G sp=700
			1 acquire A
			1 acquire G
			1 signal C
			1 release G
			1 acquire S
			1 wait T with=S sp=700
			11 wait C with=G sp=700 leave
			11 acquire S
			11 signal T
			11 release S
			11 release G
			1 wait T with=S sp=700 leave
			1 release S`, []string{
			"T1 acquire G2", "T1 acquire A5", "T1 release G2", "T2 acquire G2",
		}},
		{"yielded", `
			1 fork 11 tp=p1` + firstRelease + `
			1 acquire G
			1 release G
			1 acquire G
			1 release G
			1 acquire G
			1 signal C
			1 wait C with=G sp=700
			11 acquire G
			11 release G
			11 acquire G
			11 broadcast C
			11 release G
			1 wait C with=G sp=700 leave
			1 release G`, []string{
			"T1 acquire G2", "T1 release G2", "T2 acquire G2", "T2 release G2", "T1 acquire G2",
		}},
		{"signalled after its mutex was released", `
			1 fork 11 tp=p1
			1 interpreter-release sp=900
			1 acquire G sp=850
			1 release G sp=850
			1 signal C sp=850
			1 interpreter-release sp=900 leave
			1 acquire G
			1 release G
			1 acquire G
			1 release G
			11 acquire G
			11 release G
			1 signal C
			11 acquire G
			11 release G
			11 signal C`, []string{
			"T1 acquire G2", "T1 release G2", "T2 acquire G2", "T2 release G2",
		}},
		{"by musl, whose waits call what is public", firstRelease + `
			1 acquire G
			1 wait C with=G sp=700
			1 release G sp=600
			1 acquire G sp=600
			1 wait C with=G sp=700 leave
			1 release G`, []string{"T1 acquire G2"}},
		{"initialised again", firstRelease + `
			1 acquire G
			1 release G
			1 init G
			1 acquire G
			1 release G`, []string{
			"T1 acquire G2", "T1 release G2", "T1 destroy G2 inferred", "T1 acquire G4",
		}},
		{"attempts with it", firstRelease + `
			1 sem-wait B kind=tries
			1 acquire G
			1 release G
			1 sem-wait B kind=tries
			1 sem-wait B kind=tries failed
			1 acquire A kind=try`, []string{
			"T1 sem-wait B4 try", "T1 acquire G2",
			"T1 release G2 may-wait", "T1 sem-wait B4 may-wait", "T1 acquire G2 try may-wait", "T1 sem-failed B4 try",
			"T1 release G2 may-wait", "T1 acquire A5 may-wait", "T1 acquire G2 try may-wait",
		}},
		{"what its mutexes guard", firstRelease + `
			1 read L
			1 acquire G
			1 read L
			1 write L
			1 release G
			1 read L
			1 read M`, []string{"T1 read L4", "T1 read L4", "T1 acquire G2", "T1 read M5"}},
		{"a mutex in another frame", `
			1 interpreter-release sp=900
			1 acquire G sp=950
			1 signal C sp=950
			1 release G sp=950`, []string{"T1 begin inferred", "T1 acquire G1", "T1 signal C2", "T1 release G1"}},
		{"a mutex after the function", `
			1 interpreter-release sp=900
			1 interpreter-release sp=900 leave
			1 acquire G sp=850
			1 signal C sp=850
			1 release G sp=850`, []string{"T1 begin inferred", "T1 acquire G1", "T1 signal C2", "T1 release G1"}},
		{"two mutexes", `
			1 interpreter-release sp=900
			1 acquire A sp=850
			1 acquire G sp=850
			1 signal C sp=850
			1 release G sp=850`, []string{"T1 begin inferred", "T1 acquire A1", "T1 acquire G2", "T1 signal C3", "T1 release G2"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newListener()
			for _, r := range parseRecords(t, tt.records) {
				l.o.Record(&r)
			}
			if l.broken != nil {
				t.Error(l.broken)
			}
			got := l.lines[max(0, len(l.lines)-len(tt.want)):]
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("events (-want +got):\n%s\nall: %q", diff, l.lines)
			}
		})
	}
}

// TestInterpreterLockIsNoMisuse checks that a thread may end with the lock of an interpreter, which then is nobody's,
// and that it has a name.
func TestInterpreterLockIsNoMisuse(t *testing.T) {
	l := newListener()
	for _, r := range parseRecords(t, "1 fork 11 tp=p1"+firstRelease+`
		11 acquire G
		11 release G
		11 exit
		1 acquire G
		1 release G`) {
		l.o.Record(&r)
	}
	want := []string{"T2 acquire G2", "T2 release G2", "T2 end", "T1 acquire G2"}
	if diff := cmp.Diff(want, l.lines[len(l.lines)-len(want):]); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if info, ok := l.o.ObjectInfo(2); !ok || info.Name != interpreterName {
		t.Errorf("the lock is called %q", info.Name)
	}
}

// TestInterpreterAllocatesNothing checks that acquiring and releasing the lock of an interpreter needs no memory.
func TestInterpreterAllocatesNothing(t *testing.T) {
	o := New(Options{Sites: site})
	for _, r := range parseRecords(t, firstRelease) {
		o.Record(&r)
	}
	rs := parseRecords(t, "1 acquire G\n1 release G\n1 sem-wait B kind=tries\n1 acquire G\n1 signal C\n1 release G")
	run := func() {
		for i := range rs {
			o.Record(&rs[i])
		}
	}
	run()
	if n := testing.AllocsPerRun(100, run); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
