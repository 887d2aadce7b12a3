package elf

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tracepredict/tracepredict/internal/testtool"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// checkLandmarks fails if the landmarks are not sorted, unique and inside Text.
func checkLandmarks(t testing.TB, f *File) {
	t.Helper()
	text := f.Text()
	marks := f.Landmarks()
	for i, a := range marks {
		if i > 0 && marks[i-1] >= a {
			t.Fatalf("not sorted: 0x%x before 0x%x", marks[i-1], a)
		}
		if _, ok := rangeAt(text, a); !ok {
			t.Fatalf("0x%x is not in text %v", a, text)
		}
	}
}

// wantLandmarks fails for each landmark that is missing.
func wantLandmarks(t *testing.T, f *File, what string, want map[uint64]string) {
	t.Helper()
	if len(want) == 0 {
		t.Errorf("%s: none to be found: the test tests nothing", what)
	}
	for a, name := range want {
		if _, ok := slices.BinarySearch(f.Landmarks(), a); !ok {
			t.Errorf("%s: 0x%x (%s) is missing", what, a, name)
		}
	}
}

// assembly compiles a file of testdata to assembly, and the assembly to a program that keeps the
// compiler's labels. It returns the assembly, the addresses of its labels, and the program without
// symbols.
func assembly(t *testing.T, compiler, source string, flags ...string) (text string, labels map[string]uint64, stripped *File) {
	t.Helper()
	testtool.Need(t, compiler, "nm", "strip")
	dir := t.TempDir()
	asm, prog, bare := filepath.Join(dir, "a.s"), filepath.Join(dir, "prog"), filepath.Join(dir, "bare")
	run(t, compiler, append(flags, "-O2", "-S", "-o", asm, filepath.Join("testdata", source))...)
	run(t, compiler, append(flags, "-Wa,--keep-locals", "-o", prog, asm)...)
	run(t, "strip", "-o", bare, prog)
	b, err := os.ReadFile(asm)
	if err != nil {
		t.Fatal(err)
	}
	labels = map[string]uint64{}
	for _, line := range strings.Split(run(t, "nm", prog), "\n") {
		if w := strings.Fields(line); len(w) == 3 {
			if labels[w[2]], err = strconv.ParseUint(w[0], 16, 64); err != nil {
				t.Fatal(err)
			}
		}
	}
	return string(b), labels, open(t, bare)
}

var (
	callSites = regexp.MustCompile(`(?s)\.LLSDACSB\w+:\n(.*?)\.LLSDACSE`)
	callPad   = regexp.MustCompile(`\.uleb128 (\.L\w+)-\.LF\w*$`)
)

// TestLandingPads compares the landmarks with the exception tables that the compiler wrote: the
// landing pad is the third of the four numbers of a call site.
func TestLandingPads(t *testing.T) {
	for _, flags := range [][]string{
		{"-fPIE", "-pie"}, {"-no-pie", "-fno-pie"}, {"-fPIE", "-pie", "-fno-reorder-blocks-and-partition"}, {"-fPIE", "-pie", "-fcf-protection=full"},
	} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			t.Parallel()
			text, labels, f := assembly(t, "g++", "landing.cc", flags...)
			want := map[uint64]string{}
			for _, m := range callSites.FindAllStringSubmatch(text, -1) {
				lines := strings.Split(strings.TrimSpace(m[1]), "\n")
				for i := 2; i < len(lines); i += 4 {
					if pad := callPad.FindStringSubmatch(lines[i]); pad != nil {
						want[labels[pad[1]]] = pad[1]
					}
				}
			}
			wantLandmarks(t, f, "landing pads", want)
			checkLandmarks(t, f)
			if p := f.Problems(); len(p) > 0 {
				t.Error(p)
			}
			l := newLandmarker(f)
			l.landingPads()
			// The code of the start-up files has no landing pads.
			slices.Sort(l.found)
			if got := slices.Compact(l.found); len(got) != len(want) {
				t.Errorf("%d landing pads %x, want %d", len(got), got, len(want))
			}
		})
	}
}

var tableEntry = regexp.MustCompile(`\.quad\s+(\.L\w+|twice)\b`)

