package binary

import (
	"bytes"
	"encoding/binary"
	"os"
	"testing"
)

// FuzzOpen walks every getter of whatever opens.
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

// FuzzEhFrame checks that what is read lies in order and is never empty, and
// that a table cut short gives a prefix.
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
