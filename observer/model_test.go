package observer

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tracepredict/tracepredict/bpf"
)

// model simulates threads, locks, conditions and joins at random. It collects
// the records that the probes would make and, from its own state, the events that the
// observer must make of them.
type model struct {
	t       *rapid.T
	records []bpf.Record
	events  []string

	threads     []*mthread
	ids         map[byte]int  // of the live objects, by name
	destroyed   map[byte]int  // objects that a call initialised and a call destroyed
	initialised map[byte]bool // by a call
	nextID      int
	owner       map[byte]*mthread
	readers     map[byte][]*mthread
	freeTID     []uint32
	freeTP      []uint64
	nextTID     uint32
	nextTP      uint64
	tpReused    bool // a join was recorded when another thread already had the thread pointer
}

type mthread struct {
	id           int
	tid          uint32
	tp           uint64
	held         []byte // in order
	depth        map[byte]int
	asleep       *msleep
	joins        *mjoin
	ended        bool // in the kernel
	exitRecorded bool // its exit record was made
	joined       bool
	awaited      bool // another thread is joining it
}

type msleep struct {
	cond, mutex byte
	depth       int
	sp          uint64
}

type mjoin struct {
	peer    *mthread
	entered uint64
}

func newModel(t *rapid.T) *model {
	m := &model{t: t, ids: map[byte]int{}, destroyed: map[byte]int{}, initialised: map[byte]bool{}, owner: map[byte]*mthread{}, readers: map[byte][]*mthread{}, nextTID: 10, nextTP: 1 << 40}
	first := &mthread{id: 1, tid: 1, depth: map[byte]int{}}
	m.threads = []*mthread{first}
	m.record(first, bpf.OpNone, 0, bpf.Record{})
	m.expect("T1 begin inferred")
	return m
}

func (m *model) expect(format string, args ...any) {
	m.events = append(m.events, fmt.Sprintf(format, args...))
}

func (m *model) record(th *mthread, op bpf.Op, name byte, r bpf.Record) {
	r.Time, r.Tid, r.Tgid, r.Op = uint64(len(m.records)+1), th.tid, 1, uint8(op)
	r.Site = siteNames[usualSite[op]]
	if name != 0 {
		r.Object = uint64(name) << 12
		r.Site = siteNames[kindOf(name)]
	}
	if r.Sp == 0 && op != bpf.OpFork && op != bpf.OpExit {
		r.Sp = usualSP
	}
	m.records = append(m.records, r)
}

// The model's objects: A and B are mutexes, R and S rwlocks, C and D conditions.
func kindOf(name byte) string {
	switch name {
	case 'R', 'S':
		return "rwlock"
	case 'C', 'D':
		return "cond"
	}
	return "mutex"
}

// obj returns the name of an object that the listener uses; its first use makes the object.
func (m *model) obj(name byte) string {
	if m.ids[name] == 0 {
		m.nextID++
		m.ids[name] = m.nextID
	}
	return fmt.Sprintf("%c%d", name, m.ids[name])
}

func pick[T any](m *model, from []T) T { return from[rapid.IntRange(0, len(from)-1).Draw(m.t, "pick")] }

func (m *model) step() {
	th := pick(m, m.threads)
	switch {
	case th.ended:
		if !th.exitRecorded {
			m.recordExit(th)
		}
	case th.asleep != nil:
		m.inSleep(th)
	case th.joins != nil:
		m.joinReturns(th)
	default:
		m.act(th)
	}
}

func (m *model) act(th *mthread) {
	switch rapid.IntRange(0, 14).Draw(m.t, "act") {
	case 0, 1:
		m.lock(th, pick(m, []byte("AB")))
	case 2:
		m.lock(th, pick(m, []byte("RS")))
	case 3:
		m.readLock(th, pick(m, []byte("RS")))
	case 4, 5:
		m.unlock(th)
	case 6, 12:
		m.fork(th)
	case 7, 13:
		if th.id != 1 {
			th.ended = true
		}
	case 8, 14:
		m.join(th)
	case 9:
		m.sleep(th)
	case 10:
		c := pick(m, []byte("CD"))
		m.record(th, bpf.OpSignal, c, bpf.Record{})
		m.expect("T%d signal %s", th.id, m.obj(c))
	case 11:
		m.reinitialise(th, pick(m, []byte("ABRS")))
	}
}

