package observer

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/event"
)

// noticeRecord is a record of a notice.
type noticeRecord struct {
	tid           uint32
	op            bpf.Op
	kind          bpf.ChannelKind
	object, value uint64
	extra         uint64
	leave, failed bool
}

func (n noticeRecord) record() bpf.Record {
	r := bpf.Record{Tid: n.tid, Tgid: 1, Op: uint8(n.op), Object: n.object, Value: n.value, Extra: n.extra, Result: int32(n.kind)}
	if n.leave {
		r.Flags |= bpf.RecLeave
	}
	if n.op == bpf.OpFork {
		r.Flags |= bpf.RecProcess
	}
	if n.failed {
		r.Flags |= bpf.RecFailed
	}
	return r
}

func sends(tid uint32, kind bpf.ChannelKind, object, value uint64) noticeRecord {
	return noticeRecord{tid: tid, op: bpf.OpSend, kind: kind, object: object, value: value}
}

func comes(tid uint32, kind bpf.ChannelKind, object, value uint64) noticeRecord {
	return noticeRecord{tid: tid, op: bpf.OpReceive, kind: kind, object: object, value: value, leave: true}
}

// ofSemaphore makes a record one of a single semaphore of a set, by one unit.
func ofSemaphore(r noticeRecord, number uint64) noticeRecord {
	r.extra = number + 1 | 1<<bpf.SemBy
	return r
}

// enters is the entry of a receive of a byte from a pipe.
func enters(tid uint32, object uint64) noticeRecord {
	return noticeRecord{tid: tid, op: bpf.OpReceive, kind: bpf.ChannelPipe, object: object, value: 1}
}

// returns is the return of a send.
func returns(tid uint32, kind bpf.ChannelKind, object, value uint64) noticeRecord {
	return noticeRecord{tid: tid, op: bpf.OpSend, kind: kind, object: object, value: value, leave: true}
}

// fails is the return of a receive that has failed.
func fails(tid uint32, kind bpf.ChannelKind, object, err uint64) noticeRecord {
	return noticeRecord{tid: tid, op: bpf.OpReceive, kind: kind, object: object, value: -err, leave: true, failed: true}
}

// forks is a fork of a process.
func forks(tid uint32, child uint64) noticeRecord {
	return noticeRecord{tid: tid, op: bpf.OpFork, object: child}
}

// watches is a call of epoll_ctl that adds the descriptor of a channel.
func watches(tid uint32, set, data uint64, kind bpf.ChannelKind, object uint64) noticeRecord {
	return noticeRecord{tid: tid, op: bpf.OpSend, kind: bpf.ChannelEpoll | kind<<bpf.ChannelOfFD, object: set, value: data, extra: object}
}

