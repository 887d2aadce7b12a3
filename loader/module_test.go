package loader

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/internal/testtool"

	"github.com/tracepredict/tracepredict/loader/procfs"
	"github.com/tracepredict/tracepredict/loader/target"
)

// TestBias: the load bias added to the linked address of a function is its address in the
// process.
func TestBias(t *testing.T) {
	testtool.Need(t, "gcc")
	for _, flags := range [][]string{{"-pie", "-fPIE"}, {"-no-pie"}, {"-static"}, {"-pie", "-fPIE", "-Wl,-z,noseparate-code"}} {
		t.Run(strings.Join(flags, ""), func(t *testing.T) { testBias(t, flags) })
	}
}

func testBias(t *testing.T, flags []string) {
	path := filepath.Join(t.TempDir(), "program")
	gcc := exec.Command("gcc", append(flags, "-o", path, "-x", "c", "-")...)
	gcc.Stdin = strings.NewReader("#include <stdio.h>\nint main(void) { printf(\"%p\\n\", (void *)main); fflush(stdout); return getchar(); }")
	if out, err := gcc.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	program := exec.Command(path)
	in, _ := program.StdinPipe()
	out, _ := program.StdoutPipe()
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		in.Close()
		_ = program.Wait()
	}()
	var at uint64
	if _, err := fmt.Fscanf(out, "0x%x", &at); err != nil {
		t.Fatal(err)
	}
	maps, err := procfs.Maps(program.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(maps, func(m procfs.Mapping) bool { return m.Exec && m.Lo <= at && at < m.Hi })
	if i < 0 || maps[i].Path != path {
		t.Fatal("main is not in the program's code")
	}
	mod, err := openModule(program.Process.Pid, maps[i], true, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer mod.file.Close()
	bias, ok := mod.bias(maps[i])
	syms := mod.Bin.Lookup("main")
	if !ok || len(syms) != 1 || syms[0].Addr+bias != at {
		t.Errorf("bias 0x%x (%v), symbols %+v, main is at 0x%x", bias, ok, syms, at)
	}
	other := maps[i]
	other.File.Inode++
	if _, err := openModule(program.Process.Pid, other, true, nil); !errors.Is(err, target.ErrReplaced) {
		t.Errorf("another file was opened for the mapped one: %v", err)
	}
}
