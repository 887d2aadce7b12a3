package observer

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

func lines(text string) []string {
	var ls []string
	for _, l := range strings.Split(text, "\n") {
		if l = strings.TrimSpace(l); l != "" {
			ls = append(ls, l)
		}
	}
	return ls
}

// two is the usual beginning of the records: two threads, with thread pointers p1 and p2.
const two = `
	1 create start=77 place=5
	1 fork 11 tp=p1
	1 create start=78
	1 fork 12 tp=p2
`

var twoEvents = lines(`
	T1 begin inferred
	T1 fork T2
	T2 begin
	T1 fork T3
	T3 begin
`)

type observation struct {
	name, in, out string
	// stats, if not nil, is compared with the counts that are not of everything.
	stats *Stats
}

// check feeds the records after the beginning and compares the events.
func (c observation) check(t *testing.T) { c.checkWith(t, newListener()) }

func (c observation) checkWith(t *testing.T, l *listener) {
	for _, r := range parseRecords(t, two+c.in) {
		l.o.Record(&r)
	}
	if diff := cmp.Diff(append(twoEvents[:5:5], lines(c.out)...), l.lines); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	for _, b := range l.broken {
		t.Error(b)
	}
	if c.stats != nil {
		got := l.o.Stats()
		got.Events, got.Records, got.Threads = 0, 0, 0
		if diff := cmp.Diff(*c.stats, got); diff != "" {
			t.Errorf("stats (-want +got):\n%s", diff)
		}
	}
	if len(l.o.threads.live) == 0 && l.o.threads.last != nil {
		t.Error("no thread lives, and one is the last")
	}
}

func observe(t *testing.T, cases []observation) {
	for _, c := range cases {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), c.check)
	}
}

func TestLocks(t *testing.T) {
	observe(t, []observation{
		{"one after the other", `
			11 acquire A
			11 release A
			12 acquire A
			12 release A`, `
			T2 acquire A1
			T2 release A1
			T3 acquire A1
			T3 release A1`, &Stats{}},
		{"recursive: only the outermost level", `
			11 acquire A
			11 acquire A
			11 acquire A
			11 release A
			11 release A
			11 release A
			11 release A`, `
			T2 acquire A1
			T2 release A1
			T2 release-unheld A1`, &Stats{UnheldReleases: 1}},
		{"a try that failed", `
			11 acquire A
			12 acquire A kind=try failed
			12 acquire B kind=try`, `
			T2 acquire A1
			T3 acquire-failed A1 try
			T3 acquire B2 try`, &Stats{}},
		{"readers side by side, then a writer", `
			11 acquire-read R
			12 acquire-read R
			11 acquire-read R
			11 release R kind=rwlock
			11 release R kind=rwlock
			12 release R kind=rwlock
			12 acquire R kind=rwlock
			12 release R kind=rwlock`, `
			T2 acquire-read R1
			T3 acquire-read R1
			T2 acquire-again R1
			T2 release R1
			T3 release R1
			T3 acquire R1
			T3 release R1`, &Stats{}},
		{"of what kind a read-write lock is, is told once", `
			11 acquire-read R kind=made with=3
			12 acquire-read R kind=made with=3
			11 acquire-read S kind=made with=0
			11 release S kind=rwlock
			11 acquire S kind=made with=1
			12 acquire-read P kind=made with=4
			12 acquire-read Q kind=rwlock with=3`, `
			T2 acquire-read R1 =2
			T3 acquire-read R1
			T2 acquire-read S2
			T2 release S2
			T2 acquire S2 =0
			T3 acquire-read P3
			T3 acquire-read Q4`, &Stats{}},
		{"a writer evicts readers whose release was lost", `
			11 acquire-read R
			12 acquire-read R
			1 acquire R kind=rwlock
			11 acquire-read R`, `
			T2 acquire-read R1
			T3 acquire-read R1
			T2 release R1 inferred
			T3 release R1 inferred
			T1 acquire R1
			T1 release R1 inferred
			T2 acquire-read R1`, &Stats{InferredReleases: 3}},
		{"a release was lost", `
			11 acquire A
			12 acquire A
			11 release A`, `
			T2 acquire A1
			T2 release A1 inferred
			T3 acquire A1`, &Stats{InferredReleases: 1, UnheldReleases: 1}},
		{"what was held before a hole is held no longer", `
			11 acquire A
			11 acquire A
			11 acquire-read R
			11 hole lost=3
			11 release B
			12 acquire A
			11 release R kind=rwlock
			11 acquire A`, `
			T2 acquire A1
			T2 acquire-read R2
			T2 release R2 inferred
			T2 release A1 inferred
			T2 hole =3
			T3 acquire A1
			T3 release A1 inferred
			T2 acquire A1 after-hole`, &Stats{Lost: 3, ThreadsWithHoles: 1, InferredReleases: 1}},
		{"a wait whose end was lost, and one whose end was not", `
			11 acquire A
			11 wait C with=A
			12 acquire A
			11 hole lost=1
			12 release A
			11 wait C with=A leave
			12 hole lost=70000
			12 hole lost=1`, `
			T2 acquire A1
			T2 release A1 in-wait
			T2 wait C2 A1
			T3 acquire A1
			T2 wake C2 A1 timed-out inferred
			T2 hole =1
			T3 release A1
			T2 acquire A1 in-wait inferred after-hole
			T3 hole =70000
			T3 hole =1 after-hole`, &Stats{Lost: 70002, ThreadsWithHoles: 2}},
		{"unlocked by another, locked by the first again", `
			11 acquire A
			12 release A
			11 acquire A
			11 release A`, `
			T2 acquire A1
			T3 release-unheld A1
			T2 release A1 inferred
			T2 acquire A1
			T2 release A1`, &Stats{InferredReleases: 1, UnheldReleases: 1}},
		{"an unlock by another that was refused", `
			11 acquire A
			12 release A
			11 release A
			12 acquire A`, `
			T2 acquire A1
			T3 release-unheld A1
			T2 release A1
			T3 acquire A1`, &Stats{UnheldReleases: 1}},
		{"the holder ends; the mutex is robust", `
			11 acquire A
			11 exit
			12 acquire A result=130`, `
			T2 acquire A1
			T2 release A1 inferred
			T2 end
			T3 acquire A1`, &Stats{}},
	})
}