func (m *model) lock(th *mthread, name byte) {
	switch {
	case m.owner[name] == th:
		th.depth[name]++
		m.record(th, bpf.OpAcquire, name, bpf.Record{})
	case m.owner[name] != nil || len(m.readers[name]) > 0:
		m.record(th, bpf.OpAcquire, name, bpf.Record{Flags: bpf.RecFailed})
		m.expect("T%d acquire-failed %s", th.id, m.obj(name))
	default:
		m.record(th, bpf.OpAcquire, name, bpf.Record{})
		m.reused(th, name)
		m.acquire(th, name, 1, "")
	}
}

// reused adds the event for an rwlock that a call initialised and a call destroyed, and that
// no call has initialised again: it may have been assigned an initialiser, which no probe sees.
func (m *model) reused(th *mthread, name byte) {
	if m.ids[name] == 0 && m.destroyed[name] != 0 && kindOf(name) == "rwlock" {
		m.expect("T%d use-destroyed %c%d inferred", th.id, name, m.destroyed[name])
	}
}

func (m *model) acquire(th *mthread, name byte, depth int, how string) {
	m.owner[name], th.depth[name] = th, depth
	th.held = append(th.held, name)
	m.expect("T%d acquire %s%s", th.id, m.obj(name), how)
}

func (m *model) readLock(th *mthread, name byte) {
	if m.owner[name] != nil {
		return
	}
	m.record(th, bpf.OpAcquireRead, name, bpf.Record{})
	if slices.Contains(m.readers[name], th) {
		th.depth[name]++
		m.expect("T%d acquire-again %s", th.id, m.obj(name))
		return
	}
	m.reused(th, name)
	m.readers[name], th.depth[name] = append(m.readers[name], th), 1
	th.held = append(th.held, name)
	m.expect("T%d acquire-read %s", th.id, m.obj(name))
}

func (m *model) unlock(th *mthread) {
	if len(th.held) == 0 {
		return
	}
	name := pick(m, th.held)
	m.record(th, bpf.OpRelease, name, bpf.Record{})
	if th.depth[name]--; th.depth[name] == 0 {
		m.release(th, name, "")
	}
}

func (m *model) release(th *mthread, name byte, how string) {
	if m.owner[name] == th {
		delete(m.owner, name)
	}
	m.readers[name] = slices.DeleteFunc(m.readers[name], func(u *mthread) bool { return u == th })
	th.held = slices.DeleteFunc(th.held, func(n byte) bool { return n == name })
	m.expect("T%d release %s%s", th.id, m.obj(name), how)
}

// draw returns one of the free values, which may be reused, or a fresh one.
func draw[T any](m *model, free *[]T, fresh func() T) T {
	if len(*free) == 0 || rapid.IntRange(0, 3).Draw(m.t, "fresh") == 0 {
		return fresh()
	}
	i := rapid.IntRange(0, len(*free)-1).Draw(m.t, "reuse")
	v := (*free)[i]
	*free = slices.Delete(*free, i, i+1)
	return v
}

func (m *model) fork(th *mthread) *mthread {
	return m.forkAt(th, draw(m, &m.freeTP, func() uint64 { m.nextTP += 1 << 32; return m.nextTP }))
}

func (m *model) forkAt(th *mthread, tp uint64) *mthread {
	child := &mthread{id: len(m.threads) + 1, tp: tp, depth: map[byte]int{}}
	child.tid = draw(m, &m.freeTID, func() uint32 { m.nextTID++; return m.nextTID })
	m.record(th, bpf.OpCreate, 0, bpf.Record{})
	m.record(th, bpf.OpFork, 0, bpf.Record{Object: uint64(child.tid), Value: child.tp})
	m.threads = append(m.threads, child)
	m.expect("T%d fork T%d", th.id, child.id)
	m.expect("T%d begin", child.id)
	return child
}

// expectEnd adds the events of the first record that shows a thread's end.
func (m *model) expectEnd(th *mthread, how string) {
	for len(th.held) > 0 {
		m.release(th, th.held[len(th.held)-1], " inferred")
	}
	m.expect("T%d end%s", th.id, how)
}

