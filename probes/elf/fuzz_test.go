package elf

import (
	"bytes"
	"debug/dwarf"
	"encoding/binary"
	"os"
	"testing"

	"github.com/tracepredict/tracepredict/probes/elftest"
)

// FuzzPatched damages programs behind their headers, and asks every question
// of what opens, with hostile arguments too.
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
		readDebug(t, file)
	})
}

// ask asks of any address, offset and number.
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

// readDebug reads all debug information as its users do: under recover.
func readDebug(t *testing.T, f *File) {
	defer func() { _ = recover() }()
	d, err := f.DWARF()
	if err != nil {
		return
	}
	info, err := f.DebugSection("info")
	if err != nil {
		t.Errorf("there is debug information, but: %v", err)
	}
	for _, u := range Units(info) {
		if u.Entry >= u.End || int(u.End) > len(info) {
			t.Errorf("unit %+v of %d bytes", u, len(info))
		}
	}
	r := d.Reader()
	for es, n := NewEntries(r, len(info)), 0; ; n++ {
		e, err := es.Next()
		if err != nil || e == nil {
			return
		}
		if n > len(info)+maxEmpty {
			t.Errorf("%d entries in %d bytes", n, len(info))
		}
		if e.Tag == dwarf.TagCompileUnit {
			readLines(f, e)
		}
	}
}

func readLines(f *File, unit *dwarf.Entry) {
	defer func() { _ = recover() }()
	r, err := f.LineReader(unit)
	if err != nil || r == nil {
		return
	}
	for e := (dwarf.LineEntry{}); r.Next(&e) == nil; {
	}
	r.Files()
}

// FuzzUnits judges headers and abbreviations without the file around them;
// what passes is read by the standard library.
func FuzzUnits(f *testing.F) {
	f.Add(elftest.Unit4(0, 1, 0), elftest.Abbrev(1, 0x34, false, 3, 8))
	f.Add(elftest.LE(uint32(8), uint16(5), uint8(1), uint8(8), uint32(0)), elftest.Abbrev(1, 0x11, true, 0x10, 0x17))
	f.Fuzz(func(t *testing.T, info, abbrev []byte) {
		if len(info) > 1<<12 || len(abbrev) > 1<<12 {
			return
		}
		b := elftest.Debug([]byte{0x90, 0xc3}, 0x1000, "info", info, "abbrev", abbrev, "str", []byte("a\x00"), "line", info).Bytes()
		file, err := NewWith(bytes.NewReader(b), int64(len(b)), "units", quiet)
		if err != nil {
			t.Fatal(err)
		}
		readDebug(t, file)
	})
}

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