func TestLifetimes(t *testing.T) {
	observe(t, []observation{
		{"init, destroy, init: two objects", `
			11 init A with=0x7000
			11 acquire A
			11 release A
			11 destroy A
			11 init A
			11 acquire A`, `
			T2 init A1 =1
			T2 acquire A1
			T2 release A1
			T2 destroy A1
			T2 init A2 =0
			T2 acquire A2`, &Stats{}},
		{"init by way of another, and again", `
			11 init A sp=90
			11 init A sp=50
			11 acquire A
			11 release A
			11 init A sp=50`, `
			T2 init A1 =0
			T2 acquire A1
			T2 release A1
			T2 destroy A1 inferred
			T2 init A2 A1 =0`, &Stats{}},
		{"destroy without a past", `
			11 destroy A`, ``, &Stats{}},
		{"init of a live object that another holds", `
			11 acquire A
			12 init A
			12 acquire A
			11 release A
			12 release A`, `
			T2 acquire A1
			T2 release A1 inferred
			T3 destroy A1 inferred
			T3 init A2 A1 =0
			T3 acquire A2
			T3 release A2`, &Stats{UnheldReleases: 1}},
		{"destroyed while held", `
			11 acquire A
			12 acquire-read R
			11 destroy A
			11 destroy R
			11 acquire B`, `
			T2 acquire A1
			T3 acquire-read R2
			T2 release A1 inferred
			T2 destroy A1
			T3 release R2 inferred
			T2 destroy R2
			T2 acquire B3`, &Stats{}},
		{"spin init is unlock", `
			11 release S kind=spin
			11 acquire S kind=spin
			11 release S kind=spin
			11 release S kind=spin
			12 acquire S kind=spin
			12 release S kind=spin`, `
			T2 destroy S1 inferred
			T2 acquire S2
			T2 release S2
			T2 destroy S2 inferred
			T3 acquire S3
			T3 release S3`, &Stats{}},
		{"memory used again for another kind", `
			11 acquire A
			12 sem-post A
			11 acquire A`, `
			T2 acquire A1
			T2 release A1 inferred
			T3 destroy A1 inferred
			T3 sem-post A2
			T2 destroy A2 inferred
			T2 acquire A3`, &Stats{}},
		{"a kind that no site tells changes nothing", `
			11 acquire A kind=none
			11 release A kind=spin
			12 acquire A kind=spin
			12 release A kind=none`, `
			T2 acquire A1
			T2 release A1
			T3 acquire A1
			T3 release A1`, &Stats{}},
		{"objects on a thread's stack go with it", `
			1 fork 13 tp=0x100000
			13 acquire A sp=0x1000
			13 release A sp=0x1000
			12 acquire A sp=0xfff
			13 exit
			12 acquire A
			12 release A
			12 release A`, `
			T1 fork T4
			T4 begin
			T4 acquire A1
			T4 release A1
			T3 acquire A1
			T3 release A1 inferred
			T4 destroy A1 inferred
			T4 end
			T3 acquire A2
			T3 release A2
			T3 release-unheld A2`, &Stats{UnheldReleases: 1}},
	})
}

