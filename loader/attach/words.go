package attach

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/bpf"
)

// Words of memory that are accessed through pointers are in tables of one size (bpf/wordtables.h). There is one at
// first. When the words in it become many, another one is added, up to a bound; then the one that was added longest ago
// is replaced by an empty one. What was in it is forgotten: words that were first accessed long ago.

// words are the tables.
type words struct {
	mu        sync.Mutex // guards the fields below; no other lock is acquired while it is held
	maps      []*ebpf.Map
	order     []uint32 // the tables, the one that became the newest last at the end
	most      int      // tables that there may be
	size      uint64   // words of each
	forgotten map[uint32]uint64
}

// wordMemory is the part of the machine's memory that the tables may take.
const wordMemory = 32

// mostTables returns how many tables there may be of a size in bytes on a machine with so much memory.
func mostTables(size, memory uint64) int {
	return int(min(max(memory/wordMemory/size, 2), bpf.WordTables))
}

// startWords makes the first table.
func (t *Tracer) startWords(opts *TracerOptions) error {
	if !opts.Pointers && !opts.PointerAtomics {
		return nil
	}
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return fmt.Errorf("ask how much memory the machine has: %w", err)
	}
	w := &t.words
	w.mu.Lock()
	defer w.mu.Unlock()
	w.size, w.forgotten = 1<<opts.wordBits(), map[uint32]uint64{}
	w.most = mostTables(w.size*uint64(unsafe.Sizeof(bpf.Word{})), uint64(info.Totalram)*uint64(info.Unit))
	m, err := t.newTable(0)
	if err != nil {
		return err
	}
	w.maps, w.order = []*ebpf.Map{m}, []uint32{0}
	return nil
}

// newTable makes an empty table, in the place of another one or as a new one. The kernel returns when no BPF program
// uses the other one any more.
func (t *Tracer) newTable(table uint32) (*ebpf.Map, error) {
	m, err := ebpf.NewMap(&ebpf.MapSpec{Name: bpf.TracepredictMapWords, Type: ebpf.Array, KeySize: 4, ValueSize: uint32(unsafe.Sizeof(bpf.Word{})), MaxEntries: uint32(t.words.size), Flags: unix.BPF_F_INNER_MAP})
	if err != nil {
		return nil, fmt.Errorf("make a table of %d words: %w", t.words.size, err)
	}
	if err := t.objs.Words.Put(table, m); err != nil {
		m.Close()
		return nil, fmt.Errorf("use a table of words: %w", err)
	}
	return m, nil
}

// next is what happens to the tables.
type next struct {
	table uint32 // becomes the newest
	fresh bool   // it is made anew: added, or in place of the one that is there
}

// nextTable returns what happens if the tables have so many words each; ok is false for nothing. A table is added when few
// words have no room in the newest: it is full of 3 eighths, where of random words one in 2500 finds its eight places
// taken. At the bound it is full of 5 eighths, where one in 40 is made in another table. One most of whose words were
// forgotten, since their memory was freed, is used again.
func (w *words) nextTable(counts []uint64) (n next, ok bool) {
	newest, grows := w.order[len(w.order)-1], len(w.order) < w.most
	if full := w.size / 8; counts[newest] < 3*full || !grows && counts[newest] < 5*full {
		return n, false
	}
	for _, table := range w.order {
		if counts[table] < w.size/4 {
			return next{table: table}, true
		}
	}
	if grows {
		return next{uint32(len(w.order)), true}, true
	}
	return next{w.order[0], true}, true
}

// KeepsWords reports whether there are tables of words.
func (t *Tracer) KeepsWords() bool {
	t.words.mu.Lock()
	defer t.words.mu.Unlock()
	return len(t.words.order) > 0
}

// TendWords looks whether there is room for more words, and makes some. It is to be called every few milliseconds while
// there are probes, if KeepsWords.
func (t *Tracer) TendWords() error {
	w := &t.words
	w.mu.Lock()
	defer w.mu.Unlock()
	var counts [bpf.WordTables]uint64
	if err := t.objs.WordCounts.Get(&counts); err != nil {
		return fmt.Errorf("read how many words there are: %w", err)
	}
	n, ok := w.nextTable(counts[:])
	if !ok {
		return nil
	}
	return t.change(n)
}

// change makes a table the newest. The caller holds t.words.mu.
func (t *Tracer) change(n next) error {
	w := &t.words
	if n.fresh {
		m, err := t.newTable(n.table)
		if err != nil {
			return err
		}
		if int(n.table) < len(w.maps) {
			err = t.replaced(n.table)
			w.maps[n.table] = m
		} else {
			w.maps = append(w.maps, m)
		}
		if err := errors.Join(err, t.objs.WordTables.Set(uint32(len(w.maps)))); err != nil {
			return fmt.Errorf("use another table of words: %w", err)
		}
	}
	w.chosen(n.table)
	if err := t.objs.NewestTable.Set(n.table); err != nil {
		return fmt.Errorf("use another table of words: %w", err)
	}
	return nil
}

// chosen notes that a table becomes the newest.
func (w *words) chosen(table uint32) {
	w.order = append(slices.DeleteFunc(w.order, func(t uint32) bool { return t == table }), table)
}

// replaced counts what was in a table that has been replaced, and frees it.
func (t *Tracer) replaced(table uint32) error {
	w := &t.words
	var counts [bpf.WordTables]uint64
	err := t.objs.WordCounts.Get(&counts)
	if err == nil {
		counts[table] = 0
		err = t.objs.WordCounts.Set(counts)
	}
	old := w.maps[table]
	defer old.Close()
	keys, values := make([]uint32, 1<<12), make([]bpf.Word, 1<<12)
	var cursor ebpf.MapBatchCursor
	for {
		n, lookup := old.BatchLookup(&cursor, keys, values, nil)
		for i := range n {
			if site, ok := values[i].Last(); ok {
				w.forgotten[site]++
			}
		}
		if errors.Is(lookup, ebpf.ErrKeyNotExist) {
			return err
		}
		if lookup != nil {
			return errors.Join(err, fmt.Errorf("read a table of words: %w", lookup))
		}
	}
}

// ForgottenWords returns how many words were forgotten that one thread alone had accessed, by the site of its last
// access.
func (t *Tracer) ForgottenWords() map[uint32]uint64 {
	t.words.mu.Lock()
	defer t.words.mu.Unlock()
	return maps.Clone(t.words.forgotten)
}

// UnseenWords returns how many accesses were not looked at for want of room, by their site.
func (t *Tracer) UnseenWords() (map[uint32]uint64, error) {
	unseen := map[uint32]uint64{}
	var site uint32
	var n uint64
	it := t.objs.UnseenWords.Iterate()
	for it.Next(&site, &n) {
		if n > 0 {
			unseen[site] = n
		}
	}
	if err := it.Err(); err != nil {
		return nil, fmt.Errorf("read which accesses were not looked at: %w", err)
	}
	return unseen, nil
}

// close frees the tables.
func (w *words) close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var errs []error
	for _, m := range w.maps {
		errs = append(errs, m.Close())
	}
	w.maps, w.order = nil, nil
	return errors.Join(errs...)
}
