package procfs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestThreadState(t *testing.T) {
	for text, want := range map[string]byte{
		"17 (cat) S 1 17":           'S',
		"17 (a) R (b) D 1 17":       'D',
		"17 (tail) R":               'R',
		"17 (cut) ":                 0,
		"":                          0,
		"17 (x) t 1 17 17 0 -1 400": 't',
	} {
		name := filepath.Join(t.TempDir(), "stat")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := threadState(name, make([]byte, 256)); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := threadState(filepath.Join(t.TempDir(), "none"), make([]byte, 256)); got != 0 {
		t.Errorf("a thread that has ended: %q", got)
	}
	running := false
	EachRunning(os.Getpid(), func(tid int) { running = running || tid > 0 })
	if !running {
		t.Error("no thread of the test runs")
	}
	EachRunning(1<<30, func(int) { t.Error("a thread of no process runs") })
}

func TestStatFlags(t *testing.T) {
	for stat, want := range map[string]uint64{
		"2 (kthreadd) S 0 0 0 0 -1 2129984 0 0": 2129984,
		"7 (a) b) 1 2) R 1 7 7 0 -1 4194304 0":  4194304,
		"7 (short) R 1 7":                       0,
		"":                                      0,
		"7 (x) R 1 7 7 0 -1 many":               0,
	} {
		if got := statFlags(stat); got != want {
			t.Errorf("%q gives %d, want %d", stat, got, want)
		}
	}
}

func FuzzStatFlags(f *testing.F) {
	f.Add("2 (kthreadd) S 0 0 0 0 -1 2129984 0 0")
	f.Fuzz(func(_ *testing.T, stat string) { statFlags(stat) })
}

// TestSleeps checks that a process that only waits for time to pass is told from one that waits for
// input.
func TestSleeps(t *testing.T) {
	for command, want := range map[string]bool{"sleep": true, "cat": false} {
		c := exec.Command(command)
		if want {
			c.Args = append(c.Args, "1000")
		}
		in, err := c.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Skip(err)
		}
		call := fmt.Sprintf("/proc/%d/task/%d/syscall", c.Process.Pid, c.Process.Pid)
		calls := map[bool][]int{true: {unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP}, false: {unix.SYS_READ}}[want]
		for asleep := false; !asleep; { // until it is in its call
			text, err := os.ReadFile(call)
			if err != nil {
				t.Skip(err)
			}
			for _, n := range calls {
				asleep = asleep || strings.HasPrefix(string(text), fmt.Sprint(n)+" ")
			}
			runtime.Gosched()
		}
		if got := Sleeps(c.Process.Pid, c.Process.Pid); got != want {
			t.Errorf("%s: %v", command, got)
		}
		in.Close()
		c.Process.Kill()
		c.Wait()
	}
	if Sleeps(-1, -1) {
		t.Error("no process sleeps")
	}
}
