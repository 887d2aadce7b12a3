package elftest

import (
	"bytes"
	"debug/elf"
	"embed"
	"encoding/binary"
	"fmt"
)

//go:embed testdata/*.elf
var files embed.FS

// Seeds returns small programs made by compilers, with locks, a watched variable, a switch,
// exceptions, a linkage table and debug information; see testdata/make.sh.
func Seeds() ([][]byte, error) {
	var out [][]byte
	for _, name := range []string{"shared", "fixed", "stripped", "throws", "clang"} {
		b, err := files.ReadFile("testdata/" + name + ".elf")
		if err != nil {
			return nil, fmt.Errorf("read the seeds: %w", err)
		}
		out = append(out, b)
	}
	return out, nil
}

// opSize is the size in bytes of one step of Patch's program: a region, the number of bytes to
// write, the position, and the value.
const opSize = 1 + 1 + 2 + 8

// Patch returns a copy of an ELF file that is overwritten as the program says, so that a fuzzer
// need not find its way past the headers. A step takes 12 bytes: region (the file's header, the
// program headers, the section headers, then each section), size (1, 2, 4, or 8 bytes; a few values
// truncate the file there or do nothing), position in the region, value. At most 16 steps are
// taken.
func Patch(content, program []byte) []byte {
	b := bytes.Clone(content)
	regions := regionsOf(content)
	for n := 0; n < 16 && len(program) >= opSize && len(b) > 0; n, program = n+1, program[opSize:] {
		r := regions[int(program[0])%len(regions)]
		at := r[0]
		if size := r[1] - r[0]; size > 0 {
			at += int(binary.LittleEndian.Uint16(program[2:])) % size
		}
		if at >= len(b) {
			continue
		}
		if size := program[1] & 15; size < 12 {
			copy(b[at:], program[4:4+1<<(size%4)])
		} else if size == 15 {
			b = b[:at]
		}
	}
	return b
}

// regionsOf returns the offsets [from, to) of the regions that Patch can write to.
func regionsOf(content []byte) [][2]int {
	n := len(content)
	whole := [][2]int{{0, n}}
	f, err := elf.NewFile(bytes.NewReader(content))
	if err != nil {
		return whole
	}
	shoff := min(int(binary.LittleEndian.Uint64(content[40:])), n)
	regions := [][2]int{{0, min(ehdrSize, n)}, {ehdrSize, min(ehdrSize+phdrSize*len(f.Progs), n)}, {shoff, n}}
	for _, s := range f.Sections {
		if lo, hi := int(s.Offset), int(s.Offset+s.FileSize); s.Type != elf.SHT_NOBITS && lo < hi && hi <= n {
			regions = append(regions, [2]int{lo, hi})
		}
	}
	return regions
}
