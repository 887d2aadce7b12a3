package typestate_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/locks"
	"github.com/tracepredict/tracepredict/analysis/typestate"
	"github.com/tracepredict/tracepredict/observer/event"
)

// usesOf is RaceOptions.Uses of events that have their call in Func, from 1, and their object in Value.
func usesOf(e *event.Event, yield func(protocol, call int, object uint64)) {
	yield(0, int(e.Func)-1, e.Value)
}

// racesOf returns the races of a run, and its pairs of tuples that race, as text.
func racesOf(o typestate.RaceOptions, events []event.Event, pairs bool) (*typestate.Races, []string) {
	o.Uses = usesOf
	r, found := typestate.NewRaces(o), map[string]bool{}
	if pairs {
		r.OnPair(func(x, y typestate.Mem) { found[pairText(x, y)] = true })
	}
	for i := range events {
		e := events[i]
		r.Event(&e)
	}
	return r, slices.Sorted(maps.Keys(found))
}

func pairText(x, y typestate.Mem) string {
	sides := []string{fmt.Sprint(x.Thread, x.Call, x.Locks), fmt.Sprint(y.Thread, y.Call, y.Locks)}
	slices.Sort(sides)
	return strings.Join(sides, " and ")
}

// TestRacesOfCases compares with the pairs that the worked cases list, and with the objects that their first stage selects.
func TestRacesOfCases(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.json")
	if err != nil || len(paths) < 15 {
		t.Fatalf("%d cases: %v", len(paths), err)
	}
	for _, path := range paths {
		c := readCase(t, path)
		p, calls := c.protocol()
		events := c.events(t, calls, true)
		want := map[string]bool{}
		for _, pair := range c.Expect.ObjectRaces {
			want[pairText(memOf(events, pair[0]-1), memOf(events, pair[1]-1))] = true
		}
		o := typestate.RaceOptions{Protocols: []typestate.Protocol{p}}
		r, found := racesOf(o, events, true)
		plain, _ := racesOf(o, events, false)
		if got, want := found, slices.Sorted(maps.Keys(want)); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", filepath.Base(path), got, want)
		}
		if r.Racing(0) != c.Expect.Selected || plain.Racing(0) != c.Expect.Selected {
			t.Errorf("%s: selected %v and %v, want %v", filepath.Base(path), r.Racing(0), plain.Racing(0), c.Expect.Selected)
		}
	}
}

// memOf returns the tuple of the call at an index.
func memOf(events []event.Event, at int) typestate.Mem {
	e := &events[at]
	return typestate.Mem{Thread: e.Thread, Call: int(e.Func) - 1, Locks: heldBy(e.Thread, events[:at])}
}

// heldBy returns the locks that a thread holds after events.
func heldBy(t event.ThreadID, events []event.Event) []locks.Member {
	held := []locks.Member{}
	for i := range events {
		switch x := &events[i]; {
		case x.Thread != t:
		case x.Op.IsAcquire():
			held = append(held, locks.MemberOf(x.Object, x.Op == event.AcquireRead))
		case x.Op == event.Release:
			held = slices.DeleteFunc(held, func(l locks.Member) bool { return l.Lock() == x.Object })
		}
	}
	slices.Sort(held)
	return held
}