func TestConditions(t *testing.T) {
	observe(t, []observation{
		{"a wait is four events", `
			11 acquire A
			11 wait C with=A sp=90
			12 acquire A
			12 signal C
			12 release A
			11 wait C with=A sp=90 leave
			11 release A`, `
			T2 acquire A1
			T2 release A1 in-wait
			T2 wait C2 A1
			T3 acquire A1
			T3 signal C2
			T3 release A1
			T2 wake C2 A1
			T2 acquire A1 in-wait
			T2 release A1`, &Stats{}},
		{"time was up", `
			11 acquire A
			11 wait C with=A sp=90
			11 wait C with=A sp=90 leave result=110`, `
			T2 acquire A1
			T2 release A1 in-wait
			T2 wait C2 A1
			T2 wake C2 A1 timed-out
			T2 acquire A1 in-wait`, &Stats{}},
		{"the mutex is held twice", `
			11 acquire A
			11 acquire A
			11 wait C with=A sp=90
			11 wait C with=A sp=90 leave
			11 release A
			11 release A`, `
			T2 acquire A1
			T2 release A1 in-wait
			T2 wait C2 A1
			T2 wake C2 A1
			T2 acquire A1 in-wait
			T2 release A1`, &Stats{}},
		{"musl's own calls inside", `
			11 acquire A
			11 wait C with=A sp=90
			11 release A sp=50
			12 acquire A
			12 broadcast C
			12 release A
			11 acquire A sp=50
			11 wait C with=A sp=90 leave
			11 release A`, `
			T2 acquire A1
			T2 release A1 in-wait
			T2 wait C2 A1
			T3 acquire A1
			T3 broadcast C2
			T3 release A1
			T2 wake C2 A1
			T2 acquire A1 in-wait
			T2 release A1`, &Stats{}},
		{"a wait by way of another", `
			11 acquire A
			11 wait C with=A sp=90
			11 wait C with=A sp=80
			11 wait C with=A sp=80 leave
			11 wait C with=A sp=90 leave`, `
			T2 acquire A1
			T2 release A1 in-wait
			T2 wait C2 A1
			T2 wake C2 A1
			T2 acquire A1 in-wait`, &Stats{}},
		{"left by cancellation: a handler in the frame", `
			11 acquire A
			11 wait C with=A sp=90
			11 release A sp=90
			11 exit`, `
			T2 acquire A1
			T2 release A1 in-wait
			T2 wait C2 A1
			T2 wake C2 A1 timed-out inferred
			T2 acquire A1 in-wait inferred
			T2 release A1
			T2 end`, &Stats{}},
		{"left by cancellation: a handler's own call", `
			11 acquire A
			11 wait C with=A sp=90
			11 write X sp=60 value=1
			11 release A sp=60
			11 exit`, `
			T2 acquire A1
			T2 release A1 in-wait
			T2 wait C2 A1
			T2 wake C2 A1 timed-out inferred
			T2 acquire A1 in-wait inferred
			T2 write X3 =1
			T2 release A1
			T2 end`, &Stats{}},
		{"left by cancellation in musl", `
			11 acquire A
			11 wait C with=A sp=90
			11 release A sp=50
			11 acquire A sp=50
			11 release A sp=40
			11 exit`, `
			T2 acquire A1
			T2 release A1 in-wait
			T2 wait C2 A1
			T2 wake C2 A1 timed-out inferred
			T2 acquire A1 in-wait inferred
			T2 release A1
			T2 end`, &Stats{}},
		{"a signal handler while another has the mutex", `
			11 acquire A
			11 wait C with=A sp=90
			12 acquire A
			11 write X sp=60 value=1
			11 sem-post P sp=60
			12 release A
			11 wait C with=A sp=90 leave`, `
			T2 acquire A1
			T2 release A1 in-wait
			T2 wait C2 A1
			T3 acquire A1
			T2 write X3 =1
			T2 sem-post P4
			T3 release A1
			T2 wake C2 A1
			T2 acquire A1 in-wait`, &Stats{}},
		{"a signal handler taken for a cleanup handler", `
			11 acquire A
			11 wait C with=A sp=90
			11 write X sp=60 value=1
			12 acquire A
			12 release A
			11 wait C with=A sp=90 leave
			11 release A`, `
			T2 acquire A1
			T2 release A1 in-wait
			T2 wait C2 A1
			T2 wake C2 A1 timed-out inferred
			T2 acquire A1 in-wait inferred
			T2 write X3 =1
			T2 release A1 inferred
			T3 acquire A1
			T3 release A1
			T2 acquire A1 in-wait inferred
			T2 release A1`, &Stats{InferredReleases: 1}},
		{"the return was lost", `
			11 acquire A
			11 wait C with=A sp=90
			11 wait C with=A sp=90
			11 wait C with=A sp=90 leave`, `
			T2 acquire A1
			T2 release A1 in-wait
			T2 wait C2 A1
			T2 wake C2 A1 timed-out inferred
			T2 acquire A1 in-wait inferred
			T2 release A1 in-wait
			T2 wait C2 A1
			T2 wake C2 A1
			T2 acquire A1 in-wait`, &Stats{}},
		{"destroyed as soon as all are woken", `
			11 acquire A
			11 wait C with=A sp=90
			12 broadcast C
			12 destroy C
			11 wait C with=A sp=90 leave`, `
			T2 acquire A1
			T2 release A1 in-wait
			T2 wait C2 A1
			T3 broadcast C2
			T3 destroy C2
			T2 wake C2 A1
			T2 acquire A1 in-wait`, &Stats{}},
		{"ends in its sleep", `
			11 wait C with=A sp=90
			11 exit
			12 acquire A`, `
			T2 release-unheld A2 C1 in-wait
			T2 wait C1 A2
			T2 end
			T3 acquire A2`, &Stats{}},
	})
}