// TestAddressesInData has a table of labels in each form in which a linker can write it.
func TestAddressesInData(t *testing.T) {
	for _, flags := range [][]string{
		{"-no-pie", "-fno-pie"}, {"-static", "-fno-pie"}, {"-pie", "-fPIE"}, {"-static-pie", "-fPIE"}, {"-pie", "-fPIE", "-Wl,-z,pack-relative-relocs"},
	} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			t.Parallel()
			text, labels, f := assembly(t, "gcc", "goto.c", flags...)
			want := map[uint64]string{}
			for _, m := range tableEntry.FindAllStringSubmatch(text, -1) {
				want[labels[m[1]]] = m[1]
			}
			if len(want) != 5 {
				t.Fatalf("the table is not what was meant: %v", want)
			}
			wantLandmarks(t, f, "table", want)
			checkLandmarks(t, f)
			if packed := strings.Contains(strings.Join(flags, " "), "pack-relative"); packed != (f.dyn.relr != 0) {
				t.Errorf("packed relocations at 0x%x", f.dyn.relr)
			}
			inner := 0
			for a := range want {
				if fn, ok := f.FunctionAt(a); ok && fn.Lo != a {
					inner++
				}
			}
			if inner != 4 {
				t.Errorf("%d labels lie inside functions, want 4", inner)
			}
		})
	}
}

var (
	relativeLine = regexp.MustCompile(`R_\w+_I?RELATIVE\s+([0-9a-f]+)`)
	leaLine      = regexp.MustCompile(`\tlea .*# ([0-9a-f]+)`)
	movLine      = regexp.MustCompile(`\t(?:mov|movq|push|pushq|cmp|cmpq|movabs) +\$0x([0-9a-f]+)`)
)

// TestLandmarksOfTools compares the landmarks with the output of readelf and objdump.
func TestLandmarksOfTools(t *testing.T) {
	eachVariant(t, func(t *testing.T, v variant, path string) {
		f := open(t, path)
		checkLandmarks(t, f)
		find := func(text string, what *regexp.Regexp) {
			for _, m := range what.FindAllStringSubmatch(text, -1) {
				a, err := strconv.ParseUint(m[1], 16, 64)
				if err != nil {
					t.Fatal(err)
				}
				if _, ok := rangeAt(f.Text(), a); !ok {
					continue
				}
				if _, ok := slices.BinarySearch(f.Landmarks(), a); !ok {
					t.Errorf("0x%x is missing, of %q", a, m[0])
				}
			}
		}
		find(run(t, "readelf", "-rW", path), relativeLine)
		if f.Arch() == insn.AMD64 {
			code := run(t, "objdump", "-d", "--no-show-raw-insn", path)
			find(code, leaLine)
			if !f.PIE() {
				find(code, movLine)
			}
		}
		if p := f.Problems(); len(p) > 0 {
			t.Error(p)
		}
	})
}

// TestUnreadableExceptionTable checks that all addresses of a function whose exception table is
// damaged are landmarks, and that this is reported.
func TestUnreadableExceptionTable(t *testing.T) {
	path := build(t, "g++", "landing.cc", "-s")
	whole := open(t, path)
	table, err := whole.frameTable()
	if err != nil || len(table.lsdas) < 4 {
		t.Fatalf("%d exception tables, %v", len(table.lsdas), err)
	}
	d := table.lsdas[0]
	off, err := whole.Offset(d.at)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[off] = 0x70 // an encoding that does not exist
	f, err := NewWith(bytes.NewReader(b), int64(len(b)), "damaged", quiet)
	if err != nil {
		t.Fatal(err)
	}
	want := map[uint64]string{}
	for a := d.fn.Lo; a < d.fn.Hi; a++ {
		want[a] = "any"
	}
	wantLandmarks(t, f, "opaque", want)
	if p := f.Problems(); len(p) != 1 || !strings.Contains(p[0].Error(), "exception table") {
		t.Errorf("problems: %v", p)
	}
}

// TestDamagedUnwindTable checks that all addresses of code that a damaged table does not cover are
// landmarks.
func TestDamagedUnwindTable(t *testing.T) {
	path := build(t, "g++", "landing.cc")
	whole := open(t, path)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	clear(b[whole.elf.Section(".eh_frame").Offset:][8:16]) // version and augmentation of the first common entry
	f, err := NewWith(bytes.NewReader(b), int64(len(b)), "damaged", quiet)
	if err != nil {
		t.Fatal(err)
	}
	want := map[uint64]string{}
	for _, s := range whole.Lookup("main") {
		for a := s.Addr; a < s.Addr+s.Size; a++ {
			want[a] = "main"
		}
	}
	wantLandmarks(t, f, "uncovered", want)
	checkLandmarks(t, f)
	if len(f.Problems()) == 0 {
		t.Error("nothing was said")
	}
}

