package procfs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
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

// TestSleeps checks that a process that only waits for time to pass is distinguished from one that waits for
// input.
func TestSleeps(t *testing.T) {
	for _, c := range []struct {
		command []string
		calls   []int // the system calls in which it waits
		want    bool
	}{
		{[]string{"sleep", "1000"}, []int{unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP}, true},
		{[]string{"cat"}, []int{unix.SYS_READ}, false},
	} {
		pid := start(t, c.command)
		awaitCall(t, pid, c.calls)
		if got := Sleeps(pid, pid); got != c.want {
			t.Errorf("%v: %v", c.command, got)
		}
		if number, args, ok := SystemCall(pid, pid); !ok || !slices.Contains(c.calls, number) || number == unix.SYS_READ && args[0] != 0 {
			t.Errorf("%v: call %d of %d, %v", c.command, number, args, ok)
		}
	}
	if Sleeps(-1, -1) {
		t.Error("no process sleeps")
	}
}

// start starts a command with an input that has nothing; it is ended with the test.
func start(t *testing.T, command []string) (pid int) {
	t.Helper()
	c := exec.Command(command[0], command[1:]...)
	if _, err := c.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
	})
	return c.Process.Pid
}

// awaitCall returns once a process is in one of the system calls. It skips the test where the kernel
// does not show them.
func awaitCall(t *testing.T, pid int, calls []int) {
	t.Helper()
	for {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/syscall", pid, pid))
		if err != nil {
			t.Skipf("the kernel does not show in which system call a process is: %v", err)
		}
		for _, n := range calls {
			if strings.HasPrefix(string(text), fmt.Sprint(n)+" ") {
				return
			}
		}
		runtime.Gosched()
	}
}