// drawRun draws a run of up to four threads: calls of two objects, sections of three locks, some of them of readers, forks
// and joins, and messages by a semaphore. Each wait takes a post that was made.
func drawRun(t *rapid.T) []event.Event {
	const threads = 4
	var events []event.Event
	add := func(e event.Event) {
		e.Seq = uint64(len(events) + 1)
		events = append(events, e)
	}
	add(event.Event{Op: event.Init, Thread: 1, Object: theSem, Kind: event.KindSemaphore, Flags: event.HasValue})
	begun, ended, joined, posts := map[event.ThreadID]bool{1: true}, map[event.ThreadID]bool{}, map[event.ThreadID]bool{}, 0
	owners, readers := map[event.ObjectID]event.ThreadID{}, map[event.ObjectID]map[event.ThreadID]bool{}
	for range rapid.IntRange(5, 60).Draw(t, "events") {
		me := event.ThreadID(rapid.IntRange(1, threads).Draw(t, "thread"))
		peer := event.ThreadID(rapid.IntRange(1, threads).Draw(t, "peer"))
		lock := event.ObjectID(rapid.IntRange(10, 12).Draw(t, "lock"))
		if !begun[me] || ended[me] {
			continue
		}
		if readers[lock] == nil {
			readers[lock] = map[event.ThreadID]bool{}
		}
		switch rapid.IntRange(0, 9).Draw(t, "what") {
		default:
			object := uint64(rapid.IntRange(1, 2).Draw(t, "object"))
			add(event.Event{Op: event.Call, Thread: me, Func: event.FuncID(rapid.IntRange(1, randomCalls).Draw(t, "call")), Value: object})
		case 1:
			if owners[lock] == 0 && len(readers[lock]) == 0 {
				owners[lock] = me
				add(event.Event{Op: event.Acquire, Thread: me, Object: lock, Kind: event.KindRWLock})
			}
		case 2:
			if owners[lock] == 0 && !readers[lock][me] {
				readers[lock][me] = true
				add(event.Event{Op: event.AcquireRead, Thread: me, Object: lock, Kind: event.KindRWLock})
			}
		case 3, 4:
			if owners[lock] == me || readers[lock][me] {
				delete(owners, lock)
				delete(readers[lock], me)
				add(event.Event{Op: event.Release, Thread: me, Object: lock, Kind: event.KindRWLock})
			}
		case 5:
			posts++
			add(event.Event{Op: event.SemPost, Thread: me, Object: theSem, Kind: event.KindSemaphore})
		case 6:
			if posts > 0 {
				posts--
				add(event.Event{Op: event.SemWait, Thread: me, Object: theSem, Kind: event.KindSemaphore})
			}
		case 7:
			if !begun[peer] {
				begun[peer] = true
				add(event.Event{Op: event.Fork, Thread: me, Peer: peer})
				add(event.Event{Op: event.Begin, Thread: peer})
			}
		case 8:
			if ended[peer] && !joined[peer] {
				joined[peer] = true
				add(event.Event{Op: event.Join, Thread: me, Peer: peer})
			} else if me != 1 && len(heldBy(me, events)) == 0 {
				ended[me] = true
				add(event.Event{Op: event.End, Thread: me})
			}
		case 9:
			if rapid.IntRange(0, 3).Draw(t, "write") == 0 {
				add(event.Event{Op: event.Write, Thread: me, Object: 20, Kind: event.KindVariable})
			}
		}
	}
	return events
}

// messagesOrder returns, for each pair of events, whether a chain of the order of threads and of messages leads from one to
// the other: the plain model.
func messagesOrder(events []event.Event) [][]bool {
	before := make([][]bool, len(events))
	for i := range before {
		before[i] = make([]bool, len(events))
	}
	var posts []int
	waits := 0
	for j := range events {
		from := []int{}
		for i := range j {
			x, y := &events[i], &events[j]
			if x.Thread == y.Thread || x.Op == event.Fork && y.Op == event.Begin && x.Peer == y.Thread || y.Op == event.Join && x.Thread == y.Peer {
				from = append(from, i)
			}
		}
		switch events[j].Op {
		case event.SemPost:
			posts = append(posts, j)
		case event.SemWait:
			from = append(from, posts[waits])
			waits++
		}
		for _, i := range from {
			before[i][j] = true
			for h := range i {
				before[h][j] = before[h][j] || before[h][i]
			}
		}
	}
	return before
}

