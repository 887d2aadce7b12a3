package insn

import (
	"bufio"
	"debug/elf"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/internal/testtool"
)

// dumped is one instruction in objdump's output.
type dumped struct {
	addr uint64
	n    int
	text string
}

// mostDumped bounds the number of instructions of one library that are compared.
const mostDumped = 500_000

// dump runs objdump, a command that may have flags, over file and hands each instruction to f.
func dump(t testing.TB, tool, file string, f func(dumped)) {
	t.Helper()
	words := strings.Fields(tool)
	testtool.Need(t, words[0])
	cmd := exec.Command(words[0], append(words[1:], "-d", "-w", "-z", "--insn-width=16", file)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	lines := bufio.NewScanner(out)
	for n := 0; n < mostDumped && lines.Scan(); {
		if d, ok := parseDump(lines.Text()); ok {
			f(d)
			n++
		}
	}
}

func parseDump(line string) (dumped, bool) {
	fields := strings.SplitN(line, "\t", 3)
	if len(fields) < 3 || !strings.HasSuffix(fields[0], ":") {
		return dumped{}, false
	}
	addr, err := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(fields[0], ":")), 16, 64)
	if err != nil {
		return dumped{}, false
	}
	hex := strings.ReplaceAll(fields[1], " ", "")
	return dumped{addr, len(hex) / 2, fields[2]}, true
}

// image reads the executable sections of an ELF file.
type image struct{ sections []*elf.Section }

func openImage(t testing.TB, file string) image {
	t.Helper()
	f, err := elf.Open(file)
	if err != nil {
		t.Skipf("no %s here: %v", file, err)
	}
	t.Cleanup(func() { f.Close() })
	var im image
	for _, s := range f.Sections {
		if s.Flags&elf.SHF_EXECINSTR != 0 {
			im.sections = append(im.sections, s)
		}
	}
	return im
}

type text struct {
	addr uint64
	data []byte
}

func (im image) load(t testing.TB) []text {
	var out []text
	for _, s := range im.sections {
		b, err := s.Data()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, text{s.Addr, b})
	}
	return out
}

func bytesAt(ts []text, addr uint64, n int) []byte {
	for _, s := range ts {
		if addr >= s.addr && addr < s.addr+uint64(len(s.data)) {
			return s.data[addr-s.addr:][:min(n, len(s.data)-int(addr-s.addr))]
		}
	}
	return nil
}

// libraries returns the files of this machine with code that people run, AVX-heavy ones included.
func libraries(t testing.TB) []string {
	out := []string{}
	for _, pattern := range []string{"/lib/x86_64-linux-gnu/libc.so.6", "/lib/x86_64-linux-gnu/libm.so.6", "/usr/lib/x86_64-linux-gnu/libx265.so.*"} {
		m, _ := filepath.Glob(pattern)
		out = append(out, m...)
	}
	if len(out) == 0 {
		t.Skip("no libraries of x86-64 here")
	}
	return out
}

// TestObjdumpLengths compares lengths and control flow with objdump's.
func TestObjdumpLengths(t *testing.T) {
	for _, lib := range libraries(t) {
		if testing.Short() && !strings.Contains(lib, "libc.so") {
			continue
		}
		t.Run(filepath.Base(lib), func(t *testing.T) { compareLengths(t, lib) })
	}
}

func compareLengths(t *testing.T, lib string) {
	ts := openImage(t, lib).load(t)
	var total, wrong, unknown int
	seen := map[string]int{}
	dump(t, "objdump", lib, func(d dumped) {
		if strings.Contains(d.text, "(bad)") || strings.HasPrefix(d.text, ".byte") {
			return // data among the code
		}
		if bytesAt(ts, d.addr, 1)[0] == 0x9b {
			return // objdump prints fwait and the next instruction as one
		}
		total++
		in, err := Decode(AMD64, bytesAt(ts, d.addr, 15), d.addr)
		if why := differs(in, err, d); why != "" {
			if wrong++; wrong <= 20 {
				t.Logf("%x: % x %s: %s", d.addr, bytesAt(ts, d.addr, d.n), d.text, why)
			}
			return
		}
		if !in.Known {
			unknown++
			seen[strings.Fields(d.text)[0]]++
		}
	})
	t.Logf("%d instructions, %d disagree, %d not modelled %v", total, wrong, unknown, top(seen, 12))
	if wrong*1000 > total || total == 0 {
		t.Errorf("%d of %d instructions disagree with objdump", wrong, total)
	}
}

