package observer

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/event"
)

// testTouches has the access of the instruction before each instruction pointer.
var testTouches = map[uint64]Touch{
	1: {Op: event.Read}, 2: {Op: event.Write}, 3: {Op: event.Update, Atomic: true},
	4: {Op: event.Write, Repeats: true, Last: 5}, 5: {Op: event.Write, Repeats: true, Last: 6},
	7: {Op: event.Write, Relocation: true},
}

// TestTouches checks the events of accesses that watchpoints saw.
func TestTouches(t *testing.T) {
	for _, c := range []struct{ name, records, events string }{
		{"each instruction is one event", `
			11 touch X entered=1 value=0
			11 touch X entered=2 value=7
			12 touch X entered=1 value=7
			12 touch X entered=3 value=8`, `
			T2 read X1 =0
			T2 write X1 =7
			T3 read X1 =7
			T3 update X1 =8 atomic`},
		{"again and again", `
			11 touch X entered=2 value=7 left=3
			11 touch X entered=2 value=8 left=2
			11 touch X entered=2 value=8 left=2`, `
			T2 write X1 =7
			T2 write X1 =8
			T2 write X1 =8`},
		{"before what its thread does next, and before another's access", `
			11 touch X entered=2 value=7
			11 acquire A
			12 touch X entered=2 value=9
			12 acquire B`, `
			T2 write X1 =7
			T2 acquire A2
			T3 write X1 =9
			T3 acquire B3`},
		{"at once, if no further record can belong to it", `
			11 touch X entered=2 value=7 kind=alone
			12 acquire A
			11 acquire B`, `
			T2 write X1 =7
			T3 acquire A2
			T2 acquire B3`},
		{"not at once in a string, or in a system call", `
			11 touch X entered=4 value=1 left=2 kind=alone
			12 acquire A
			11 touch X entered=5 value=2 left=0 kind=alone
			11 touch X entered=2 value=3 call=1 kind=alone
			12 release A
			11 acquire B`, `
			T3 acquire A2
			T2 write X1 =2
			T3 release A2
			T2 write X1 =3 kernel
			T2 acquire B3`},
		{"a string is one event, with what it leaves", `
			11 touch X entered=4 value=1 left=2
			12 acquire A
			11 touch X entered=4 value=2 left=1
			11 touch X entered=5 value=3 left=0
			11 touch X entered=1 value=3`, `
			T3 acquire A2
			T2 write X1 =3
			T2 read X1 =3`},
		{"two strings are two", `
			11 touch X entered=4 value=1 left=2
			11 touch X entered=4 value=2 left=1
			11 touch X entered=4 value=3 left=2
			11 touch X entered=4 value=4 left=1`, `
			T2 write X1 =2
			T2 write X1 =4`},
		{"another thread's access parts a string", `
			11 touch X entered=4 value=1 left=2
			12 touch X entered=1 value=1
			11 touch X entered=4 value=2 left=1`, `
			T2 write X1 =1
			T3 read X1 =1
			T2 write X1 =2`},
		{"a system call's copy", `
			11 touch X entered=4 value=1 left=2 kernel
			11 touch X entered=4 value=2 left=1 kernel
			11 touch X entered=4 value=3 left=2
			11 exit`, `
			T2 write X1 =2 kernel
			T2 write X1 =3
			T2 end`},
		{"a system call's accesses, of several variables, are one of each", `
			11 touch X entered=2 value=1 call=1
			11 touch Y entered=2 value=2 call=1
			11 touch X entered=2 value=3 call=1
			11 touch X entered=2 value=4 call=2
			11 acquire A`, `
			T2 write Y2 =2 kernel
			T2 write X1 =3 kernel
			T2 write X1 =4 kernel
			T2 acquire A3`},
		{"what a system call reads and writes", `
			11 touch X entered=1 value=1 call=1
			11 touch X entered=2 value=2 call=1
			11 touch X entered=2 value=3 call=2
			11 touch X entered=1 value=3 call=2
			11 touch X entered=9 value=4 call=3
			11 touch X entered=1 value=4 call=3
			11 touch X entered=1 value=4`, `
			T2 update X1 =2 kernel
			T2 write X1 =3 kernel
			T2 write X1 =4 kernel
			T2 read X1 =4`},
		{"another thread's access parts a system call's", `
			11 touch X entered=2 value=1 call=1
			12 touch X entered=1 value=1
			11 touch X entered=2 value=2 call=1`, `
			T2 write X1 =1 kernel
			T3 read X1 =1
			T2 write X1 =2 kernel`},
		{"what two watchpoints saw at once", `
			11 touch X entered=2 value=7
			11 touch X entered=2 value=7 part=1
			11 touch X entered=2 value=7
			11 touch X entered=2 value=7 part=1`, `
			T2 write X1 =7
			T2 write X1 =7`},
		{"what the code does not tell, the value does", `
			11 touch X entered=9 value=7
			11 touch X entered=2 value=7
			11 touch X entered=9 value=7
			11 touch X entered=9 value=8`, `
			T2 read X1 =7
			T2 write X1 =7
			T2 read X1 =7
			T2 write X1 =8`},
		{"the dynamic loader's are none", `
			11 touch X entered=7 value=7
			11 touch X entered=1 value=7`, `
			T2 read X1 =7`},
		{"a value that contradicts", `
			11 touch X entered=2 value=7
			12 touch X entered=1 value=6`, `
			T2 write X1 =7
			T3 read X1 =6 no-source`},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := &listener{checker: newChecker()}
			l.o = New(Options{Sites: site, Sinks: []Sink{l}, Touch: func(trap Trap) Touch { return testTouches[trap.IP] }})
			for _, r := range parseRecords(t, two+c.records) {
				l.o.Record(&r)
			}
			start := slices.Index(l.lines, "T3 begin") + 1
			n := len(strings.Split(strings.TrimSpace(c.events), "\n"))
			l.o.Finish()
			var want []string
			for line := range strings.Lines(strings.TrimSpace(c.events)) {
				want = append(want, strings.TrimSpace(line))
			}
			got := l.lines[start:]
			if diff := cmp.Diff(want, got[:min(n, len(got))]); diff != "" || len(l.broken) > 0 {
				t.Errorf("events: %s\n%v", diff, l.broken)
			}
			for _, line := range got[min(n, len(got)):] {
				if !strings.HasSuffix(line, "end inferred") {
					t.Errorf("an event too many: %s", line)
				}
			}
		})
	}
}

// TestTouchesAroundAWake checks that the accesses of a system call are one event although the thread wakes
// another one meanwhile, as it seems to do where an interrupt does that. Another record parts them.
func TestTouchesAroundAWake(t *testing.T) {
	for kind, want := range map[bpf.ChannelKind]int{bpf.ChannelWake: 1, bpf.ChannelPipe: 2} {
		l := &listener{checker: newChecker()}
		l.o = New(Options{Sites: site, Sinks: []Sink{l}, Touch: func(trap Trap) Touch { return testTouches[trap.IP] }})
		records := parseRecords(t, two+"11 touch X entered=2 value=1 call=1\n11 touch X entered=2 value=2 call=1")
		between := records[len(records)-1]
		between.Op, between.Flags, between.Object, between.Result = uint8(bpf.OpSend), 0, 1, int32(kind)
		for _, r := range slices.Insert(records, len(records)-1, between) {
			l.o.Record(&r)
		}
		l.o.Finish()
		n := 0
		for _, line := range l.lines {
			if strings.HasPrefix(line, "T2 write X") {
				n++
			}
		}
		if n != want {
			t.Errorf("around a record of kind %d there are %d writes, want %d: %q", kind, n, want, l.lines)
		}
	}
}