func TestThreads(t *testing.T) {
	observe(t, []observation{
		{"join", `
			11 exit
			1 join p1 entered=5`, `
			T2 end
			T1 join T2`, &Stats{}},
		{"join before the exit is told of", `
			11 acquire A
			1 join p1 entered=5
			11 exit
			12 acquire A`, `
			T2 acquire A1
			T2 release A1 inferred
			T2 end inferred
			T1 join T2
			T3 acquire A1`, &Stats{}},
		{"a join that failed", `
			1 join p1 entered=5 failed
			11 acquire A`, `
			T2 acquire A1`, &Stats{}},
		{"join of nobody known, and of itself", `
			1 join p9 entered=5
			11 join p1 entered=5
			11 acquire A`, `
			T2 acquire A1`, &Stats{UnknownJoins: 2}},
		{"the thread that ran main is joined, once", `
			1 exit
			11 join p9 entered=5
			11 join p8 entered=6`, `
			T1 end
			T2 join T1`, &Stats{UnknownJoins: 1}},
		{"a join by way of another", `
			11 exit
			12 fork 13 tp=p1
			1 join p1 entered=5
			1 join p1 entered=4
			13 exit
			1 join p1 entered=11`, `
			T2 end
			T3 fork T4
			T4 begin
			T1 join T2
			T4 end
			T1 join T4`, &Stats{}},
		{"the kernel uses an id again", `
			11 exit
			1 fork 11 tp=p3
			11 acquire A
			1 fork 11 tp=p4
			11 acquire A`, `
			T2 end
			T1 fork T4
			T4 begin
			T4 acquire A1
			T4 release A1 inferred
			T4 end inferred
			T1 fork T5
			T5 begin
			T5 acquire A1`, &Stats{}},
		{"the thread pointer is used again between join's entry and its record", `
			11 exit
			12 fork 13 tp=p1
			1 join p1 entered=5
			13 acquire A
			13 exit
			1 join p1 entered=20`, `
			T2 end
			T3 fork T4
			T4 begin
			T1 join T2
			T4 acquire A1
			T4 release A1 inferred
			T4 end
			T1 join T4`, &Stats{}},
		{"and twice, the second joined before the first", `
			11 exit
			12 fork 13 tp=p1
			13 exit
			12 join p1 entered=8
			12 fork 14 tp=p1
			1 join p1 entered=5
			14 exit
			1 join p1 entered=20`, `
			T2 end
			T3 fork T4
			T4 begin
			T4 end
			T3 join T4
			T3 fork T5
			T5 begin
			T1 join T2
			T5 end
			T1 join T5`, &Stats{}},
		{"detached", `
			1 detach p1
			1 detach p1
			11 exit
			1 detach p9
			12 exit
			1 detach p2`, `
			T1 detach T2
			T1 detach-again T2
			T2 end
			T3 end
			T1 detach T3`, &Stats{}},
		{"unknown threads", `
			50 acquire A
			51 exit
			50 exit`, `
			T4 begin inferred
			T4 acquire A1
			T4 release A1 inferred
			T4 end`, &Stats{}},
		{"another process", `
			11 fork 60 process`, `
			T2 send child-process1`, &Stats{Children: 1}},
		{"the first thread leaves", `
			1 exit
			11 acquire A
			11 fork 13 tp=p3`, `
			T1 end
			T2 acquire A1
			T2 fork T4
			T4 begin`, &Stats{}},
		{"execve by the first thread", `
			1 acquire A
			11 acquire B
			11 exit
			1 exec 1
			1 acquire A
			1 fork 11 tp=p1
			1 join p2 entered=99`, `
			T1 acquire A1
			T2 acquire B2
			T2 release B2 inferred
			T2 end
			T3 end inferred
			T1 release A1 inferred
			T1 acquire A3
			T1 fork T4
			T4 begin`, &Stats{UnknownJoins: 1}},
		{"execve by another thread, which gets the first one's id", `
			11 acquire A
			1 exit
			12 exit
			1 exec 11
			1 acquire A`, `
			T2 acquire A1
			T1 end
			T3 end
			T2 release A1 inferred
			T2 acquire A2`, &Stats{}},
		{"execve in another process", `
			11 exec 1111`, `
			T1 end inferred
			T3 end inferred`, &Stats{}},
	})
}

