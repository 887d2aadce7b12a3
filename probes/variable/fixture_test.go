package variable

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/internal/testtool"
	bin "github.com/tracepredict/tracepredict/probes/elf"
)

// build compiles sources (name → text) with a compiler and flags, in the order of names, and opens
// the result. It skips the test if the compiler is missing.
func build(t testing.TB, compiler string, flags []string, names []string, sources map[string]string) *bin.File {
	t.Helper()
	return buildIn(t, t.TempDir(), "program", compiler, flags, names, sources)
}

func buildIn(t testing.TB, dir, output, compiler string, flags []string, names []string, sources map[string]string) *bin.File {
	t.Helper()
	testtool.Need(t, compiler)
	args := append([]string{"-o", output}, names...)
	args = append(args, flags...)
	for _, n := range names {
		if text, ok := sources[n]; ok {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, n)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, n), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	cmd := exec.Command(compiler, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return open(t, filepath.Join(dir, output))
}

func open(t testing.TB, path string) *bin.File {
	t.Helper()
	f, err := bin.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func mustFind(t testing.TB, f *bin.File, name string) Variable {
	t.Helper()
	v, err := Find(f, name)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Find finds a variable of one file.
func Find(f *bin.File, name string) (Variable, error) { return FindIn([]*bin.File{f}, name) }

// Accesses returns the accesses of a variable in one file.
func Accesses(f *bin.File, v Variable) (Result, error) { return NewCode(f, nil).Accesses(v) }

// Survey returns the census of one file.
func Survey(f *bin.File) (*Census, error) { return NewCode(f, nil).Survey() }
