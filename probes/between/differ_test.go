package between

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/internal/testtool"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// TestDiffer checks which branches are known from what was read, at several levels of optimisation. The read is
// the first one of the variable value in the function.
func TestDiffer(t *testing.T) {
	const source = `
int value; long wide; unsigned char small; int sink;
void helper(void) { sink++; }
void positive(void) { if (value > 0) helper(); }
void waits(void) { while (!value) helper(); }
void is_small(void) { if (small == 7) helper(); }
void is_wide(void) { if (wide < -1) helper(); }
int passed(int n) { if (n) helper(); return value; }
void masked(void) { if (value & 4) helper(); }
void odd(void) { if (value % 2) helper(); }
int getpid(void);
void stage(void) { int v = value; getpid(); switch (v) { case 0: helper(); break; case 1: sink = 7; break; case 2: helper(); helper(); break; case 3: sink--; break; case 4: sink ^= 9; helper(); } }
void (*const steps[])(void) = {helper, positive, waits};
void step(void) { steps[small](); }
void kept(void) { int v = value; getpid(); if (v) helper(); }
void second(void) { if (value > 0 && value < 9) helper(); }
int main(void) { positive(); waits(); is_small(); is_wide(); masked(); second(); odd(); stage(); step(); kept(); return passed(1); }
`
	tests := []struct {
		function, variable string
		a, b               uint64
		want               bool
	}{
		{"positive", "value", 1, 2, false}, {"positive", "value", 0, 2, true}, {"positive", "value", 0xffffffff, 1, true}, {"positive", "value", 0xffffffff, 0, false},
		{"waits", "value", 0, 1, true}, {"waits", "value", 3, 1, false},
		{"is_small", "small", 7, 6, true}, {"is_small", "small", 5, 6, false},
		{"is_wide", "wide", ^uint64(0), ^uint64(0) - 1, true}, {"is_wide", "wide", 0, 1, false},
		{"odd", "value", 1, 2, true}, {"odd", "value", 2, 4, false}, {"stage", "value", 1, 3, true}, {"stage", "value", 2, 2, false},
		{"step", "small", 0, 1, true}, {"kept", "value", 0, 1, true}, {"kept", "value", 2, 1, false},
		{"passed", "value", 0, 1, false},
		{"masked", "value", 4, 5, false},
	}
	testtool.Need(t, "gcc")
	for _, level := range []string{"-O0", "-O1", "-O2", "-Os"} {
		file := filepath.Join(t.TempDir(), "differ")
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
			if level == "-O0" && tt.a != tt.b && (tt.function == "stage" || tt.function == "step") {
				continue // the address of the element is computed in a way that is not followed
			}
			read := readOf(t, f, tt.function, tt.variable)
			if got := x.Differ([]uint64{read + programBias}, tt.a, tt.b); got != tt.want {
				t.Errorf("%s: %s with %d and %d: differ is %v", level, tt.function, int64(tt.a), int64(tt.b), got)
			}
		}
	}
}

// readOf returns the address of the first instruction of a function that reads a variable.
func readOf(t *testing.T, f *elf.File, function, variable string) uint64 {
	t.Helper()
	fn, ok := f.FunctionAt(f.Lookup(function)[0].Addr)
	if !ok {
		t.Fatalf("no function %s", function)
	}
	at := f.Lookup(variable)[0].Addr
	im := newImage(f)
	for pc := fn.Lo; pc < fn.Hi; {
		in, _ := im.at(pc)
		if in == nil {
			break
		}
		if in.NMem == 1 && in.Mem[0].Fixed && in.Mem[0].Read && in.Mem[0].Addr == at && in.Kind != insn.Nop {
			return pc
		}
		pc = in.End()
	}
	t.Fatalf("%s does not read %s", function, variable)
	return 0
}
