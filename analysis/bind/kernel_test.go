package bind

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/rlimit"
	"pgregory.net/rapid"

	"github.com/tracepredict/tracepredict/analysis/spec"
	"github.com/tracepredict/tracepredict/bpf"
	_ "github.com/tracepredict/tracepredict/internal/fixedseed" // equal cases each time
	"github.com/tracepredict/tracepredict/internal/loadertest"
	"github.com/tracepredict/tracepredict/observer/event"
)

// inKernel is a formula in the kernel, of which a test makes the events.
type inKernel struct {
	*ebpf.Collection
	spec *spec.Kernel
	step *ebpf.Program
}

func newInKernel(t testing.TB, text string) *inKernel {
	t.Helper()
	s, problems := spec.Parse("bank.tps", text)
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	k, err := s.Kernel(s.Formulas[0])
	if err != nil {
		t.Fatal(err)
	}
	of, err := bpf.LoadTracepredict()
	if err == nil {
		err = rlimit.RemoveMemlock()
	}
	if err == nil {
		err = bpf.SetKnowledge(of, &k.Knowledge)
	}
	if err != nil {
		t.Fatal(err)
	}
	of.Programs = map[string]*ebpf.ProgramSpec{bpf.TracepredictProgOnStep: of.Programs[bpf.TracepredictProgOnStep]}
	c, err := ebpf.NewCollection(of)
	var refused *ebpf.VerifierError
	if errors.As(err, &refused) {
		t.Fatalf("%+v", refused)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return &inKernel{c, k, c.Programs[bpf.TracepredictProgOnStep]}
}

// reset makes the formula one of a run that has not begun.
func (k *inKernel) reset(t *rapid.T) {
	var err error
	for i := range uint32(bpf.KnownThreads) {
		err = errors.Join(err,
			k.Maps[bpf.TracepredictMapKnown].Put(i, bpf.KnownThread{}), k.Maps[bpf.TracepredictMapKnownVectors].Put(i, bpf.TracepredictKnownVector{}))
	}
	for _, name := range []string{bpf.TracepredictMapKnownSlots, bpf.TracepredictMapKnownObjects} {
		var key uint64
		var keys []uint64
		value := make([]byte, k.Maps[name].ValueSize())
		for all := k.Maps[name].Iterate(); all.Next(&key, &value); {
			keys = append(keys, key)
		}
		for _, key := range keys {
			err = errors.Join(err, k.Maps[name].Delete(key))
		}
	}
	for _, name := range []string{"known_threads", "known_ended", "known_dropped", "given_up"} {
		err = errors.Join(err, k.Variables[name].Set(uint32(0)))
	}
	err = errors.Join(err, k.Variables["doubts"].Set([bpf.GivenUpReasons]uint32{}))
	if err != nil {
		t.Fatal(err)
	}
}

// wantGoing checks that the formula was not given up.
func (k *inKernel) wantGoing(t *rapid.T) {
	var why bpf.GivenUp
	if err := k.Variables["given_up"].Get(&why); err != nil || why != bpf.GivenUpNot {
		t.Fatalf("the kernel gave the formula up: %d, %v", why, err)
	}
}

// operations has the operation of a record of an event, and its flags.
var operations = map[event.Op]bpf.Op{
	event.Fork: bpf.OpFork, event.Join: bpf.OpJoin, event.Call: bpf.OpCall, event.Return: bpf.OpReturn, event.Acquire: bpf.OpAcquire,
	event.AcquireRead: bpf.OpAcquireRead, event.Release: bpf.OpRelease, event.Signal: bpf.OpSignal, event.Read: bpf.OpRead, event.Write: bpf.OpWrite,
	event.SemPost: bpf.OpSemPost, event.SemWait: bpf.OpSemWait, event.Begin: bpf.OpNone, event.End: bpf.OpExit,
}

// event handles an event, and reports whether it makes the formula false.
func (k *inKernel) event(t *rapid.T, e *event.Event) bool {
	op, ok := operations[e.Op]
	if !ok {
		t.Fatalf("no operation is a %v", e.Op)
	}
	thread := func(id event.ThreadID) uint64 { return 1<<32 | uint64(id) }
	step := struct {
		Thread, Object, Second, Events, Value uint64
		Op, Flags                             uint32
	}{Thread: thread(e.Thread), Object: uint64(e.Object), Op: uint32(op), Value: e.Value}
	if e.Flags&event.HasValue != 0 {
		step.Flags = bpf.RecValue
	}
	if e.Peer != 0 {
		step.Object = thread(e.Peer)
	}
	if e.Op.IsCall() {
		p := bank{}.Func(e.Func).Patterns[0]
		step.Events = k.spec.Events(p.Pattern, p.Return)
		if name, returns := strings.CutPrefix(p.Pattern, "return "); returns {
			step.Events |= k.spec.Events("leave "+name, true)
		}
	}
	var in bytes.Buffer
	if err := binary.Write(&in, binary.NativeEndian, step); err != nil {
		t.Fatal(err)
	}
	verdict, err := k.step.Run(&ebpf.RunOptions{Context: in.Bytes()})
	if err != nil {
		t.Fatal(err)
	}
	return verdict != 0
}

// formulasOfKernel are formulas that the kernel evaluates, over the bank.
var formulasOfKernel = []string{
	"check atomicity(approve)\n",
	"thread any = name \"*\"\nevent approved = call approve\nevent pays = call pay\nlocal approvals : int = 0 { on approved : approvals := approvals + 1 }\n" +
		"mttl told = forall i : any, j : any, i != j . @i (pays -> @j (approvals > 0))\n",
	"thread any = name \"*\"\nevent approved = call approve\nevent pays = call pay\nlocal n : int = 3 { on approved : n := n * 2 - 7; on pays : n := n / (n - 3) }\n" +
		"mttl nested = forall i : any, j : any, i != j . @i (n + @j (n - @i (n)) >= 0 || pays)\n",
	"thread any = name \"*\"\nevent approved = call approve\nevent done = return approve\nevent again = return approve when n > 1\nlocal n : int = 0 { on approved : n := n + 1; on again : n := 0 }\n" +
		"mttl own = forall i : any . @i (n < 3 && (done -> n != 1))\n",
	pastOf + "mttl once_approved = forall i : any, j : any, i != j . @i (pays -> once @j (once approved))\n",
	pastOf + "mttl ordered = forall i : any . @i (pays -> (n > 0 since done) || prev approved)\n",
	pastOf + "mttl always = forall i : any, j : any . @i (historically (n <= @j (n)) || !prev (pays || @j (prev done)))\n",
	pastOf + "mttl between = forall i : any, j : any, i != j . @i (@j (once (@i (n) > 0 && !prev pays)) -> prev pays)\n",
	pastOf + "mttl alone = forall i : any, j : any, i != j . @i (once done -> n < 2)\n",
}

const pastOf = "thread any = name \"*\"\nevent approved = call approve\nevent pays = call pay\nevent done = return approve\n" +
	"local n : int = 0 { on approved : n := n + 1; on done : n := n - 1 }\n"

// TestKernelAgrees: on random runs the kernel finds a violation after the same events as the monitor of user space.
func TestKernelAgrees(t *testing.T) {
	loadertest.NeedBPF(t)
	for i, text := range formulasOfKernel {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			violated := 0
			k := newInKernel(t, text)
			rapid.Check(t, func(rt *rapid.T) {
				events := randomRun(rt, false)
				want := violations(rt, text, events)
				k.reset(rt)
				var got []uint64
				for i := range events {
					if k.event(rt, &events[i]) {
						got = append(got, events[i].Seq)
					}
				}
				k.wantGoing(rt)
				violated += len(want)
				if !slices.Equal(got, want) {
					rt.Fatalf("the kernel finds violations at %d, user space at %d:\n%+v", got, want, events)
				}
			})
			if violated == 0 {
				t.Error("no run violates the formula")
			}
		})
	}
}

