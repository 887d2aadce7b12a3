package dwarf

import (
	"debug/dwarf"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/tracepredict/tracepredict/internal/testtool"
	"github.com/tracepredict/tracepredict/probes/elf"
)

// TestMayHave checks what is said of the tags of debug information, by compiler and version, and that nothing is ruled
// out where it lies in another file.
func TestMayHave(t *testing.T) {
	testtool.Need(t, "gcc")
	const plain, atomic = "struct s { int n; } x; int main(void) { return x.n; }", "struct s { _Atomic int n; } x; int main(void) { return x.n; }"
	for _, c := range []struct {
		source string
		flags  []string
		want   bool
	}{
		{plain, []string{"-g"}, false},
		{atomic, []string{"-g"}, true},
		{plain, []string{"-gdwarf-4"}, false},
		{atomic, []string{"-gdwarf-4"}, false}, // which has no such entry
		{atomic, []string{"-g", "-gz"}, true},
		{plain, []string{"-g", "-gsplit-dwarf"}, true},
		{atomic, nil, false},
	} {
		dir := t.TempDir()
		source, out := filepath.Join(dir, "a.c"), filepath.Join(dir, "a")
		if err := os.WriteFile(source, []byte(c.source), 0o600); err != nil {
			t.Fatal(err)
		}
		gcc := exec.Command("gcc", append(c.flags, "-o", out, source)...)
		gcc.Dir = dir
		if text, err := gcc.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		f, err := elf.Open(out)
		if err != nil {
			t.Fatal(err)
		}
		if got := MayHave(f, dwarf.TagAtomicType); got != c.want {
			t.Errorf("%q, %q: %v", c.flags, c.source, got)
		}
		f.Close()
	}
}

// TestDeclares checks that abbreviations which end early rule nothing out.
func TestDeclares(t *testing.T) {
	table := []byte{1, 0x11, 1, 0x03, 0x08, 0, 0, 2, 0x24, 0, 0x0b, 0x0b, 0, 0, 0}
	if declares(table, dwarf.TagAtomicType) || !declares(table, dwarf.TagBaseType) {
		t.Error("a table of a unit and a base type is not read right")
	}
	if !declares(table[:9], dwarf.TagAtomicType) {
		t.Error("a table that ends early rules a tag out")
	}
}
