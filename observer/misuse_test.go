package observer

import (
	"fmt"
	"testing"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/event"
)

// The tests of misuse check which events are sent, and which doubts prevent them.
func TestMisuse(t *testing.T) {
	observe(t, []observation{
		{"an unlock within an unlock", `
			11 acquire A
			11 release A sp=90
			11 release A sp=82 kind=none`, `
			T2 acquire A1
			T2 release A1`, &Stats{}},
		{"an unlock after an unlock, of one function", `
			11 acquire A
			11 release A sp=90
			11 release A sp=82`, `
			T2 acquire A1
			T2 release A1
			T2 release-unheld A1`, &Stats{UnheldReleases: 1}},
		{"an unlock after an unlock and another call", `
			11 acquire A
			11 release A sp=90
			11 acquire B
			11 release A sp=82 kind=none`, `
			T2 acquire A1
			T2 release A1
			T2 acquire B2
			T2 release-unheld A1`, &Stats{UnheldReleases: 1}},
		{"destroyed while held: the call may have been refused", `
			11 acquire A
			11 destroy A
			11 release A
			11 init A
			11 release A`, `
			T2 acquire A1
			T2 release A1 inferred
			T2 destroy A1
			T2 destroy A2 inferred
			T2 init A3 A2 =0
			T2 release-unheld A3`, nil},
		{"made anew while held", `
			11 acquire A
			12 init A
			11 release A`, `
			T2 acquire A1
			T2 release A1 inferred
			T3 destroy A1 inferred
			T3 init A2 A1 =0`, nil},
		{"made anew as something else", `
			11 acquire A
			11 release A
			12 init A kind=sem
			12 init A kind=sem`, `
			T2 acquire A1
			T2 release A1
			T3 destroy A1 inferred
			T3 init A2 =0
			T3 destroy A2 inferred
			T3 init A3 A2 =0`, nil},
		{"destroyed twice, as its mark says", `
			11 init A kind=marks
			11 destroy A kind=marks entered=0x100
			12 destroy A kind=marks entered=0xffffffff
			12 destroy B kind=marks entered=0xffffffff
			11 init C kind=counts
			11 destroy C kind=counts entered=8
			11 destroy C kind=counts entered=12`, `
			T2 init A1 =0
			T2 destroy A1
			T3 destroy-again A1
			T2 init C2 =0
			T2 destroy C2
			T2 destroy-again C2`, nil},
		{"destroyed twice, and initialised in between without a call, as its mark says", `
			11 init A kind=marks
			11 destroy A kind=marks
			12 destroy A kind=marks
			11 init C kind=counts
			11 destroy C kind=counts
			11 destroy C kind=counts entered=8`, `
			T2 init A1 =0
			T2 destroy A1
			T2 init C2 =0
			T2 destroy C2`, nil},
		{"destroyed twice, without a mark", `
			11 init A
			11 destroy A
			12 destroy A
			11 init R kind=rwlock
			11 destroy R kind=rwlock
			12 destroy R kind=rwlock
			12 acquire L
			12 release L
			12 destroy L
			12 destroy L`, `
			T2 init A1 =0
			T2 destroy A1
			T3 destroy-again A1 inferred
			T2 init R2 =0
			T2 destroy R2
			T3 destroy-again R2 inferred
			T3 acquire L3
			T3 release L3
			T3 destroy L3`, nil},
		{"a destroy that was refused, and done again", `
			11 init A
			11 acquire A
			12 destroy A
			12 destroy A`, `
			T2 init A1 =0
			T2 acquire A1
			T2 release A1 inferred
			T3 destroy A1`, nil},
		{"destroyed, made again, destroyed", `
			11 init A kind=marks
			11 destroy A kind=marks
			11 init A kind=marks
			12 destroy A kind=marks`, `
			T2 init A1 =0
			T2 destroy A1
			T2 init A2 =0
			T3 destroy A2`, nil},
		{"destroyed, and used by another kind in between", `
			11 init A
			11 destroy A
			11 init A kind=sem
			11 destroy A kind=sem
			11 destroy A`, `
			T2 init A1 =0
			T2 destroy A1
			T2 init A2 =0
			T2 destroy A2`, nil},
		{"a destroy within a destroy", `
			11 init 0x53008 kind=sem
			11 destroy 0x53008 kind=sem sp=90
			11 destroy 0x53008 kind=none sp=82
			11 destroy 0x53008 kind=sem sp=90
			11 init 0x54008 kind=sem entered=1
			11 destroy 0x54008 kind=sem
			11 destroy 0x54008 kind=sem
			11 init S kind=sem
			11 destroy S kind=sem
			11 destroy S kind=sem`, `
			T2 init S1 =0
			T2 destroy S1
			T2 destroy-again S1
			T2 init T2 =0
			T2 destroy T2
			T2 init S3 =0
			T2 destroy S3`, nil},
		{"a barrier destroyed twice", `
			11 init B kind=barrier
			11 destroy B kind=barrier
			12 destroy B kind=barrier`, `
			T2 init B1 =0
			T2 destroy B1
			T3 destroy-again B1`, nil},
		{"locked after it was destroyed", `
			11 init A
			11 destroy A
			12 acquire A failed result=22
			12 acquire A kind=try failed result=22
			12 acquire B failed result=22
			11 init A
			12 acquire A failed result=22`, `
			T2 init A1 =0
			T2 destroy A1
			T3 use-destroyed A1
			T3 use-destroyed A1
			T3 acquire-failed B2
			T2 init A3 =0
			T3 acquire-failed A3`, nil},
		{"memory used again is not destroyed", `
			11 acquire A
			12 sem-post A
			12 acquire A kind=mutex
			12 init A kind=sem
			12 acquire A failed result=22`, `
			T2 acquire A1
			T2 release A1 inferred
			T3 destroy A1 inferred
			T3 sem-post A2
			T3 destroy A2 inferred
			T3 acquire A3
			T3 release A3 inferred
			T3 destroy A3 inferred
			T3 init A4 =0
			T3 destroy A4 inferred
			T3 acquire-failed A5`, nil},
		{"a condition that says itself that it was destroyed", `
			11 signal C kind=cond
			11 destroy C kind=cond
			11 signal C entered=4
			11 broadcast C entered=4
			11 acquire A
			11 wait C with=A sp=90 entered=4
			11 wait C with=A sp=90 leave
			11 signal C entered=4`, `
			T2 signal C1
			T2 destroy C1
			T2 use-destroyed C1
			T2 use-destroyed C1
			T2 acquire A2
			T2 use-destroyed C1
			T2 release A2 in-wait
			T2 wait C3 A2
			T2 wake C3 A2
			T2 acquire A2 in-wait
			T2 use-destroyed C1
			T2 signal C3`, nil},
		{"a condition whose memory forgets who waits", `
			11 acquire A
			11 wait C with=A sp=90 kind=counts
			12 signal C kind=counts entered=8
			12 signal C kind=counts
			12 broadcast C kind=counts
			11 wait C with=A sp=90 leave kind=counts
			12 signal C kind=counts`, `
			T2 acquire A1
			T2 release A1 in-wait
			T2 wait C2 A1
			T3 signal C2
			T3 signal C2 =0
			T3 broadcast C2 =0
			T2 wake C2 A1
			T2 acquire A1 in-wait
			T3 signal C2`, nil},
		{"a condition that processes share, whose memory forgets who waits", `
			11 acquire A
			11 wait C with=A sp=90 kind=counts entered=1
			12 signal C kind=counts entered=1`, `
			T2 acquire A1
			T2 release A1 in-wait
			T2 wait C2 A1
			T3 signal C2`, nil},
		{"a condition whose memory forgets who waits, where threads are cancelled", `
			11 acquire A
			11 wait C with=A sp=90 kind=counts
			12 cancel 0x7000
			12 signal C kind=counts`, `
			T2 acquire A1
			T2 release A1 in-wait
			T2 wait C2 A1
			T3 signal C2`, nil},
		{"a condition whose memory forgets a waiter, where a thread that waits is cancelled", `
			11 fork 13 tp=0x7000
			11 acquire A
			11 release A
			13 acquire A
			13 wait C with=A sp=90 kind=counts
			11 cancel 0x7000
			11 signal C kind=counts`, `
			T2 fork T4
			T4 begin
			T2 acquire A1
			T2 release A1
			T4 acquire A1
			T4 release A1 in-wait
			T4 wait C2 A1
			T2 send cancellation3
			T2 signal C2`, nil},
		{"exit while holding what another thread has held", `
			12 acquire A
			12 release A
			11 acquire A
			11 acquire B
			12 acquire-read R
			11 acquire-read R
			11 quit place=3
			11 exit 11 process`, `
			T3 acquire A1
			T3 release A1
			T2 acquire A1
			T2 acquire B2
			T3 acquire-read R3
			T2 acquire-read R3
			T2 quit-holding T3 A1
			T2 quit-holding T3 R3
			T2 release R3 inferred
			T2 release B2 inferred
			T2 release A1 inferred
			T2 end =0`, nil},
		{"exit by another thread, or by a system call", `
			12 acquire A
			12 release A
			11 acquire A
			12 quit place=3
			11 exit 11 process
			12 exit 12 process`, `
			T3 acquire A1
			T3 release A1
			T2 acquire A1
			T2 release A1 inferred
			T2 end =0
			T3 end =0`, nil},
		{"a condition that does not", `
			11 destroy C kind=cond
			11 signal C entered=4
			11 destroy C kind=cond
			11 signal C
			11 init C kind=cond
			11 signal C`, `
			T2 signal C1
			T2 destroy C1
			T2 signal C2
			T2 destroy C2 inferred
			T2 init C3 C2 =0
			T2 signal C3`, nil},
		{"semaphores that were made and destroyed by calls", `
			11 init 0x53008 kind=sem
			11 destroy 0x53008 kind=sem
			12 sem-wait 0x53008
			12 sem-post 0x53008`, `
			T2 init S1 =0
			T2 destroy S1
			T3 use-destroyed S1
			T3 sem-wait S2
			T3 sem-post S2`, nil},
		{"semaphores that others may have made", `
			11 init 0x53008 kind=sem entered=1
			11 destroy 0x53008 kind=sem
			12 sem-post 0x53008
			11 init S kind=sem
			11 destroy S kind=sem
			12 sem-post S
			12 sem-post 0x51008
			12 destroy 0x51008 kind=sem
			12 sem-post 0x51008`, `
			T2 init S1 =0
			T2 destroy S1
			T3 sem-post S2
			T2 init S3 =0
			T2 destroy S3
			T3 sem-post S4
			T3 sem-post Q5
			T3 destroy Q5
			T3 sem-post Q6`, nil},
		{"a barrier that others still leave", `
			11 init B kind=barrier
			11 barrier B
			12 barrier B
			11 barrier B leave
			11 destroy B kind=barrier
			12 barrier B leave
			12 destroy B kind=barrier
			12 barrier B`, `
			T2 init B1 =0
			T2 barrier-arrive B1
			T3 barrier-arrive B1
			T2 barrier-depart B1
			T2 destroy B1
			T3 barrier-depart B2
			T3 destroy B2
			T3 barrier-arrive B3`, nil},
		{"a barrier", `
			11 init B kind=barrier
			11 destroy B kind=barrier
			12 barrier B`, `
			T2 init B1 =0
			T2 destroy B1
			T3 use-destroyed B1
			T3 barrier-arrive B2`, nil},
		{"reader-writer locks, perhaps", `
			11 init R kind=rwlock
			11 destroy R kind=rwlock
			12 acquire-read R
			12 acquire-read L
			12 release L kind=rwlock
			12 destroy L kind=rwlock
			12 acquire-read L`, `
			T2 init R1 =0
			T2 destroy R1
			T3 use-destroyed R1 inferred
			T3 acquire-read R2
			T3 acquire-read L3
			T3 release L3
			T3 destroy L3
			T3 acquire-read L4`, nil},
		{"a wait that does not get its robust mutex again", `
			11 acquire A
			11 wait C with=A sp=90
			11 wait C with=A sp=90 leave result=131
			12 init A`, `
			T2 acquire A1
			T2 release A1 in-wait
			T2 wait C2 A1
			T2 wake C2 A1
			T3 destroy A1 inferred
			T3 init A3 A1 =0`, nil},
		{"a wait that is refused, since the thread does not hold the mutex", `
			11 wait C with=A sp=90
			11 wait C with=A sp=90 leave result=1
			12 acquire A
			12 release A`, `
			T2 release-unheld A2 C1 in-wait
			T2 wait C1 A2
			T2 wake C1 A2
			T3 acquire A2
			T3 release A2`, &Stats{}},
		{"calls wrapped by functions of the same names, twice, one by a jump", `
			11 acquire A
			11 release A sp=900
			11 release A sp=800 kind=none
			11 release A sp=800 kind=try
			11 acquire A
			11 acquire A
			11 release A sp=900
			11 release A sp=900 kind=none
			12 signal C sp=900
			12 signal C sp=700 kind=none
			12 broadcast C sp=900
			12 broadcast C sp=700 kind=none
			12 sem-post D sp=900
			12 sem-post D sp=700 kind=none
			11 release A sp=900
			11 release A sp=800 kind=none`, `
			T2 acquire A1
			T2 release A1
			T2 acquire A1
			T3 signal C2
			T3 broadcast C2
			T3 sem-post D3
			T2 release A1`, &Stats{}},
		{"calls one after the other, through a wrapper and not: a lock released twice", `
			11 acquire A
			11 release A sp=900
			11 release A sp=800 kind=none
			11 release A sp=900
			11 release A sp=800 kind=none
			12 sem-post D sp=900
			12 sem-post D sp=900
			12 sem-post D sp=950 kind=none
			12 sem-post D sp=100
			12 signal C sp=900
			12 sem-post D sp=90 kind=none`, `
			T2 acquire A1
			T2 release A1
			T2 release-unheld A1
			T3 sem-post D2
			T3 sem-post D2
			T3 sem-post D2
			T3 sem-post D2
			T3 signal C3
			T3 sem-post D2`, &Stats{UnheldReleases: 1}},
		{"a mutex whose owner died: unlocked, made consistent by then, waited with, had in a wait, and by a call of whose results nothing is known", `
			11 acquire A result=130 kind=robust
			11 release A
			11 acquire A result=130 kind=robust
			11 consistent A
			11 release A
			11 acquire A result=130 kind=robust
			11 wait C with=A sp=90
			11 wait C with=A sp=90 leave result=130 kind=waits
			11 release A
			11 acquire A result=130
			11 release A
			11 consistent B`, `
			T2 acquire A1
			T2 release-inconsistent A1
			T2 release A1
			T2 acquire A1
			T2 release A1
			T2 acquire A1
			T2 release-inconsistent A1 in-wait
			T2 release A1 in-wait
			T2 wait C2 A1
			T2 wake C2 A1
			T2 acquire A1 in-wait
			T2 release-inconsistent A1
			T2 release A1
			T2 acquire A1
			T2 release A1`, &Stats{}},
		{"cancelled in a wait, and ended there", `
			11 acquire A
			11 wait C with=A sp=90
			12 cancel p1
			11 exit
			12 join p1 entered=9`, `
			T2 acquire A1
			T2 release A1 in-wait
			T2 wait C2 A1
			T3 send cancellation3
			T2 wake C2 A1 timed-out inferred
			T2 acquire A1 =1 in-wait inferred
			T2 release A1 inferred
			T2 end
			T3 join T2`, &Stats{}},
		{"cancelled in a wait, and joined before its end was told of", `
			11 wait C with=A sp=90
			12 cancel p1
			12 join p1 entered=9`, `
			T2 release-unheld A2 C1 in-wait
			T2 wait C1 A2
			T3 send cancellation3
			T2 wake C1 A2 timed-out inferred
			T2 acquire A2 =1 in-wait inferred
			T2 release A2 inferred
			T2 end inferred
			T3 join T2`, &Stats{}},
		{"cancelled in a wait, and ended with its process, or while another has the mutex; ended in a wait, and not cancelled", `
			11 acquire A
			11 wait C with=A sp=90
			12 acquire A
			12 cancel p1
			11 exit
			12 wait C with=A
			1 cancel p2
			12 exit 0 process
			1 wait C with=A
			1 exit`, `
			T2 acquire A1
			T2 release A1 in-wait
			T2 wait C2 A1
			T3 acquire A1
			T3 send cancellation3
			T2 end
			T3 release A1 in-wait
			T3 wait C2 A1
			T1 send cancellation4
			T3 end =0
			T1 release-unheld A1 C2 in-wait
			T1 wait C2 A1
			T1 end`, nil},
		{"locked again by its owner", `
			11 acquire A
			11 acquire A failed result=35`, `
			T2 acquire A1
			T2 acquire-failed A1 =35`, nil},
		{"after a hole of anybody nothing is sure", `
			12 hole lost=1
			11 release A
			11 join p2 failed result=22`, `
			T3 hole =1`, &Stats{Lost: 1, ThreadsWithHoles: 1, UnheldReleases: 1}},
		{"a join of who had the handle after one that was made detached", `
			1 fork 13 tp=p5
			13 exit
			1 fork 14 tp=p5
			14 exit
			1 join p5 entered=9
			1 join p5 failed result=3 entered=10`, `
			T1 fork T4
			T4 begin
			T4 end
			T1 fork T5
			T5 begin
			T5 end
			T1 join T5
			T1 join-failed T5 =3`, nil},
		{"detached twice, detached after a join, and by a call within a call", `
			1 detach p1 sp=90
			1 detach p1 sp=82 kind=mutex
			1 detach p1 sp=90
			11 exit
			12 detach p1
			1 join p2 entered=7
			1 detach p2
			1 detach p9
			1 fork 13 tp=p2
			1 detach p2`, `
			T1 detach T2
			T1 detach-again T2
			T2 end
			T3 detach-again T2
			T3 end inferred
			T1 join T3
			T1 detach-again T3
			T1 fork T4
			T4 begin
			T1 detach T4`, nil},
		{"joins that are refused", `
			1 join p1 failed result=22 entered=3
			1 join p1 failed result=22 entered=2
			1 join p1 failed result=16 entered=6
			11 exit
			1 join p1 entered=7
			1 join p1 failed result=3 entered=8
			1 join p9 failed result=3 entered=8`, `
			T1 join-failed T2 =22
			T2 end
			T1 join T2
			T1 join-failed T2 =3`, nil},
	})
}

