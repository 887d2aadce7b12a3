package cheapsite

import (
	stdelf "debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/internal/testtool"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// fileCode is an ELF file as a code.Source.
type fileCode struct {
	sections []*stdelf.Section
	data     [][]byte
	text     []elf.Range
	funcs    []elf.Range
	symbols  map[string]stdelf.Symbol
	marks    []uint64
	arch     insn.Arch
}

func (c *fileCode) Arch() insn.Arch        { return c.arch }
func (c *fileCode) Functions() []elf.Range { return c.funcs }
func (c *fileCode) Text() []elf.Range      { return c.text }
func (c *fileCode) Landmarks() []uint64    { return c.marks }

func (c *fileCode) Bytes(addr uint64, n int) ([]byte, error) {
	for i, s := range c.sections {
		if addr >= s.Addr && addr < s.Addr+uint64(len(c.data[i])) {
			b := c.data[i][addr-s.Addr:]
			return b[:min(n, len(b))], nil
		}
	}
	return nil, os.ErrNotExist
}

// openCode reads a file; its functions are those of the unwind tables.
func openCode(t testing.TB, path string) *fileCode {
	t.Helper()
	f, err := stdelf.Open(path)
	if err != nil {
		t.Skipf("no %s here: %v", path, err)
	}
	defer f.Close()
	c := &fileCode{symbols: map[string]stdelf.Symbol{}, arch: insn.AMD64}
	if f.Machine == stdelf.EM_AARCH64 {
		c.arch = insn.ARM64
	}
	for _, s := range f.Sections {
		if s.Flags&stdelf.SHF_ALLOC == 0 || s.Type == stdelf.SHT_NOBITS {
			continue
		}
		b, err := s.Data()
		if err != nil {
			t.Fatal(err)
		}
		c.sections, c.data = append(c.sections, s), append(c.data, b)
		if s.Flags&stdelf.SHF_EXECINSTR != 0 {
			c.text = append(c.text, elf.Range{Lo: s.Addr, Hi: s.Addr + s.Size})
		}
	}
	c.addSymbols(f)
	bf, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer bf.Close()
	c.funcs = bf.Functions()
	return c
}

func (c *fileCode) addSymbols(f *stdelf.File) {
	static, _ := f.Symbols()
	dynamic, _ := f.DynamicSymbols()
	for _, s := range append(dynamic, static...) {
		if stdelf.ST_TYPE(s.Info) != stdelf.STT_FUNC || s.Section == stdelf.SHN_UNDEF {
			continue
		}
		c.marks = append(c.marks, s.Value)
		if old, ok := c.symbols[s.Name]; !ok || s.Value > 0 && old.Version != s.Version && s.VersionIndex&0x8000 == 0 {
			c.symbols[s.Name] = s
		}
	}
}

// build compiles source with gcc and the flags given.
func build(t testing.TB, name, source string, flags ...string) string {
	t.Helper()
	testtool.Need(t, "gcc")
	dir := t.TempDir()
	file, exe := filepath.Join(dir, name), filepath.Join(dir, "out")
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	args := append(flags, "-o", exe, file, "-lpthread")
	if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("gcc %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return exe
}

const glibc = "/lib/x86_64-linux-gnu/libc.so.6"