// differs compares the length, target and kind of an instruction with objdump's text.
func differs(in Inst, err error, d dumped) string {
	switch {
	case err != nil:
		return err.Error()
	case in.Len != d.n:
		return fmt.Sprintf("length %d, objdump %d", in.Len, d.n)
	}
	words := strings.Fields(d.text)
	for len(words) > 1 && (words[0] == "bnd" || words[0] == "notrack" || words[0] == "data16" || words[0] == "rex.W" || words[0] == "rep" || words[0] == "repz" || words[0] == "repnz") {
		words = words[1:]
	}
	jump := strings.HasPrefix(words[0], "j") || strings.HasPrefix(words[0], "call") || strings.HasPrefix(words[0], "loop") || words[0] == "xbegin"
	isDirect := in.Kind == Jump || in.Kind == CondJump || in.Kind == Call
	isJump := isDirect || in.Kind == IndirectCall || in.Kind == IndirectJump
	if jump != isJump {
		return fmt.Sprintf("kind %d", in.Kind)
	}
	if jump && !strings.Contains(d.text, "*") {
		n := len(words) - 1
		for n > 0 && (strings.HasPrefix(words[n], "<") || strings.HasPrefix(words[n], "#")) {
			n--
		}
		if to, err := strconv.ParseUint(words[n], 16, 64); err == nil && to != in.Target {
			return fmt.Sprintf("target %x", in.Target)
		}
	}
	if strings.HasPrefix(words[0], "ret") != (in.Kind == Return) {
		return "ret or not"
	}
	if why := differsMemory(in, d.text, words[0]); why != "" {
		return why
	}
	if _, to, ok := strings.Cut(d.text, "(%rip)        # "); ok && !strings.Contains(words[0], "nop") {
		return differsFixed(in, strings.Fields(to)[0], words[0])
	}
	return ""
}

// differsMemory compares the memory access of an instruction with objdump's text. In AT&T syntax
// the last operand is the written one, so the text of an instruction with several operands shows
// what it does to memory.
func differsMemory(in Inst, text, op string) string {
	for _, exempt := range []string{"lea", "nop", "test", "cmp", "bt ", "btq", "btl", "ucomis", "comis", "vucomis", "vcomis", "vptest", "ptest", "prefetch", "in", "out", "xsave", "xrstor", "movs", "stos", "lods", "scas", "cmps"} {
		if strings.HasPrefix(op, exempt) && !strings.HasPrefix(op, "cmpxchg") && op != "inc" && op != "movss" && op != "movsd" && !strings.HasPrefix(op, "movsl") {
			return ""
		}
	}
	_, operands, _ := strings.Cut(text, op)
	operands, _, _ = strings.Cut(operands, "#")
	operands = strings.ReplaceAll(operands, "%st(", "%st") // no memory
	depth, last, n := 0, "", 0
	for _, r := range operands {
		switch {
		case r == '(':
			depth++
		case r == ')':
			depth--
		case r == ',' && depth == 0:
			last, n = "", n+1
			continue
		}
		last += string(r)
	}
	if !in.Known || n == 0 || !strings.Contains(operands, "(") || in.Kind != Plain {
		return ""
	}
	if in.NMem == 0 {
		return "no memory operand"
	}
	if toMemory := strings.Contains(last, "("); toMemory != in.Mem[0].Write {
		return fmt.Sprintf("write %v", in.Mem[0].Write)
	}
	return ""
}

func differsFixed(in Inst, to, op string) string {
	want, err := strconv.ParseUint(to, 16, 64)
	if err != nil || strings.HasPrefix(op, "prefetch") {
		return ""
	}
	if op == "lea" {
		if uint64(in.Sum.Imm) != want {
			return fmt.Sprintf("lea %x", in.Sum.Imm)
		}
		return ""
	}
	if in.NMem == 0 || !in.Mem[0].Fixed || in.Mem[0].Addr != want {
		return fmt.Sprintf("operand %+v", in.Mem[0])
	}
	return ""
}

// top returns the n most frequent keys.
func top(m map[string]int, n int) []string {
	var out []string
	for range n {
		best := ""
		for k, v := range m {
			if best == "" || v > m[best] || v == m[best] && k < best {
				best = k
			}
		}
		if best == "" {
			break
		}
		out = append(out, fmt.Sprintf("%s %d", best, m[best]))
		delete(m, best)
	}
	return out
}