func (m *model) recordExit(th *mthread) {
	th.exitRecorded = true
	m.record(th, bpf.OpExit, 0, bpf.Record{})
	if !th.joined {
		m.expectEnd(th, "")
	}
	m.freeTID = append(m.freeTID, th.tid)
}

func (m *model) join(th *mthread) {
	for _, u := range m.threads {
		if u.id != 1 && u != th && !u.awaited {
			m.await(th, u)
			return
		}
	}
}

func (m *model) await(th, peer *mthread) {
	peer.awaited = true
	th.joins = &mjoin{peer, uint64(len(m.records) + 1)}
	m.record(th, bpf.OpNone, 0, bpf.Record{})
}

// reuseDuringJoin puts a thread into a join while another thread receives the thread pointer of
// the joined one: random steps reach that state too rarely.
func (m *model) reuseDuringJoin() {
	awake := slices.DeleteFunc(slices.Clone(m.threads), func(u *mthread) bool { return u.ended || u.asleep != nil || u.joins != nil })
	if len(awake) == 0 {
		return
	}
	th := pick(m, awake)
	peer, other := m.fork(th), m.fork(th)
	m.await(th, peer)
	peer.ended = true
	if rapid.Bool().Draw(m.t, "told") {
		m.recordExit(peer)
	}
	m.forkAt(other, peer.tp)
	for range rapid.IntRange(0, 9).Draw(m.t, "steps in join") {
		m.step()
	}
	if th.joins != nil && th.joins.peer == peer {
		m.joinReturns(th)
	}
}

func (m *model) joinReturns(th *mthread) {
	j := th.joins
	switch {
	case !j.peer.ended:
		return
	case !slices.Contains(m.freeTP, j.peer.tp) && !m.tpInUse(j.peer):
		m.freeTP = append(m.freeTP, j.peer.tp) // before the record
		if u := pick(m, m.threads); !u.ended && u.asleep == nil && u.joins == nil {
			m.fork(u)
		}
		return
	}
	th.joins, j.peer.joined = nil, true
	m.tpReused = m.tpReused || m.tpInUse(j.peer)
	m.record(th, bpf.OpJoin, 0, bpf.Record{Object: j.peer.tp, Extra: j.entered})
	if !j.peer.exitRecorded {
		m.expectEnd(j.peer, " inferred")
	}
	m.expect("T%d join T%d", th.id, j.peer.id)
}

// tpInUse reports whether a later thread has, or had, the thread's pointer.
func (m *model) tpInUse(th *mthread) bool {
	return slices.ContainsFunc(m.threads, func(u *mthread) bool { return u.id > th.id && u.tp == th.tp })
}

func (m *model) sleep(th *mthread) {
	for _, name := range th.held {
		if kindOf(name) == "mutex" {
			s := &msleep{cond: pick(m, []byte("CD")), mutex: name, depth: th.depth[name], sp: rapid.Uint64Range(100, 900).Draw(m.t, "sp")}
			m.record(th, bpf.OpWait, s.cond, bpf.Record{Sp: s.sp, Value: uint64(name) << 12})
			cond := m.obj(s.cond)
			m.release(th, name, " in-wait")
			m.expect("T%d wait %s %s", th.id, cond, m.obj(name))
			th.asleep = s
			return
		}
	}
}

func (m *model) inSleep(th *mthread) {
	s := th.asleep
	if rapid.IntRange(0, 3).Draw(m.t, "nested") == 0 { // as musl does
		op := pick(m, []bpf.Op{bpf.OpRelease, bpf.OpAcquire})
		if op == bpf.OpRelease && s.depth >= 0 {
			m.record(th, op, s.mutex, bpf.Record{Sp: s.sp - 50})
			s.depth = -s.depth // only once: it comes first
		}
		return
	}
	if m.owner[s.mutex] != nil {
		return
	}
	th.asleep = nil
	m.record(th, bpf.OpWait, s.cond, bpf.Record{Sp: s.sp, Value: uint64(s.mutex) << 12, Flags: bpf.RecLeave})
	m.expect("T%d wake %s %s", th.id, m.obj(s.cond), m.obj(s.mutex))
	m.acquire(th, s.mutex, max(s.depth, -s.depth), " in-wait")
}

