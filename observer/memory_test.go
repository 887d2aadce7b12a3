package observer

import (
	"fmt"
	"math/bits"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/event"
)

// observePointers returns the lines of the accesses that records lead to; those of the past have their
// time.
func observePointers(t *testing.T, records string) (lines []string) {
	l := newListener()
	past := func(e *event.Event) { lines = append(lines, fmt.Sprintf("%s at %d", l.line(e), e.Time)) }
	l.o = New(Options{Sites: site, Past: past, Sinks: []Sink{sinkFunc(func(e *event.Event) {
		if e.Op.IsAccess() || e.Op == event.Destroy {
			lines = append(lines, l.line(e))
		}
	})}})
	for _, r := range parseRecords(t, records) {
		l.o.Record(&r)
	}
	return lines
}

// TestPointers checks the events of accesses through pointers: bytes that are accessed together are one
// variable, neighbours in one word are not, and an access touches all variables of its bytes. The
// numbers of objects count locks, too.
func TestPointers(t *testing.T) {
	for _, c := range []struct {
		name, records string
		want          []string
	}{
		{"one variable", `
			1 write A kind=pointer bytes=0xff
			2 read A kind=pointer bytes=0xff`, []string{"T1 write A1", "T2 read A1"}},
		{"neighbours", `
			1 write A kind=pointer bytes=0x0f
			2 write A kind=pointer bytes=0xf0`, []string{"T1 write A1", "T2 write A2"}},
		{"two at once", `
			1 write A kind=pointer bytes=0x0f
			2 write A kind=pointer bytes=0xf0
			1 read A kind=pointer bytes=0xff`, []string{"T1 write A1", "T2 write A2", "T1 read A1", "T1 read A2"}},
		{"a part", `
			1 write A kind=pointer bytes=0xff
			2 read A kind=pointer bytes=0x02`, []string{"T1 write A1", "T1 write A2 past at 1", "T1 write A3 past at 1", "T2 read A2"}},
		{"bytes around a variable", `
			1 write A kind=pointer bytes=0x3c
			2 write A kind=pointer bytes=0xff`, []string{"T1 write A1", "T2 write A2", "T2 write A1", "T2 write A3"}},
		{"past", `
			1 acquire B
			2 acquire C
			1 write A kind=pointer bytes=0xff past=2
			2 read A kind=pointer bytes=0xff`, []string{"T1 write A3 past at 2", "T2 read A3"}},
		{"past of neighbours", `
			1 acquire B
			1 write A kind=pointer bytes=0x0f past=2
			1 read A kind=pointer bytes=0xf0 past=3
			2 write A kind=pointer bytes=0xf0`, []string{"T1 write A2 past at 2", "T1 read A3 past at 3", "T2 write A3"}},
		{"past of a thread that has ended", `
			1 fork 2
			2 acquire B
			2 release B
			2 exit
			2 write A kind=pointer bytes=0xff past=3
			1 write A kind=pointer bytes=0xff`, []string{"T2 write A2 past at 3", "T1 write A2"}},
		{"past of another thread with the same number", `
			1 fork 2 time=10
			2 exit time=20
			1 fork 2 time=30
			2 acquire B time=40
			2 write A kind=pointer bytes=0xff past=15 time=50
			2 write A kind=pointer bytes=0xff past=35 time=51`, []string{"T2 write A2 past at 15", "T3 write A2 past at 35"}},
		{"past of a thread that nobody knows", `
			1 acquire B
			7 write A kind=pointer bytes=0xff past=1
			1 write A kind=pointer bytes=0xff`, []string{"T1 write A2"}},
		{"atomic", `
			1 write A kind=pointer orders=1
			2 read A kind=pointer orders=1`, []string{"T1 write A1 =1 atomic", "T2 read A1 =1 atomic"}},
		{"an atomic read of a write that is not recorded", `
			1 write A kind=pointer orders=1
			2 read A kind=pointer orders=7
			2 write B kind=pointer bytes=0x0f time=900000000`, []string{"T1 write A1 =1 atomic", "T2 read A1 =7 atomic no-source", "T2 write B2"}},
		{"the halves of an atomic word", `
			1 update A kind=half entered=1 orders=2
			1 read A kind=pointer orders=0x500000002
			2 update 0x41004 kind=half entered=5 orders=6`,
			[]string{"T1 update A1 =2 atomic", "T1 read A1 =2 atomic", "T1 read A2 =5 atomic", "T2 update A2 =6 atomic"}},
		{"an atomic word that is divided", `
			1 write A kind=pointer orders=0x500000002
			2 read 0x41004 kind=half orders=5`, []string{"T1 write A1 =21474836482 atomic", "T2 read A2 =5 atomic no-source"}},
		{"a variable with a name", `
			1 write A kind=int
			2 read A kind=pointer bytes=0x0f`, []string{"T1 write A1", "T2 read A1"}},
		{"the neighbour of one", `
			1 write A kind=int
			2 read A kind=pointer bytes=0xf0`, []string{"T1 write A1", "T2 read A2"}},
		{"bytes around one", `
			1 write 0x41004 kind=short
			2 write A kind=pointer bytes=0xff
			1 read 0x41004 kind=short`, []string{"T1 write A1", "T2 write A2", "T2 write A1", "T2 write A3", "T1 read A1"}},
		{"a part of one", `
			1 write A kind=int
			2 write A kind=pointer bytes=0x02
			1 read A kind=int value=7`, []string{"T1 write A1", "T1 write A2 past at 1", "T1 write A3 past at 1", "T2 write A2", "T1 read A1", "T1 read A2", "T1 read A3"}},
		{"one within bytes that were accessed before", `
			1 write A kind=pointer bytes=0xff
			2 read 0x41004 kind=int value=7`, []string{"T1 write A1", "T1 write A2 past at 1", "T2 read A2 =7"}},
		{"two in one word", `
			1 write A kind=int value=1
			1 write 0x41004 kind=int value=2
			2 write A kind=pointer bytes=0xff
			1 read 0x41004 kind=int value=3`, []string{"T1 write A1 =1", "T1 write A2 =2", "T2 write A1", "T2 write A2", "T1 read A2 =3"}},
		{"a part of what was loaded at once", `
			1 read A kind=loads8 bytes=0xff
			2 write A kind=pointer bytes=0x01
			1 read A kind=loads8 bytes=0xff`,
			[]string{"T1 read A1", "T1 read A2 past wider at 1", "T1 read A1 past wider at 1", "T2 write A1", "T1 read A1 wider", "T1 read A2 wider"}},
		{"two parts of it", `
			1 read A kind=loads8 bytes=0xff
			2 write A kind=pointer bytes=0x0f
			3 write A kind=pointer bytes=0x03`,
			[]string{"T1 read A1", "T1 read A2 past wider at 1", "T1 read A1 past wider at 1", "T2 write A1", "T1 read A3 past wider at 1", "T2 write A3 past at 2", "T3 write A1"}},
		{"of a call, which loads no more than it says", `
			1 read A kind=pointer bytes=0xff
			2 write A kind=pointer bytes=0x01`, []string{"T1 read A1", "T1 read A2 past at 1", "T2 write A1"}},
		{"a part of a variable of which is not known what it is", `
			1 read A kind=loads2
			2 write A kind=pointer bytes=0x02
			1 read A kind=loads2 value=7`,
			[]string{"T1 read A1", "T1 read A2 past wider at 1", "T1 read A1 past wider at 1", "T2 write A2", "T1 read A1 wider", "T1 read A2 wider"}},
		{"a part of one of which that is known", `
			1 read A kind=short
			2 write A kind=pointer bytes=0x02`, []string{"T1 read A1", "T1 read A2 past at 1", "T2 write A2"}},
		{"a load of two variables", `
			1 write A kind=pointer bytes=0x0f
			2 read A kind=loads8 bytes=0xff`, []string{"T1 write A1", "T2 read A1 wider", "T2 read A2 wider"}},
		{"a load of two words", `
			1 read A kind=loads8 bytes=0xf0
			2 write A kind=pointer bytes=0xf0`, []string{"T1 read A1 wider", "T2 write A1"}},
		{"a load in the past", `
			1 acquire B
			2 acquire C
			1 read A kind=loads8 bytes=0xff past=2
			2 write A kind=pointer bytes=0x0f`, []string{"T1 read A3 past at 2", "T1 read A4 past wider at 2", "T1 read A3 past wider at 2", "T2 write A3"}},
		{"freed", `
			1 write A kind=pointer bytes=0xff
			2 write A kind=pointer bytes=0xff
			1 free A size=0x40
			2 write A kind=pointer bytes=0xff`, []string{"T1 write A1", "T2 write A1", "T1 write A1 freed", "T1 destroy A1 inferred", "T2 write A2"}},
		{"unmapped", `
			1 write A kind=pointer bytes=0xff
			2 write A kind=pointer bytes=0xff
			1 free A size=0x40 result=3
			2 write A kind=pointer bytes=0xff`, []string{"T1 write A1", "T2 write A1", "T1 write A1 freed", "T1 destroy A1 inferred", "T2 write A2"}},
		{"replaced by another mapping", `
			1 write A kind=pointer bytes=0xff
			2 write A kind=pointer bytes=0xff
			1 free A size=0x40 result=1
			2 write A kind=pointer bytes=0xff`, []string{"T1 write A1", "T2 write A1", "T1 destroy A1 inferred", "T2 write A2"}},
		{"freed by the only thread that used it", `
			1 write A kind=pointer bytes=0xff
			1 free A size=0x40`, []string{"T1 write A1", "T1 destroy A1 inferred"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := observePointers(t, c.records); !slices.Equal(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

// TestPastStack checks that an access of the past has a call stack of its site alone.
func TestPastStack(t *testing.T) {
	var stack event.StackID
	o := New(Options{
		Sites: site, Past: func(e *event.Event) { stack = e.Stack },
		SiteAddr: func(_, index uint32) uint64 { return 0x1000 + uint64(index) },
	})
	for _, r := range parseRecords(t, `
		1 acquire B
		1 write A kind=pointer bytes=0xff past=1`) {
		o.Record(&r)
	}
	s, ok := o.StackOf(stack)
	if want := []uint64{0x1000 + uint64(siteNames["pointer"])}; !ok || s.Found == nil || !slices.Equal(s.Found, want) {
		t.Errorf("stack %+v, known %t; want %#x", s, ok, want)
	}
}

// TestSharedWord checks that an atomic load is a doubt where the memory has another address, or another
// process or a file, by which it may have been stored to.
func TestSharedWord(t *testing.T) {
	at := func(lo uint64) SharedMapping {
		return SharedMapping{Range: Range{lo << 12, (lo + 1) << 12}, File: File{Inode: 7}}
	}
	file := at('A')
	file.Written = true
	for _, c := range []struct {
		name    string
		maps    []SharedMapping
		records string
		doubts  int
	}{
		{"mapped once", []SharedMapping{at('A')}, "2 read A kind=pointer orders=1", 0},
		{"mapped twice", []SharedMapping{at('A'), at('B')}, "2 read A kind=pointer orders=1", 1},
		{"other memory", []SharedMapping{at('A'), at('B')}, "2 read C kind=pointer orders=1", 0},
		{"a store", []SharedMapping{at('A'), at('B')}, "2 write A kind=pointer orders=1", 0},
		{"a file", []SharedMapping{file}, "2 read A kind=pointer orders=1", 1},
		{"two processes", []SharedMapping{at('A')}, "1 fork 9 process\n9 acquire N of=9\n2 read A kind=pointer orders=1", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := listenWith(Options{SharedMemory: func(uint32) []SharedMapping { return c.maps }})
			for _, r := range parseRecords(t, "1 fork 2\n2 acquire M\n2 release M\n"+c.records) {
				l.o.Record(&r)
			}
			if got := l.o.Executed(); len(got) != c.doubts {
				t.Errorf("%d doubts, want %d: %+v", len(got), c.doubts, got)
			}
		})
	}
}

// TestNamesAndPointers checks, with random accesses of the bytes of one word by the names of variables and through
// pointers, that two of them have a variable in common just if they have a byte in common.
func TestNamesAndPointers(t *testing.T) {
	const threads = 4 // each reads and writes once, so that no access is forgotten for a later one
	type access struct {
		thread uint32
		op     bpf.Op
	}
	kinds := map[int]string{1: "char", 2: "short", 4: "int", 8: "long"}
	rapid.Check(t, func(t *rapid.T) {
		var sizes []int // of the variables with names
		for left := wordSize; left > 0; left -= sizes[len(sizes)-1] {
			size := rapid.SampledFrom([]int{1, 2, 4, 8}).Filter(func(n int) bool { return n <= left && (wordSize-left)%n == 0 }).Draw(t, "size")
			sizes = append(sizes, size)
		}
		touched, variables := map[access]uint8{}, map[access]map[event.ObjectID]bool{}
		add := func(e *event.Event) {
			if !e.Op.IsAccess() {
				return
			}
			op := bpf.OpRead
			if e.Op == event.Write {
				op = bpf.OpWrite
			}
			a := access{uint32(e.Thread), op}
			if variables[a] == nil {
				variables[a] = map[event.ObjectID]bool{}
			}
			variables[a][e.Object] = true
		}
		o := New(Options{Sites: site, Past: add, Sinks: []Sink{sinkFunc(add)}})
		for i := range threads { // in the order of their numbers
			o.Record(&bpf.Record{Time: 1, Tid: uint32(i + 1), Tgid: 1, Op: uint8(bpf.OpAcquire), Object: uint64(i+1) << 20, Site: siteNames["mutex"]})
		}
		n := rapid.IntRange(2, 2*threads).Draw(t, "accesses")
		for i := range n {
			a := access{uint32(rapid.IntRange(1, threads).Draw(t, "thread")), rapid.SampledFrom([]bpf.Op{bpf.OpRead, bpf.OpWrite}).Draw(t, "operation")}
			if touched[a] != 0 {
				continue
			}
			r := bpf.Record{Time: uint64(10 + i), Tid: a.thread, Tgid: 1, Op: uint8(a.op), Object: 'A' << 12, Site: siteNames["pointer"]}
			if rapid.Bool().Draw(t, "by name") {
				k := rapid.IntRange(0, len(sizes)-1).Draw(t, "which")
				for _, size := range sizes[:k] {
					r.Object += uint64(size)
				}
				r.Site = siteNames[kinds[sizes[k]]]
				touched[a] = uint8((1<<sizes[k] - 1) << (r.Object & (wordSize - 1)))
			} else {
				from := rapid.IntRange(0, wordSize-1).Draw(t, "from")
				touched[a] = uint8((1<<rapid.IntRange(1, wordSize-from).Draw(t, "bytes") - 1) << from)
				r.Extra = uint64(touched[a])
			}
			o.Record(&r)
		}
		for a, x := range touched {
			for b, y := range touched {
				common := false
				for v := range variables[a] {
					common = common || variables[b][v]
				}
				if common != (x&y != 0) {
					t.Fatalf("%+v of bytes %08b and %+v of bytes %08b: common variable %t, sizes %v, %d bytes in common", a, x, b, y, common, sizes, bits.OnesCount8(x&y))
				}
			}
		}
	})
}
