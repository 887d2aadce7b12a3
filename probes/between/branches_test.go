package between

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/internal/testtool"
	"github.com/tracepredict/tracepredict/probes/elf"
)

// TestBranches checks whether code goes on by what it has read, at several levels of optimisation. The read is the first
// one of the variable value in the function.
func TestBranches(t *testing.T) {
	const source = `
int value, other, sink, table[8], *pointer;
void helper(int n) { sink += n; }
void tests(void) { if (value) helper(1); }
void subtracts(void) { if (value - other > 3) helper(1); }
void loops(void) { for (int i = 0; i < value; i++) helper(1); }
void indexes(void) { sink = table[value]; }
void follows(void) { sink = *pointer; }
void copies(void) { sink = value; }
void adds(void) { sink += value * 3; }
void passes(void) { helper(value); }
void counts(void) { value++; if (sink) helper(1); }
int main(void) { tests(); subtracts(); loops(); indexes(); follows(); copies(); adds(); passes(); counts(); return 0; }
`
	tests := []struct {
		function, variable string
		want               bool
	}{
		{"tests", "value", true}, {"subtracts", "value", true}, {"loops", "value", true}, {"indexes", "value", true}, {"follows", "pointer", true},
		{"copies", "value", false}, {"adds", "value", false}, {"passes", "value", false}, {"counts", "value", false},
	}
	testtool.Need(t, "gcc")
	for _, level := range []string{"-O0", "-O1", "-O2", "-Os"} {
		file := filepath.Join(t.TempDir(), "branches")
		gcc := exec.Command("gcc", "-x", "c", "-", "-o", file, level, "-g", "-fno-inline")
		gcc.Stdin = strings.NewReader(source)
		if out, err := gcc.CombinedOutput(); err != nil {
			t.Fatalf("gcc: %v\n%s", err, out)
		}
		f, err := elf.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		x := New(&fixture{program: f, libc: f})
		for _, tt := range tests {
			read := readOf(t, f, tt.function, tt.variable)
			if got := x.Branches([]uint64{read + programBias}); got != tt.want {
				t.Errorf("%s: %s: %v", level, tt.function, got)
			}
		}
	}
}
