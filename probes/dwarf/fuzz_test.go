package dwarf

import (
	"bytes"
	"debug/dwarf"
	"testing"

	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/elftest"
)

// FuzzPatched damages programs after their headers, and reads all debug information of those that
// can be opened.
func FuzzPatched(f *testing.F) {
	seeds, err := elftest.Seeds()
	if err != nil {
		f.Fatal(err)
	}
	for i := range 3 * len(seeds) {
		f.Add(byte(i), []byte{byte(i), 3, byte(7 * i), 0, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff}, uint64(i)<<60)
	}
	f.Fuzz(func(t *testing.T, which byte, program []byte, _ uint64) {
		b := elftest.Patch(seeds[int(which)%len(seeds)], program)
		file, err := elf.NewWith(bytes.NewReader(b), int64(len(b)), "patched", quiet)
		if err != nil {
			return
		}
		readDebug(t, file)
	})
}

// readDebug reads all debug information as its users do, and recovers from panics.
func readDebug(t *testing.T, f *elf.File) {
	defer func() { _ = recover() }()
	d, err := Of(f).Data()
	if err != nil {
		return
	}
	info, err := Of(f).Section("info")
	if err != nil {
		t.Errorf("there is debug information, but: %v", err)
	}
	for _, u := range units(info) {
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

func readLines(f *elf.File, unit *dwarf.Entry) {
	defer func() { _ = recover() }()
	r, err := Of(f).LineReader(unit)
	if err != nil || r == nil {
		return
	}
	for e := (dwarf.LineEntry{}); r.Next(&e) == nil; {
	}
	r.Files()
}

// FuzzUnits checks headers and abbreviations without the file around them. Data that passes is read
// by the standard library.
func FuzzUnits(f *testing.F) {
	f.Add(elftest.Unit4(0, 1, 0), elftest.Abbrev(1, 0x34, false, 3, 8))
	f.Add(elftest.LE(uint32(8), uint16(5), uint8(1), uint8(8), uint32(0)), elftest.Abbrev(1, 0x11, true, 0x10, 0x17))
	f.Fuzz(func(t *testing.T, info, abbrev []byte) {
		if len(info) > 1<<12 || len(abbrev) > 1<<12 {
			return
		}
		b := elftest.Debug([]byte{0x90, 0xc3}, 0x1000, "info", info, "abbrev", abbrev, "str", []byte("a\x00"), "line", info).Bytes()
		file, err := elf.NewWith(bytes.NewReader(b), int64(len(b)), "units", quiet)
		if err != nil {
			t.Fatal(err)
		}
		readDebug(t, file)
	})
}