// TestRacesAgainstAllPairs compares the pairs of tuples that race, and the objects that do, with all pairs of calls of
// random runs.
func TestRacesAgainstAllPairs(t *testing.T) {
	racing := 0
	rapid.Check(t, func(t *rapid.T) {
		events := drawRun(t)
		before := messagesOrder(events)
		want, objects, tuples := map[string]bool{}, map[uint64]bool{}, map[string]bool{}
		for j := range events {
			y := &events[j]
			if y.Op != event.Call {
				continue
			}
			m := memOf(events, j)
			tuples[fmt.Sprint(y.Value, m)] = true
			for i := range j {
				x := &events[i]
				if x.Op == event.Call && x.Value == y.Value && x.Thread != y.Thread && !before[i][j] && !exclude(memOf(events, i).Locks, m.Locks) {
					want[pairText(memOf(events, i), m)], objects[x.Value] = true, true
				}
			}
		}
		var p typestate.Protocol
		p.Name, p.Type, p.Calls = "p", "T", make([]typestate.Call, randomCalls)
		o := typestate.RaceOptions{Protocols: []typestate.Protocol{p}}
		r, got := racesOf(o, events, true)
		if want := slices.Sorted(maps.Keys(want)); !slices.Equal(got, want) {
			t.Fatalf("%q, want %q", got, want)
		}
		if n := r.Stats().Tuples; n != uint64(len(tuples)) {
			t.Fatalf("%d tuples, want %d", n, len(tuples))
		}
		plain, _ := racesOf(o, events, false)
		if s := plain.Stats(); s.Racing != uint64(len(objects)) || plain.Racing(0) != (len(objects) > 0) || plain.Kept() < 0 {
			t.Fatalf("%d objects race, want %d", s.Racing, len(objects))
		}
		racing += len(objects)
	})
	if racing == 0 {
		t.Error("no object raced")
	}
}

func exclude(a, b []locks.Member) bool {
	for _, x := range a {
		for _, y := range b {
			if x.Lock() == y.Lock() && !(x.Shared() && y.Shared()) {
				return true
			}
		}
	}
	return false
}

// manyObjects returns calls of many objects by one thread, the first of which another one then calls.
func manyObjects(n int) []event.Event {
	events := []event.Event{{Op: event.Fork, Thread: 1, Peer: 2}, {Op: event.Begin, Thread: 2}}
	for i := range n {
		events = append(events, event.Event{Op: event.Call, Thread: 1, Func: 1, Value: uint64(i)})
	}
	return append(events, event.Event{Op: event.Call, Thread: 2, Func: 1, Value: 0})
}

// TestRacesAreBounded: a type that lost objects or tuples for want of room goes on, although no race of it was found.
func TestRacesAreBounded(t *testing.T) {
	p := typestate.Protocol{Name: "p", Type: "T", Calls: make([]typestate.Call, 2)}
	o := typestate.RaceOptions{Protocols: []typestate.Protocol{p}, Limit: 100}
	r, _ := racesOf(o, manyObjects(1000), false)
	if s := r.Stats(); r.Kept() < 1 || r.Kept() > 100 || s.Evicted == 0 || s.Racing > 0 || !r.Racing(0) || len(r.WithoutRace()) > 0 {
		t.Errorf("%d kept, %+v", r.Kept(), s)
	}
	o.Limit = 0
	if r, _ = racesOf(o, manyObjects(1000), false); r.Stats().Racing != 1 || r.Stats().Evicted > 0 {
		t.Errorf("%+v", r.Stats())
	}
	var events []event.Event
	for i := range 5000 {
		lock := event.ObjectID(i + 1)
		events = append(events, event.Event{Op: event.Acquire, Thread: 1, Object: lock, Kind: event.KindMutex},
			event.Event{Op: event.Call, Thread: 1, Func: 1, Value: 7}, event.Event{Op: event.Release, Thread: 1, Object: lock, Kind: event.KindMutex})
	}
	if r, _ = racesOf(o, events, false); r.Kept() < 1 || r.Kept() > 1025 || r.Stats().Evicted == 0 || !r.Racing(0) {
		t.Errorf("%d kept, %+v", r.Kept(), r.Stats())
	}
}

