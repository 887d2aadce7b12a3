package elf

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/tracepredict/tracepredict/internal/testtool"
)

// TestPointers checks that the words that hold an object's address are found for each way of
// linking the program.
func TestPointers(t *testing.T) {
	const source = `
int aim[4] = {1}; static int other = 2;
int *first = aim; int *third = &aim[2]; static int *volatile elsewhere = &other;
int main(void) { return *first + *third + *elsewhere; }
`
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "p.c"), []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	testtool.Need(t, "gcc")
	for _, flags := range [][]string{{"-O0"}, {"-O0", "-no-pie", "-fno-pie"}, {"-O0", "-static"}, {"-O0", "-fPIC", "-shared"}, {"-O0", "-Wl,-z,pack-relative-relocs"}} {
		out := filepath.Join(dir, "program")
		cmd := exec.Command("gcc", append([]string{"-o", out, filepath.Join(dir, "p.c")}, flags...)...)
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Logf("%v: %v\n%s", flags, err, text) // an old linker
			continue
		}
		f, err := Open(out)
		if err != nil {
			t.Fatal(err)
		}
		aim := f.Lookup("aim")[0]
		want := map[uint64]bool{f.Lookup("first")[0].Addr: true, f.Lookup("third")[0].Addr: true}
		for _, p := range f.Pointers(aim.Addr, aim.Addr+aim.Size, "aim") {
			if !p.Table && !want[p.At] {
				t.Errorf("%v: a pointer at 0x%x to 0x%x, which is none", flags, p.At, p.To)
			}
			delete(want, p.At)
		}
		if len(want) > 0 {
			t.Errorf("%v: not found: %v", flags, want)
		}
		f.Close()
	}
}
