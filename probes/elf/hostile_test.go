package elf

import (
	"bytes"
	"compress/zlib"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/probes/elftest"
)

const codeAt = 0x10000

func code(b []byte) elftest.Segment {
	return elftest.Segment{Flags: elf.PF_R | elf.PF_X, Addr: codeAt, Data: b}
}

var someCode = bytes.Repeat([]byte{0x90}, 64)

// compressed is a section with SHF_COMPRESSED that claims a size.
func compressed(claim uint64, content []byte) []byte {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	if _, err := z.Write(content); err != nil {
		panic(err)
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	return append(elftest.LE(uint32(elf.COMPRESS_ZLIB), uint32(0), claim, uint64(1)), b.Bytes()...)
}

// TestLyingFiles checks that a file that claims too much is an error with its name and an offset,
// and that it costs almost nothing.
func TestLyingFiles(t *testing.T) {
	plain := elftest.File{Entry: codeAt, Segments: []elftest.Segment{code(someCode)}}
	patched := func(at int, v any) []byte {
		b := bytes.Clone(plain.Bytes())
		copy(b[at:], elftest.LE(v))
		return b
	}
	withSection := func(s elftest.Section) []byte {
		f := plain
		f.Sections = []elftest.Section{s}
		return f.Bytes()
	}
	symtab := func(size uint64) []byte {
		f := plain
		f.Sections = []elftest.Section{{Name: ".symtab", Type: elf.SHT_SYMTAB, Link: 2, Size: size}, {Name: ".strtab", Type: elf.SHT_STRTAB, Data: []byte{0}}}
		return f.Bytes()
	}
	symbols := func(f *File) error { f.Symbols(); return errors.Join(f.Problems()...) }
	bomb := make([]byte, 1<<20)
	for _, c := range []struct {
		name   string
		file   []byte
		length int64 // of the file, if it is sparse
		ask    func(*File) error
		want   string
	}{
		{"empty", nil, 0, nil, "is not an ELF file"},
		{"header-cut", plain.Bytes()[:40], 0, nil, "ELF header ends early (at file offset 0x28)"},
		{"program-headers-beyond", patched(32, uint64(1)<<63), 0, nil, "end beyond the file's"},
		{"too-many-program-headers", patched(56, uint16(0xffff)), 0, nil, "65535 program headers, Linux takes 1170 (at file offset 0x38)"},
		{"section-headers-beyond", patched(40, uint64(1)<<62), 0, nil, "end beyond the file's"},
		{"many-section-headers", func() []byte {
			b := patched(60, uint16(0))
			shoff := binary.LittleEndian.Uint64(b[40:])
			binary.LittleEndian.PutUint64(b[shoff+32:], 1<<32)
			return b
		}(), 1 << 40, nil, "4294967296 section headers, at most 131072 are read (at file offset 0x"},
		{"segment-beyond", patched(64+32, uint64(1)<<63), 0, nil, ""},
		{"segment-of-a-terabyte", patched(64+32, uint64(1)<<39), 1 << 40, nil, "more than 1073741824 bytes of code (at file offset 0x78)"},
		{"segments-share-code", (&elftest.File{Segments: []elftest.Segment{code(someCode), {Flags: elf.PF_X, Addr: 0x20000, Off: 64, Filesz: 512}, {Flags: elf.PF_X, Addr: 0x30000, Off: 64, Filesz: 512}}}).Bytes(), 700, nil, "more than 700 bytes of code"},
		{"symbols-of-2^63-bytes", symtab(1 << 63), 0, symbols, "section headers are unreadable"},
		{"symbols-of-2^62-bytes", symtab(1 << 62), 0, symbols, "read symbol table: lying: 4611686018427387904 bytes wanted at 0x"},
		{"symbols-of-a-terabyte", symtab(1 << 39), 1 << 40, symbols, "read symbol table: lying: 549755813888 bytes wanted at 0x"},
		{"compressed-section-names", (&elftest.File{Names: elf.SHF_COMPRESSED, Segments: plain.Segments}).Bytes(), 0, symbols, "the section names are compressed"},
		{"names-of-a-terabyte", func() []byte {
			b := plain.Bytes()
			shoff := binary.LittleEndian.Uint64(b[40:])
			binary.LittleEndian.PutUint64(b[shoff+64+32:], 1<<39)
			return b
		}(), 1 << 40, symbols, "549755813888 bytes of section names, at most 16777216 are read (at file offset 0x"},
		{"debug-section-of-a-terabyte", withSection(elftest.Section{Name: ".debug_info", Size: 1 << 39}), 1 << 40, readDebugSections, "549755813888 bytes wanted at 0x"},
		{"zip-bomb", withSection(elftest.Section{Name: ".debug_info", Flags: elf.SHF_COMPRESSED, Data: compressed(1<<40, bomb)}), 0, readDebugSections, "bytes and claims 1099511627776 (at file offset 0xb8)"},
		{"zip-bomb-that-says-so", withSection(elftest.Section{Name: ".debug_info", Flags: elf.SHF_COMPRESSED, Data: compressed(maxUnchecked+1<<20, bomb)}), 0, readDebugSections, "bytes and claims 17825792 (at file offset 0xb8)"},
		{"zip-bomb-of-gnu", withSection(elftest.Section{Name: ".zdebug_info", Data: append([]byte("ZLIB\x00\x00\x01\x00\x00\x00\x00\x00"), compressed(0, bomb)[24:]...)}), 0, readDebugSections, "and claims 1099511627776 (at file offset 0xb8)"},
		{"compressed-and-cut", withSection(elftest.Section{Name: ".debug_info", Flags: elf.SHF_COMPRESSED, Data: compressed(1000, make([]byte, 999))}), 0, readDebugSections, "section .debug_info: unexpected EOF (at file offset 0xb8)"},
		{"unknown-compression", withSection(elftest.Section{Name: ".debug_info", Flags: elf.SHF_COMPRESSED, Data: elftest.LE(uint32(77), uint32(0), uint64(9), uint64(1), uint64(0))}), 0, readDebugSections, "unknown compression type"},
		{"endless-notes", withSection(elftest.Section{Name: ".note", Type: elf.SHT_NOTE, Size: 1 << 39}), 1 << 40, func(f *File) error { f.BuildID(); return nil }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			length := max(c.length, int64(len(c.file)))
			var err error
			n := elftest.Allocated(func() {
				var f *File
				if f, err = NewWith(elftest.Sparse{Head: c.file, Length: length}, length, "lying", quiet); err == nil && c.ask != nil {
					err = c.ask(f)
				}
			})
			if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "lying: ")) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if n > 4<<20 {
				t.Errorf("allocated %d bytes", n)
			}
		})
	}
}

