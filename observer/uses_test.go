package observer

import (
	"testing"

	"github.com/tracepredict/tracepredict/observer/event"
)

// TestUses checks which flags say what a thread uses of the values of an access.
func TestUses(t *testing.T) {
	known := func(n uint64) optional { return optional{n, true} }
	for _, c := range []struct {
		name        string
		sync        Sync
		op          event.Op
		read, wrote optional
		want        event.Flags
	}{
		{"one owner less, was it the last", Sync{Width: 4, Adds: true, Test: Test{Known: true, Value: 1}}, event.Update, known(3), known(2), event.Decrements | event.OnlyZero},
		{"the same by the flags", Sync{Width: 4, Adds: true, Test: Test{Known: true, Left: true}}, event.Update, known(1), known(0), event.Decrements | event.OnlyZero},
		{"below zero", Sync{Width: 4, Adds: true}, event.Update, known(0), known(1<<32 - 1), event.Decrements},
		{"the first user", Sync{Width: 4, Adds: true, Test: Test{Known: true}}, event.Update, known(0), known(1), event.Increments | event.OnlyOne},
		{"adds four", Sync{Width: 4, Adds: true, Test: Test{Known: true, Left: true}}, event.Update, known(8), known(12), event.OnlyZero},
		{"an exchange", Sync{Width: 4}, event.Update, known(0), known(1), 0},
		{"values that are not known", Sync{Width: 4, Adds: true, Test: Test{Known: true}}, event.Update, optional{}, known(1), 0},
		{"a flag", Sync{Width: 1, Test: Test{Known: true}}, event.Read, known(5), optional{}, event.OnlyZero},
		{"compared with seven", Sync{Width: 4, Test: Test{Known: true, Value: 7}}, event.Read, known(5), optional{}, 0},
		{"the lower of two counts", Sync{Whole: 8, Width: 4, Test: Test{Known: true, Value: 1 << 32}}, event.Read, known(5), optional{}, event.OnlyZero},
		{"the upper one", Sync{Whole: 8, From: 4, Width: 4, Test: Test{Known: true, Value: 1 << 32}}, event.Read, known(5), optional{}, event.OnlyOne},
		{"a part of an update", Sync{Whole: 8, Width: 4, Adds: true, Test: Test{Known: true}}, event.Update, known(1), known(2), 0},
	} {
		if got := c.sync.uses(c.op, c.read, c.wrote); got != c.want {
			t.Errorf("%s: flags %x, want %x", c.name, got, c.want)
		}
	}
}