// TestImmediates has constants of instructions, and displacements that look like constants.
func TestImmediates(t *testing.T) {
	const base = 0x40000
	for _, c := range []struct {
		name string
		code string
		want []uint64
	}{
		{"mov to a register", "\xbf\x10\x00\x04\x00", []uint64{0x40010}},
		{"mov, sign-extended", "\x48\xc7\xc0\x10\x00\x04\x00", []uint64{0x40010}},
		{"movabs", "\x48\xb8\x11\x00\x04\x00\x00\x00\x00\x00", []uint64{0x40011}},
		{"push", "\x68\x12\x00\x04\x00", []uint64{0x40012}},
		{"store", "\x48\xc7\x43\x08\x13\x00\x04\x00", []uint64{0x40013}},
		{"store to a fixed place", "\x48\xc7\x05\x00\x10\x00\x00\x14\x00\x04\x00", []uint64{0x40014}},
		{"load from far away", "\x48\x8b\x05\x10\x00\x04\x00", nil},
		{"call far away", "\xe8\x10\x00\x04\x00", nil},
		{"jump far away", "\x0f\x84\x10\x00\x04\x00", nil},
		{"lea is not for here", "\x48\x8d\x05\x10\x00\x04\x00", nil},
		{"after what does not decode", "\x06\xbf\x10\x00\x04\x00", []uint64{0x40010}},
		{"a short one", "\x6a\x10\xc3", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := landmarkerOf(imageOf([]byte(c.code+strings.Repeat("\x90", 64)), base, insn.AMD64))
			l.immediatesIn([]byte(c.code), base)
			if diff := cmp.Diff(c.want, l.found); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// imageOf returns a file of one segment at addr, all of it text.
func imageOf(b []byte, addr uint64, arch insn.Arch) *File {
	return &File{
		name: "image", r: bytes.NewReader(b), size: uint64(len(b)), order: binary.LittleEndian, arch: arch,
		segments: []segment{{addr: addr, filesz: uint64(len(b)), memsz: uint64(len(b)), exec: true}},
	}
}

func landmarkerOf(f *File) *landmarker {
	text := Range{f.segments[0].addr, f.segments[0].addr + f.size}
	return &landmarker{f: f, text: []Range{text}, bounds: text, tables: f.size, data: f.size, code: f.size, uncovered: f.size}
}

// pack returns sorted addresses of words as packed relocations, as a linker writes them.
func pack(at []uint64) []byte {
	var out []byte
	for i := 0; i < len(at); {
		out = binary.LittleEndian.AppendUint64(out, at[i])
		next := at[i] + 8
		i++
		for {
			bits := uint64(0)
			for ; i < len(at) && at[i] < next+63*8 && (at[i]-next)%8 == 0; i++ {
				bits |= 1 << ((at[i] - next) / 8)
			}
			if bits == 0 {
				break
			}
			out = binary.LittleEndian.AppendUint64(out, bits<<1|1)
			next += 63 * 8
		}
	}
	return out
}

// TestPackedRelocations checks that packed relocations are read back, for any layout of words.
func TestPackedRelocations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const base, size = 0x40000, 1 << 14
		words := rapid.SliceOfDistinct(rapid.Uint64Range(0, size/8-1), rapid.ID[uint64]).Draw(t, "words")
		slices.Sort(words)
		b := make([]byte, size)
		var at, want []uint64
		for i, w := range words {
			at = append(at, base+8*w)
			binary.LittleEndian.PutUint64(b[8*w:], base+uint64(i))
			want = append(want, base+uint64(i))
		}
		packed := pack(at)
		f := imageOf(append(b, packed...), base, insn.AMD64)
		f.dyn.relr, f.dyn.relrLen = base+size, uint64(len(packed))
		l := landmarkerOf(f)
		l.packedRelocations()
		if diff := cmp.Diff(want, l.found); diff != "" || len(f.Problems()) > 0 {
			t.Fatalf("%s %v", diff, f.Problems())
		}
	})
}

