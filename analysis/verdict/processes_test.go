package verdict

import "testing"

// TestAcrossProcesses: what is not recorded orders processes more often than threads.
func TestAcrossProcesses(t *testing.T) {
	for _, c := range []struct {
		own     []uint32
		doubted bool
	}{{nil, false}, {[]uint32{7}, false}, {[]uint32{7, 7}, false}, {[]uint32{7, 8}, true}, {[]uint32{7, 7, 8}, true}} {
		if why := acrossProcesses(c.own); why.Given() != c.doubted {
			t.Errorf("%v: %+v", c.own, why)
		}
	}
}
