package observer

import (
	"testing"

	"pgregory.net/rapid"

	_ "github.com/tracepredict/tracepredict/internal/fixedseed"
)

// TestAddrs compares the map with a plain one.
func TestAddrs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m addrs[int]
		plain := map[uint64]int{}
		n := rapid.IntRange(0, 3000).Draw(t, "n")
		x := rapid.Uint64().Draw(t, "seed") | 1
		for i := range n {
			x = x*6364136223846793005 + 1442695040888963407
			addr := x >> 33 % 2048
			if x>>60 < 5 {
				m.remove(addr)
				delete(plain, addr)
			} else {
				m.put(addr, i)
				plain[addr] = i
			}
		}
		count := 0
		for _, p := range m.pieces {
			if len(p) == 0 || len(p) > maxPiece {
				t.Fatalf("a piece of %d", len(p))
			}
			count += len(p)
		}
		if count != len(plain) {
			t.Fatalf("%d entries, want %d", count, len(plain))
		}
		var last uint64
		var has bool
		for addr := range uint64(2050) {
			v, ok := plain[addr]
			if ok {
				last, has = addr, true
			}
			if at, _, found := m.upTo(addr); found != has || has && at != last {
				t.Fatalf("up to %d: %d %v, want %d %v", addr, at, found, last, has)
			}
			if at, got, found := m.next(addr, addr+1); found != ok || ok && (at != addr || got != v) {
				t.Fatalf("at %d: %d %v, want %d %v", addr, got, found, v, ok)
			}
		}
	})
}