func TestProcesses(t *testing.T) {
	for _, c := range []observation{
		{name: "objects of their own", in: `
			11 acquire A
			11 release A
			1 fork 60 process
			60 acquire A of=60
			11 acquire A
			60 release A of=60
			60 exit of=60`, out: `
			T2 acquire A1
			T2 release A1
			T1 fork T4
			T4 begin
			T4 acquire A2
			T2 acquire A1
			T4 release A2
			T4 send child-process3
			T4 end`, stats: &Stats{}},
		{name: "a child holds what its maker held", in: `
			11 acquire A
			11 acquire A
			11 acquire-read B
			12 acquire D
			11 fork 60 process
			60 release A of=60
			60 release A of=60
			60 release B kind=rwlock of=60
			11 release B kind=rwlock
			60 acquire D of=60`, out: `
			T2 acquire A1
			T2 acquire-read B2
			T3 acquire D3
			T2 fork T4
			T4 begin
			T4 acquire A4 inferred
			T4 acquire-read B5 inferred
			T4 release A4
			T4 release B5
			T2 release B2
			T4 acquire D6`, stats: &Stats{}},
		{name: "in its parent's memory until its execve", in: `
			11 acquire A
			11 fork 60 process shared
			60 exec 60 of=60
			60 acquire A of=60`, out: `
			T2 acquire A1
			T2 fork T4
			T4 begin
			T4 acquire A2`, stats: &Stats{}},
		{name: "threads of a child, and their joins", in: `
			1 fork 60 process tp=p9
			60 fork 61 tp=p1 of=60
			61 exit of=60
			60 join p1 entered=99 of=60
			1 join p1 entered=99`, out: `
			T1 fork T4
			T4 begin
			T4 fork T5
			T5 begin
			T5 end
			T4 join T5
			T2 end inferred
			T1 join T2`, stats: &Stats{}},
		{name: "execve in a child leaves its parent alone", in: `
			1 acquire A
			1 fork 60 process
			60 exec 60 of=60
			60 acquire B of=60
			1 release A`, out: `
			T1 acquire A1
			T1 fork T4
			T4 begin
			T4 acquire A2 inferred
			T4 release A2 inferred
			T4 acquire B3
			T1 release A1`, stats: &Stats{}},
		{name: "an id used again", in: `
			1 fork 60 process
			60 acquire A of=60
			60 exit of=60
			1 fork 60 process
			60 acquire A of=60`, out: `
			T1 fork T4
			T4 begin
			T4 acquire A1
			T4 release A1 inferred
			T4 send child-process2
			T4 end
			T1 fork T5
			T5 begin
			T5 acquire A3`, stats: &Stats{}},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			c.checkWith(t, listenWith(Options{Follow: true}))
		})
	}
}

