package steer

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// crossing is the plan of two threads, created by the first one, that wait for each other before a call.
func crossing() Plan {
	return Plan{Sites: make([]Site, 2), Gates: []Gate{
		{Thread: []int{0}, Site: 0, Count: 3, After: []int{1}, What: "T2 requests b"},
		{Thread: []int{1}, Site: 1, Count: 1, After: []int{0}, What: "T3 requests a"},
	}}
}

var start = time.Unix(1000, 0)

func begun(p Plan) *Steering {
	s := New(p)
	s.First(10)
	s.Created(10, 11)
	s.Created(10, 12)
	s.Created(12, 13)
	return s
}

// TestArmedOnce: hits of one call are counted on while another is come to.
func TestArmedOnce(t *testing.T) {
	gate := func(site int) Gate { return Gate{Thread: []int{}, Site: site, Count: 3, What: "a request"} }
	s := New(Plan{Sites: []Site{{Return: 1}, {Return: 2}}, Gates: []Gate{gate(0), gate(1), gate(0)}})
	s.First(10)
	if got := s.Arm(10); !slices.Equal(got, []Armed{{Site: 0, In: 3}, {Site: 1, In: 3}}) {
		t.Errorf("at first: %v", got)
	}
	if got := s.Arm(10); got != nil {
		t.Errorf("again: %v", got)
	}
	s.Came(10, 0, time.Unix(100, 0))
	if got := s.Arm(10); !slices.Equal(got, []Armed{{Site: 0, In: 1}}) {
		t.Errorf("after the first: %v", got)
	}
}

func TestThreadsMeet(t *testing.T) {
	s := begun(crossing())
	if got := s.Arm(11); !slices.Equal(got, []Armed{{Site: 0, In: 3}}) {
		t.Errorf("T2 is stopped at %v", got)
	}
	for _, other := range []int{10, 13} {
		if got := s.Arm(other); got != nil {
			t.Errorf("thread %d, which is not in the plan, is stopped at %v", other, got)
		}
	}
	if on := s.Came(11, 0, start); on != nil || s.Held() != 1 {
		t.Fatalf("the first thread does not wait: %v", on)
	}
	if on := s.Came(12, 1, start); !slices.Equal(on, []int{11, 12}) {
		t.Errorf("%v go on", on)
	}
	if out := s.Outcome(); !out.Complete || out.Held != 0 || out.Diverged != 0 {
		t.Errorf("outcome %+v", out)
	}
}

// TestGivesWay: what is held is let go when nothing else goes on, or after a time, and the outcome says why.
func TestGivesWay(t *testing.T) {
	for _, c := range []struct {
		going bool
		after time.Duration
		why   string
	}{
		{false, idleBound, "T3 requests a: nothing else went on for 500ms"},
		{true, heldBound, "T3 requests a: a thread had been held for 5s"},
	} {
		s := begun(crossing())
		s.Came(11, 0, start)
		if on := s.Tick(start, c.going); on != nil {
			t.Errorf("let go at once: %v", on)
		}
		if on := s.Tick(start.Add(c.after-1), c.going); on != nil {
			t.Errorf("let go too early: %v", on)
		}
		if on := s.Tick(start.Add(c.after), c.going); !slices.Equal(on, []int{11}) {
			t.Errorf("%v let go", on)
		}
		if out := s.Outcome(); out.Complete || out.Diverged != 2 || out.Reason != c.why {
			t.Errorf("outcome %+v, want %s", out, c.why)
		}
		if s.Arm(12) != nil || !slices.Equal(s.Came(12, 1, start), []int{12}) {
			t.Error("it is still held")
		}
	}
}

// TestProgressKeepsHeld: a thread that waits for a time to pass is progress.
func TestProgressKeepsHeld(t *testing.T) {
	s := begun(crossing())
	s.Came(11, 0, start)
	s.Tick(start, false)
	s.Tick(start.Add(idleBound-1), true)
	if on := s.Tick(start.Add(idleBound), false); on != nil {
		t.Errorf("%v let go although something went on", on)
	}
}

func TestThreadEndsWithoutItsGate(t *testing.T) {
	s := begun(crossing())
	s.Came(11, 0, start)
	if on := s.Ended(12, start); !slices.Equal(on, []int{11}) {
		t.Errorf("%v go on", on)
	}
	if out := s.Outcome(); out.Diverged != 2 || out.Reason != "T3 requests a: the thread ended without it" {
		t.Errorf("outcome %+v", out)
	}
}

