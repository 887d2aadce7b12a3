package observer

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// wakesUp is a wake-up of a thread, 0 of a process that is not observed.
func wakesUp(tid uint32, number, call, other uint64) noticeRecord {
	return noticeRecord{tid: tid, op: bpf.OpSend, kind: bpf.ChannelWake, object: number, value: call, extra: other}
}

// leaves is the end of a loop that waits by asking.
func leaves(tid uint32, key uint64) noticeRecord {
	return noticeRecord{tid: tid, op: bpf.OpUnseen, object: 7, extra: key}
}

// observeAsking observes records after thread 11 has written; threads 12 and 13 are there too.
func observeAsking(t *testing.T, asking []noticeRecord) *Observer {
	t.Helper()
	o := New(Options{Sites: site})
	records := parseRecords(t, "1 fork 11 tp=p1\n1 fork 12 tp=p2\n1 fork 13 tp=p3\n11 write X value=1")
	for _, n := range asking {
		records = append(records, n.record())
	}
	for i := range records {
		records[i].Time = uint64(i + 1)
		o.Record(&records[i])
	}
	return o
}

// TestCauses checks what probably let thread 12 go on: thread 11 has written, and made a call.
func TestCauses(t *testing.T) {
	child, unknown := comes(12, bpf.ChannelChild, 99, 0), comes(12, bpf.ChannelChild, 99, bpf.AnyStatus)
	const file, other = 8 | uint64(bpf.AskedFile), 16 | uint64(bpf.AskedFile)
	change := func(tid uint32, key uint64) noticeRecord { return sends(tid, bpf.ChannelAsked, key, 87) }
	answer := func(tid uint32, key, call uint64) noticeRecord { return comes(tid, bpf.ChannelAsked, key, call) }
	by11 := func(call uint32, until uint64) *run.Cause {
		return &run.Cause{Thread: 2, Call: call, Until: until, Asked: call == 87}
	}
	for _, c := range []struct {
		name    string
		records []noticeRecord
		want    *run.Cause
	}{
		{"nobody", []noticeRecord{child}, nil},
		{"woken", []noticeRecord{wakesUp(11, 1, 62, 12), child}, by11(62, 8)},
		{"another was woken", []noticeRecord{wakesUp(11, 1, 62, 13), child}, nil},
		{"woken before another call", []noticeRecord{wakesUp(11, 1, 62, 12), enters(12, 7), child}, nil},
		{"woken by a process", []noticeRecord{wakesUp(11, 1, 62, 0), comes(12, bpf.ChannelWake, 1, 0), child}, by11(62, 8)},
		{"woken by a process that another one has woken since", []noticeRecord{wakesUp(11, 1, 62, 0), comes(12, bpf.ChannelWake, 1, 0), comes(12, bpf.ChannelWake, 0, 0), child}, nil},
		{"woken by a process that was woken long ago", []noticeRecord{wakesUp(11, 1, 62, 0), wakesUp(13, 1+recentWakes, 62, 0), comes(12, bpf.ChannelWake, 1, 0), child}, nil},
		{"woken by itself", []noticeRecord{wakesUp(12, 1, 62, 0), comes(12, bpf.ChannelWake, 1, 0), child}, nil},
		{"a child of which nothing is known", []noticeRecord{sends(11, bpf.ChannelSignal, 9, 99<<32), unknown}, &run.Cause{Thread: 2, Name: "kill(2)", Until: 8}},
		{"a child that has ended by itself", []noticeRecord{sends(11, bpf.ChannelSignal, 9, 99<<32), child}, nil},

		{"changed", []noticeRecord{change(11, file), answer(12, file, 21), leaves(12, file)}, by11(87, 8)},
		{"nothing asked", []noticeRecord{change(11, file), leaves(12, file)}, nil},
		{"something else changed", []noticeRecord{change(11, other), answer(12, file, 21), leaves(12, file)}, nil},
		{"changed later", []noticeRecord{answer(12, file, 21), change(11, file), leaves(12, file)}, nil},
		{"changed by itself", []noticeRecord{change(12, file), answer(12, file, 21), leaves(12, file)}, nil},
		{"asked for by another", []noticeRecord{change(11, file), answer(13, file, 21), leaves(12, file)}, nil},
		{"changed before the last answer but one", []noticeRecord{change(11, file), answer(12, file, 21), answer(12, file, 21), leaves(12, file)}, nil},
		{"changed before another answer", []noticeRecord{change(11, file), answer(12, file, 4), answer(12, file, 21), leaves(12, file)}, by11(87, 8)},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := observeAsking(t, c.records)
			var got *run.Cause
			for _, e := range o.Executed() {
				for _, h := range e.Hits {
					got = h.Cause
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("expected (-), found (+):\n%s", diff)
			}
		})
	}
}

// TestAskedOnce checks which answers are a doubt without a loop: those about whether something is there, if another thread has
// changed that since the thread's last answer.
func TestAskedOnce(t *testing.T) {
	path, file := uint64(8|bpf.AskedPath), uint64(8|bpf.AskedFile)
	change := func(tid uint32, key uint64) noticeRecord { return sends(tid, bpf.ChannelAsked, key, 87) }
	answer := func(tid uint32, key uint64) noticeRecord { return comes(tid, bpf.ChannelAsked, key, 21) }
	for _, c := range []struct {
		name    string
		records []noticeRecord
		doubts  int
	}{
		{"changed", []noticeRecord{change(11, path), answer(12, path)}, 1},
		{"asked again", []noticeRecord{change(11, path), answer(12, path), answer(12, path)}, 1},
		{"changed again", []noticeRecord{change(11, path), answer(12, path), change(11, path), answer(12, path)}, 2},
		{"a socket's name", []noticeRecord{change(11, 8|uint64(bpf.AskedName)), answer(12, 8|uint64(bpf.AskedName))}, 1},
		{"changed later", []noticeRecord{answer(12, path), change(11, path)}, 0},
		{"changed by itself", []noticeRecord{change(12, path), answer(12, path)}, 0},
		{"another path", []noticeRecord{change(11, path), answer(12, path+8)}, 0},
		{"what is in a file", []noticeRecord{change(11, file), answer(12, file)}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := observeAsking(t, c.records)
			n := 0
			for _, e := range o.Executed() {
				n += len(e.Hits)
			}
			if n != c.doubts {
				t.Errorf("%d doubts, want %d: %+v", n, c.doubts, o.Executed())
			}
		})
	}
}

// TestManyChanges checks that no cause is found where it may have been one of the changes that are not kept.
func TestManyChanges(t *testing.T) {
	a := asked{answers: map[event.ThreadID]answers{2: {last: maxChanges + 2}}}
	add := func(n uint64) { a.changed(change{n, run.Cause{Thread: 1, Until: n}}) }
	for n := range uint64(maxChanges) {
		add(n + 1)
	}
	if c := a.cause(2); c == nil || c.Until != 1 {
		t.Errorf("the cause is %+v, want the first change", c)
	}
	add(maxChanges + 1)
	if c := a.cause(2); c != nil {
		t.Errorf("the cause is %+v, want none", c)
	}
	a.answers[2] = answers{previous: 1, last: maxChanges + 2}
	if c := a.cause(2); c == nil || c.Until != 2 {
		t.Errorf("after an answer, the cause is %+v, want the second change", c)
	}
}
