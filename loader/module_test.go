package loader

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/internal/testtool"
	"github.com/tracepredict/tracepredict/loader/procfs"
	"github.com/tracepredict/tracepredict/loader/target"
	"github.com/tracepredict/tracepredict/probes"
	"github.com/tracepredict/tracepredict/probes/variable"
)

// TestBias: the load bias added to the linked address of a function is its address in the
// process.
func TestBias(t *testing.T) {
	testtool.Need(t, "gcc")
	for _, flags := range [][]string{{"-pie", "-fPIE"}, {"-no-pie"}, {"-static"}, {"-pie", "-fPIE", "-Wl,-z,noseparate-code"}} {
		t.Run(strings.Join(flags, ""), func(t *testing.T) { testBias(t, flags) })
	}
}

// startMain builds a program whose main prints its address and waits, and starts it. It returns the address, the
// process and the mapping of main.
func startMain(t *testing.T, flags []string) (at uint64, pid int, of procfs.Mapping) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	gcc := exec.Command("gcc", append(flags, "-o", path, "-x", "c", "-")...)
	gcc.Stdin = strings.NewReader("#include <stdio.h>\nint shared;\nint main(void) { printf(\"%p\\n\", (void *)main); shared++; fflush(stdout); return getchar(); }")
	if out, err := gcc.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	program := exec.Command(path)
	in, _ := program.StdinPipe()
	out, _ := program.StdoutPipe()
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = program.Wait()
	})
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
	return at, program.Process.Pid, maps[i]
}

func testBias(t *testing.T, flags []string) {
	at, pid, mapping := startMain(t, flags)
	mod, err := openModule(pid, mapping, mapping.Path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer mod.file.Close()
	bias, ok := mod.bias(mapping)
	syms := mod.Bin.Lookup("main")
	if !ok || len(syms) != 1 || syms[0].Addr+bias != at {
		t.Errorf("bias 0x%x (%v), symbols %+v, main is at 0x%x", bias, ok, syms, at)
	}
	other := mapping
	other.File.Inode++
	if _, err := openModule(pid, other, other.Path, nil); !errors.Is(err, target.ErrReplaced) {
		t.Errorf("another file was opened for the mapped one: %v", err)
	}
}

// TestModuleThatFailed checks that no other process takes a module for whose variables there was no room.
func TestModuleThatFailed(t *testing.T) {
	testtool.Need(t, "gcc")
	_, pid, mapping := startMain(t, []string{"-g"})
	s := &Session{
		opts:    Options{Follow: true, Messages: MessagesNever, Plan: probes.Options{Shared: true}},
		modules: map[procfs.FileID][]*Module{},
		unnamed: newUnnamedWatcher(nil, DefaultRemovalLimits()),
	}
	if _, err := s.unnamed.add(make([]variable.Variable, bpf.MaxWatched)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		p := s.newProcess(pid)
		p.program = mapping.Path
		if m, err := s.module(p, mapping); err == nil {
			t.Errorf("there is a module with the sites from %d on, of %d", m.Base, len(s.Sites.list))
		}
	}
}
