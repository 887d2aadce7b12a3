package unwind

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/internal/testtool"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// readelfNames are readelf's names of columns on x86-64; those of arm64 are x0 to
// x30 and sp.
var readelfNames = map[string]int{"rax": 0, "rdx": 1, "rcx": 2, "rbx": 3, "rsi": 4, "rdi": 5, "rbp": 6, "rsp": 7, "ra": 16}

func columnOf(arch insn.Arch, name string) int {
	if arch == insn.ARM64 {
		if name == "sp" {
			return SP
		}
		if name == "ra" {
			return LR
		}
		n, _ := strconv.Atoi(strings.TrimPrefix(name, "x"))
		return n
	}
	if n, ok := readelfNames[name]; ok {
		return n
	}
	n, _ := strconv.Atoi(strings.TrimPrefix(name, "r"))
	return n
}

// cell returns a rule as readelf prints it.
func cell(r rule) string {
	switch r.kind {
	case atOffset:
		return fmt.Sprintf("c%+d", r.n)
	case isOffset:
		return fmt.Sprintf("v%+d", r.n)
	case atExpr:
		return "exp"
	case isExpr:
		return "vexp"
	case sameValue:
		return "s"
	case inRegister:
		return fmt.Sprintf("r%d", r.n)
	}
	return "u"
}

var fdeLine = regexp.MustCompile(`^[0-9a-f]+ [0-9a-f]+ [0-9a-f]+ FDE cie=[0-9a-f]+ pc=([0-9a-f]+)\.\.([0-9a-f]+)`)

// TestReadelf compares every row with readelf's: for a library of this machine, and for programs as
// compilers emit them.
func TestReadelf(t *testing.T) {
	testtool.Need(t, "readelf")
	var paths []string
	for _, pattern := range []string{"/lib/*-linux-gnu/libc.so.6", "/lib/*-linux-gnu/libstdc++.so.6", "/lib/*-linux-gnu/ld-linux-*.so.*"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		if len(found) > 0 {
			paths = append(paths, found[0])
		}
	}
	if testtool.Missing("gcc") == "" {
		for i, flags := range []string{"-O0", "-O1", "-O2 -fomit-frame-pointer", "-O3 -fno-omit-frame-pointer", "-O2 -fno-asynchronous-unwind-tables -g", "-O2 -fno-asynchronous-unwind-tables -g -gz"} {
			out := filepath.Join(t.TempDir(), fmt.Sprintf("nested%d", i))
			if msg, err := exec.Command("gcc", append(strings.Fields(flags), "-pthread", "-o", out, "testdata/nested.c")...).CombinedOutput(); err != nil {
				t.Fatalf("gcc %s: %v\n%s", flags, err, msg)
			}
			paths = append(paths, out)
		}
	}
	if len(paths) == 0 {
		t.Skip("neither a library nor gcc to compare with (Debian: gcc)")
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) { compareWithReadelf(t, path) })
	}
}

func compareWithReadelf(t *testing.T, path string) {
	cmd := exec.Command("readelf", "--debug-dump=frames-interp", path)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "DEBUGINFOD_URLS=")
	out, err := cmd.Output()
	if len(out) == 0 { // readelf fails if a debug file is missing that this test does not need
		t.Fatalf("readelf %s: %v", path, err)
	}
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	table := New(f)
	var columns []string
	inFDE, rows := false, 0
	for sc := bufio.NewScanner(strings.NewReader(string(out))); sc.Scan(); {
		fields := strings.Fields(sc.Text())
		switch {
		case len(fields) == 0:
			inFDE = false
		case fdeLine.MatchString(sc.Text()):
			inFDE = true
		case fields[0] == "LOC":
			columns = fields
		case inFDE && len(fields) == len(columns):
			rows++
			if !compareRow(t, table, f.Arch(), columns, fields) {
				return
			}
		}
	}
	if rows == 0 {
		t.Fatal("readelf gives no rows")
	}
	t.Logf("%d rows", rows)
}

// compareRow compares one row; it returns false when there are enough errors.
func compareRow(t *testing.T, table *Table, arch insn.Arch, columns, want []string) bool {
	addr, err := strconv.ParseUint(want[0], 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	row := table.row(addr)
	if row == nil {
		t.Errorf("0x%x: no row", addr)
		return false
	}
	got := []string{want[0], "exp"}
	if row.cfa.kind == atOffset {
		base := want[1]
		if i := strings.IndexAny(base, "+-"); i > 0 && columnOf(arch, base[:i]) == row.base {
			got[1] = fmt.Sprintf("%s%+d", base[:i], row.cfa.n)
		} else {
			got[1] = fmt.Sprintf("register %d%+d", row.base, row.cfa.n)
		}
	}
	for _, name := range columns[2:] {
		got = append(got, cell(row.rule(columnOf(arch, name))))
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("at 0x%x %v: got %v, want %v", addr, columns, got, want)
		return false
	}
	return true
}
