package stuck

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	_ "github.com/tracepredict/tracepredict/internal/fixedseed"
)

func wait(t Thread, needs ...Thread) Wait { return Wait{Thread: t, Needs: needs} }

func TestFind(t *testing.T) {
	anybody := func(t Thread) Wait { return Wait{Thread: t, Any: true} }
	limited := func(t Thread, needs ...Thread) Wait { return Wait{Thread: t, Needs: needs, Bounded: true} }
	for _, c := range []struct {
		name string
		in   Snapshot
		want []Hang
	}{
		{"nobody waits", Snapshot{}, nil},
		{"two", Snapshot{Waits: []Wait{wait(1, 2), wait(2, 1)}, Others: true}, []Hang{{Waits: []int{0, 1}}}},
		{"in the order of the ring", Snapshot{Waits: []Wait{wait(1, 3), wait(2, 1), wait(3, 2)}}, []Hang{{Waits: []int{0, 2, 1}}}},
		{"itself", Snapshot{Waits: []Wait{wait(1, 1)}, Others: true}, []Hang{{Waits: []int{0}}}},
		{"the owner runs", Snapshot{Waits: []Wait{wait(1, 2), wait(3, 1)}, Others: true}, nil},
		{"others behind", Snapshot{Waits: []Wait{wait(1, 2), wait(2, 1), wait(3, 1), wait(4, 3)}}, []Hang{{Waits: []int{0, 1}, Behind: 2}}},
		{"the shortest of two rings", Snapshot{Waits: []Wait{wait(1, 2, 3), wait(2, 3), wait(3, 1)}}, []Hang{{Waits: []int{0, 2}, Behind: 1}}},
		{"two rings", Snapshot{Waits: []Wait{wait(1, 2), wait(2, 1), wait(3, 4), wait(4, 3)}}, []Hang{{Waits: []int{0, 1}, Behind: 2}, {Waits: []int{2, 3}, Behind: 2}}},
		{"one reader of two hangs", Snapshot{Waits: []Wait{wait(1, 2, 9), wait(2, 1)}, Others: true}, []Hang{{Waits: []int{0, 1}}}},
		{"held by one that has ended", Snapshot{Waits: []Wait{wait(1, 0), wait(2, 1)}, Others: true}, []Hang{{Waits: []int{0}, Behind: 1}}},
		{"an idle pool", Snapshot{Waits: []Wait{anybody(1), anybody(2)}, Others: true}, nil},
		{"nobody left", Snapshot{Waits: []Wait{anybody(1), wait(2, 1)}}, []Hang{{Waits: []int{0, 1}, NoCycle: true}}},
		{"one that can give up may signal", Snapshot{Waits: []Wait{anybody(1), limited(2, 1)}}, nil},
		{"one that waits for one that can give up", Snapshot{Waits: []Wait{anybody(1), wait(2, 3), limited(3, 1)}}, nil},
		{"a ring, and who waits for anybody", Snapshot{Waits: []Wait{anybody(1), wait(2, 3), wait(3, 2)}}, []Hang{{Waits: []int{1, 2}, Behind: 1}}},
		{"a ring with a limit", Snapshot{Waits: []Wait{limited(1, 2), wait(2, 1)}}, []Hang{{Waits: []int{0, 1}, Bounded: true}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Find(c.in)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// bySubsets returns the stuck threads by the definition: the union of all sets of threads
// without time limits in which each thread needs a thread of the set or one that has ended,
// or has Wait.Any while the set contains all live threads.
func bySubsets(s Snapshot) []bool {
	n := len(s.Waits)
	stuck := make([]bool, n)
	for set := 1; set < 1<<n; set++ {
		all := set == 1<<n-1 && !s.Others
		in := func(t Thread) bool {
			i := slices.IndexFunc(s.Waits, func(w Wait) bool { return w.Thread == t })
			return t == 0 || i >= 0 && set&(1<<i) != 0
		}
		closed := true
		for i, w := range s.Waits {
			if set&(1<<i) != 0 && (w.Bounded || !slices.ContainsFunc(w.Needs, in) && !(w.Any && all)) {
				closed = false
			}
		}
		for i := range s.Waits {
			stuck[i] = stuck[i] || closed && set&(1<<i) != 0
		}
	}
	return stuck
}

func snapshots(t *rapid.T) Snapshot {
	n := rapid.IntRange(1, 7).Draw(t, "threads")
	s := Snapshot{Others: rapid.Bool().Draw(t, "others")}
	for i := range n {
		w := Wait{Thread: Thread(i + 1), Bounded: rapid.IntRange(0, 5).Draw(t, "limit") == 0}
		if w.Any = rapid.IntRange(0, 3).Draw(t, "any") == 0; !w.Any {
			most := n + 1 // one beyond runs
			if rapid.IntRange(0, 9).Draw(t, "ended") == 0 {
				w.Needs = []Thread{0}
			}
			for range rapid.IntRange(0, 3).Draw(t, "needs") { // several: the readers of a lock
				w.Needs = append(w.Needs, Thread(rapid.IntRange(1, most).Draw(t, "need")))
			}
		}
		s.Waits = append(s.Waits, w)
	}
	return s
}

func TestFindAgainstSubsets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := snapshots(t)
		want := bySubsets(s)
		if diff := cmp.Diff(want, newGraph(s).stuck(false)); diff != "" {
			t.Fatal(diff)
		}
		told := false
		for _, h := range Find(s) {
			if h.Bounded {
				continue
			}
			told = true
			checkHang(t, s, want, h)
		}
		if told != slices.Contains(want, true) {
			t.Fatalf("stuck: %v, told: %v", want, told)
		}
	})
}

func checkHang(t *rapid.T, s Snapshot, stuck []bool, h Hang) {
	for k, i := range h.Waits {
		next := s.Waits[h.Waits[(k+1)%len(h.Waits)]].Thread
		switch w := s.Waits[i]; {
		case !stuck[i]:
			t.Fatalf("thread %d goes on", w.Thread)
		case h.NoCycle || len(h.Waits) == 1 && slices.Contains(w.Needs, 0):
		case !slices.Contains(w.Needs, next):
			t.Fatalf("thread %d does not need %d", w.Thread, next)
		}
	}
	if h.NoCycle && slices.Contains(stuck, false) {
		t.Fatal("not all wait")
	}
}