// TestCallSiteTables checks that tables in every encoding are read back.
func TestCallSiteTables(t *testing.T) {
	write := func(b []byte, enc byte, v uint64) []byte {
		switch enc {
		case 0x01:
			return binary.AppendUvarint(b, v)
		case 0x02:
			return binary.LittleEndian.AppendUint16(b, uint16(v))
		case 0x03:
			return binary.LittleEndian.AppendUint32(b, uint32(v))
		}
		return binary.LittleEndian.AppendUint64(b, v)
	}
	rapid.Check(t, func(t *rapid.T) {
		const base, fn = 0x40000, 0x40400
		enc := rapid.SampledFrom([]byte{0x00, 0x01, 0x02, 0x03, 0x04}).Draw(t, "encoding")
		var sites []byte
		var want []uint64
		landing := uint64(fn)
		b := []byte{encOmit}
		if rapid.Bool().Draw(t, "split") {
			landing = 0x40800
			b = binary.LittleEndian.AppendUint32([]byte{0x1b}, 0x800-1) // relative to its own address
		}
		for _, pad := range rapid.SliceOf(rapid.Uint64Range(0, 0x300)).Draw(t, "pads") {
			for _, v := range []uint64{rapid.Uint64Range(0, 999).Draw(t, "call"), 5, pad} {
				sites = write(sites, enc, v)
			}
			sites = append(sites, 1)
			if pad != 0 {
				want = append(want, landing+pad)
			}
		}
		if rapid.Bool().Draw(t, "types") {
			b = binary.AppendUvarint(append(b, 0x9b), uint64(len(sites))+9)
		} else {
			b = append(b, encOmit)
		}
		b = append(binary.AppendUvarint(append(b, enc), uint64(len(sites))), sites...)
		f := imageOf(append(b, make([]byte, 0x2000)...), base, insn.AMD64)
		l := landmarkerOf(f)
		if err := l.lsda(lsda{Range{fn, fn + 0x400}, base, true}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, l.found); diff != "" {
			t.Fatal(diff)
		}
	})
}

// TestArmConstants: Arm ARM C6.2, ADR, ADRP, ADD (immediate).
func TestArmConstants(t *testing.T) {
	var b []byte
	for _, w := range []uint32{
		0x90000000, // 40000: adrp x0, 40000
		0x10000081, // 40004: adr x1, 40014
		0x54000040, // 40008: b.eq
		0x91004000, // 4000c: add x0, x0, #0x10
		0xf94007e1, // 40010: ldr x1, [sp, #8]
		0x91002021, // 40014: add x1, x1, #8: x1 is not known any more
		0x91002003, // 40018: add x3, x0, #8
		0xffffffff, // 4001c: no instruction
		0x91004064, // 40020: add x4, x3, #0x10
	} {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	l := landmarkerOf(imageOf(append(b, make([]byte, 64)...), 0x40000, insn.ARM64))
	l.armConstants(b, 0x40000)
	if diff := cmp.Diff([]uint64{0x40000, 0x40014, 0x40010, 0x40018, 0x40028}, l.found); diff != "" {
		t.Error(diff)
	}
}

// TestOverlapIsBounded checks that many functions that share one huge exception table, and whose
// addresses are all landmarks, cost no more than the file's size.
func TestOverlapIsBounded(t *testing.T) {
	const base, size = 0x40000, 1 << 12
	b := append([]byte{encOmit, encOmit, 0x01, 0xf0, 0x1f}, make([]byte, size-5)...) // 0xff0 bytes of sites
	l := landmarkerOf(imageOf(b, base, insn.AMD64))
	for i := range 1000 {
		d := lsda{Range{base, base + size}, base, i%2 == 0}
		if err := l.lsda(d); err != nil {
			l.all(d.fn)
		}
	}
	if len(l.found) > size || l.tables != 0 || l.uncovered != 0 {
		t.Errorf("%d addresses; left: %d, %d", len(l.found), l.tables, l.uncovered)
	}
	if len(l.f.Problems()) == 0 {
		t.Error("nothing was said")
	}
}

// FuzzLSDA reads any bytes as an exception table. It checks that this ends, and returns no more
// landing pads than fit into the bytes.
func FuzzLSDA(f *testing.F) {
	f.Add([]byte{0xff, 0x9b, 0x15, 0x01, 0x08, 0x10, 0x05, 0x40, 0x03, 0x20, 0x05, 0x00, 0x00}, uint64(0x1000), uint64(0x400))
	f.Add([]byte{0x1b, 1, 0, 0, 0, 0xff, 0x03, 0x0d, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0}, uint64(0), ^uint64(0))
	f.Fuzz(func(t *testing.T, b []byte, addr, fn uint64) {
		if addr+uint64(len(b)) < addr || len(b) == 0 {
			return
		}
		l := landmarkerOf(imageOf(b, addr, insn.AMD64))
		n := 0
		d := lsda{Range{fn, fn + 1}, addr, true}
		h, err := readLSDAHead(b, d, binary.LittleEndian)
		if err == nil {
			_ = h.callSites(b, addr, binary.LittleEndian, func(uint64) { n++ })
		}
		if 4*n > len(b) {
			t.Fatalf("%d landing pads of %d bytes", n, len(b))
		}
		if l.lsda(d) == nil && err != nil {
			t.Fatal("read in spite of its head")
		}
	})
}
