package variable

import (
	"bytes"
	"github.com/google/go-cmp/cmp"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	dw "github.com/tracepredict/tracepredict/probes/dwarf"
	bin "github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/elftest"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// Examining only the functions that the scan of bytes selects finds the same as examining all
// functions.
func TestScanMissesNothing(t *testing.T) {
	main := "int drive(int); int main(int argc, char **argv) { (void)argv; return drive(argc); }\n"
	for _, flags := range [][]string{{"-static", "-no-pie", "-fno-pie"}, {"-static-pie"}} {
		f := build(t, "gcc", append(flags, "-O2"), []string{"x.c", "m.c"}, map[string]string{"x.c": accessSource, "m.c": main})
		mentioned := everyFixedOperand(t, f)
		var checked int
		for _, s := range f.Symbols() {
			if s.Kind != bin.Object || s.Addr == 0 || s.Size == 0 || s.Size > 8 {
				continue
			}
			v := Variable{Name: s.Name, File: f, Addr: s.Addr, Size: int(s.Size)}
			var want, got []uint64
			for _, m := range mentioned {
				if v.Overlaps(m.addr, m.size) {
					want = append(want, m.at)
				}
			}
			if len(want) == 0 || checked > 150 {
				continue
			}
			checked++
			for _, a := range accesses(t, f, v).Accesses {
				if a.Base == insn.NoReg {
					got = append(got, a.Addr)
				}
			}
			slices.Sort(want)
			if !slices.Equal(got, slices.Compact(want)) {
				t.Errorf("%v %s: got %x, want %x", flags, s.Name, got, want)
			}
		}
		if checked < 50 {
			t.Errorf("%v: only %d variables to check", flags, checked)
		}
	}
}

type operand struct {
	at, addr uint64
	size     int
}

// everyFixedOperand returns the operands at fixed addresses in all functions, in the order of
// addresses.
func everyFixedOperand(t *testing.T, f *bin.File) (out []operand) {
	t.Helper()
	for _, fn := range f.Functions() {
		code, err := f.Bytes(fn.Lo, int(fn.Hi-fn.Lo))
		if err != nil {
			t.Fatal(err)
		}
		for pos := 0; pos < len(code); {
			in, err := insn.Decode(f.Arch(), code[pos:], fn.Lo+uint64(pos))
			if err != nil {
				break
			}
			for _, m := range in.Mem[:in.NMem] {
				if in.Known && m.Fixed && !m.Segment && (m.Read || m.Write) {
					out = append(out, operand{in.Addr, m.Addr, m.Size})
				}
			}
			pos += in.Len
		}
	}
	return out
}

// A name matches every suffix of itself, with and without its optional components, and no other
// name.
func TestMatchProperty(t *testing.T) {
	part := rapid.Custom(func(t *rapid.T) component {
		return component{rapid.SampledFrom([]string{"a", "b", "c", "(anonymous namespace)"}).Draw(t, "name"), false}
	})
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SliceOfN(part, 1, 5).Draw(t, "parts")
		var plain []string
		for i := range name {
			name[i].optional = strings.HasPrefix(name[i].name, "(") && i < len(name)-1
			plain = append(plain, squeeze(name[i].name))
		}
		from := rapid.IntRange(0, len(name)-1).Draw(t, "from")
		var short []string
		for _, c := range name[from:] {
			if !c.optional {
				short = append(short, squeeze(c.name))
			}
		}
		for _, path := range [][]string{plain[from:], short} {
			if got := match(path, name); got == noMatch {
				t.Fatalf("%v does not match %v", path, name)
			} else if from == 0 && got != fullMatch {
				t.Fatalf("%v matches %v, but not in full", path, name)
			}
		}
		if match(append([]string{"zzz"}, plain...), name) != noMatch {
			t.Fatal("a longer name matches")
		}
	})
}

// A join does not depend on the order, and joining the same value again changes nothing (so the
// flow ends).
func TestJoinProperty(t *testing.T) {
	reg := rapid.Custom(func(t *rapid.T) value {
		h := value{kind: valueKind(rapid.IntRange(0, 5).Draw(t, "how"))}
		if h.exact() || h.kind == framed {
			h.addr = rapid.Uint64Range(98, 101).Draw(t, "addr")
		}
		if h.kind == inside || h.kind == maybe || h.kind == known && h.addr > 99 {
			h.makers = []uint64{rapid.Uint64Range(1, 3).Draw(t, "made")}
		}
		return h
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := reg.Draw(t, "a"), reg.Draw(t, "b"), reg.Draw(t, "c")
		if x, y := join(a, b), join(b, a); !x.same(y) {
			t.Fatalf("%v, %v", x, y)
		}
		if x := join(a, b); !join(x, b).same(x) || !join(x, a).same(x) {
			t.Fatalf("not idempotent: %v", x)
		}
		if x, y := join(join(a, b), c), join(a, join(b, c)); !x.same(y) {
			t.Fatalf("not associative: %v, %v", x, y)
		}
	})
}

