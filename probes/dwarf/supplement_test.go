package dwarf

import (
	"debug/dwarf"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/internal/testtool"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/elftest"
)

// supplemented compiles a program twice and runs dwz, which moves the debug information that both
// share to a third file. plain is the unchanged program.
func supplemented(t *testing.T, compile string, dwz ...string) (program, shared, plain string) {
	t.Helper()
	testtool.Need(t, "gcc", "dwz")
	program = build(t, "gcc", "plain.c", strings.Fields(compile)...)
	other := build(t, "gcc", "plain.c", append(strings.Fields(compile), "-O0")...)
	plain, shared = program+".plain", program+".shared"
	run(t, "cp", program, plain)
	run(t, "dwz", append(dwz, "-m", shared, program, other)...)
	return program, shared, plain
}

// described returns the entries that have a name and a type, with the type, wherever they lie.
func described(t *testing.T, path string) map[string]bool {
	t.Helper()
	f := open(t, path)
	d, err := Of(f).Data()
	if err != nil {
		t.Fatal(err)
	}
	if p := f.Problems(); len(p) > 0 {
		t.Errorf("problems: %v", p)
	}
	out := map[string]bool{}
	for r := d.Reader(); ; {
		e, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if e == nil {
			return out
		}
		name, _ := e.Val(dwarf.AttrName).(string)
		off, typed := e.Val(dwarf.AttrType).(dwarf.Offset)
		if e.Tag == dwarf.TagCompileUnit || e.Tag == dwarf.TagPartialUnit || name == "" || !typed {
			continue
		}
		typ, err := d.Type(off)
		if err != nil {
			t.Fatalf("type of %s: %v", name, err)
		}
		out[e.Tag.String()+" "+name+" of "+typ.String()] = true
	}
}

// Debug information that dwz has moved reads as before.
func TestSupplementaryFile(t *testing.T) {
	for _, c := range []struct{ name, compile, dwz string }{
		{"dwarf 4", "-gdwarf-4", "-q"}, {"dwarf 5", "-gdwarf-5", "-q"}, {"debug_sup", "-gdwarf-5", "--dwarf-5"},
		{"compressed", "-gdwarf-5", "-q"},
	} {
		t.Run(c.name, func(t *testing.T) {
			program, _, plain := supplemented(t, c.compile, c.dwz)
			if c.name == "compressed" {
				run(t, "objcopy", "--compress-debug-sections", program)
			}
			got, want := described(t, program), described(t, plain)
			for what := range want {
				if !got[what] {
					t.Errorf("%s is not there", what)
				}
			}
			if len(got) != len(want) || len(want) == 0 {
				t.Errorf("%d kinds of entries, not %d", len(got), len(want))
			}
			f := open(t, program)
			if b, err := Of(f).Section("info"); err != nil || len(b) != len(Of(f).source.sections["info"]) || !Of(f).source.joined {
				t.Errorf(".debug_info: %d bytes, joined %v, %v", len(b), Of(f).source.joined, err)
			}
		})
	}
}

// The supplementary file is found by its path, and by its build identifier.
func TestSupplementaryFilePlaces(t *testing.T) {
	for _, c := range []struct {
		name  string
		place func(dir, id string) string
		link  string
	}{
		{"path", func(dir, _ string) string { return filepath.Join(dir, ".dwz", "shared.debug") }, "/usr/lib/debug/.dwz/shared.debug"},
		{"build-id", func(dir, id string) string { return filepath.Join(dir, ".build-id", id[:2], id[2:]+".debug") }, "/nowhere/shared.debug"},
	} {
		t.Run(c.name, func(t *testing.T) {
			program, shared, _ := supplemented(t, "-g", "-q", "-M", c.link)
			dir := t.TempDir()
			l, ok := (&container{File: open(t, program)}).supplementLink()
			if !ok || l.name != c.link || len(l.id) != 40 {
				t.Fatalf("link %+v", l)
			}
			move(t, shared, c.place(dir, l.id))
			f := openWith(t, program, elf.Options{DebugDirs: []string{dir}})
			if _, err := Of(f).Data(); err != nil || !Of(f).source.joined {
				t.Errorf("not read: %v, %v", err, Of(f).source.supplementErr)
			}
		})
	}
}

// Without a matching supplementary file, the rest is read, and the problem is reported.
func TestSupplementaryFileOfAnotherBuild(t *testing.T) {
	program, shared, _ := supplemented(t, "-g", "-q")
	_, other, _ := supplemented(t, "-gdwarf-4", "-q")
	check := func(kind error) {
		t.Helper()
		f := open(t, program)
		_, missing, err := Of(f).Parts()
		if err != nil || Of(f).source.joined || len(missing) != 1 || !errors.Is(Of(f).source.supplementErr, kind) || !strings.Contains(missing[0], filepath.Base(shared)) {
			t.Errorf("joined %v, missing %q: %v", Of(f).source.joined, missing, err)
		}
		if p := f.Problems(); len(p) != 1 {
			t.Errorf("problems: %v", p)
		}
	}
	if err := os.Rename(other, shared); err != nil {
		t.Fatal(err)
	}
	check(elf.ErrDebugFile)
	if err := os.Remove(shared); err != nil {
		t.Fatal(err)
	}
	check(os.ErrNotExist)
}

