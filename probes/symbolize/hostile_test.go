package symbolize

import (
	"bytes"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/elftest"
)

const codeAt = 0x10000

func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func opened(t *testing.T, f *elftest.File) *elf.File {
	t.Helper()
	b := f.Bytes()
	file, err := elf.NewWith(bytes.NewReader(b), int64(len(b)), "lying", elf.Options{DebugDirs: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	return file
}

var someCode = bytes.Repeat([]byte{0x90}, 64)

// TestUnitsThatShareOneLongList checks that the number of address ranges that are read is bounded,
// those of code that the linker discarded included.
func TestUnitsThatShareOneLongList(t *testing.T) {
	var list, units []byte
	for i := range uint64(10000) {
		list = append(list, elftest.LE(0x90000000+16*i, 0x90000008+16*i)...)
	}
	for range 400 {
		units = append(units, elftest.Unit4(0, 1, 0, 0, 0, 0)...)
	}
	abbrev := append(elftest.Abbrev(1, 0x11, false, 0x55, 0x17), 0) // DW_TAG_compile_unit, DW_AT_ranges, DW_FORM_sec_offset
	table := New(opened(t, elftest.Debug(someCode, codeAt, "info", units, "abbrev", abbrev, "ranges", append(list, make([]byte, 16)...))))
	if err := problem(table); err == nil || !strings.Contains(err.Error(), "address ranges") {
		t.Errorf("got %v", err)
	}
	if f := table.Frames(codeAt); len(f) != 1 {
		t.Errorf("%v", f)
	}
}

// TestFunctionsThatReferInCircles has functions whose abstract origins are each other.
func TestFunctionsThatReferInCircles(t *testing.T) {
	abbrev := slices.Concat(
		elftest.Abbrev(1, 0x11, true, 0x11, 0x01, 0x12, 0x06),              // a unit: low_pc addr, high_pc data4
		elftest.Abbrev(2, 0x2e, false, 0x31, 0x13, 0x11, 0x01, 0x12, 0x06), // a function: abstract_origin ref4, low_pc, high_pc
		[]byte{0})
	const first = elftest.UnitHeader4 + 13
	body := elftest.LE(uint8(1), uint64(codeAt), uint32(64),
		uint8(2), uint32(first+17), uint64(codeAt), uint32(32),
		uint8(2), uint32(first), uint64(codeAt+32), uint32(32), uint8(0))
	table := New(opened(t, elftest.Debug(someCode, codeAt, "info", elftest.Unit4(0, body...), "abbrev", abbrev)))
	for _, addr := range []uint64{codeAt, codeAt + 40} {
		if f := table.Frames(addr); len(f) != 1 || f[0].Function != "" {
			t.Errorf("%v", f)
		}
	}
}

// TestLineProgramWithoutEnd has a line program in which each byte makes a row. It checks that the
// rows are cut, and that an error reports it.
func TestLineProgramWithoutEnd(t *testing.T) {
	header := elftest.LE(uint8(1), uint8(1), uint8(1), uint8(0xfb), uint8(14), uint8(1), "\x00", "f\x00\x00\x00\x00", uint8(0))
	program := bytes.Repeat([]byte{0x20}, 10001)
	rest := elftest.LE(uint16(4), uint32(len(header)), header, program)
	line := elftest.LE(uint32(len(rest)), rest)
	abbrev := append(elftest.Abbrev(1, 0x11, false, 0x10, 0x17, 0x11, 0x01, 0x12, 0x06), 0)
	unit := elftest.Unit4(0, elftest.LE(uint8(1), uint32(0), uint64(codeAt), uint32(64))...)
	table := New(opened(t, elftest.Debug(someCode, codeAt, "info", unit, "abbrev", abbrev, "line", line)))
	table.load()
	table.debug.maxRows = 10000
	if f := table.Frames(codeAt); len(f) != 1 {
		t.Errorf("%v", f)
	}
	if err := problem(table); err == nil || !strings.Contains(err.Error(), "lying: line table: more than 10000 lines") {
		t.Errorf("got %v", err)
	}
}

// TestNamesThatExplode checks that the demangled form of a mangled name is bounded: a few bytes can
// expand to any length.
func TestNamesThatExplode(t *testing.T) {
	name := "_Z1fISt4pairIiiE"
	for i := range 30 { // each argument is a pair of the one before, twice
		s := "S" + string("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i]) + "_"
		name += "St4pairI" + s + s + "E"
	}
	var out string
	n := allocated(func() { out = demangled(name + "Evv") })
	if len(out) > 1<<(maxDemangled+1) || n > 64<<20 {
		t.Errorf("%d bytes; allocated %d", len(out), n)
	}
	for _, deep := range []string{"_Z1f" + strings.Repeat("P", 1<<16) + "i", "_Z1f" + strings.Repeat("K", 2000) + "i", "_Z" + strings.Repeat("N", 1<<16), "_R" + strings.Repeat("I", 1<<16), "_Z1f" + strings.Repeat("DpT_", 1<<14)} {
		if s := demangled(deep); len(s) > 1<<18 {
			t.Errorf("%d bytes", len(s))
		}
	}
}
