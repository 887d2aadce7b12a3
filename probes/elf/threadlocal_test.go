package elf

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/tracepredict/tracepredict/internal/testtool"
)

// TestThreadLocals compares the offsets of thread-local variables with those that the program finds.
func TestThreadLocals(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the offsets are those of x86-64")
	}
	testtool.Need(t, "gcc")
	const source = `
#include <stdio.h>
_Thread_local int first = 1; _Thread_local char text[5] = "abc"; _Thread_local long zero; _Thread_local %s;
int main(void)
{
	char *tp = __builtin_thread_pointer();
	printf("%%ld %%ld %%ld %%ld\n", (long)((char *)&first - tp), (long)(text - tp), (long)((char *)&zero - tp), (long)((char *)&more - tp));
	return 0;
}
`
	for _, more := range []string{"int more[3]", "__attribute__((aligned(64))) int more[3]"} {
		dir := t.TempDir()
		file, exe := filepath.Join(dir, "x.c"), filepath.Join(dir, "x")
		if err := os.WriteFile(file, fmt.Appendf(nil, source, more), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("gcc", "-o", exe, file).CombinedOutput(); err != nil {
			t.Fatalf("gcc: %v\n%s", err, out)
		}
		out, err := exec.Command(exe).Output()
		if err != nil {
			t.Fatal(err)
		}
		var at [4]int64
		if _, err := fmt.Sscan(string(out), &at[0], &at[1], &at[2], &at[3]); err != nil {
			t.Fatalf("%q: %v", out, err)
		}
		f, err := Open(exe)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		got := f.ThreadLocals()
		for i, size := range []int64{4, 5, 8, 12} {
			if !slices.Contains(got, ThreadLocal{at[i], size}) {
				t.Errorf("%s: no variable of %d bytes at %d: %+v", more, size, at[i], got)
			}
		}
		if got[0].Contains(got[0].Offset-1) || !got[0].Contains(got[0].Offset) || got[0].Contains(got[0].Offset+got[0].Size) {
			t.Error("Contains is wrong")
		}
	}
}