func TestFinderIsReadOnly(t *testing.T) {
	f := build(t, "gcc", []string{"-g", "-O0"}, []string{"a.c", "sub/b.c"}, cSources)
	fd := newFinder([]*bin.File{f})
	first, err := fd.find("hits", false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fd.find("shared_name", false); err == nil {
		t.Error("ambiguous name found")
	}
	again, err := fd.find("hits", false)
	if err != nil || !cmp.Equal(again, first, cmp.AllowUnexported(Variable{}), cmp.Comparer(func(a, b *bin.File) bool { return a == b })) {
		t.Errorf("%+v, then %+v, %v", first, again, err)
	}
}

func FuzzParseName(f *testing.F) {
	for _, s := range []string{
		"hits", "a.c:hits", "dir/a.c:12:f::x", "ns::Pool<a::b>::x", "::x", "f.x", "a:::b", "(anonymous namespace)::x", "server.stats.hits", "slots[3].state",
		"file.c:table[2][1]", "p->x", "a.c:p->x", "sym+16:u32", "hits:u32", "operator[]::n", "a[0x10", "a]1]", "a[1]::b", "Q::operator->().x", "*p", "a[18446744073709551615]",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		readings, err := parseNames(name)
		if err != nil {
			if err.Error() == "" || len(readings) != 0 {
				t.Error("an error without text, or with a result")
			}
			return
		}
		if len(readings) == 0 {
			t.Errorf("%q: neither an error nor a reading", name)
		}
		for _, q := range readings {
			checkQuery(t, name, q)
		}
		near(name, []string{name, "x::" + name})
	})
}

func checkQuery(t *testing.T, name string, q query) {
	heads := q.heads()
	if len(heads) == 0 || q.line < 0 || q.raw == nil && q.offset > 0 {
		t.Fatalf("%q: %+v", name, q)
	}
	for _, k := range heads {
		path := q.head(k)
		if slices.Contains(path, "") || k < 1 {
			t.Errorf("%q: %+v", name, q)
		}
		var parts []component
		for _, p := range path {
			parts = append(parts, component{p, false})
		}
		if match(path, parts) != fullMatch {
			t.Errorf("%q does not match itself: %v", name, path)
		}
		if tail := q.tail(k); len(path) == len(q.parts) && strings.ContainsAny(tail, ".>") {
			t.Errorf("%q: %q is left of %v", name, tail, path)
		}
	}
	q.matchFile(name)
	q.rest()
}

// Any bytes may be declared to be a function.
func FuzzFunction(f *testing.F) {
	f.Add([]byte{0x48, 0x8d, 0x0d, 0xf9, 0x0f, 0, 0, 0xff, 0x01, 0x75, 0xfc, 0xc3}, false)
	f.Add([]byte{0x48, 0x8b, 0x05, 0, 0, 0, 0, 0xff, 0xe0}, true)
	f.Add([]byte{0, 0, 0, 0xb0, 0, 0, 0x40, 0xb9, 0xc0, 3, 0x5f, 0xd6}, true)
	f.Fuzz(func(t *testing.T, code []byte, arm bool) {
		if len(code) > 4096 {
			return
		}
		tg := &target{arch: insn.AMD64, v: Variable{Addr: 0x2000, Size: 8}, direct: true, fixed: len(code)%2 == 0, slots: map[uint64]uint64{0x1007: 0x2000}}
		if arm {
			tg.arch = insn.ARM64
		}
		tg.whole, tg.near = tg.v.enclosing(), tg.v.enclosing()
		if len(code)%3 == 0 {
			tg.whole, tg.near = bin.Range{Lo: 0x1ff0, Hi: 0x2010}, bin.Range{Lo: 0x1fd0, Hi: 0x2030}
		}
		c := newCollector(tg)
		fn := bin.Range{Lo: 0x1000, Hi: 0x1000 + uint64(len(code))}
		c.follow(c.known().decode(fn, code))
		for _, a := range c.result().Accesses {
			if !fn.Contains(a.Addr) || !a.Inside && !tg.v.Overlaps(tg.v.Addr+uint64(a.Offset), a.Width) {
				t.Errorf("%+v", a)
			}
		}
	})
}