// reinitialise destroys a lock that no thread uses, or initialises it again without destroying
// it.
func (m *model) reinitialise(th *mthread, name byte) {
	for _, u := range m.threads {
		if slices.Contains(u.held, name) || u.asleep != nil && u.asleep.mutex == name {
			return
		}
	}
	if rapid.Bool().Draw(m.t, "destroy") {
		m.record(th, bpf.OpDestroy, name, bpf.Record{})
		if m.ids[name] != 0 {
			m.expect("T%d destroy %s", th.id, m.obj(name))
			m.destroy(name, m.initialised[name])
		} else if m.destroyed[name] != 0 {
			m.expect("T%d destroy-again %c%d inferred", th.id, name, m.destroyed[name])
		}
		return
	}
	again := ""
	if m.ids[name] != 0 {
		again = " " + m.obj(name)
		m.expect("T%d destroy %s inferred", th.id, m.obj(name))
		m.destroy(name, false)
	}
	m.initialised[name] = true
	m.record(th, bpf.OpInit, name, bpf.Record{})
	m.expect("T%d init %s%s =0", th.id, m.obj(name), again)
}

func (m *model) destroy(name byte, calls bool) {
	m.destroyed[name] = 0
	if calls {
		m.destroyed[name] = m.ids[name]
	}
	m.initialised[name] = false
	delete(m.ids, name)
}

// TestModel checks that the observer makes the model's events of the records of well-formed
// runs.
func TestModel(t *testing.T) {
	crossed := 0
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(t)
		for range rapid.IntRange(1, 150).Draw(t, "steps") {
			m.step()
		}
		if rapid.Bool().Draw(t, "cross") {
			m.reuseDuringJoin()
			for range rapid.IntRange(0, 50).Draw(t, "more steps") {
				m.step()
			}
		}
		if m.tpReused {
			crossed++
		}
		l := newListener()
		for i := range m.records {
			l.o.Record(&m.records[i])
		}
		if diff := cmp.Diff(m.events, l.lines); diff != "" {
			t.Fatalf("events (-want +got):\n%s", diff)
		}
		if len(l.broken) > 0 {
			t.Fatal(l.broken)
		}
		if st := l.o.Stats(); st.UnknownJoins+st.InferredReleases+st.UnheldReleases != 0 {
			t.Fatalf("stats: %+v", st)
		}
	})
	if crossed < 5 {
		t.Errorf("%d runs used a thread pointer again before the join's record: the test shows little", crossed)
	}
}

// TestAnyRecords checks that the events passed to the analyses form a possible run, for any
// records.
func TestAnyRecords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		anyRecords(t, rapid.SliceOfN(rapid.Byte(), 0, 600).Draw(t, "bytes"))
	})
}

// FuzzRecords is TestAnyRecords with records chosen by the fuzzer.
func FuzzRecords(f *testing.F) {
	f.Add([]byte{0, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0})
	f.Add([]byte{0, 22, 1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 17, 1, 0, 0, 0, 1, 23, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) { anyRecords(t, data) })
}

func anyRecords(t interface{ Fatal(...any) }, data []byte) {
	l := newListener()
	for i := 0; i+6 <= len(data); i += 6 {
		r := wildRecord(data[i:i+6], uint64(i))
		l.o.Record(&r)
	}
	l.o.Finish()
	if len(l.broken) > 0 {
		t.Fatal(l.broken, l.lines)
	}
	if n := len(l.o.threads.live); n > 0 {
		t.Fatal(n, "threads live after the end")
	}
}

// wildRecord makes a record from six bytes. Each field has few values, so that records often
// concern the same threads and objects.
func wildRecord(b []byte, time uint64) bpf.Record {
	r := bpf.Record{
		Time: time, Tid: uint32(b[0] % 4), Tgid: uint32(b[0]/128 + 1), Op: b[1] % 30, Flags: b[3] & 15,
		Site: uint32(b[5] % 13), Sp: uint64(b[4]%6) << 10, Extra: time - uint64(b[3]), Result: int32(b[4] % 2 * errTimedOut),
	}
	r.Object, r.Value = uint64(b[2]%8)<<10, uint64(b[2]/8%8)<<10
	switch bpf.Op(r.Op) {
	case bpf.OpFork, bpf.OpExec:
		r.Object = uint64(b[2] % 4)
	}
	return r
}