// violations returns the numbers of the events at which user space finds the formula violated.
func violations(t *rapid.T, text string, events []event.Event) (at []uint64) {
	s, problems := spec.Parse("bank.tps", text)
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	r, err := New(Options{Spec: s, Names: bank{}, Window: 8, Queue: 8})
	if err != nil {
		t.Fatal(err)
	}
	for i := range events {
		e := events[i]
		r.Event(&e)
	}
	found, _ := r.formulas[0].finish()
	for _, f := range found {
		at = append(at, f.Evidence[0].Seq)
	}
	slices.Sort(at)
	return at
}

// randomRun returns the events of two to four threads, which call functions, acquire locks, and access variables. Each event has a call stack
// of its own, so that each violation is a finding. There may be a semaphore.
func randomRun(t *rapid.T, semaphore bool) (events []event.Event) {
	threads := event.ThreadID(rapid.IntRange(2, 4).Draw(t, "threads"))
	add := func(e event.Event) {
		e.Seq = uint64(len(events) + 1)
		e.Stack = event.StackID(e.Seq)
		events = append(events, e)
	}
	add(event.Event{Thread: 1, Op: event.Begin})
	const begun, ended = 1, 2
	lives := map[event.ThreadID]int{1: begun}
	begin := func(by, id event.ThreadID) {
		add(event.Event{Thread: by, Op: event.Fork, Peer: id})
		add(event.Event{Thread: id, Op: event.Begin})
		lives[id] = begun
	}
	late := rapid.Bool().Draw(t, "late")
	for id := event.ThreadID(2); id <= threads && !late; id++ {
		begin(1, id)
	}
	holder := map[event.ObjectID]event.ThreadID{}
	depth := map[event.ThreadID]int{}
	values := map[event.ObjectID]uint64{}
	posted, most := 0, 7
	if semaphore {
		most = 9
	}
	for range rapid.IntRange(1, 30).Draw(t, "events") {
		id := event.ThreadID(rapid.IntRange(1, int(threads)).Draw(t, "thread"))
		lock := event.ObjectID(rapid.IntRange(2, 3).Draw(t, "lock"))
		other := event.ThreadID(rapid.IntRange(2, int(threads)).Draw(t, "other"))
		switch {
		case lives[id] == 0:
			begin(1, id)
			continue
		case lives[id] >= ended:
			continue
		case id != other && lives[other] == ended && rapid.IntRange(0, 2).Draw(t, "join") == 0:
			add(event.Event{Thread: id, Op: event.Join, Peer: other})
			lives[other] = begun + ended // nobody joins it again
			continue
		case id != 1 && holder[2] != id && holder[3] != id && rapid.IntRange(0, 19).Draw(t, "end") == 0:
			add(event.Event{Thread: id, Op: event.End})
			lives[id] = ended
			continue
		}
		switch what := rapid.IntRange(0, most).Draw(t, "what"); {
		case what == 0:
			add(calls(id, 1))
			depth[id]++
		case what == 1:
			add(calls(id, 2))
		case what == 2 && depth[id] > 0:
			add(event.Event{Thread: id, Op: event.Return, Func: 3})
			depth[id]--
		case what == 6:
			add(event.Event{Thread: id, Op: event.Read, Object: lock + 2, Kind: event.KindVariable, Flags: event.HasValue, Value: values[lock]})
		case what == 7:
			values[lock]++
			add(event.Event{Thread: id, Op: event.Write, Object: lock + 2, Kind: event.KindVariable, Flags: event.HasValue, Value: values[lock]})
		case what == 8 && posted > 0:
			posted--
			add(event.Event{Thread: id, Op: event.SemWait, Object: 6, Kind: event.KindSemaphore})
		case what >= 8:
			posted++
			add(event.Event{Thread: id, Op: event.SemPost, Object: 6, Kind: event.KindSemaphore})
		case holder[lock] == 0:
			add(event.Event{Thread: id, Op: event.Acquire, Object: lock, Kind: event.KindMutex})
			holder[lock] = id
		case holder[lock] == id:
			add(event.Event{Thread: id, Op: event.Release, Object: lock, Kind: event.KindMutex})
			holder[lock] = 0
		}
	}
	return events
}
