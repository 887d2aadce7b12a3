package elf

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	_ "github.com/tracepredict/tracepredict/internal/fixedseed"

	"github.com/tracepredict/tracepredict/probes/insn"
)

func TestWhatAFileIs(t *testing.T) {
	eachVariant(t, func(t *testing.T, v variant, path string) {
		f := open(t, path)
		if f.PIE() != v.pie || f.Static() != v.static {
			t.Errorf("PIE %v, static %v; want %v, %v", f.PIE(), f.Static(), v.pie, v.static)
		}
		if (f.Interp() == "") != v.static {
			t.Errorf("interpreter %q", f.Interp())
		}
		if f.HasSymbols() == (v.name == "stripped") {
			t.Errorf("HasSymbols %v", f.HasSymbols())
		}
		if !slices.ContainsFunc(f.Text(), func(r Range) bool { return r.Contains(f.Entry()) }) {
			t.Errorf("entry 0x%x is not in text %v", f.Entry(), f.Text())
		}
		if f.Name() != path || f.Arch() == insn.ArchUnknown {
			t.Errorf("name %q, arch %v", f.Name(), f.Arch())
		}
		if id := f.BuildID(); id != "" && !strings.Contains(run(t, "readelf", "-n", path), id) {
			t.Errorf("build id %q is not readelf's", id)
		}
		if v.name == "no-pie" && !slices.Contains(f.Needed(), "libc.so.6") {
			t.Errorf("needed: %v", f.Needed())
		}
	})
}

func TestOffsetsAndBytes(t *testing.T) {
	eachVariant(t, func(t *testing.T, _ variant, path string) {
		f := open(t, path)
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, fn := range f.Functions() {
			off, err := f.Offset(fn.Lo)
			if err != nil {
				t.Fatal(err)
			}
			if back, err := f.Addr(off); err != nil || back != fn.Lo {
				t.Fatalf("0x%x is at offset 0x%x, which is 0x%x (%v)", fn.Lo, off, back, err)
			}
			code, err := f.Bytes(fn.Lo, int(fn.Hi-fn.Lo))
			if err != nil || !bytes.Equal(code, content[off:off+fn.Hi-fn.Lo]) {
				t.Fatalf("bytes of %v differ from the file's: %v", fn, err)
			}
		}
		for _, s := range f.Lookup("shared") { // in .bss: no content
			if _, err := f.Bytes(s.Addr, 4); !errors.Is(err, ErrAddress) {
				t.Errorf("bytes of .bss: %v", err)
			}
		}
		if _, err := f.Bytes(f.Entry(), -1); !errors.Is(err, ErrAddress) {
			t.Errorf("-1 bytes: %v", err)
		}
		rest, err := f.Bytes(f.Entry(), 1<<40)
		if err != nil || uint64(len(rest)) != f.available(f.Entry()) {
			t.Errorf("all bytes: %d, %v", len(rest), err)
		}
		if _, err := f.Addr(1 << 60); !errors.Is(err, ErrAddress) {
			t.Errorf("offset beyond the file: %v", err)
		}
	})
}

// withoutSections blanks the section table, as sstrip does.
func withoutSections(t *testing.T, path string) *File {
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	clear(b[40:48])
	clear(b[58:64])
	f, err := New(bytes.NewReader(b), int64(len(b)), "sectionless")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestWithoutSectionHeaders(t *testing.T) {
	eachVariant(t, func(t *testing.T, v variant, path string) {
		whole, bare := open(t, path), withoutSections(t, path)
		frames, err := whole.frames()
		if err != nil {
			t.Fatal(err)
		}
		got, err := bare.frames()
		if err != nil {
			t.Fatal(err)
		}
		// The table of a static program continues after a terminator, and musl-gcc writes no
		// PT_GNU_EH_FRAME.
		if !v.static && v.compiler != "musl-gcc" {
			if diff := cmp.Diff(frames, got); diff != "" {
				t.Errorf("frames:\n%s", diff)
			}
		}
		if diff := cmp.Diff(whole.Undefined(), bare.Undefined()); diff != "" {
			t.Errorf("undefined:\n%s", diff)
		}
		plt := bare.PLTTargets()
		for at, name := range whole.PLTTargets() {
			if !v.static && plt[at] != name {
				t.Errorf("stub at 0x%x: %q, want %q", at, plt[at], name)
			}
		}
	})
}

func TestNonsenseSectionHeadersAreIgnored(t *testing.T) {
	b, err := os.ReadFile(build(t, "gcc", "sample.c"))
	if err != nil {
		t.Fatal(err)
	}
	binary.LittleEndian.PutUint16(b[62:], 0xfff0) // e_shstrndx
	f, err := New(bytes.NewReader(b), int64(len(b)), "odd")
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Problems()) == 0 || len(f.Functions()) == 0 {
		t.Errorf("problems %v, %d functions", f.Problems(), len(f.Functions()))
	}
}

