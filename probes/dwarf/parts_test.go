package dwarf

import (
	"bytes"
	"debug/dwarf"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/internal/testtool"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/elftest"
)

// splitFile returns a .dwo file, and a package made from it.
func splitFile(t testing.TB, compiler, packer string, flags ...string) (dwo, dwp []byte) {
	t.Helper()
	dir := t.TempDir()
	source := filepath.Join(dir, "s.c")
	if err := os.WriteFile(source, []byte("struct pair { int a; long b; } both; static enum { A, B } mode; int main(void) { return both.a + mode; }"), 0o644); err != nil {
		t.Fatal(err)
	}
	object, program := filepath.Join(dir, "s.o"), filepath.Join(dir, "s")
	run(t, compiler, append(flags, "-gsplit-dwarf", "-c", "-o", object, source)...)
	run(t, compiler, "-o", program, object)
	run(t, packer, "-e", program, "-o", program+".dwp")
	read := func(name string) []byte {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	return read(filepath.Join(dir, "s.dwo")), read(program + ".dwp")
}

func TestPackageIndexDamaged(t *testing.T) {
	index := func(words ...uint32) []byte {
		var b []byte
		for _, w := range words {
			b = binary.LittleEndian.AppendUint32(b, w)
		}
		return b
	}
	b := (&elftest.File{}).Bytes()
	empty, err := elf.New(bytes.NewReader(b), int64(len(b)), "x.dwp")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		b    []byte
		want string
	}{
		{"cut", index(2, 1), "cut short"},
		{"version", index(9, 1, 1, 1), "version 9"},
		{"columns", index(2, 1<<31, 1, 1, 0, 0, 0), "cut short"},
		{"units", index(2, 1, 1<<31, 1, 0, 0, 0), "cut short"},
		{"slots", index(5, 1, 1, 1<<31, 0, 0, 0), "cut short"},
		{"beyond", index(2, 1, 1, 1, 7, 0, 1, columnInfo, 100, 100), "names bytes 100 to 200"},
		{"none", nil, ""},
		{"row of none", index(2, 1, 1, 1, 7, 0, 9, columnInfo, 0, 0), ""},
	} {
		f := &container{File: empty, kept: sections{"cu_index": c.b, "info.dwo": make([]byte, 50)}}
		_, err := f.packageIndex("cu_index")
		if c.want == "" && err != nil || c.want != "" && (err == nil || !errors.Is(err, elf.ErrMalformed) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// plainForms changes forms in place, and nothing else.
func TestPlainForms(t *testing.T) {
	in := []byte{1, 0x11, 1, 0x03, 0x82, 0x3e, 0x11, 0x81, 0x3e, 0x76, 0x21, 0x80, 0x7f, 0x55, 0x23, 0, 0, 2, 0x34, 0, 0x11, 0x29, 0, 0, 0, 0, 3, 0x24, 0, 0x3e, 0x0b, 0, 0, 0}
	want := []byte{1, 0x11, 1, 0x03, 0x9a, 0x00, 0x11, 0x8f, 0x00, 0x76, 0x21, 0x80, 0x7f, 0x55, 0x0f, 0, 0, 2, 0x34, 0, 0x11, 0x0b, 0, 0, 0, 0, 3, 0x24, 0, 0x3e, 0x0b, 0, 0, 0}
	if got := plainForms(in); !bytes.Equal(got, want) {
		t.Errorf("got  % x\nwant % x", got, want)
	}
}

// FuzzParts reads any file as a file of split units and as a package of them.
func FuzzParts(f *testing.F) {
	f.Add([]byte{})
	for _, c := range []struct{ compiler, packer, flags string }{{"gcc", "dwp", "-gdwarf-4"}, {"gcc", "dwp", "-gdwarf-4 -fdebug-types-section"}, {"clang-19", "llvm-dwp-19", "-gdwarf-5"}} {
		if testtool.Missing(c.compiler) != "" || testtool.Missing(c.packer) != "" {
			continue // one seed less
		}
		dwo, dwp := splitFile(f, c.compiler, c.packer, strings.Fields(c.flags)...)
		f.Add(dwo)
		f.Add(dwp)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		unitsOf("info", b)
		unitsOf("types", b)
		plainForms(b)
		file, err := elf.NewWith(bytes.NewReader(b), int64(len(b)), "fuzz.dwo", elf.Options{DebugDirs: []string{}, DebugOnly: true})
		if err != nil {
			return
		}
		d := &container{File: file, kept: sections{}}
		for _, name := range []string{"cu_index", "tu_index"} {
			units, _ := d.packageIndex(name)
			for _, c := range units {
				p, err := d.newPart(c, ".dwo", c.version < 5 && name == "tu_index")
				walkPart(p, err)
			}
		}
		for _, name := range []string{"info.dwo", "types.dwo"} {
			for _, info := range d.sectionsOf(name) {
				p, err := d.newPart(contributions{info: info}, ".dwo", name == "types.dwo")
				walkPart(p, err)
			}
		}
	})
}

// walkPart reads all entries, as package variable does.
func walkPart(p Part, err error) {
	defer func() { _ = recover() }() // the standard library's reader may panic
	if err != nil {
		return
	}
	p.id()
	r := p.Data.Reader()
	entries := NewEntries(r, p.Size)
	for _, u := range p.Units {
		r.Seek(u.Entry)
		for depth := 0; ; {
			e, err := entries.Next()
			if err != nil {
				return
			}
			if e == nil {
				break
			}
			if _ = e.Val(dwarf.AttrName); e.Tag == 0 {
				depth--
			} else if e.Children {
				depth++
			}
			if depth <= 0 {
				break
			}
		}
	}
}