func TestOthers(t *testing.T) {
	observe(t, []observation{
		{"barrier", `
			11 barrier B
			12 barrier B
			12 barrier B leave result=0xffffffff
			11 barrier B leave
			11 barrier B
			11 barrier B leave failed`, `
			T2 barrier-arrive B1
			T3 barrier-arrive B1
			T3 barrier-depart B1
			T2 barrier-depart B1
			T2 barrier-arrive B1`, &Stats{}},
		{"semaphore", `
			1 init P with=2 kind=sem
			11 sem-wait P
			11 sem-wait P failed
			12 sem-post P`, `
			T1 init P1 =2
			T2 sem-wait P1
			T2 sem-failed P1
			T3 sem-post P1`, &Stats{}},
		{"once: the first to leave initialised", `
			11 once O sp=90
			12 once O sp=90
			11 once O sp=90 leave
			12 once O sp=90 leave
			1 once O
			1 once O leave`, `
			T2 once-enter O1
			T3 once-enter O1
			T2 once-done O1
			T3 once-leave O1
			T1 once-enter O1
			T1 once-leave O1`, &Stats{}},
		{"once: who made events inside initialised", `
			11 once O sp=90
			12 once O sp=90
			11 write X sp=50 value=1
			12 once O sp=90 leave
			11 once O sp=90 leave`, `
			T2 once-enter O1
			T3 once-enter O1
			T2 write X2 =1
			T2 once-done O1
			T3 once-leave O1`, &Stats{}},
		{"once: left by an exception, then by another", `
			11 once O sp=90
			11 write X sp=50 value=1
			11 write X sp=200 value=1
			12 once O sp=90
			12 once O sp=90 leave
			11 once O sp=90
			11 once O sp=90 leave`, `
			T2 once-enter O1
			T2 write X2 =1
			T2 once-done O1 inferred
			T2 write X2 =1
			T3 once-enter O1
			T3 once-leave O1 inferred
			T3 once-done O1
			T2 once-enter O1
			T2 once-leave O1`, &Stats{}},
		{"once: left by an exception, which shows where another begins", `
			11 once O sp=90
			11 write X sp=50 value=1
			12 once O sp=90
			12 write X sp=50 value=2
			11 write Y sp=200 value=1
			12 write X sp=50 value=3
			12 once O sp=90 leave`, `
			T2 once-enter O1
			T2 write X2 =1
			T3 once-enter O1
			T2 once-done O1 inferred
			T3 once-leave O1 inferred
			T3 write X2 =2
			T2 write Y3 =1
			T3 write X2 =3
			T3 once-done O1`, &Stats{}},
		{"once in once", `
			11 once O sp=90
			11 once Q sp=50
			11 once Q sp=50 leave
			11 once O sp=90 leave`, `
			T2 once-enter O1
			T2 once-enter Q2
			T2 once-done Q2
			T2 once-done O1`, &Stats{}},
		{"once: a return without its call", `
			11 once O leave`, ``, &Stats{}},
		{"once: the initialiser ends inside", `
			11 once O sp=90
			11 write X sp=50 value=1
			11 exit
			12 once O sp=90
			12 once O sp=90 leave`, `
			T2 once-enter O1
			T2 write X2 =1
			T2 once-done O1 inferred
			T2 end
			T3 once-enter O1
			T3 once-leave O1 inferred
			T3 once-done O1`, &Stats{}},
		{"a static guard says who initialised", `
			11 guard-acquire G result=1
			11 guard-release G
			12 guard-acquire G
			12 guard-abort G`, `
			T2 once-enter G1
			T2 once-done G1
			T3 once-leave G1
			T3 once-done G1 inferred`, &Stats{}},
		{"a static guard: an initialiser that was left comes before the next", `
			11 guard-acquire G result=1
			11 guard-abort G
			12 guard-acquire G result=1
			12 guard-release G`, `
			T2 once-enter G1
			T2 once-done G1 inferred
			T3 once-leave G1 inferred
			T3 once-enter G1
			T3 once-done G1`, &Stats{}},
		{"accesses", `
			11 read X value=0
			11 write X value=7
			12 read X value=7
			12 update X kind=atomic
			12 read Y kind=checked
			12 read X kind=checked value=9`, `
			T2 read X1 =0
			T2 write X1 =7
			T3 read X1 =7
			T3 update X1 atomic
			T3 read X1 =9`, &Stats{}},
		{"a bit field, and one beside it", `
			11 write X kind=bits value=184
			12 update X kind=bits value=185
			12 read X kind=bits value=447`, `
			T2 write X1 =23
			T3 update X1 =23
			T3 read X1 =23`, &Stats{}},
		{"a read of what no write wrote", `
			11 write X value=7
			12 read X value=8
			11 write X value=8
			12 read X value=3
			11 write X value=3 time=900000`, `
			T2 write X1 =7
			T3 read X1 =8 no-source
			T2 write X1 =8
			T3 read X1 =3 no-source
			T2 write X1 =3`, &Stats{Contradicted: 2, Swapped: 1}},
		{"nothing of the observer's business", `
			11 none A
			11 library
			11 none A
			11 task`, ``, &Stats{}},
	})
}

