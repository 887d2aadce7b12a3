package loadertest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// askedSource is a program with two functions, one of which it calls for each line of its input.
const askedSource = `#include <stdio.h>
__attribute__((noinline)) int answer(int n) { return n * 7; }
__attribute__((noinline)) int other(int n) { return n * 5; }
int main(void) {
	int n;
	printf("%p %p\n", (void *)answer, (void *)other);
	fflush(stdout);
	while (scanf("%d", &n) == 1) { printf("%d\n", n < 0 ? other(n) : answer(n)); fflush(stdout); }
	return 0;
}`

// Asked is a running program with functions that are called when the test asks for it.
type Asked struct {
	PID  int
	Path string
	// Answer and Other are the functions.
	Answer, Other Function

	t   testing.TB
	in  io.Writer
	out *bufio.Reader
}

// Function is where a function is.
type Function struct {
	Addr     uint64 // in the process
	Offset   uint64 // in the file
	Original byte   // the first byte of its code
}

// StartAsked starts the program, which ends with the test. It needs gcc.
func StartAsked(t testing.TB) *Asked {
	t.Helper()
	a := &Asked{t: t, Path: filepath.Join(t.TempDir(), "asked")}
	gcc := exec.Command("gcc", "-O1", "-Wl,--build-id", "-o", a.Path, "-x", "c", "-")
	gcc.Stdin = strings.NewReader(askedSource)
	if text, err := gcc.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	command := exec.Command(a.Path)
	in, _ := command.StdinPipe()
	out, _ := command.StdoutPipe()
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := command.Wait(); err != nil {
			t.Errorf("the program: %v", err)
		}
	})
	a.PID, a.in, a.out = command.Process.Pid, in, bufio.NewReader(out)
	if _, err := fmt.Fscanf(a.out, "0x%x 0x%x\n", &a.Answer.Addr, &a.Other.Addr); err != nil {
		t.Fatal(err)
	}
	for _, f := range []*Function{&a.Answer, &a.Other} {
		f.Offset, f.Original = a.offset(f.Addr), a.First(*f)
	}
	return a
}

// Open opens the file of the program, until the test ends.
func (a *Asked) Open() *os.File {
	a.t.Helper()
	file, err := os.Open(a.Path)
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() { file.Close() })
	return file
}

// offset returns the offset in the file of an address in the process.
func (a *Asked) offset(addr uint64) uint64 {
	a.t.Helper()
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", a.PID))
	if err != nil {
		a.t.Fatal(err)
	}
	for line := range bytes.Lines(maps) {
		var lo, hi, offset uint64
		var mode string
		if n, _ := fmt.Sscanf(string(line), "%x-%x %s %x", &lo, &hi, &mode, &offset); n == 4 && lo <= addr && addr < hi {
			return addr - lo + offset
		}
	}
	a.t.Fatalf("no mapping has 0x%x", addr)
	return 0
}

// withMemory calls f with the memory of the process.
func (a *Asked) withMemory(f func(*os.File) error) {
	a.t.Helper()
	mem, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", a.PID), os.O_RDWR, 0)
	if err != nil {
		a.t.Fatal(err)
	}
	defer mem.Close()
	if err := f(mem); err != nil {
		a.t.Fatal(err)
	}
}

// Leak puts a breakpoint where a function is, of which the kernel knows nothing.
func (a *Asked) Leak(f Function) {
	a.t.Helper()
	a.withMemory(func(mem *os.File) error {
		_, err := mem.WriteAt([]byte{0xcc}, int64(f.Addr))
		return err
	})
}

// Mend puts the code of a function back, so that the program can end well.
func (a *Asked) Mend(f Function) {
	a.t.Helper()
	a.withMemory(func(mem *os.File) error {
		_, err := mem.WriteAt([]byte{f.Original}, int64(f.Addr))
		return err
	})
}

// First returns the first byte of a function.
func (a *Asked) First(f Function) byte {
	a.t.Helper()
	b := make([]byte, 1)
	a.withMemory(func(mem *os.File) error {
		_, err := mem.ReadAt(b, int64(f.Addr))
		return err
	})
	return b[0]
}

// WantAnswers has the program call both functions.
func (a *Asked) WantAnswers() {
	a.t.Helper()
	for n, want := range map[int]int{6: 42, -3: -15} {
		var got int
		fmt.Fprintln(a.in, n)
		if _, err := fmt.Fscanf(a.out, "%d\n", &got); err != nil || got != want {
			a.t.Errorf("the function returns %d, %v, want %d", got, err, want)
		}
	}
}