// An entry whose sibling is itself, or an entry before it, does not make the walk endless.
func TestSiblingLeadsBack(t *testing.T) {
	seed, err := fuzzSeed()
	if err != nil {
		t.Fatal(err)
	}
	file, err := bin.New(bytes.NewReader(seed), int64(len(seed)), "seed")
	if err != nil {
		t.Fatal(err)
	}
	info, err := dw.Of(file).Section("info")
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(seed, info)
	refused := 0
	for i := range info {
		damaged := bytes.Clone(seed)
		damaged[at+i] = byte(i / 2)
		f, err := bin.New(bytes.NewReader(damaged), int64(len(damaged)), "damaged")
		if err != nil {
			continue
		}
		if _, err := newIndex(f); err != nil {
			refused++
		}
		if v, err := Find(f, "hits"); err == nil {
			if _, err := Accesses(f, v); err != nil {
				t.Log(err)
			}
		}
	}
	if refused == 0 {
		t.Error("no damage was noticed")
	}
}

// A randomly damaged program yields an error or a result, after a short time.
func TestDamagedProgram(t *testing.T) {
	seed, err := fuzzSeed()
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		data := bytes.Clone(seed)
		for range rapid.IntRange(1, 6).Draw(t, "bytes") {
			data[rapid.IntRange(0, len(data)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
		}
		f, err := bin.New(bytes.NewReader(data), int64(len(data)), "damaged")
		if err != nil {
			return
		}
		for _, name := range []string{"hits", "count", "busy", "nothing"} {
			if v, err := Find(f, name); err == nil {
				if _, err := Accesses(f, v); err != nil {
					t.Log(err)
				}
			}
		}
	})
}

var fuzzSeed = sync.OnceValues(func() ([]byte, error) { return os.ReadFile("testdata/seed.elf") })

// Any bytes may be declared to be a program.
func FuzzFind(f *testing.F) {
	seed, err := fuzzSeed()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed, "hits")
	f.Fuzz(func(t *testing.T, data []byte, name string) {
		file, err := bin.New(bytes.NewReader(data), int64(len(data)), "fuzz")
		if err != nil {
			return
		}
		named := NewNames(file)
		for _, n := range []string{name, "hits", "count", "busy"} {
			if v, err := Find(file, n); err == nil {
				named.Static(n, v.Addr, uint64(len(name)), true)
				if _, err := Accesses(file, v); err != nil {
					t.Log(err)
				}
			}
		}
	})
}

// FuzzPatched damages programs after their headers.
func FuzzPatched(f *testing.F) {
	seeds, err := elftest.Seeds()
	if err != nil {
		f.Fatal(err)
	}
	for i := range 3 * len(seeds) {
		f.Add(byte(i), []byte{byte(i + 4), 0, byte(7 * i), 0, byte(i), 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff}, "ns::busy")
	}
	f.Fuzz(func(t *testing.T, which byte, program []byte, name string) {
		b := elftest.Patch(seeds[int(which)%len(seeds)], program)
		file, err := bin.NewWith(bytes.NewReader(b), int64(len(b)), "patched", bin.Options{DebugDirs: []string{}})
		if err != nil {
			return
		}
		finder := newFinder([]*bin.File{file})
		for _, n := range []string{name, "hits", "turns", "total", "head", "busy", "Queue::depth", "start::l", "twice::count"} {
			v, err := finder.find(n, false)
			if err != nil {
				continue
			}
			if v.Size < 1 || v.Size > 8 || v.File != file {
				t.Errorf("%+v", v)
			}
			_, _ = Accesses(file, v)
		}
	})
}

// FuzzCensus takes the census of programs that were partly overwritten. The objects that it finds
// are in the file's writable data, in order, and accessed by its code.
func FuzzCensus(f *testing.F) {
	seeds, err := elftest.Seeds()
	if err != nil {
		f.Fatal(err)
	}
	for i := range 3 * len(seeds) {
		f.Add(byte(i), []byte{byte(i + 4), 0, byte(7 * i), 0, byte(i), 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff})
	}
	f.Fuzz(func(t *testing.T, which byte, program []byte) {
		b := elftest.Patch(seeds[int(which)%len(seeds)], program)
		file, err := bin.NewWith(bytes.NewReader(b), int64(len(b)), "patched", bin.Options{DebugDirs: []string{}})
		if err != nil {
			return
		}
		c, err := Survey(file)
		if err != nil {
			return
		}
		end := uint64(0)
		for _, v := range c.Variables {
			if v.Variable.Addr < end || v.Variable.Size < 1 || v.Variable.Name == "" || len(v.Accesses) == 0 {
				t.Errorf("%+v, behind 0x%x", v, end)
			}
			end = v.Variable.Addr
			for _, a := range v.Accesses {
				if !a.Func.Contains(a.Addr) || a.Offset >= int64(v.Variable.Size) || a.Offset+int64(max(a.Width, 1)) <= 0 {
					t.Errorf("%s: %+v", v.Variable.Name, a)
				}
			}
		}
	})
}
