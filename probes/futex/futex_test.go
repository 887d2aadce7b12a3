package futex

import (
	"encoding/binary"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/probes/insn"
)

// words is memory of 32-bit words at multiples of 4; absent words are 0 if their page is present.
type words map[uint64]uint32

const page = 0x7000

func (w words) memory(known map[uint64]Kind, live ...uint32) Memory {
	return Memory{
		Arch: insn.AMD64,
		Read: func(addr uint64, b []byte) bool {
			if addr < page || addr+uint64(len(b)) > page+0x1000 {
				return false
			}
			for i := range b {
				at := addr + uint64(i)
				var word [4]byte
				binary.LittleEndian.PutUint32(word[:], w[at&^3])
				b[i] = word[at&3]
			}
			return true
		},
		KindAt: func(addr uint64) (Kind, bool) { k, ok := known[addr]; return k, ok },
		HasThread: func(tid uint32) bool {
			for _, l := range live {
				if l == tid {
					return true
				}
			}
			return false
		},
	}
}

const (
	privateWait = cmdWait | flagPrivate
	privateBits = cmdWaitBits | flagPrivate | flagRealtime
	sharedBits  = cmdWaitBits | flagRealtime
)

func TestOf(t *testing.T) {
	const at = page + 0x100
	for _, c := range []struct {
		name  string
		args  [4]uint64
		words words
		known map[uint64]Kind
		want  Wait
	}{
		{"glibc's mutex", [4]uint64{at, privateWait, 2}, words{at: 2, at + 8: 11, at + 12: 1}, nil, Wait{Kind: Mutex, Object: at, Owner: 11}},
		{"a robust one", [4]uint64{at, privateWait, 11 | waiters}, words{at: 11 | waiters, at + 8: 11, at + 12: 1, at + 16: 0x10}, nil, Wait{Kind: Mutex, Object: at, Owner: 11}},
		{"one that hands down priority", [4]uint64{at, cmdLockPI | flagPrivate, 0}, words{at: 11 | waiters, at + 8: 11, at + 16: 0x20}, nil, Wait{Kind: Mutex, Object: at, Owner: 11}},
		{"one whose owner has ended", [4]uint64{at, privateWait, 2}, words{at: 2, at + 8: 99, at + 12: 1}, nil, Wait{Kind: Mutex, Object: at, Owner: 99}},
		{"one with a ceiling", [4]uint64{at, privateWait, 5<<19 | 2}, words{at: 5<<19 | 2, at + 8: 11, at + 12: 1, at + 16: 0x40}, nil, Wait{Kind: Mutex, Object: at, Owner: 11}},
		{"no mutex: a ceiling of one that has none", [4]uint64{at, privateWait, 5<<19 | 2}, words{at: 5<<19 | 2, at + 8: 11, at + 12: 1}, nil, Wait{}},
		{"a mutex, for a while", [4]uint64{at, privateBits, 2, 1}, words{at: 2, at + 8: 11, at + 12: 1}, nil, Wait{Kind: Mutex, Object: at, Owner: 11}},
		{"no mutex: the owner is nobody", [4]uint64{at, privateWait, 2}, words{at: 2, at + 8: 99, at + 12: 1, at + 24: 5}, nil, Wait{}},
		{"no mutex: an odd kind", [4]uint64{at, privateWait, 2}, words{at: 2, at + 8: 11, at + 16: 0xff00}, nil, Wait{}},
		{"a known mutex", [4]uint64{at, privateWait, 2}, words{at: 2, at + 8: 12}, map[uint64]Kind{at: Mutex}, Wait{Kind: Mutex, Object: at, Owner: 12}},
		{"musl's default mutex", [4]uint64{at + 4, privateWait, muslBusy | waiters}, words{at + 4: muslBusy | waiters, at + 8: 1}, nil, Wait{Kind: Mutex, Object: at}},
		{"musl's recursive mutex", [4]uint64{at + 4, privateWait, 11 | waiters}, words{at: 1, at + 4: 11 | waiters}, nil, Wait{Kind: Mutex, Object: at, Owner: 11}},
		{"the word has changed", [4]uint64{at, privateWait, 2}, words{at: 1, at + 8: 11}, nil, Wait{}},
		{"glibc's join", [4]uint64{at + 0x2d0, sharedBits, 12}, words{at + 0x2d0: 12, at + 0x10: at}, nil, Wait{Kind: Thread, Owner: 12}},
		{"no thread descriptor", [4]uint64{at + 0x2d0, sharedBits, 12}, words{at + 0x2d0: 12}, nil, Wait{}},
		{"musl's join", [4]uint64{at + 56, privateWait, muslJoinable}, words{at + 56: muslJoinable, at + 48: 12, at: at}, nil, Wait{Kind: Thread, Owner: 12}},
		{"a reader behind a writer", [4]uint64{at + 8, privateBits, 3}, words{at: 10, at + 8: 3, at + 24: 11}, nil, Wait{Kind: RWLock, Object: at, Read: true, Owner: 11}},
		{"a writer behind readers", [4]uint64{at + 8, privateBits, 2}, words{at: 10, at + 8: 2}, map[uint64]Kind{at: RWLock}, Wait{Kind: RWLock, Object: at, Readers: 1}},
		{"a writer behind readers, and readers behind it", [4]uint64{at + 8, privateBits, 2}, words{at: 3<<3 | 2 | 4, at + 8: 2}, map[uint64]Kind{at: RWLock}, Wait{Kind: RWLock, Object: at, Readers: 3}},
		{"a writer's turn: who reads waits", [4]uint64{at + 12, privateBits, 3}, words{at: 3<<3 | 3, at + 12: 3}, map[uint64]Kind{at: RWLock}, Wait{Kind: RWLock, Object: at}},
		{"a writer behind musl's readers", [4]uint64{at, privateWait, 2 | waiters}, words{at: 2 | waiters}, map[uint64]Kind{at: RWLock}, Wait{Kind: RWLock, Object: at, Readers: 2}},
		{"behind musl's writer", [4]uint64{at, privateWait, muslWriter | waiters}, words{at: muslWriter | waiters}, map[uint64]Kind{at: RWLock}, Wait{Kind: RWLock, Object: at}},
		{"a second writer", [4]uint64{at + 12, privateBits, 3}, words{at + 12: 3, at + 24: 11}, nil, Wait{Kind: RWLock, Object: at, Owner: 11}},
		{"a known condition", [4]uint64{at + 44, privateBits, 0}, words{}, map[uint64]Kind{at: Cond}, Wait{Kind: Cond, Object: at}},
		{"a known semaphore", [4]uint64{at, privateBits, 0}, words{}, map[uint64]Kind{at: Semaphore}, Wait{Kind: Semaphore, Object: at}},
		{"a known barrier", [4]uint64{at + 4, privateWait, 0}, words{}, map[uint64]Kind{at: Barrier}, Wait{Kind: Barrier, Object: at}},
		{"memory that is gone", [4]uint64{8, privateWait, 2}, words{}, nil, Wait{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			call, ok := Decode(c.args)
			if !ok {
				t.Fatal("no wait")
			}
			if diff := cmp.Diff(c.want, WaitOf(call, c.words.memory(c.known, 11, 12))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestParked: of a thread that glibc lets sleep for ever, because the kernel has seen that its wait closes a cycle, the
// mutex is found in a register.
func TestParked(t *testing.T) {
	const at, stack = page + 0x100, page + 0x800
	inherits := words{at: 11 | waiters, at + 8: 11, at + 16: glibcInherit}
	for _, c := range []struct {
		name      string
		words     words
		registers []uint64
		want      Wait
	}{
		{"a register has it", inherits, []uint64{0, 5, stack, at}, Wait{Kind: Mutex, Object: at, Owner: 11}},
		{"a register has the address of its kind", inherits, []uint64{5, at + 16}, Wait{Kind: Mutex, Object: at, Owner: 11}},
		{"none has it", inherits, []uint64{0, 5, stack}, Wait{}},
		{"it inherits no priority", words{at: 11 | waiters, at + 8: 11}, []uint64{at}, Wait{}},
		{"nobody owns it", words{at + 16: glibcInherit}, []uint64{at}, Wait{}},
		{"its owner has ended", words{at: 99 | waiters, at + 8: 99, at + 16: glibcInherit}, []uint64{at}, Wait{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := c.words.memory(nil, 11, 12)
			m.Registers, m.Stack = c.registers, stack-200
			if diff := cmp.Diff(c.want, WaitOf(Call{Addr: stack, Private: true}, m)); diff != "" {
				t.Error(diff)
			}
			m.Stack = stack + 8 // the word is not the thread's own, as that of a condition
			if got := WaitOf(Call{Addr: stack, Private: true}, m); got != (Wait{}) {
				t.Errorf("a word elsewhere: %+v", got)
			}
		})
	}
}

func TestDecode(t *testing.T) {
	const wake = 1
	if _, ok := Decode([4]uint64{page, wake | flagPrivate, 1}); ok {
		t.Error("a wake-up is no wait")
	}
	c, ok := Decode([4]uint64{page, privateBits, 7, 1})
	if !ok || !c.Timed || !c.Private || c.Value != 7 {
		t.Errorf("%+v, %v", c, ok)
	}
	if c, _ := Decode([4]uint64{page, sharedBits, 7}); c.Timed || c.Private {
		t.Errorf("%+v", c)
	}
}

func TestIn(t *testing.T) {
	const at, sp = page + 0x100, 0x9000
	for _, c := range []struct {
		function string
		op       uint64
		word     uint64
		value    uint64
		words    words
		sp       uint64
		want     Wait
	}{
		{"pthread_cond_wait", privateBits, at + 44, 0, words{at + 20: 2}, sp, Wait{Kind: Cond, Object: at}},
		{"pthread_cond_wait", privateBits, at + 32, 0, words{}, sp, Wait{Kind: Cond, Object: at}}, // since 2.41
		{"pthread_cond_wait", privateWait, at, 0, words{}, at - 64, Wait{Kind: Cond}},             // musl: on the stack
		{"sem_wait", privateBits, at, 0, words{}, sp, Wait{Kind: Semaphore, Object: at}},
		{"pthread_barrier_wait", privateWait, at + 4, 0, words{at + 8: 3}, sp, Wait{Kind: Barrier, Object: at}},
		{"pthread_barrier_wait", privateWait, at + 4, 0, words{}, sp, Wait{Kind: Barrier}},
		{"pthread_rwlock_rdlock", privateBits, at + 8, 0, words{}, sp, Wait{Kind: RWLock, Object: at, Read: true}},
		{"pthread_rwlock_rdlock", privateBits, at + 8, 3, words{}, sp, Wait{Kind: RWLock, Object: at, Read: true}},
		{"pthread_rwlock_rdlock", privateBits, at, 1<<3 | 4, words{}, sp, Wait{Kind: RWLock, Object: at, Read: true}}, // behind a writer
		{"pthread_rwlock_wrlock", privateBits, at + 8, 2, words{}, sp, Wait{Kind: RWLock, Object: at}},
		{"pthread_rwlock_wrlock", privateBits, at + 12, 0, words{}, sp, Wait{Kind: RWLock, Object: at}},
		{"puts", privateWait, at, 0, words{}, sp, Wait{}},
	} {
		call, _ := Decode([4]uint64{c.word, c.op, c.value})
		if diff := cmp.Diff(c.want, WaitIn(c.function, call, c.words.memory(nil), c.sp)); diff != "" {
			t.Errorf("%s at %#x: %s", c.function, c.word, diff)
		}
	}
}

// FuzzWaitOf calls WaitOf with memory of arbitrary contents.
func FuzzWaitOf(f *testing.F) {
	f.Add(uint64(page+8), uint64(privateWait), uint64(2), []byte{2, 0, 0, 0, 0, 0, 0, 0, 11, 0, 0, 0})
	f.Add(uint64(0), uint64(sharedBits), uint64(1), []byte{1})
	f.Add(^uint64(0)-2, uint64(cmdLockPI), uint64(0), []byte{255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, addr, op, value uint64, bytes []byte) {
		call, ok := Decode([4]uint64{addr, op, value})
		if !ok {
			return
		}
		m := words{}.memory(nil, 11)
		m.Read = func(at uint64, b []byte) bool {
			if len(bytes) == 0 || at%3 == 2 {
				return false
			}
			for i := range b {
				b[i] = bytes[(at+uint64(i))%uint64(len(bytes))]
			}
			return true
		}
		w := WaitOf(call, m)
		if w.Kind == Unknown && w != (Wait{}) {
			t.Errorf("%+v of nothing known", w)
		}
		WaitIn("pthread_cond_wait", call, m, addr)
		WaitIn("pthread_barrier_wait", call, m, 0)
	})
}

// TestArgument checks which argument is the object; the mutex of a condition, which is acquired
// again, is the second.
func TestArgument(t *testing.T) {
	for _, c := range []struct {
		name string
		kind Kind
		want int
	}{
		{"pthread_mutex_lock", Mutex, 1}, {"___pthread_mutex_lock", Mutex, 1}, {"pthread_cond_wait", Cond, 1}, {"pthread_cond_wait", Mutex, 2},
		{"pthread_mutex_lock", RWLock, 0}, {"pthread_join", Thread, 0}, {"printf", Mutex, 0}, {"", Unknown, 0},
	} {
		if got := Argument(c.name, c.kind); got != c.want {
			t.Errorf("%s, %d: %d, want %d", c.name, c.kind, got, c.want)
		}
	}
}