// TestNotices has thread 11 write a variable and then make a call, and thread 12 see the effect of a call
// before it writes a variable too: the first write comes before the second in every schedule if the
// effect is that of the call of thread 11, and only then.
func TestNotices(t *testing.T) {
	const process, thread12, thread13 = 1 << 32, 1<<32 | 12, 1<<32 | 13
	const received = "a receive from a process that is not observed"
	for _, c := range []struct {
		name    string
		records []noticeRecord
		ordered bool
		doubts  string
	}{
		{"a signal to a thread", []noticeRecord{sends(11, bpf.ChannelSignal, 10, thread12), comes(12, bpf.ChannelSignal, 10, 0)}, true, ""},
		{"a signal to the process", []noticeRecord{sends(11, bpf.ChannelSignal, 10, process), comes(12, bpf.ChannelSignal, 10, 0)}, true, ""},
		{"another signal", []noticeRecord{sends(11, bpf.ChannelSignal, 12, process), comes(12, bpf.ChannelSignal, 10, 0)}, false, "a signal that no observed thread has sent"},
		{"a signal to another thread", []noticeRecord{sends(11, bpf.ChannelSignal, 10, thread13), comes(12, bpf.ChannelSignal, 10, 0)}, false, "a signal that no observed thread has sent"},
		{"a signal, then one from outside", []noticeRecord{sends(13, bpf.ChannelSignal, 10, thread12), comes(12, bpf.ChannelSignal, 10, 0), comes(12, bpf.ChannelSignal, 10, 0)}, false, "a signal that no observed thread has sent"},
		{"a signal that is queued", []noticeRecord{sends(11, bpf.ChannelSignal, 40, thread12), sends(11, bpf.ChannelSignal, 40, thread12), comes(12, bpf.ChannelSignal, 40, 0), comes(12, bpf.ChannelSignal, 40, 0)}, true, ""},
		{"a signalfd", []noticeRecord{sends(11, bpf.ChannelSignal, 10, process), comes(12, bpf.ChannelSignal, bpf.AnySignal, 128)}, true, ""},
		{"a signalfd with nothing", []noticeRecord{sends(11, bpf.ChannelSignal, 10, process), {tid: 12, op: bpf.OpReceive, kind: bpf.ChannelSignal, object: bpf.AnySignal, leave: true, failed: true}}, false, ""},
		{"a signalfd that is ready", []noticeRecord{sends(11, bpf.ChannelSignal, 10, process), comes(12, bpf.ChannelSignal|bpf.ChannelReady, bpf.AnySignal, 0)}, true, ""},
		{"a timer", []noticeRecord{sends(11, bpf.ChannelTimer, 1, 0), comes(12, bpf.ChannelSignal, 14, bpf.FromTimer)}, true, ""},
		{"a timer, waited for", []noticeRecord{sends(11, bpf.ChannelTimer, 1, 0), comes(12, bpf.ChannelSignal, 14, bpf.AnyCode)}, true, ""},
		{"a timer, and a signal", []noticeRecord{sends(11, bpf.ChannelTimer, 1, 0), comes(12, bpf.ChannelSignal, 14, 0)}, false, "a signal that no observed thread has sent"},
		{"an eventfd that is ready", []noticeRecord{sends(11, bpf.ChannelEventfd, 7, 8), comes(12, bpf.ChannelEventfd|bpf.ChannelReady, 7, 0)}, true, ""},
		{"another eventfd that is ready", []noticeRecord{sends(11, bpf.ChannelEventfd, 8, 8), comes(12, bpf.ChannelEventfd|bpf.ChannelReady, 7, 0)}, false, ""},
		{"a byte in front", []noticeRecord{sends(13, bpf.ChannelPipe, 7, 1), {tid: 13, op: bpf.OpSend, kind: bpf.ChannelPipe, object: 7, value: 1, leave: true}, sends(11, bpf.ChannelPipe, 7, 1), comes(12, bpf.ChannelPipe|bpf.ChannelReady, 7, 0)}, false, ""},
		{"added to a set", []noticeRecord{watches(11, 5, 3, bpf.ChannelPipe, 7), comes(12, bpf.ChannelEpoll, 5, 3)}, true, ""},
		{"added to another set", []noticeRecord{watches(13, 5, 3, bpf.ChannelPipe, 7), watches(11, 6, 3, bpf.ChannelPipe, 7), comes(12, bpf.ChannelEpoll, 5, 3)}, false, ""},
		{"ready in a set", []noticeRecord{watches(13, 5, 3, bpf.ChannelEventfd, 7), sends(11, bpf.ChannelEventfd, 7, 8), comes(12, bpf.ChannelEpoll, 5, 3)}, true, ""},
		{"ready in a set, of two with the same data", []noticeRecord{watches(13, 5, 0, bpf.ChannelEventfd, 7), watches(13, 5, 0, bpf.ChannelEventfd, 8), sends(11, bpf.ChannelEventfd, 7, 8), comes(12, bpf.ChannelEpoll, 5, 0)}, true, ""},
		{"ready in a set, but another", []noticeRecord{watches(13, 5, 3, bpf.ChannelEventfd, 7), watches(13, 5, 4, bpf.ChannelEventfd, 8), sends(11, bpf.ChannelEventfd, 8, 8), comes(12, bpf.ChannelEpoll, 5, 3)}, false, ""},
		{"any ready in a set", []noticeRecord{watches(13, 5, 3, bpf.ChannelEventfd, 7), watches(13, 5, 4, bpf.ChannelEventfd, 8), sends(11, bpf.ChannelEventfd, 8, 8), comes(12, bpf.ChannelEpoll|bpf.ChannelReady, 5, 0)}, true, ""},
		{"unknown in a set", []noticeRecord{comes(12, bpf.ChannelEpoll, 5, 3)}, false, "a wait for more descriptors than are recorded"},
		{"a connection", []noticeRecord{sends(11, bpf.ChannelListener, 9, 0), comes(12, bpf.ChannelListener, 9, 0)}, true, ""},
		{"a connection elsewhere", []noticeRecord{sends(11, bpf.ChannelListener, 8, 0), comes(12, bpf.ChannelListener, 9, 0)}, false, ""},
		{"room for a connection", []noticeRecord{sends(12, bpf.ChannelListener, 9, 0), wakesUp(11, 1, unix.SYS_ACCEPT, 12), comes(12, bpf.ChannelListener, 10, 0)}, true, ""},
		{"room for another thread's connection", []noticeRecord{sends(12, bpf.ChannelListener, 9, 0), wakesUp(11, 1, unix.SYS_ACCEPT, 13), comes(12, bpf.ChannelListener, 10, 0)}, false, ""},
		{"woken by no accept", []noticeRecord{sends(12, bpf.ChannelListener, 9, 0), wakesUp(11, 1, unix.SYS_WRITE, 12), comes(12, bpf.ChannelListener, 10, 0)}, false, ""},
		{"values of semaphores go up", []noticeRecord{sends(11, bpf.ChannelSemaphore, 2, 1), comes(12, bpf.ChannelSemaphore, 2, 1)}, true, ""},
		{"values of semaphores go down", []noticeRecord{sends(11, bpf.ChannelSemaphore, 2, 2), comes(12, bpf.ChannelSemaphore, 2, 1)}, false, ""},
		{"zero is waited for", []noticeRecord{sends(11, bpf.ChannelSemaphore, 2, 2), comes(12, bpf.ChannelSemaphore, 2, 2)}, true, ""},
		{"one semaphore goes up", []noticeRecord{ofSemaphore(sends(11, bpf.ChannelSemaphore, 2, 1), 3), ofSemaphore(comes(12, bpf.ChannelSemaphore, 2, 1), 3)}, true, ""},
		{"another one of the set goes up", []noticeRecord{ofSemaphore(sends(11, bpf.ChannelSemaphore, 2, 1), 4), ofSemaphore(comes(12, bpf.ChannelSemaphore, 2, 1), 3)}, false, ""},
		{"several go up, and one is waited for", []noticeRecord{sends(11, bpf.ChannelSemaphore, 2, 1), ofSemaphore(comes(12, bpf.ChannelSemaphore, 2, 1), 3)}, true, ""},
		{"one goes up, and several are waited for", []noticeRecord{ofSemaphore(sends(11, bpf.ChannelSemaphore, 2, 1), 3), comes(12, bpf.ChannelSemaphore, 2, 1)}, true, ""},
		{"a lock of a file", []noticeRecord{sends(11, bpf.ChannelFileLock, 3, 1), comes(12, bpf.ChannelFileLock, 3, 2)}, true, ""},
		{"a lock of one open file", []noticeRecord{sends(11, bpf.ChannelFileLock, 3, 1), comes(12, bpf.ChannelFileLock, 3, 1)}, false, ""},
		{"the number of a descriptor", []noticeRecord{sends(11, bpf.ChannelDescriptor, 5, 0), comes(12, bpf.ChannelDescriptor, 5, 0)}, true, ""},
		{"the number of another descriptor", []noticeRecord{sends(11, bpf.ChannelDescriptor, 4, 0), comes(12, bpf.ChannelDescriptor, 5, 0)}, false, ""},
		{"one great number of a descriptor", []noticeRecord{sends(11, bpf.ChannelDescriptor, 5000, 0), comes(12, bpf.ChannelDescriptor, 5001, 0)}, true, ""},
		{"a lock of another file", []noticeRecord{sends(11, bpf.ChannelFileLock, 4, 1), comes(12, bpf.ChannelFileLock, 3, 2)}, false, ""},
		{"a message in a queue", []noticeRecord{sends(11, bpf.ChannelQueue, 3, 1), comes(12, bpf.ChannelQueue, 3, 1)}, true, ""},
		{"a queue that was removed", []noticeRecord{sends(11, bpf.ChannelQueue, 3, 1), {tid: 12, op: bpf.OpReceive, kind: bpf.ChannelQueue, object: 3, value: ^uint64(errRemoved - 1), leave: true, failed: true}}, true, ""},
		{"news of a queue", []noticeRecord{sends(11, bpf.ChannelQueue, 3, 1), comes(12, bpf.ChannelQueue, bpf.AnyQueue, 32)}, true, ""},
		{"a signal that is pending", []noticeRecord{sends(11, bpf.ChannelSignal, 10, process), comes(12, bpf.ChannelSignal|bpf.ChannelReady, bpf.AnySignal, 0)}, true, ""},
		{"ready in a set in a set", []noticeRecord{watches(13, 5, 3, bpf.ChannelEventfd, 7), watches(13, 6, 4, bpf.ChannelEpoll, 5), sends(11, bpf.ChannelEventfd, 7, 8), comes(12, bpf.ChannelEpoll, 6, 4)}, true, ""},
		{"ready in a set in itself", []noticeRecord{watches(13, 5, 3, bpf.ChannelEpoll, 5), sends(11, bpf.ChannelEventfd, 7, 8), comes(12, bpf.ChannelEpoll, 5, 3)}, false, ""},
		{"a set with what is not known", []noticeRecord{watches(13, 5, 3, bpf.ChannelDoubt, uint64(bpf.DoubtReady)), comes(12, bpf.ChannelEpoll, 5, 3)}, false, "a wait for a descriptor of a kind that is not observed"},
		{"a line through a terminal", []noticeRecord{sends(11, bpf.ChannelTerminal, 7, 3), returns(11, bpf.ChannelTerminal, 7, 3), comes(12, bpf.ChannelTerminal, 7, 3)}, true, ""},
		{"a terminal that was closed", []noticeRecord{sends(11, bpf.ChannelTerminal, 7, 0), returns(11, bpf.ChannelTerminal, 7, 0), fails(12, bpf.ChannelTerminal, 7, errIO)}, true, ""},
		{"a connection that was reset", []noticeRecord{sends(11, bpf.ChannelSocket, 7, 0), returns(11, bpf.ChannelSocket, 7, 0), fails(12, bpf.ChannelSocket, 7, errReset)}, true, ""},
		{"a receive that failed otherwise", []noticeRecord{sends(11, bpf.ChannelSocket, 7, 0), returns(11, bpf.ChannelSocket, 7, 0), fails(12, bpf.ChannelSocket, 7, errRemoved)}, false, ""},
		{"a pipe closed behind bytes", []noticeRecord{sends(13, bpf.ChannelPipe, 7, 9), returns(13, bpf.ChannelPipe, 7, 9), sends(11, bpf.ChannelPipe, 7, 0), returns(11, bpf.ChannelPipe, 7, 0), {tid: 12, op: bpf.OpReceive, kind: bpf.ChannelPipe | bpf.ChannelReady, object: 7, extra: 0x10, leave: true}}, true, ""},
		{"a pipe with bytes in front of its end", []noticeRecord{sends(13, bpf.ChannelPipe, 7, 9), returns(13, bpf.ChannelPipe, 7, 9), sends(11, bpf.ChannelPipe, 7, 0), returns(11, bpf.ChannelPipe, 7, 0), comes(12, bpf.ChannelPipe|bpf.ChannelReady, 7, 0)}, false, ""},
		{"spliced by a call under way", []noticeRecord{enters(13, 7), sends(13, bpf.ChannelPipe, 8, 1), sends(11, bpf.ChannelPipe, 7, 1), comes(12, bpf.ChannelPipe, 8, 1)}, true, ""},
		{"spliced by a call under way, and ready", []noticeRecord{enters(13, 7), sends(13, bpf.ChannelPipe, 8, 1), sends(11, bpf.ChannelPipe, 7, 1), comes(12, bpf.ChannelPipe|bpf.ChannelReady, 8, 0)}, true, ""},
		{"spliced by a call that has returned", []noticeRecord{enters(13, 7), sends(13, bpf.ChannelPipe, 8, 1), sends(11, bpf.ChannelPipe, 7, 1), comes(13, bpf.ChannelPipe, 7, 1), returns(13, bpf.ChannelPipe, 8, 1), comes(12, bpf.ChannelPipe, 8, 1)}, true, ""},
		{"spliced before", []noticeRecord{enters(13, 7), sends(13, bpf.ChannelPipe, 8, 1), comes(13, bpf.ChannelPipe, 7, 1), returns(13, bpf.ChannelPipe, 8, 1), sends(11, bpf.ChannelPipe, 7, 1), comes(12, bpf.ChannelPipe, 8, 1)}, false, ""},
		{"an answer from outside", []noticeRecord{sends(11, bpf.ChannelPipe, 7, 1), returns(11, bpf.ChannelPipe, 7, 1), comes(12, bpf.ChannelPipe, 8, 1)}, false, received},
		{"an answer from outside that is ready", []noticeRecord{sends(11, bpf.ChannelSocket, 7, 1), returns(11, bpf.ChannelSocket, 7, 1), comes(12, bpf.ChannelSocket|bpf.ChannelReady, 8, 0)}, false, received},
		{"an answer to a signal", []noticeRecord{sends(11, bpf.ChannelSignal, 10, 0), comes(12, bpf.ChannelSocket, 8, 1)}, false, received},
		{"a connection from outside", []noticeRecord{sends(11, bpf.ChannelPipe, 7, 1), comes(12, bpf.ChannelListener, 9, 0)}, false, received},
		{"a connection from afar", []noticeRecord{sends(11, bpf.ChannelPipe, 7, 1), comes(12, bpf.ChannelListener|bpf.ChannelFar, 9, 0)}, false, ""},
		{"bytes from outside behind others", []noticeRecord{sends(13, bpf.ChannelPipe, 8, 1), returns(13, bpf.ChannelPipe, 8, 1), sends(11, bpf.ChannelPipe, 7, 1), comes(12, bpf.ChannelPipe, 8, 2)}, false, received},
		{"a request from outside", []noticeRecord{comes(12, bpf.ChannelPipe, 8, 1)}, false, ""},
		{"an answer to the same thread", []noticeRecord{sends(12, bpf.ChannelPipe, 7, 1), returns(12, bpf.ChannelPipe, 7, 1), comes(12, bpf.ChannelPipe, 8, 1)}, false, ""},
		{"a request from outside after a message", []noticeRecord{sends(11, bpf.ChannelPipe, 7, 1), returns(11, bpf.ChannelPipe, 7, 1), comes(13, bpf.ChannelPipe, 7, 1), comes(12, bpf.ChannelPipe, 8, 1)}, false, ""},
		{"a request from afar", []noticeRecord{sends(11, bpf.ChannelPipe, 7, 1), returns(11, bpf.ChannelPipe, 7, 1), comes(12, bpf.ChannelSocket|bpf.ChannelFar, 8, 1)}, false, ""},
		{"a request after a print", []noticeRecord{sends(11, bpf.ChannelPipe|bpf.ChannelFar, 7, 1), returns(11, bpf.ChannelPipe, 7, 1), comes(12, bpf.ChannelPipe, 8, 1)}, false, ""},
		{"an unknown child", []noticeRecord{comes(12, bpf.ChannelChild, 99, 0)}, false, "a wait for a child process that is not observed"},
		{"a child, killed", []noticeRecord{sends(11, bpf.ChannelSignal, 15, 99<<32), comes(12, bpf.ChannelChild, 99, 15)}, true, ""},
		{"a child, killed by another signal", []noticeRecord{sends(11, bpf.ChannelSignal, 9, 99<<32), comes(12, bpf.ChannelChild, 99, 15)}, false, "a wait for a child process that is not observed"},
		{"another child, killed", []noticeRecord{sends(11, bpf.ChannelSignal, 15, 98<<32), comes(12, bpf.ChannelChild, 99, 15)}, false, "a wait for a child process that is not observed"},
		{"a child, forked", []noticeRecord{forks(11, 99), comes(12, bpf.ChannelChild, 99, 0)}, true, "a wait for a child process that is not observed"},
		{"another child, forked", []noticeRecord{forks(11, 98), comes(12, bpf.ChannelChild, 99, 0)}, false, "a wait for a child process that is not observed"},
		{"news by inotify", []noticeRecord{comes(12, bpf.ChannelDoubt, uint64(bpf.DoubtInotify), 16)}, false, "news by inotify that a file has changed"},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			var writes []event.Event
			o := New(Options{Sites: site, Sinks: []Sink{sinkFunc(func(e *event.Event) {
				if e.Op == event.Write {
					w := *e
					w.Must = e.Must.Clone()
					writes = append(writes, w)
				}
			})}})
			records := parseRecords(t, "1 fork 11 tp=p1\n1 fork 12 tp=p2\n1 fork 13 tp=p3\n11 write X value=1")
			for _, n := range c.records {
				records = append(records, n.record())
			}
			records = append(records, parseRecords(t, "12 write X value=2")...)
			for i := range records {
				records[i].Time = uint64(i + 1)
				o.Record(&records[i])
			}
			if got := writes[1].Before(writes[0].Slot, writes[0].Epoch); got != c.ordered {
				t.Errorf("ordered: %v, want %v", got, c.ordered)
			}
			var doubts []string
			for _, e := range o.Executed() {
				if !e.Waits || len(e.Hits) != 1 || e.Hits[0].Since > writes[1].Seq {
					t.Errorf("%+v", e)
				}
				doubts = append(doubts, e.Description)
			}
			if diff := cmp.Diff(c.doubts, strings.Join(doubts, "; ")); diff != "" {
				t.Errorf("doubts expected (-), found (+):\n%s", diff)
			}
		})
	}
}

