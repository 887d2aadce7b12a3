package event_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/tracepredict/tracepredict/internal/fixedseed"

	"github.com/tracepredict/tracepredict/observer/event"
)

// plain is the plain model of a Clock: one array that it shares with no other.
type plain [2000]event.Epoch

func (p *plain) includes(d *plain) bool {
	for i, n := range d {
		if n > p[i] {
			return false
		}
	}
	return true
}

// rises returns the slots of d from event.LowSlots on whose entries are greater than p's.
func (p *plain) rises(d *plain) (slots []uint32) {
	for i, n := range d {
		if n > p[i] && i >= event.LowSlots {
			slots = append(slots, uint32(i))
		}
	}
	return slots
}

// equal reports whether v has the entries of p.
func (p *plain) equal(v *event.Clock) bool {
	all := v.Entries()
	for slot, n := range p {
		if n != v.At(uint32(slot)) || slot < len(all) && n != all[slot] || slot >= len(all) && n != 0 {
			return false
		}
	}
	return true
}

// clocks are vectors and their plain models.
type clocks struct {
	vectors [4]event.Clock
	plain   [4]plain
}

// change does one operation to the clocks.
func (c *clocks) change(t *rapid.T) {
	i, j, k := rapid.IntRange(0, 3).Draw(t, "i"), rapid.IntRange(0, 3).Draw(t, "j"), rapid.IntRange(0, 3).Draw(t, "k")
	slot := rapid.SampledFrom([]uint32{0, 1, 5, 255, 256, 257, 300, 511, 512, 600, 1023, 1024, 1999}).Draw(t, "slot")
	n := event.Epoch(rapid.IntRange(0, 5).Draw(t, "n"))
	v, p := &c.vectors[i], &c.plain[i]
	switch rapid.IntRange(0, 6).Draw(t, "op") {
	case 0, 1:
		v.Set(slot, n)
		p[slot] = n
	case 2:
		v.Raise(slot, n)
		p[slot] = max(p[slot], n)
	case 3:
		v.Join(&c.vectors[j])
		for s, n := range c.plain[j] {
			p[s] = max(p[s], n)
		}
	case 4:
		v.Copy(&c.vectors[j])
		*p = c.plain[j]
	case 5:
		a, b := c.plain[j], c.plain[k]
		v.Maximum(&c.vectors[j], &c.vectors[k])
		for s := range p {
			p[s] = max(a[s], b[s])
		}
	case 6:
		if n == 0 {
			v.Reset()
			*p = plain{}
		}
	}
}

// TestClockAgreesWithPlainModel: vectors that share memory have the entries that they would have if they shared none,
// and compare as those do.
func TestClockAgreesWithPlainModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &clocks{}
		for range rapid.IntRange(1, 40).Draw(t, "operations") {
			c.change(t)
			for i := range c.vectors {
				if !c.plain[i].equal(&c.vectors[i]) {
					t.Fatalf("vector %d has other entries: %v", i, c.vectors[i].Entries())
				}
			}
		}
		for i := range c.vectors {
			for j := range c.vectors {
				v, d := &c.vectors[i], &c.vectors[j]
				if v.Includes(d) != c.plain[i].includes(&c.plain[j]) {
					t.Fatalf("Includes of %d and %d", i, j)
				}
				var rises []uint32
				v.HighRises(d, func(slot uint32, n event.Epoch) {
					if n != d.At(slot) {
						t.Fatalf("a rise to %d of slot %d", n, slot)
					}
					rises = append(rises, slot)
				})
				if !slices.Equal(rises, c.plain[i].rises(&c.plain[j])) {
					t.Fatalf("rises %v", rises)
				}
				but := c.plain[j]
				but[300] = c.plain[i][300]
				if equal := v.EqualBut(300, d); equal != (len(v.Low()) == len(d.Low()) && but == c.plain[i]) {
					t.Fatalf("EqualBut of %d and %d: %v", i, j, equal)
				}
			}
		}
	})
}

// TestClocksShareMemory: clocks that know the same past, each with an event of its own, need memory for what differs.
func TestClocksShareMemory(t *testing.T) {
	var last event.Clock
	var all event.Weigher
	const slots = 5000
	for slot := range uint32(slots) {
		var v event.Clock
		v.Join(&last)
		v.Set(slot, 1)
		last.Copy(&v)
		all.Add(&v)
	}
	if n := all.Bytes(); n > slots*3000 {
		t.Errorf("%d bytes for %d clocks", n, slots)
	}
}