// TestSymbolsWithoutNames: symbols whose names lie outside of the string table are missed, which is said.
func TestSymbolsWithoutNames(t *testing.T) {
	var table []byte
	for _, name := range []uint32{0, 1, 7, 1 << 30} {
		table = append(table, elftest.LE(name, uint8(elf.STT_FUNC), uint8(0), uint16(1), uint64(codeAt), uint64(0))...)
	}
	f := elftest.File{Segments: []elftest.Segment{code(someCode)}, Sections: []elftest.Section{
		{Name: ".symtab", Type: elf.SHT_SYMTAB, Link: 2, Data: table}, {Name: ".strtab", Type: elf.SHT_STRTAB, Data: []byte("\x00here\x00")}}}
	b := f.Bytes()
	file, err := NewWith(bytes.NewReader(b), int64(len(b)), "lying", quiet)
	if err != nil {
		t.Fatal(err)
	}
	if all := file.Symbols(); len(all) != 1 || all[0].Name != "here" {
		t.Errorf("symbols %+v", all)
	}
	if err := errors.Join(file.Problems()...); err == nil || !strings.Contains(err.Error(), "2 symbols have no name in the string table") {
		t.Errorf("got %v", err)
	}
}

// TestSymbolsThatShareOneName has a symbol table of 24 MB in which every symbol has the same name
// of 64 KiB. Comparing these names would read terabytes.
func TestSymbolsThatShareOneName(t *testing.T) {
	long := append([]byte{0}, append(bytes.Repeat([]byte{'x'}, maxName-2), 0)...)
	var table []byte
	for i := range uint64(1 << 14) {
		table = append(table, elftest.LE(uint32(1+i%64), uint8(elf.STT_FUNC), uint8(0), uint16(1), codeAt+i, uint64(0))...)
	}
	f := elftest.File{Segments: []elftest.Segment{code(someCode)}, Sections: []elftest.Section{
		{Name: ".symtab", Type: elf.SHT_SYMTAB, Link: 2, Data: table}, {Name: ".strtab", Type: elf.SHT_STRTAB, Data: long}}}
	b := f.Bytes()
	file, err := NewWith(bytes.NewReader(b), int64(len(b)), "lying", quiet)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(file.Symbols()); n == 0 || n > 64 {
		t.Errorf("%d symbols", n)
	}
	if err := errors.Join(file.Problems()...); err == nil || !strings.Contains(err.Error(), "symbols share their names") {
		t.Errorf("got %v", err)
	}
}

