package dwarf

import (
	"debug/dwarf"
	"encoding/binary"
	"testing"

	"github.com/go-delve/delve/pkg/dwarf/godwarf"
	"github.com/go-delve/delve/pkg/dwarf/loclist"

	"github.com/tracepredict/tracepredict/internal/testtool"
	"github.com/tracepredict/tracepredict/probes/elf"
)

// eachFixture compiles C and C++ with two compilers and two versions of DWARF.
func eachFixture(t *testing.T, test func(t *testing.T, f *elf.File)) {
	for _, c := range []struct{ compiler, source string }{{"gcc", "sample.c"}, {"g++", "sample.cc"}, {"clang-19", "sample.c"}, {"clang++-19", "sample.cc"}} {
		for _, flag := range []string{"-gdwarf-4", "-gdwarf-5"} {
			t.Run(c.compiler+flag, func(t *testing.T) {
				testtool.Need(t, c.compiler)
				test(t, open(t, build(t, c.compiler, c.source, flag)))
			})
		}
	}
}

// section returns a section of debug information; nil if there is none.
func section(t *testing.T, f *elf.File, name string) []byte {
	t.Helper()
	b, err := Of(f).Section(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// delve returns the expression in a location list that is valid at an address.
type delve struct {
	four  *loclist.Dwarf2Reader
	five  *loclist.Dwarf5Reader
	lists []byte
	addrs *godwarf.DebugAddrSection
}

func (d *delve) find(t *testing.T, at any, b Base, pc uint64) []byte {
	t.Helper()
	var e *loclist.Entry
	var err error
	addrs := d.addrs.GetSubsection(uint64(b.Addr))
	switch at := at.(type) {
	case int64:
		if b.Version >= 5 {
			e, err = d.five.Find(int(at), 0, b.Low, pc, addrs)
		} else {
			e, err = d.four.Find(int(at), 0, b.Low, pc, addrs)
		}
	case uint64:
		off := binary.LittleEndian.Uint32(d.lists[uint64(b.List)+4*at:])
		e, err = d.five.Find(int(b.List)+int(off), 0, b.Low, pc, addrs)
	}
	if err != nil {
		t.Fatalf("Delve: %v", err)
	}
	if e == nil {
		return nil
	}
	return e.Instr
}

// TestLocationsAreThoseOfDelve checks that at both ends of every range of a location list, and next
// to them, this package and Delve find the same location.
func TestLocationsAreThoseOfDelve(t *testing.T) {
	eachFixture(t, func(t *testing.T, f *elf.File) {
		data, err := Of(f).Data()
		if err != nil {
			t.Fatal(err)
		}
		ours, err := Of(f).Locations(1<<20, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		d := &delve{
			four: loclist.NewDwarf2Reader(section(t, f, "loc"), 8), five: loclist.NewDwarf5Reader(section(t, f, "loclists")),
			lists: section(t, f, "loclists"), addrs: godwarf.ParseAddr(section(t, f, "addr")),
		}
		ranges := 0
		for _, u := range units(section(t, f, "info")) {
			r := data.Reader()
			r.Seek(u.Entry)
			root, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			b := baseOf(u, root)
			for e := root; e != nil && e.Offset < u.End; {
				at := e.Val(dwarf.AttrLocation)
				if _, expr := at.([]byte); at != nil && !expr {
					ranges += compareList(t, e, ours, d, b)
				}
				if e, err = r.Next(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if ranges < 4 {
			t.Errorf("%d ranges", ranges)
		}
	})
}

func compareList(t *testing.T, e *dwarf.Entry, ours *Locations, d *delve, b Base) (ranges int) {
	t.Helper()
	all := ours.Of(e, b, nil) // gcc has lists whose ranges are all empty
	for _, l := range all {
		for _, pc := range []uint64{l.Lo - 1, l.Lo, l.Hi - 1, l.Hi} {
			want := d.find(t, e.Val(dwarf.AttrLocation), b, pc)
			got, ok := ours.At(e, b, pc)
			if ok != (want != nil) || ok && got != ours.Decode(want, b) {
				t.Errorf("entry 0x%x at 0x%x: %+v, %v; Delve has % x", e.Offset, pc, got, ok, want)
			}
		}
	}
	return len(all)
}

// TestSizesAreThoseOfTheLibrary checks that sizes of types are those that the standard library
// computes.
func TestSizesAreThoseOfTheLibrary(t *testing.T) {
	eachFixture(t, func(t *testing.T, f *elf.File) {
		data, err := Of(f).Data()
		if err != nil {
			t.Fatal(err)
		}
		tree, err := Of(f).Tree()
		if err != nil {
			t.Fatal(err)
		}
		types := 0
		for r := data.Reader(); ; {
			e, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			if e == nil {
				break
			}
			off := TypeOf(e)
			if off == 0 {
				continue
			}
			want, err := data.Type(off)
			if err != nil || want.Size() <= 0 {
				continue
			}
			types++
			if tree.Budget = 1 << 16; tree.Size(off) != want.Size() {
				t.Errorf("%v at 0x%x has %d bytes, not %d", want, off, want.Size(), tree.Size(off))
			}
			compareMembers(t, tree, off, want)
		}
		if types < 20 {
			t.Errorf("%d types", types)
		}
	})
}

// compareMembers compares the offsets of the members of a structure.
func compareMembers(t *testing.T, tree *Tree, off dwarf.Offset, want dwarf.Type) {
	s, ok := want.(*dwarf.StructType)
	if !ok {
		return
	}
	at := map[string]int64{}
	for _, m := range s.Field {
		at[m.Name] = m.ByteOffset
	}
	for _, m := range tree.Type(off).Members() {
		if want, ok := at[m.Name]; ok && m.Name != "" && m.Bits == 0 && m.Start != want {
			t.Errorf("%s of %v begins at %d, not at %d", m.Name, s, m.Start, want)
		}
	}
}
