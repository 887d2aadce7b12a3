package elf

import (
	"bytes"
	"encoding/binary"
	"os"
	"testing"

	"github.com/tracepredict/tracepredict/probes/elftest"
)

// FuzzPatched damages programs after their headers, and calls all methods of those that can be
// opened, also with hostile arguments.
func FuzzPatched(f *testing.F) {
	seeds, err := elftest.Seeds()
	if err != nil {
		f.Fatal(err)
	}
	for i := range 3 * len(seeds) {
		f.Add(byte(i), []byte{byte(i), 3, byte(7 * i), 0, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff}, uint64(i)<<60)
	}
	f.Fuzz(func(t *testing.T, which byte, program []byte, any uint64) {
		b := elftest.Patch(seeds[int(which)%len(seeds)], program)
		file, err := NewWith(bytes.NewReader(b), int64(len(b)), "patched", quiet)
		if err != nil {
			return
		}
		walk(file)
		checkLandmarks(t, file)
		ask(t, file, any)
	})
}

// ask calls methods of f with any as an address, an offset and a number, and closes f.
func ask(t *testing.T, f *File, any uint64) {
	for _, n := range []int{0, 1, 16, int(any)} {
		if b, err := f.Bytes(any, n); err == nil && len(b) > max(n, 0) {
			t.Errorf("%d bytes, not %d", len(b), n)
		}
	}
	if off, err := f.Offset(any); err == nil && off >= f.size {
		t.Errorf("0x%x is at offset 0x%x of %d bytes", any, off, f.size)
	}
	_, _ = f.Addr(any)
	f.FunctionAt(any)
	f.Lookup(string(binary.LittleEndian.AppendUint64(nil, any)))
	for _, r := range f.Functions() {
		if r.Lo >= r.Hi {
			t.Errorf("empty: %v", r)
		}
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	f.DebugPath()
}

// FuzzOpen calls every getter of files that can be opened.
func FuzzOpen(f *testing.F) {
	for _, flags := range [][]string{{"-g"}, {"-static", "-nostdlib", "-Wl,-e,main"}, {"-g", "-gz"}, {"-s"}} {
		b, err := os.ReadFile(build(f, "gcc", "tiny.c", flags...))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	b, err := os.ReadFile(build(f, "g++", "landing.cc", "-s", "-Wl,-z,pack-relative-relocs"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		if file, err := NewWith(bytes.NewReader(b), int64(len(b)), "fuzz", quiet); err == nil {
			walk(file)
			checkLandmarks(t, file)
		}
	})
}

// FuzzEhFrame checks that extents are returned in order and are never empty, and that a truncated
// table returns a prefix of them.
func FuzzEhFrame(f *testing.F) {
	file := open(f, build(f, "gcc", "plain.c"))
	s := file.elf.Section(".eh_frame")
	b, err := file.read(s.Offset, s.FileSize)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b, s.Addr, true, 7)
	f.Add(b, s.Addr, false, len(b)/2)
	f.Fuzz(func(t *testing.T, b []byte, addr uint64, stop bool, cut int) {
		table, _ := ehFrame(b, addr, binary.LittleEndian, stop)
		whole := table.extents
		for _, r := range whole {
			if r.Lo >= r.Hi {
				t.Fatalf("empty: %v", r)
			}
		}
		if cut < 0 || cut > len(b) {
			return
		}
		cutTable, _ := ehFrame(b[:cut], addr, binary.LittleEndian, stop)
		part := cutTable.extents
		if len(part) > len(whole) {
			t.Fatalf("%d entries of a part, %d of the whole", len(part), len(whole))
		}
		for i := range part {
			if part[i] != whole[i] {
				t.Fatalf("entry %d: %v, of the whole %v", i, part[i], whole[i])
			}
		}
		_, _ = ehFrameAddr(b, addr, binary.LittleEndian)
	})
}