// elfHeader returns the header of an empty ELF file.
func elfHeader(class elf.Class, data elf.Data, typ elf.Type, machine elf.Machine) []byte {
	b := make([]byte, ehdrSize)
	copy(b, elf.ELFMAG)
	b[elf.EI_CLASS], b[elf.EI_DATA], b[elf.EI_VERSION] = byte(class), byte(data), 1
	var order binary.ByteOrder = binary.LittleEndian
	if data == elf.ELFDATA2MSB {
		order = binary.BigEndian
	}
	order.PutUint16(b[16:], uint16(typ))
	order.PutUint16(b[18:], uint16(machine))
	order.PutUint32(b[20:], 1)
	order.PutUint16(b[52:], ehdrSize)
	return b
}

func TestRefusals(t *testing.T) {
	long := strings.Repeat("x", 100)
	for _, c := range []struct {
		name    string
		content []byte
		kind    error
		says    string
		interp  string
	}{
		{"empty", nil, ErrNotELF, "not an ELF file", ""},
		{"text", []byte("hello"), ErrNotELF, "not an ELF file", ""},
		{"script", []byte("#! /usr/bin/env python3\nprint()\n" + long), ErrNotELF, `run by "/usr/bin/env python3"`, "/usr/bin/env"},
		{"bare-script", []byte("#!\n"), ErrNotELF, "without an interpreter", ""},
		{"magic", []byte(elf.ELFMAG), ErrTruncated, "ends early", ""},
		{"i386", elfHeader(elf.ELFCLASS32, elf.ELFDATA2LSB, elf.ET_EXEC, elf.EM_386), ErrArch, "32-bit 386", ""},
		{"x32", elfHeader(elf.ELFCLASS32, elf.ELFDATA2LSB, elf.ET_EXEC, elf.EM_X86_64), ErrArch, "32-bit X86_64", ""},
		{"s390", elfHeader(elf.ELFCLASS64, elf.ELFDATA2MSB, elf.ET_EXEC, elf.EM_S390), ErrArch, "big-endian S390", ""},
		{"riscv", elfHeader(elf.ELFCLASS64, elf.ELFDATA2LSB, elf.ET_DYN, elf.EM_RISCV), ErrArch, "RISCV", ""},
		{"class", elfHeader(7, elf.ELFDATA2LSB, elf.ET_DYN, elf.EM_X86_64), ErrMalformed, "class 7", ""},
		{"object", elfHeader(elf.ELFCLASS64, elf.ELFDATA2LSB, elf.ET_REL, elf.EM_X86_64), ErrType, "object file", ""},
		{"core", elfHeader(elf.ELFCLASS64, elf.ELFDATA2LSB, elf.ET_CORE, elf.EM_X86_64), ErrType, "core dump", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), c.name)
			if err := os.WriteFile(path, c.content, 0o755); err != nil {
				t.Fatal(err)
			}
			_, err := Open(path)
			var e *Error
			if !errors.Is(err, c.kind) || !errors.As(err, &e) || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("%v; want %v saying %q", err, c.kind, c.says)
			}
			if e.Path != path || e.Interpreter != c.interp || e.Remedy == "" {
				t.Errorf("%+v", e)
			}
		})
	}
}

func TestOpenOfWhatIsNoFile(t *testing.T) {
	if _, err := Open(filepath.Join(t.TempDir(), "absent")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("absent: %v", err)
	}
	if _, err := Open(t.TempDir()); !errors.Is(err, ErrNotELF) {
		t.Errorf("directory: %v", err)
	}
	if _, err := New(bytes.NewReader(nil), -1, "negative"); !errors.Is(err, ErrTruncated) {
		t.Errorf("negative size: %v", err)
	}
	// A reader with fewer bytes than the stated size.
	h := elfHeader(elf.ELFCLASS64, elf.ELFDATA2LSB, elf.ET_DYN, elf.EM_X86_64)
	if _, err := New(bytes.NewReader(h[:40]), 4096, "short"); !errors.Is(err, ErrTruncated) {
		t.Errorf("short reader: %v", err)
	}
}