// TestRacesAllocateNothing: calls that are in the database already cost no memory.
func TestRacesAllocateNothing(t *testing.T) {
	p := typestate.Protocol{Name: "p", Type: "T", Calls: make([]typestate.Call, 2)}
	r := typestate.NewRaces(typestate.RaceOptions{Protocols: []typestate.Protocol{p}, Uses: usesOf})
	events := []event.Event{
		{Op: event.Acquire, Thread: 1, Object: 3, Kind: event.KindMutex}, {Op: event.Call, Thread: 1, Func: 1, Value: 7},
		{Op: event.Call, Thread: 1, Func: 2, Value: 7}, {Op: event.Release, Thread: 1, Object: 3, Kind: event.KindMutex},
		{Op: event.Acquire, Thread: 2, Object: 3, Kind: event.KindMutex}, {Op: event.Call, Thread: 2, Func: 1, Value: 7},
		{Op: event.Release, Thread: 2, Object: 3, Kind: event.KindMutex},
	}
	repeat := func() {
		for i := range events {
			r.Event(&events[i])
		}
	}
	repeat()
	if n := testing.AllocsPerRun(10, repeat); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestRacingTypes: without a racing object, there are no findings of a type, and Found is not called; it is, for what was
// found before, once an object races.
func TestRacingTypes(t *testing.T) {
	p := typestate.Protocol{Name: "p", Type: "struct t *", BornAtFirstUse: true, Calls: []typestate.Call{{Name: "use"}, {Name: "close"}}, States: []typestate.State{
		{Name: "open", Next: [][]int{{0}, {1}}}, {Name: "closed", Next: [][]int{nil, nil}},
	}}
	other := typestate.Protocol{Name: "q", Type: "struct  t", Calls: p.Calls[:1]}
	const use, shut = 1, 2
	broken := []event.Event{
		{Op: event.Fork, Thread: 1, Peer: 2}, {Op: event.Begin, Thread: 2}, {Op: event.Call, Thread: 1, Func: use, Value: 7},
		{Op: event.Call, Thread: 1, Func: shut, Value: 7}, {Op: event.Call, Thread: 1, Func: use, Value: 7},
	}
	for _, c := range []struct {
		name string
		more []event.Event
		want int
	}{
		{"one thread", nil, 0},
		{"race", []event.Event{{Op: event.Call, Thread: 2, Func: use, Value: 8}, {Op: event.Call, Thread: 1, Func: use, Value: 8}}, 1},
		{"ordered", []event.Event{{Op: event.End, Thread: 2}, {Op: event.Join, Thread: 1, Peer: 2}, {Op: event.Call, Thread: 1, Func: use, Value: 8}}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			events := slices.Concat(broken, c.more)
			for i := range events {
				events[i].Seq = uint64(i + 1)
			}
			protocols := []typestate.Protocol{p, other}
			races := typestate.NewRaces(typestate.RaceOptions{Protocols: protocols, Uses: usesOf})
			told := 0
			a := typestate.New(typestate.Options{Protocols: protocols, History: whole(events), Uses: usesOf, Races: races, Found: func(*finding.Finding) { told++ }})
			for i := range events {
				races.Event(&events[i])
				a.Event(&events[i])
			}
			found := a.Finish()
			if len(found) != c.want || told != c.want {
				t.Errorf("%d findings, told of %d, want %d", len(found), told, c.want)
			}
			note := slices.ContainsFunc(a.Notes(), func(n string) bool {
				return strings.Contains(n, "2 typestates were left out by --racing-types: p, q: ")
			})
			if note != (c.want == 0) {
				t.Errorf("notes: %q", a.Notes())
			}
		})
	}
}
