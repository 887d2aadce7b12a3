package loader

import (
	"testing"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/probes"
)

// TestUnseenNumbers: each UnseenProbe has a number, from 1 on over all modules, and 64 neighbours are a bundle. A module
// for whose probes there is no room has none, and numbers that no module has stand for nothing.
func TestUnseenNumbers(t *testing.T) {
	of := func(path string, n int) *Module {
		return &Module{Path: path, Plan: &probes.Plan{UnseenProbes: make([]probes.UnseenProbe, n)}}
	}
	u := newUnseenProbes(&remover{})
	a, large, b := of("/a", 2*bundleSize), of("/large", bpf.MaxUnseen), of("/b", 1)
	for _, m := range []*Module{a, large, b} {
		u.add(m)
	}
	if a.firstUnseen != 1 || !a.unseenNumbered || large.unseenNumbered || b.firstUnseen != 1+2*bundleSize {
		t.Errorf("numbers from %d and %d on; the large one: %v", a.firstUnseen, b.firstUnseen, large.unseenNumbered)
	}
	ref := func(number uint64) unseenRef {
		r, ok := u.ref(number)
		if !ok {
			t.Fatalf("%d stands for nothing", number)
		}
		return r
	}
	if first := ref(1); first.module != a || ref(bundleSize).bundle != first.bundle || ref(bundleSize+1).bundle == first.bundle {
		t.Errorf("%d neighbours are no bundle, or more are one", bundleSize)
	}
	if last := ref(1 + 2*bundleSize); last.module != b || last.bundle.name != "/b" {
		t.Errorf("the last one is of %s", last.module.Path)
	}
	for _, number := range []uint64{0, 2 + 2*bundleSize, 1 << 40} {
		if _, ok := u.ref(number); ok {
			t.Errorf("%d stands for a probe", number)
		}
		u.remove(number)
	}
	s := &Session{unseen: u}
	if m, _, ok := s.UnseenProbe(2); !ok || m != a {
		t.Errorf("UnseenProbe(2) is of %v", m)
	}
}