// TestInfos checks the descriptions of threads and objects that reports need.
func TestInfos(t *testing.T) {
	l := newListener()
	l.o.AddTask(bpf.TaskLine{Tid: 1, Tgid: 1, ThreadPointer: 9 << 32}, 0, false)
	for _, r := range parseRecords(t, two+`
		11 init A place=3
		12 acquire B place=4
		12 write X place=6
		11 join p9 entered=3
		11 exit
		12 fork 11 tp=p3`) {
		l.o.Record(&r)
	}
	wantThread := []run.Thread{{TID: 1, TGID: 1, Main: true}, {TID: 11, TGID: 1, Parent: 1, Created: 5, StartAddr: 77}, {TID: 12, TGID: 1, Parent: 1, StartAddr: 78}, {TID: 11, TGID: 1, Parent: 3}}
	for i, want := range wantThread {
		if got, ok := l.o.ThreadInfo(event.ThreadID(i + 1)); !ok || got != want {
			t.Errorf("thread %d: %+v, want %+v", i+1, got, want)
		}
	}
	wantObject := []run.Object{
		{TGID: 1, Addr: 'A' << 12, Kind: event.KindMutex, Init: 3, First: 3, FirstThread: 2},
		{TGID: 1, Addr: 'B' << 12, Kind: event.KindMutex, First: 4, FirstThread: 3},
		{TGID: 1, Addr: 'X' << 12, Kind: event.KindVariable, Name: "x", First: 6, FirstThread: 3},
	}
	for i, want := range wantObject {
		if got, ok := l.o.ObjectInfo(event.ObjectID(i + 1)); !ok || got != want {
			t.Errorf("object %d: %+v, want %+v", i+1, got, want)
		}
	}
	if _, ok := l.o.ThreadInfo(0); ok {
		t.Error("there is a thread 0")
	}
	if _, ok := l.o.ThreadInfo(5); ok {
		t.Error("there is a thread 5")
	}
	if _, ok := l.o.ObjectInfo(0); ok {
		t.Error("there is an object 0")
	}
	if _, ok := l.o.ObjectInfo(4); ok {
		t.Error("there is an object 4")
	}
	if got := l.o.Stats(); got.Threads != 4 || got.Records != 10 || got.UnknownJoins != 0 {
		t.Errorf("stats: %+v", got)
	}
}

func TestStacks(t *testing.T) {
	o := New(Options{})
	o.Stack(&bpf.StackRecord{Stack: 4, Site: 2, Caller: 99})
	got, ok := o.StackOf(4)
	if diff := cmp.Diff(Stack{Site: 2, Caller: 99}, got); !ok || diff != "" {
		t.Error(diff)
	}
	if _, ok := o.StackOf(5); ok {
		t.Error("place 5 has a stack")
	}
}

// TestFinish checks that each thread of the run has an End event, and holds its locks to the
// end.
func TestFinish(t *testing.T) {
	l := newListener()
	for _, r := range parseRecords(t, two+`
		11 acquire A
		12 wait C with=B
		12 fork 13
		13 exit`) {
		l.o.Record(&r)
	}
	at := len(l.lines)
	l.o.Finish()
	l.o.Finish()
	if diff := cmp.Diff(lines("T1 end inferred\nT2 end inferred\nT3 end inferred"), l.lines[at:]); diff != "" {
		t.Error(diff)
	}
	if len(l.broken) > 0 {
		t.Error(l.broken)
	}
}

// TestTimes checks that events have the time of the record that caused them.
func TestTimes(t *testing.T) {
	var times []uint64
	o := New(Options{Sinks: []Sink{sinkFunc(func(e *event.Event) { times = append(times, e.Time) })}})
	for _, r := range parseRecords(t, "1 acquire A\n2 acquire A time=7\n2 exit time=9") {
		o.Record(&r)
	}
	if diff := cmp.Diff([]uint64{1, 1, 7, 7, 7, 9, 9}, times); diff != "" {
		t.Error(diff)
	}
}

type sinkFunc func(*event.Event)

func (f sinkFunc) Event(e *event.Event) { f(e) }

