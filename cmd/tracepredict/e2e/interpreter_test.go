package e2e

import (
	"debug/elf"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tracepredict/tracepredict/internal/testtool"
)

// TestInterpreterLock checks that the lock of an interpreter is a lock, and no order from each signal of its condition to
// the thread that it wakes: it hides no deadlock of locks that are acquired without it, and keeps one apart where it is
// held. The code between the interpreter's functions is not understood, so the deadlock is potential.
func TestInterpreterLock(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "interpreter/interpreter.c", "-O1", "-g", "-pthread")
	wantOfModes(t, program, map[string]string{"guilty": "potential deadlock of a, b", "late": "potential deadlock of a, b", "innocent": ""})
}

// TestPython checks that a deadlock of Python's locks is found although no thread waits for one. It is potential, as
// is one of locks that are only tried, which looks the same. None is found under a gate lock, or in one order.
func TestPython(t *testing.T) {
	needBPF(t)
	t.Parallel()
	python := needPython(t)
	script, err := filepath.Abs("testdata/interpreter/locks.py")
	if err != nil {
		t.Fatal(err)
	}
	for how, guilty := range map[string]bool{"guilty": true, "tried": true, "gated": false, "same": false} {
		t.Run(how, func(t *testing.T) {
			wantPotential(t, guilty, python, script, how)
		})
	}
}

// TestOCaml checks the same of OCaml's mutexes.
func TestOCaml(t *testing.T) {
	needBPF(t)
	t.Parallel()
	testtool.Need(t, "ocamlopt")
	dir := t.TempDir()
	text, err := os.ReadFile("testdata/interpreter/locks.ml")
	if err != nil {
		t.Fatal(err)
	}
	source, program := filepath.Join(dir, "locks.ml"), filepath.Join(dir, "locks")
	if err := os.WriteFile(source, text, 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := command(t, "ocamlopt", "-I", "+unix", "-I", "+threads", "unix.cmxa", "threads.cmxa", source, "-o", program).CombinedOutput(); err != nil {
		t.Skipf("ocamlopt has no threads: %v\n%s", err, out)
	}
	if !defines(t, program, "st_masterlock_acquire") && !defines(t, program, "caml_thread_enter_blocking_section") {
		t.Skip("the program has no master lock: this is not OCaml 4")
	}
	wantPotential(t, true, program, "opposite")
	wantPotential(t, false, program, "same")
}

// needPython returns the path of a Python that has the functions of the interpreter's lock, or skips the test.
func needPython(t *testing.T) string {
	t.Helper()
	path, err := filepath.EvalSymlinks("/usr/bin/python3")
	if err != nil {
		t.Skip("no /usr/bin/python3: install the package python3")
	}
	if !defines(t, path, "PyEval_SaveThread") {
		t.Skipf("%s does not define PyEval_SaveThread: it uses a shared library, or has no interpreter lock", path)
	}
	return path
}

// defines reports whether a program defines a function.
func defines(t *testing.T, program, function string) bool {
	t.Helper()
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	static, _ := f.Symbols()
	dynamic, _ := f.DynamicSymbols()
	return slices.ContainsFunc(append(static, dynamic...), func(s elf.Symbol) bool {
		return s.Name == function && s.Section != elf.SHN_UNDEF
	})
}

// wantPotential runs a program that must have one deadlock, which is potential, or none.
func wantPotential(t *testing.T, deadlock bool, program ...string) {
	t.Helper()
	_, r := reported(t, append([]string{"exec", "--confidence", "potential", "--"}, program...)...)
	n := 0
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.Kind != "deadlock" || f.Confidence != "potential" {
			t.Errorf("%s %s, want only potential deadlocks", f.Confidence, f.Kind)
		}
		n++
	}
	if n > 1 || (n == 1) != deadlock {
		t.Errorf("%v: %d deadlocks (%s)", program, n, r.summary())
	}
}