// TestNamesWithoutEnd checks that a string table without NUL contains no names.
func TestNamesWithoutEnd(t *testing.T) {
	table := elftest.LE(uint32(1), uint8(elf.STT_FUNC), uint8(0), uint16(1), uint64(codeAt), uint64(8))
	f := elftest.File{Segments: []elftest.Segment{code(someCode)}, Sections: []elftest.Section{
		{Name: ".symtab", Type: elf.SHT_SYMTAB, Link: 2, Data: table}, {Name: ".strtab", Type: elf.SHT_STRTAB, Data: bytes.Repeat([]byte{'x'}, 1<<20)}}}
	b := f.Bytes()
	file, err := NewWith(bytes.NewReader(b), int64(len(b)), "lying", quiet)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(file.Symbols()); n != 0 {
		t.Errorf("%d symbols", n)
	}
}

// TestShrinkingFile checks that a file that is truncated while it is read yields an error with an
// offset, or an incomplete result. The file is read, never mapped.
func TestShrinkingFile(t *testing.T) {
	path := build(t, "gcc", "sample.c", "-g")
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	said := 0
	for _, reads := range []int{0, 1, 2, 3, 5, 8, 13, 21, 34} {
		for _, left := range []int{0, 100, len(content) / 2} {
			r := &elftest.Shrinking{Content: content, Reads: reads, Left: left}
			f, err := NewWith(r, int64(len(content)), "shrinking", quiet)
			if err == nil {
				walk(f)
				err = errors.Join(append(f.Problems(), readDebugSections(f))...)
			}
			if err != nil {
				said++
			}
			if err != nil && !strings.Contains(err.Error(), "shrinking") && !errors.Is(err, io.EOF) {
				t.Errorf("after %d reads, %d bytes: %v", reads, left, err)
			}
		}
	}
	if said == 0 {
		t.Error("nothing was said")
	}
}

// TestNoRegularFile checks that a FIFO does not block, and that a device is not read.
func TestNoRegularFile(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Skipf("make a FIFO: %v", err)
	}
	for _, path := range []string{fifo, "/dev/zero", t.TempDir()} {
		if _, err := Open(path); !errors.Is(err, ErrNotELF) || !strings.Contains(err.Error(), path+": is not a regular file") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestSparseFile has a file of a terabyte that uses no disk space.
func TestSparseFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sparse")
	f := elftest.File{Segments: []elftest.Segment{code(someCode)}, Sections: []elftest.Section{{Name: ".debug_info", Size: 1 << 39}, {Name: ".eh_frame", Size: 1 << 39}}}
	if err := os.WriteFile(path, f.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 1<<40); err != nil {
		t.Skipf("make a sparse file: %v", err)
	}
	var err error
	n := elftest.Allocated(func() {
		var file *File
		if file, err = OpenWith(path, quiet); err == nil {
			defer file.Close()
			walk(file)
			err = errors.Join(append(file.Problems(), readDebugSections(file))...)
		}
	})
	if err == nil || strings.Count(err.Error(), path) < 2 || strings.Count(err.Error(), "at file offset 0x") < 2 || !errors.Is(err, ErrTooLarge) {
		t.Errorf("got %v", err)
	}
	if n > 16<<20 {
		t.Errorf("allocated %d bytes", n)
	}
}
