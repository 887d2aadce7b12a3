package dwarf

import (
	"path/filepath"
	"testing"

	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/elftest"
)

var run = elftest.Run

// quiet prevents hostile build identifiers from leading to debug files of this machine.
var quiet = elf.Options{DebugDirs: []string{}}

// build compiles a file of the test data of probes/elf and returns the path of the program.
func build(t testing.TB, compiler, source string, flags ...string) string {
	t.Helper()
	return elftest.Build(t, compiler, filepath.Join("..", "elf", "testdata", source), flags...)
}

func open(t testing.TB, path string) *elf.File {
	t.Helper()
	return openWith(t, path, elf.Options{})
}

func openWith(t testing.TB, path string, opts elf.Options) *elf.File {
	t.Helper()
	f, err := elf.OpenWith(path, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}
