package target

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/tracepredict/tracepredict/internal/testtool"
	"github.com/tracepredict/tracepredict/probes/elf"
)

// TestProgram: the program of a process is what its dynamic loader was told to run, or what the kernel has executed.
func TestProgram(t *testing.T) {
	testtool.Need(t, "gcc")
	dir := t.TempDir()
	source := filepath.Join(dir, "waits.c")
	if err := os.WriteFile(source, []byte("#include <stdio.h>\nint main(void) { puts(\"ready\"); fflush(stdout); return getchar(); }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{"-pie", "-no-pie", "-static", "-static-pie"} {
		program := filepath.Join(dir, "waits\n"+form)
		if out, err := exec.Command("gcc", form, "-o", program, source).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		checkProgramOf(t, program, program)
		f, err := elf.Open(program)
		if err != nil {
			t.Fatal(err)
		}
		if !f.IsProgram() || f.LoadsPrograms() {
			t.Errorf("%s: a program: %v, a dynamic loader: %v", form, f.IsProgram(), f.LoadsPrograms())
		}
		if loader := f.Interp(); loader != "" {
			checkProgramOf(t, program, loader, program)
		}
		f.Close()
	}
}

// checkProgramOf runs a command, and compares what Program says of its process.
func checkProgramOf(t *testing.T, want string, command ...string) {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if got, err := Program(cmd.Process.Pid); err != nil || got != want {
		t.Errorf("%q runs %q, want %q (%v)", command, got, want, err)
	}
	fmt.Fprintln(in)
	_, _ = io.Copy(io.Discard, out)
	_ = cmd.Wait() // its status is a character
}