// TestFollowedChild lets a thread fork a process that is observed, and end it: who waits for it, and whom
// the parent's SIGCHLD reaches, comes after the end.
func TestFollowedChild(t *testing.T) {
	for _, c := range []struct {
		name    string
		told    noticeRecord
		ordered bool
		doubts  int
	}{
		{"wait", comes(12, bpf.ChannelChild, 99, 0), true, 0},
		{"wait for another", comes(12, bpf.ChannelChild, 98, 0), false, 1},
		{"SIGCHLD", comes(12, bpf.ChannelSignal, signalChild, bpf.AnyCode), true, 0},
		{"another signal", comes(12, bpf.ChannelSignal, 10, bpf.AnyCode), false, 1},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			var writes []event.Event
			o := New(Options{Follow: true, Sites: site, Sinks: []Sink{sinkFunc(func(e *event.Event) {
				if e.Op == event.Write {
					w := *e
					w.Must = e.Must.Clone()
					writes = append(writes, w)
				}
			})}})
			records := parseRecords(t, "1 fork 11 tp=p1\n1 fork 12 tp=p2\n11 write X value=1")
			records = append(records, forks(11, 99).record(), bpf.Record{Op: uint8(bpf.OpExit), Object: 99, Tid: 99, Tgid: 99}, c.told.record())
			records = append(records, parseRecords(t, "12 write X value=2")...)
			for i := range records {
				records[i].Time = uint64(i + 1)
				o.Record(&records[i])
			}
			if got := writes[1].Before(writes[0].Slot, writes[0].Epoch); got != c.ordered {
				t.Errorf("ordered: %v, want %v", got, c.ordered)
			}
			if got := len(o.Executed()); got != c.doubts {
				t.Errorf("%d doubts, want %d", got, c.doubts)
			}
		})
	}
}