// TestIDAgain: the children of a thread that has the ID of one that ended are counted from the first again.
func TestIDAgain(t *testing.T) {
	s := New(crossing())
	s.First(10)
	s.Created(10, 20)
	s.Created(20, 21)
	s.Ended(20, start)
	s.Created(10, 20)
	s.Created(20, 22)
	if got, want := s.paths[22], []int{1, 0}; !slices.Equal(got, want) {
		t.Errorf("the child has the path %v, want %v", got, want)
	}
}

func TestRunEndsWithoutAGate(t *testing.T) {
	if out := begun(crossing()).Outcome(); out.Complete || out.Diverged != 1 {
		t.Errorf("outcome %+v", out)
	}
}

// TestSeveralGatesAtASite: a thread is stopped at the hits that the plan counts from the beginning of the thread.
func TestSeveralGatesAtASite(t *testing.T) {
	s := begun(Plan{Sites: make([]Site, 1), Gates: []Gate{{Site: 0, Count: 2}, {Site: 0, Count: 5}, {Site: 0}}})
	for _, in := range []uint32{2, 3, 1} {
		if got := s.Arm(10); !slices.Equal(got, []Armed{{Site: 0, In: in}}) {
			t.Errorf("stopped at %v, want hit %d", got, in)
		}
		if on := s.Came(10, 0, start); !slices.Equal(on, []int{10}) {
			t.Errorf("%v go on", on)
		}
	}
	if s.Arm(10) != nil || !s.Outcome().Complete {
		t.Error("the plan is not complete")
	}
}

// TestRandomPlans: whatever threads do, each that comes is returned exactly once, not before those that it waits for
// have come unless the steering has given way, and nothing is held once time has passed.
func TestRandomPlans(t *testing.T) {
	random := rand.New(rand.NewPCG(45, 1))
	for range 5000 {
		plan := randomPlan(random)
		s := New(plan)
		s.First(0)
		for tid := 1; tid < 4; tid++ {
			s.Created(0, tid)
		}
		held, come := map[int]int{}, map[int]bool{} // by thread the gate; the gates
		now := start
		for range 30 {
			tid := random.IntN(4)
			var on []int
			switch armed := s.Arm(tid); {
			case random.IntN(8) == 0:
				now = now.Add(idleBound / 2)
				on = s.Tick(now, random.IntN(2) == 0)
			case held[tid] > 0 || len(armed) == 0:
				continue
			default:
				site := armed[random.IntN(len(armed))].Site
				gate := slices.IndexFunc(plan.Gates, func(g Gate) bool { return g.Site == site }) // each has its own
				come[gate], held[tid] = true, gate+1
				on = s.Came(tid, site, now)
			}
			for _, tid := range on {
				if held[tid] == 0 {
					t.Fatalf("%+v: thread %d goes on, and is not held", plan, tid)
				}
				for _, a := range plan.Gates[held[tid]-1].After {
					if !come[a] && s.outcome.Diverged == 0 {
						t.Fatalf("%+v: thread %d goes on from gate %d before gate %d", plan, tid, held[tid]-1, a)
					}
				}
				held[tid] = 0
			}
		}
		for _, tid := range append(s.Tick(now, false), s.Tick(now.Add(idleBound), false)...) {
			held[tid] = 0
		}
		for tid, gate := range held {
			if gate > 0 || s.Held() > 0 {
				t.Fatalf("%+v: thread %d is held for ever", plan, tid)
			}
		}
	}
}

// randomPlan returns a plan of up to five gates, each of another site, of the first thread and three that it creates.
func randomPlan(random *rand.Rand) Plan {
	var p Plan
	for i := range 1 + random.IntN(5) {
		g := Gate{Thread: [][]int{{}, {0}, {1}, {2}}[random.IntN(4)], Site: i, Count: random.Uint32N(3)}
		for a := range 5 {
			if a != i && random.IntN(4) == 0 {
				g.After = append(g.After, a)
			}
		}
		p.Sites, p.Gates = append(p.Sites, Site{}), append(p.Gates, g)
	}
	for i := range p.Gates {
		p.Gates[i].After = slices.DeleteFunc(p.Gates[i].After, func(a int) bool { return a >= len(p.Gates) })
	}
	return p
}

func TestCheck(t *testing.T) {
	for _, p := range []Plan{
		{Gates: []Gate{{}}}, {Sites: make([]Site, 1), Gates: []Gate{{Site: -1}}}, {Sites: make([]Site, 1), Gates: []Gate{{After: []int{1}}}},
	} {
		if p.Check() == nil {
			t.Errorf("%+v is accepted", p)
		}
	}
	if p := crossing(); p.Check() != nil {
		t.Errorf("%+v is refused: %v", p, p.Check())
	}
}