// TestMisuseUnderAttach checks that a thread that lived before the observation began may hold
// locks whose acquisition was not recorded.
func TestMisuseUnderAttach(t *testing.T) {
	for i, c := range []struct {
		records string
		told    int
	}{
		{"1 release A time=200", 0},
		{"1 init A time=200\n1 release A time=200", 1},
		{"1 fork 13 tp=p3 time=50\n13 release A time=200", 0}, // it may have locked before the probes were in place
		{"1 fork 13 tp=p3 time=150\n13 release A time=200", 1},
		{"1 fork 13 process time=150\n13 release A of=13 time=200", 0}, // with its parent's locks
		{"1 wait C with=A time=200", 0},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			told := 0
			o := New(Options{Sites: site, Attached: true, Follow: true, Sinks: []Sink{sinkFunc(func(e *event.Event) {
				if e.Op == event.ReleaseUnheld {
					told++
				}
			})}})
			o.AddTask(bpf.TaskLine{Tid: 1, Tgid: 1}, 0, false)
			o.StartAt(100)
			for _, r := range parseRecords(t, c.records) {
				o.Record(&r)
			}
			if told != c.told {
				t.Errorf("told %d times, want %d", told, c.told)
			}
		})
	}
}

// TestLatest checks that maxRecent addresses are kept, and that put returns discarded values.
func TestLatest(t *testing.T) {
	var l recentMap[int]
	p := &process{}
	for i := range 2 * maxRecent {
		forgotten, dropped := l.put(p, uint64(i), i)
		if dropped != (i >= maxRecent) || dropped && forgotten != i-maxRecent {
			t.Fatalf("%d: forgot %d, %v", i, forgotten, dropped)
		}
		l.put(p, uint64(i), i)
	}
	if _, ok := l.get(p, maxRecent-1); ok || len(l.values) != maxRecent || len(l.order) != maxRecent {
		t.Errorf("%d values, %d in order", len(l.values), len(l.order))
	}
	l.removeProcess(p)
	if len(l.values) != 0 {
		t.Error("not forgotten")
	}
}
