package dwarf

import (
	"bytes"
	"debug/dwarf"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/elftest"
)

// debugFile returns a program with debug sections.
func debugFile(sections ...any) *elftest.File {
	return elftest.Debug(bytes.Repeat([]byte{0x90}, 64), 0x10000, sections...)
}

// TestLyingDebugInformation checks that structures for which the standard library would take
// disproportionate time or memory are an error that names section and offset.
func TestLyingDebugInformation(t *testing.T) {
	wide := []byte{1, 0x11, 0}
	for range maxAttributes + 1 {
		wide = append(wide, 0x3f, 0x19) // DW_AT_external, DW_FORM_flag_present
	}
	wide = append(wide, 0, 0, 0)
	var shared, manyUnits []byte
	for range 20000 {
		shared = append(shared, 1, 0x11, 0, 3, 8, 0, 0)
	}
	for i := range uint32(2000) {
		manyUnits = append(manyUnits, elftest.Unit4(7*i)...)
	}
	overlong := append([]byte{1, 0x11, 0}, bytes.Repeat([]byte{0x80}, 12)...)
	for _, c := range []struct {
		name string
		file *elftest.File
		want string
	}{
		{"unit-too-long", debugFile("info", elftest.LE(uint32(100), uint32(0)), "abbrev", []byte{0}), "the unit at 0x0 of .debug_info has 100 bytes, the section 4 more"},
		{"unit-too-short", debugFile("info", elftest.LE(uint32(0), uint32(3), uint32(0)), "abbrev", []byte{0}), "the unit at 0x4 of .debug_info has 3 bytes"},
		{"unit-of-2^64", debugFile("info", elftest.LE(uint32(0xffffffff), ^uint64(0), uint64(0)), "abbrev", []byte{0}), "the unit at 0x0 of .debug_info has 18446744073709551615 bytes"},
		{"too-many-attributes", debugFile("info", elftest.Unit4(0, 1), "abbrev", wide), "abbreviations at 0x0 of .debug_abbrev: malformed ELF file: more than 128 attributes in one"},
		{"abbreviations-shared", debugFile("info", manyUnits, "abbrev", shared), "of .debug_abbrev: malformed ELF file: the tables of units overlap"},
		{"overlong-number", debugFile("info", elftest.Unit4(0, 1), "abbrev", overlong), "a number of more than 64 bits"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := c.file.Bytes()
			var err error
			n := elftest.Allocated(func() {
				var f *elf.File
				if f, err = elf.NewWith(bytes.NewReader(b), int64(len(b)), "lying", quiet); err == nil {
					_, err = Of(f).Data()
				}
			})
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "lying: ") {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if n > 4<<20 {
				t.Errorf("allocated %d bytes", n)
			}
		})
	}
}

// TestEntriesAreBounded has one long name that every entry refers to, and empty entries without
// end.
func TestEntriesAreBounded(t *testing.T) {
	abbrev := []byte{1, 0x34, 0, 3, 0x0e, 0, 0, 0} // DW_TAG_variable, DW_AT_name, DW_FORM_strp
	long := append(bytes.Repeat([]byte{'x'}, 1<<20), 0)
	var entries []byte
	for range 4096 {
		entries = append(entries, 1, 0, 0, 0, 0)
	}
	for name, body := range map[string][]byte{"long-name": entries, "endless": append(make([]byte, 1<<17), 0x80)} {
		t.Run(name, func(t *testing.T) {
			b := debugFile("info", elftest.Unit4(0, body...), "abbrev", abbrev, "str", long).Bytes()
			f, err := elf.NewWith(bytes.NewReader(b), int64(len(b)), "lying", quiet)
			if err != nil {
				t.Fatal(err)
			}
			d, err := Of(f).Data()
			if err != nil {
				t.Fatal(err)
			}
			n := elftest.Allocated(func() {
				es := NewEntries(d.Reader(), len(body))
				for err == nil {
					var e *dwarf.Entry
					if e, err = es.Next(); e == nil && err == nil {
						t.Error("no end was put to it")
						return
					}
				}
			})
			if !strings.Contains(err.Error(), ".debug_info") || n > 64<<20 {
				t.Errorf("%v; allocated %d bytes", err, n)
			}
		})
	}
}

// TestFilesDefinedByPrograms has a line number program that names files too, each of which is
// joined with a long directory.
func TestFilesDefinedByPrograms(t *testing.T) {
	var program []byte
	for range 20000 {
		program = append(program, 0, 6, 3, 'a', 0, 1, 0, 0) // DW_LNE_define_file
	}
	header := elftest.LE(uint8(1), uint8(1), uint8(1), uint8(0xfb), uint8(14), uint8(1), strings.Repeat("d", 1<<16)+"\x00\x00", uint8(0))
	rest := append(elftest.LE(uint16(4), uint32(len(header))), append(header, program...)...)
	line := append(elftest.LE(uint32(len(rest))), rest...)
	abbrev := []byte{1, 0x11, 0, 0x10, 0x17, 0, 0, 0} // DW_TAG_compile_unit, DW_AT_stmt_list, DW_FORM_sec_offset
	b := debugFile("info", elftest.Unit4(0, 1, 0, 0, 0, 0), "abbrev", abbrev, "line", line).Bytes()
	f, err := elf.NewWith(bytes.NewReader(b), int64(len(b)), "lying", quiet)
	if err != nil {
		t.Fatal(err)
	}
	d, err := Of(f).Data()
	if err != nil {
		t.Fatal(err)
	}
	root, err := d.Reader().Next()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Of(f).LineReader(root); err == nil || !strings.Contains(err.Error(), "lying: line table header is damaged (at 0x0 of .debug_line)") {
		t.Errorf("got %v", err)
	}
}