// inTurn is an exact plan: T3 waits until T2 has executed its instruction, and for a time after that; T2 goes on after
// T3, though the plan is complete without that.
func inTurn() Plan {
	return Plan{Exact: true, Sites: make([]Site, 3), Gates: []Gate{
		{Thread: []int{0}, Site: 0, Count: 2, Pause: time.Second, What: "T2 writes level"},
		{Thread: []int{1}, Site: 1, Behind: []int{0}, What: "T3 closes valve"},
		{Thread: []int{0}, Site: 2, Behind: []int{1}, Optional: true, What: "T2 opens valve"},
	}}
}

// TestExact: threads execute their instructions one by one, in the order of the plan.
func TestExact(t *testing.T) {
	s := begun(inTurn())
	if gate, ok := s.Next(11); gate != 0 || !ok || s.Arm(11) != nil {
		t.Errorf("T2 is stopped at gate %d, %v", gate, ok)
	}
	if _, ok := s.Next(10); ok {
		t.Error("the first thread, which is not in the plan, is stopped")
	}
	if on := s.Came(12, 1, start); on != nil {
		t.Fatalf("T3 does not wait: %v", on)
	}
	if on := s.Came(11, 0, start); !slices.Equal(on, []int{11}) {
		t.Fatalf("T2 waits, %v go on", on)
	}
	if gate, ok := s.Executes(11); gate != 0 || !ok {
		t.Errorf("T2 executes gate %d, %v", gate, ok)
	}
	if on := s.Executed(11, start); on != nil {
		t.Errorf("T3 does not wait for a time: %v", on)
	}
	if gate, ok := s.Next(11); gate != 2 || !ok {
		t.Errorf("T2 is stopped at gate %d, %v", gate, ok)
	}
	if on := s.Came(11, 2, start); on != nil {
		t.Errorf("T2 does not wait for T3: %v", on)
	}
	if on := s.Tick(start.Add(time.Second-1), true); on != nil {
		t.Errorf("too early: %v", on)
	}
	if on := s.Tick(start.Add(time.Second), true); !slices.Equal(on, []int{12}) {
		t.Errorf("%v go on, not T3", on)
	}
	if on := s.Executed(12, start.Add(time.Second)); !slices.Equal(on, []int{11}) {
		t.Errorf("%v go on, not T2", on)
	}
	if s.Executed(11, start.Add(time.Second)); !s.Outcome().Complete {
		t.Errorf("outcome %+v", s.Outcome())
	}
}

// TestExactGivesWay: what is held without need is let go first; a call that does not return is where the run diverges.
func TestExactGivesWay(t *testing.T) {
	s := begun(inTurn())
	s.Came(11, 0, start)
	s.Came(12, 1, start)
	s.Tick(start, false)
	if on := s.Tick(start.Add(idleBound), false); !slices.Equal(on, []int{12}) {
		t.Errorf("%v let go", on)
	}
	if out := s.Outcome(); out.Diverged != 1 || out.Reason != "T2 writes level: it did not return: nothing else went on for 500ms" {
		t.Errorf("outcome %+v", out)
	}

	p := inTurn()
	p.Gates[0].Thread, p.Gates[2].Site = []int{1}, 0
	p.Gates[0].Site, p.Gates[1].Site = 2, 1
	s = begun(p) // T3 has both steps of the witness, and T2 is held until these are done
	s.Came(11, 0, start)
	s.Tick(start, false)
	if on := s.Tick(start.Add(idleBound), false); !slices.Equal(on, []int{11}) || s.Outcome().Reason != "T2 writes level: the run ended without it" {
		t.Errorf("%v let go, outcome %+v", on, s.Outcome())
	}
	if _, ok := s.Next(12); !ok {
		t.Error("the run does not follow the plan any more")
	}
}

// TestOptional: a thread that ends without an optional gate does not diverge; one that ends in its call lets others go on.
func TestOptional(t *testing.T) {
	s := begun(inTurn())
	s.Came(12, 1, start)
	s.Came(11, 0, start)
	s.Ended(11, start)
	if on := s.Tick(start.Add(time.Second), true); !slices.Equal(on, []int{12}) {
		t.Errorf("%v go on, not T3", on)
	}
	if s.Executed(12, start); !s.Outcome().Complete {
		t.Errorf("outcome %+v", s.Outcome())
	}
}
