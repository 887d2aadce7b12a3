package proc

import (
	"bufio"
	"os"
	"os/exec"
	"slices"
	"testing"
)

func TestStatFields(t *testing.T) {
	if got := StatFields([]byte("7 (a) S) (b) R 3 7\n")); !slices.Equal(got, []string{"R", "3", "7"}) {
		t.Errorf("%q", got)
	}
	for _, raw := range []string{"", "7 (a"} {
		_ = StatFields([]byte(raw))
	}
}

// TestStill asks of a shell that waits for a process below it: of one that computes, and of one that has been
// put to sleep by a pipe that nobody writes to.
func TestStill(t *testing.T) {
	for script, want := range map[string]bool{
		"echo on; while :; do :; done; :":                  false,
		"(echo on; while :; do :; done) & wait":            false,
		"(echo on; exec cat) <&3 & wait; : cat never ends": true,
	} {
		still(t, script, want)
	}
}

func still(t *testing.T, script string, want bool) {
	t.Helper()
	asleep, awake, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer asleep.Close()
	defer awake.Close()
	cmd := exec.Command("bash", "-c", script)
	cmd.ExtraFiles = []*os.File{asleep}
	said, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		for _, pid := range append(Children()[cmd.Process.Pid], cmd.Process.Pid) {
			if p, err := os.FindProcess(pid); err == nil {
				_ = p.Kill()
			}
		}
		_ = cmd.Wait()
	}()
	if _, err := bufio.NewReader(said).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	for want && !Still(cmd.Process.Pid) {
		// What goes to sleep has not arrived yet; it never leaves.
	}
	if got := Still(cmd.Process.Pid); got != want {
		t.Errorf("%s: still %v, want %v", script, got, want)
	}
}
