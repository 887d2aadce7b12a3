package elf

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/tracepredict/tracepredict/internal/testtool"
)

// TestContent reads constants, pointers that the loader makes, and finds tables of virtual functions.
func TestContent(t *testing.T) {
	testtool.Need(t, "g++")
	dir := t.TempDir()
	const source = `
extern "C" { extern const int number = 7; extern const int *pointer = &number; }
struct mode { virtual int run() { return 1; } };
extern "C" { extern mode object; mode object; }
int main() { return object.run(); }
`
	if err := os.WriteFile(filepath.Join(dir, "c.cc"), []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("g++", "-pie", "-fPIE", "-o", filepath.Join(dir, "c"), filepath.Join(dir, "c.cc")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	f, err := Open(filepath.Join(dir, "c"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	at := func(name string) uint64 { return f.Lookup(name)[0].Addr }
	if v, ok := f.Content(at("number"), 4); !ok || v != 7 {
		t.Errorf("number is %d, %v", v, ok)
	}
	if _, ok := f.Content(at("pointer"), 8); ok {
		t.Error("the content of a word that the loader changes is known")
	}
	pointers := f.RelativePointers()
	if to := pointers[at("pointer")]; to != at("number") {
		t.Errorf("pointer is %#x, want %#x", to, at("number"))
	}
	if table := pointers[at("object")] - 16; !f.IsVirtualTable(table) || f.IsVirtualTable(at("number")) {
		t.Errorf("the table of object at %#x is not found", table)
	}
}