// TestUnseenPosts checks which waits for a semaphore are in doubt.
func TestUnseenPosts(t *testing.T) {
	for _, c := range []struct {
		records string
		doubts  int
	}{
		{"11 init S kind=semaphore with=1\n12 sem-wait S", 0},
		{"11 init S kind=semaphore with=1\n12 sem-wait S\n13 sem-wait S", 1},
		{"11 sem-post S\n12 sem-wait S\n12 sem-wait S failed", 0},
		{"12 sem-wait S\n11 sem-post S\n12 sem-wait S", 1},
	} {
		l := newListener()
		for _, r := range parseRecords(t, "1 fork 11 tp=p1\n1 fork 12 tp=p2\n"+c.records) {
			l.o.Record(&r)
		}
		hits := 0
		for _, e := range l.o.Executed() {
			hits += len(e.Hits)
		}
		if hits != c.doubts {
			t.Errorf("%q: %d doubts, want %d\nevents: %q", c.records, hits, c.doubts, l.lines)
		}
	}
}

// TestUnderWay lets threads live when the observation begins. What they do first may follow a call that
// waited then, except if the record shows what ended the wait.
func TestUnderWay(t *testing.T) {
	for _, c := range []struct {
		name   string
		record bpf.Record
		sleeps bool
		doubts int
	}{
		{"a lock", bpf.Record{Op: uint8(bpf.OpAcquire), Object: 0x1000}, false, 1},
		{"a lock after a sleep", bpf.Record{Op: uint8(bpf.OpAcquire), Object: 0x1000}, true, 0},
		{"the end", bpf.Record{Op: uint8(bpf.OpExit), Object: 12}, false, 0},
		{"a message", comes(12, bpf.ChannelSocket, 3, 1).record(), false, 0},
		{"a futex of the C library", comes(12, bpf.ChannelFutex, 3, 0).record(), false, 0},
	} {
		o := New(Options{Sites: site, Attached: true})
		o.AddTask(bpf.TaskLine{Tid: 1, Tgid: 1}, 0, false)
		o.AddTask(bpf.TaskLine{Tid: 12, Tgid: 1}, 0, c.sleeps)
		for range 2 {
			c.record.Tid, c.record.Tgid, c.record.Time = 12, 1, c.record.Time+1
			o.Record(&c.record)
		}
		if got := fmt.Sprint(len(o.Executed())); got != fmt.Sprint(c.doubts) {
			t.Errorf("%s: %s doubts, want %d", c.name, got, c.doubts)
		}
	}
}
