package loader

import (
	"maps"
	"slices"
	"testing"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/probes"
)

// TestInLockFunction reads lines of /proc/PID/task/TID/syscall, as on x86-64.
func TestInLockFunction(t *testing.T) {
	for line, want := range map[string]bool{
		"running": false,
		"":        false,
		"202 0x404060 0x80 0x2 0x0 0x0 0x0 0x7ffd1 0x7f2":     true,  // FUTEX_WAIT, private
		"202 0x404060 0x0 0x2 0x0 0x0 0x0 0x7ffd1 0x7f2":      true,  // FUTEX_WAIT
		"202 0x404060 0x86 0x2 0x0 0x0 0x0 0x7ffd1 0x7f2":     true,  // FUTEX_LOCK_PI
		"202 0x404060 0x189 0x0 0x0 0x0 0xffffffff 0x7ff 0x7": false, // FUTEX_WAIT_BITSET, as conditions wait
		"202 0x404060 0x81 0x1 0x0 0x0 0x0 0x7ffd1 0x7f2":     false, // FUTEX_WAKE
		"0 0x3 0x80 0x2 0x0 0x0 0x0 0x7ffd1 0x7f2":            false, // read
		"-1 0x7ffd1 0x7f2": false,
		"202 x":            false,
	} {
		if got := inLockFunction(line); got != want {
			t.Errorf("%q: %v", line, got)
		}
	}
}

// TestEntered looks at threads that may be in lock functions, until none is.
func TestEntered(t *testing.T) {
	const waits = "202 0x404060 0x80 0x2 0x0 0x0 0x0 0x7ffd1 0x7f2"
	e := &entered{since: 100, looks: map[uint32]int{1: 0, 2: 0, 3: 0, 4: 0, 5: 0}}
	lines := map[uint32]string{1: waits, 2: "running", 3: "0 0x3", 4: "", 5: "-1 0x7ffd1 0x7f2"}
	look := func(want map[uint32]int) {
		t.Helper()
		if over := e.look(func(tid uint32) string { return lines[tid] }); over != (len(want) == 0) || !maps.Equal(e.looks, want) {
			t.Errorf("%v, over: %v, want %v", e.looks, over, want)
		}
	}
	look(map[uint32]int{1: 0, 2: 1, 5: 0})
	lines[5] = "running"
	look(map[uint32]int{1: 0, 2: 2, 5: 1})
	lines[5] = "230 0x1"
	for i := 3; i < quietRunning; i++ {
		look(map[uint32]int{1: 0, 2: i})
	}
	look(map[uint32]int{1: 0})
	e.left(&bpf.Record{Tid: 1, Time: 100}) // made before the probes were in
	look(map[uint32]int{1: 0})
	e.left(&bpf.Record{Tid: 1, Time: 101})
	look(map[uint32]int{})
}

// TestLeftOutRecords discards the records of the C library's lock functions from a time on, and later those of the stubs of
// one module: no record that is read after a late one counts.
func TestLeftOutRecords(t *testing.T) {
	var list []*probes.Site
	add := func(moves ...probes.Moves) *Module {
		m := &Module{Base: uint32(len(list)), Plan: &probes.Plan{}}
		for _, as := range moves {
			m.Plan.Sites = append(m.Plan.Sites, probes.Site{Moves: as})
		}
		for i := range m.Plan.Sites {
			list = append(list, &m.Plan.Sites[i])
		}
		return m
	}
	list = append(list, nil)
	add(probes.MovesAway, probes.MovesNot) // 1 and 2: the C library
	one := add(probes.MovesHere)           // 3
	add(probes.MovesHere)                  // 4
	s := &Session{Sites: Sites{list: list}, locks: newLockProbes(nil, nil)}
	want := func(time uint64, discarded ...uint32) {
		t.Helper()
		for site := range uint32(len(list) + 1) {
			if got := s.leftOut(&bpf.Record{Site: site, Time: time}); got != slices.Contains(discarded, site) {
				t.Errorf("time %d, site %d: %v", time, site, got)
			}
		}
	}
	want(10)
	away := &cut{at: 20}
	s.locks.cuts.Store(&[]*cut{away})
	want(19)
	want(20, 1)
	want(19, 1)
	s.locks.cuts.Store(&[]*cut{away, {at: 30, module: one}})
	want(29, 1)
	want(30, 1, 3)
	want(29, 1, 3)
}