// quiet prevents hostile build identifiers from leading to debug files of this machine.
var quiet = Options{DebugDirs: []string{}}

func TestCutShortAtEveryLength(t *testing.T) {
	b, err := os.ReadFile(build(t, "gcc", "plain.c", "-g"))
	if err != nil {
		t.Fatal(err)
	}
	for n := range b {
		if _, err := NewWith(bytes.NewReader(b[:n]), int64(n), "cut", quiet); err == nil {
			t.Fatalf("%d of %d bytes: opened", n, len(b))
		}
	}
}

// walk calls every getter of the file.
func walk(f *File) {
	f.Arch()
	f.PIE()
	f.Static()
	f.Needed()
	f.BuildID()
	f.HasSymbols()
	f.Undefined()
	for _, r := range f.Text() {
		_, _ = f.Bytes(r.Lo, 16)
		_, _ = f.Offset(r.Lo)
		_, _ = f.Addr(r.Lo)
	}
	for _, s := range f.Symbols() {
		f.Lookup(s.Name)
		f.FunctionAt(s.Addr)
	}
	f.PLTTargets()
	f.GOTSlots()
	f.Landmarks()
	f.Pointers(0, ^uint64(0), "main")
	_, _ = f.UnseenSync()
	_, _ = f.DebugSymbols()
	_ = readDebugSections(f)
	f.DebugPath()
	f.Problems()
}

func TestRoot(t *testing.T) {
	path := build(t, "gcc", "plain.c")
	root := t.TempDir()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.MkdirAll(root+"/opt/app", 0o755),
		os.WriteFile(root+"/opt/app/prog", content, 0o755),
		os.Symlink("/opt/app/prog", root+"/prog"), // means root's /opt
		os.Symlink("../../../../../../../../"+path, root+"/out")); err != nil {
		t.Fatal(err)
	}
	f, err := OpenWith("/prog", Options{Root: root})
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip("openat2 needs Linux 5.6")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if f.Name() != "/prog" {
		t.Errorf("name %q", f.Name())
	}
	if _, err := OpenWith("/out", Options{Root: root}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a link led out of the root: %v", err)
	}
}

func ranges(limit uint64) *rapid.Generator[[]Range] {
	return rapid.SliceOf(rapid.Custom(func(t *rapid.T) Range {
		lo := rapid.Uint64Range(0, limit).Draw(t, "lo")
		return Range{lo, lo + rapid.Uint64Range(0, 12).Draw(t, "n")}
	}))
}

// TestRangeAlgebra compares the results with sets of single addresses.
func TestRangeAlgebra(t *testing.T) {
	const limit = 64
	rapid.Check(t, func(t *rapid.T) {
		a, b := ranges(limit).Draw(t, "a"), ranges(limit).Draw(t, "b")
		covered := func(rs []Range, x uint64) bool {
			return slices.ContainsFunc(rs, func(r Range) bool { return r.Contains(x) })
		}
		u, v := splitUnion(a), splitUnion(b)
		merged := mergeExtents(a, b)
		rest := subtract(u, v)
		for x := uint64(0); x < limit+16; x++ {
			inA, inB := covered(a, x), covered(b, x)
			if covered(u, x) != inA || covered(rest, x) != (inA && !inB) || covered(merged, x) != (inA || inB) {
				t.Fatalf("address %d: union %v, rest %v, merged %v", x, u, rest, merged)
			}
			if r, ok := rangeAt(u, x); ok != inA || ok && !r.Contains(x) {
				t.Fatalf("rangeAt %d: %v, %v", x, r, ok)
			}
		}
		for _, rs := range [][]Range{u, rest, merged} {
			for i, r := range rs {
				if r.Lo >= r.Hi || i > 0 && rs[i-1].Hi > r.Lo {
					t.Fatalf("not disjoint: %v", rs)
				}
			}
		}
		for _, r := range a { // every start is still the start of a range
			if r.Lo < r.Hi && !slices.ContainsFunc(u, func(s Range) bool { return s.Lo == r.Lo }) {
				t.Fatalf("start of %v is lost in %v", r, u)
			}
		}
	})
}
