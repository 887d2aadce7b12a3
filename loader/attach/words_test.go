package attach

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/tracepredict/tracepredict/internal/fixedseed"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/internal/loadertest"
)

// TestNextTable: tables are added up to the bound, then the oldest one is replaced; one most of whose words were freed
// is used again before either.
func TestNextTable(t *testing.T) {
	const size = 1 << 10
	for _, c := range []struct {
		name   string
		order  []uint32
		counts []uint64
		want   next
		ok     bool
	}{
		{"few words", []uint32{0}, []uint64{size / 3, 0, 0, 0}, next{}, false},
		{"many", []uint32{0}, []uint64{size / 8 * 3, 0, 0, 0}, next{1, true}, true},
		{"not so many at the bound", []uint32{2, 0, 1}, []uint64{size, size / 2, size, 0}, next{}, false},
		{"many, but not in the newest", []uint32{0, 1}, []uint64{size, 9, 0, 0}, next{}, false},
		{"freed meanwhile", []uint32{0, 1}, []uint64{size / 8, size - 9, 0, 0}, next{0, false}, true},
		{"at the bound", []uint32{2, 0, 1}, []uint64{size, size / 8 * 5, size / 2, 0}, next{2, true}, true},
	} {
		w := words{order: c.order, most: 3, size: size}
		if got, ok := w.nextTable(c.counts); ok != c.ok || got != c.want {
			t.Errorf("%s: %+v, %v; want %+v, %v", c.name, got, ok, c.want, c.ok)
		}
	}
}

// TestTablesTakeTurns: whatever is freed, the newest table has room after each change, and tables that are replaced are
// those that were chosen longest ago.
func TestTablesTakeTurns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const size = 64
		w := words{order: []uint32{0}, most: rapid.IntRange(2, bpf.WordTables).Draw(t, "most"), size: size}
		counts := make([]uint64, bpf.WordTables)
		made := make([]int, bpf.WordTables) // when a table was chosen
		for step := range 200 {
			newest := w.order[len(w.order)-1]
			counts[newest] = min(size, counts[newest]+rapid.Uint64Range(0, 40).Draw(t, "made"))
			freed := rapid.IntRange(0, bpf.WordTables-1).Draw(t, "table")
			counts[freed] -= rapid.Uint64Range(0, counts[freed]).Draw(t, "freed")
			n, ok := w.nextTable(counts)
			if !ok {
				if counts[newest] >= size/8*5 {
					t.Fatalf("nothing happens with %v words, table %d the newest", counts, newest)
				}
				continue
			}
			if n.fresh && int(n.table) < len(w.order) {
				for table := range w.order {
					if made[table] < made[n.table] {
						t.Fatalf("table %d is replaced; %d is older", n.table, table)
					}
				}
			}
			if n.fresh {
				counts[n.table] = 0
			}
			w.chosen(n.table)
			if made[n.table] = step + 1; len(w.order) > w.most || counts[n.table] >= size/4 {
				t.Fatalf("%d tables of at most %d; the newest has %d words", len(w.order), w.most, counts[n.table])
			}
		}
	})
}

// TestMostTables: the tables take a 32nd of the memory of the machine, but there are two at least.
func TestMostTables(t *testing.T) {
	const mib = 1 << 20
	for memory, want := range map[uint64]int{1 << 30: 2, 8 << 30: 2, 12 << 30: 3, 16 << 30: 4, 1 << 40: 4} {
		if got := mostTables(104*mib, memory); got != want {
			t.Errorf("%d MiB: %d tables, want %d", memory/mib, got, want)
		}
	}
}

// TestTendWords has the tables of the kernel grow to their bound, and the oldest one replaced: what one thread alone had
// accessed there is counted by its last site, and the programs find the tables.
func TestTendWords(t *testing.T) {
	loadertest.NeedBPF(t)
	tr, err := NewTracer(TracerOptions{PointerAtomics: true})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	newest := func() (table uint32) {
		if err := tr.objs.NewestTable.Get(&table); err != nil {
			t.Fatal(err)
		}
		return table
	}
	words := []bpf.Word{
		{Key: 1 << 40, Owner: 7, Wrote: [2]bpf.Past{{When: 9, Site: 3}}, Read: [2]bpf.Past{{When: 8, Site: 4}}},
		{Key: 2 << 40, Owner: 7, Read: [2]bpf.Past{{}, {When: 1, Site: 3}}},
		{Key: 3 << 40, Owner: 1 << 32, Wrote: [2]bpf.Past{{When: 9, Site: 5}}},
		{Key: 1, Owner: 7, Wrote: [2]bpf.Past{{When: 9, Site: 6}}},
	}
	for i := range words {
		if err := tr.words.maps[0].Put(uint32(i), &words[i]); err != nil {
			t.Fatal(err)
		}
	}
	most := tr.words.most
	var counts [bpf.WordTables]uint64
	for step := 1; step <= most; step++ {
		counts[newest()] = tr.words.size
		if err := errors.Join(tr.objs.WordCounts.Set(counts), tr.TendWords(), tr.objs.WordCounts.Get(&counts)); err != nil {
			t.Fatal(err)
		}
		if got := newest(); got != uint32(step%most) || len(tr.words.maps) != min(step+1, most) {
			t.Fatalf("step %d: table %d of %d is the newest", step, got, len(tr.words.maps))
		}
	}
	if got := tr.ForgottenWords(); len(got) != 1 || got[3] != 2 || counts[0] != 0 {
		t.Errorf("forgotten by site: %v; the newest has %d words", got, counts[0])
	}
	var there bpf.Word
	if err := tr.words.maps[0].Lookup(uint32(0), &there); err != nil || there != (bpf.Word{}) {
		t.Errorf("in the new table is %+v: %v", there, err)
	}
}