// TestStartAt inserts probes into a running process one by one, that of the lock function
// before that of the unlock function.
func TestStartAt(t *testing.T) {
	l := newListener()
	l.o.StartAt(5)
	for _, r := range parseRecords(t, `
		11 acquire A
		1 fork 12 tp=p2
		12 wait C with=B
		12 acquire A
		11 acquire A
		11 release A
		12 wait C with=B leave
		12 release B`) {
		l.o.Record(&r)
	}
	l.o.Finish()
	got := strings.Join(l.lines, "\n")
	if strings.Count(got, "acquire A") != 1 || strings.Count(got, "release A") != 1 || !strings.Contains(got, "fork T") || !strings.Contains(got, "acquire B") {
		t.Errorf("events:\n%s", got)
	}
	if len(l.broken) > 0 || l.o.Stats().InferredReleases != 0 {
		t.Errorf("%v, %+v", l.broken, l.o.Stats())
	}
}

// TestInnerAcquisitions counts the acquisitions that make no events.
func TestInnerAcquisitions(t *testing.T) {
	l := newListener()
	for _, r := range parseRecords(t, two+`
		11 acquire A
		11 acquire A
		11 release A
		11 release A
		11 acquire A
	`) {
		l.o.Record(&r)
	}
	if got := l.o.InnerAcquisitions(); got != 1 {
		t.Errorf("%d inner acquisitions, want 1", got)
	}
}

// TestSharedMemory checks which objects of two processes are one: those in memory that is shared and that
// were there before the fork, as long as both have the memory.
func TestSharedMemory(t *testing.T) {
	for _, c := range []observation{
		{name: "one lock in shared memory, two in private memory", in: `
			1 init S
			1 init A
			1 fork 60 process
			60 acquire S of=60
			60 acquire A of=60
			60 release S of=60
			1 acquire S
			1 acquire A`, out: `
			T1 init S1 =0
			T1 init A2 =0
			T1 fork T4
			T4 begin
			T4 acquire S1
			T4 acquire A3
			T4 release S1
			T1 acquire S1
			T1 acquire A2`},
		{name: "held by the parent at the fork", in: `
			1 acquire S
			1 fork 60 process
			60 release S of=60
			1 release S`, out: `
			T1 acquire S1
			T1 fork T4
			T4 begin
			T4 release-unheld S1
			T1 release S1`},
		{name: "first used by both after the fork, beside one from before it", in: `
			1 init 0x53100
			1 fork 60 process
			60 acquire S of=60
			60 release S of=60
			1 acquire S`, out: `
			T1 init S1 =0
			T1 fork T4
			T4 begin
			T4 acquire S2
			T4 release S2
			T1 acquire S2`},
		{name: "nothing there before the fork: each may have mapped it for itself", in: `
			1 init A
			1 fork 60 process
			60 acquire S of=60
			1 acquire S`, out: `
			T1 init A1 =0
			T1 fork T4
			T4 begin
			T4 acquire S2
			T1 acquire S3`},
		{name: "destroyed by one, made again by the other", in: `
			1 init S
			1 fork 60 process
			60 destroy S of=60
			1 init S
			60 acquire S of=60`, out: `
			T1 init S1 =0
			T1 fork T4
			T4 begin
			T4 destroy S1
			T1 init S2 =0
			T4 acquire S2`},
		{name: "unmapped by the child, which uses the address for other memory", in: `
			1 init S
			1 fork 60 process
			60 free S with=0x1000 result=1 of=60
			1 acquire S
			60 acquire S of=60`, out: `
			T1 init S1 =0
			T1 fork T4
			T4 begin
			T1 acquire S1
			T4 acquire S2`},
		{name: "unmapped by the parent, and used by two children", in: `
			1 init S
			1 fork 60 process
			1 fork 61 process
			1 free S with=0x1000 result=1
			60 acquire S of=60
			60 release S of=60
			60 exit 60 of=60
			61 acquire S of=61
			1 acquire S`, out: `
			T1 init S1 =0
			T1 fork T4
			T4 begin
			T1 fork T5
			T5 begin
			T4 acquire S1
			T4 release S1
			T4 send child-process2
			T4 end
			T5 acquire S1
			T1 acquire S3`},
		{name: "a child that executes another program", in: `
			1 init S
			1 fork 60 process
			60 exec 60 of=60
			60 acquire S of=60
			1 acquire S`, out: `
			T1 init S1 =0
			T1 fork T4
			T4 begin
			T4 acquire S2
			T1 acquire S1`},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			shared := func(uint32) []SharedMapping { return []SharedMapping{{Range: Range{'S' << 12, 'S'<<12 + 0x1000}}} }
			c.checkWith(t, listenWith(Options{Follow: true, SharedMemory: shared}))
		})
	}
}