// small returns a main file with one entry of the given forms and value, and a supplementary file
// of one entry.
func small(version uint16, forms []byte, value ...any) (main, sup sections) {
	unit := func(content []byte) []byte {
		head := elftest.LE(version, uint32(0), uint8(8))
		if version >= 5 {
			head = elftest.LE(version, uint8(1), uint8(8), uint32(0))
		}
		return append(elftest.LE(uint32(len(head)+len(content))), append(head, content...)...)
	}
	table := append([]byte{1, 0x34, 0}, forms...)
	main = sections{"info": unit(append([]byte{1}, elftest.LE(value...)...)), "abbrev": append(table, 0, 0, 0), "str": []byte("a\x00")}
	sup = sections{"info": unit(elftest.LE(uint8(1), uint32(1))), "abbrev": []byte{1, 0x34, 0, 3, 0x0e, 0, 0, 0}, "str": []byte("\x00far\x00"), "line": []byte{1}}
	return main, sup
}

func TestSupplementRefuses(t *testing.T) {
	altRef, altStr := []byte{0x49, 0xa0, 0x3e}, []byte{3, 0xa1, 0x3e}
	for _, c := range []struct {
		name    string
		version uint16
		forms   []byte
		value   any
		ok      bool
	}{
		{"reference", 4, altRef, uint32(12), true},
		{"string", 4, altStr, uint32(1), true},
		{"sup reference", 5, []byte{0x49, 0x1c}, uint32(12), true},
		{"sup string", 5, []byte{3, 0x1d}, uint32(1), true},
		{"indirect", 4, []byte{3, 0x16}, append([]byte{0xa1, 0x3e}, 1, 0, 0, 0), true},
		{"reference of another size", 5, []byte{0x49, 0x24}, uint64(12), false},
		{"reference of DWARF 2", 2, altRef, uint32(12), false},
		{"reference beyond the end", 4, altRef, uint32(math.MaxUint32), false},
		{"string beyond the end", 4, altStr, uint32(99), false},
		{"unknown form", 4, []byte{3, 0x7f}, uint32(0), false},
		{"cut short", 4, altStr, uint8(0), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			main, sup := small(c.version, c.forms, c.value)
			all, err := supplement(main, sup)
			if (err == nil) != c.ok {
				t.Fatalf("error: %v", err)
			}
			if !c.ok {
				return
			}
			d, err := all.data()
			if err != nil {
				t.Fatal(err)
			}
			e, err := d.Reader().Next()
			if err != nil || e == nil || len(e.Field) != 1 {
				t.Fatalf("%v, %v", e, err)
			}
			switch v := e.Field[0].Val.(type) {
			case string:
				if v != "far" {
					t.Errorf("string %q", v)
				}
			case dwarf.Offset:
				if v != dwarf.Offset(len(main["info"])+12) {
					t.Errorf("reference to 0x%x", v)
				}
			default:
				t.Errorf("value %v", v)
			}
		})
	}
}

// FuzzSupplement joins damaged sections, and reads the result completely if they pass.
func FuzzSupplement(f *testing.F) {
	for _, forms := range [][]byte{{0x49, 0xa0, 0x3e}, {3, 0xa1, 0x3e}, {3, 0x16}} {
		main, sup := small(4, forms, uint32(12))
		f.Add(main["info"], main["abbrev"], sup["info"], sup["abbrev"])
	}
	main, sup := small(5, []byte{0x49, 0x1c}, uint32(12))
	f.Add(main["info"], main["abbrev"], sup["info"], sup["abbrev"])
	f.Fuzz(func(t *testing.T, info, abbrev, supInfo, supAbbrev []byte) {
		main := sections{"info": info, "abbrev": abbrev, "str": []byte("a\x00"), "types": info}
		sup := sections{"info": supInfo, "abbrev": supAbbrev, "str": []byte("\x00far\x00"), "line": supInfo}
		if max(len(info), len(abbrev), len(supInfo), len(supAbbrev)) > 1<<12 || main.check() != nil || sup.check() != nil {
			return
		}
		before := string(info) + string(abbrev) + string(supInfo) + string(supAbbrev)
		all, err := supplement(main, sup)
		if before != string(info)+string(abbrev)+string(supInfo)+string(supAbbrev) {
			t.Fatal("the sections were changed")
		}
		if err != nil {
			return
		}
		if len(all["info"]) != len(info)+len(supInfo) || len(all["types"]) != len(info) {
			t.Fatalf("%d bytes", len(all["info"]))
		}
		if all.check() == nil {
			readAll(all)
		}
	})
}

func readAll(s sections) {
	defer func() { _ = recover() }() // as users of the package do
	d, err := s.data()
	if err != nil {
		return
	}
	for es := NewEntries(d.Reader(), len(s["info"])); ; {
		if e, err := es.Next(); err != nil || e == nil {
			return
		}
	}
}
