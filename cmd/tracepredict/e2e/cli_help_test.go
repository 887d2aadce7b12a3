package e2e

import (
	"io"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestHelpIsAsWideAsTheTerminal: help is wrapped at the width of the terminal that shows it.
func TestHelpIsAsWideAsTheTerminal(t *testing.T) {
	t.Parallel()
	for _, width := range []uint16{50, 100} {
		master, slave := openTerminal(t)
		if err := unix.IoctlSetWinsize(int(slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: width}); err != nil {
			t.Fatal(err)
		}
		cmd := terminalCommand(t, slave, toolPath(t), "exec", "--help")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		slave.Close()
		shown, _ := io.ReadAll(master) // it fails with EIO when the other side is closed
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
		text, _, _ := strings.Cut(string(shown), "\r\nUsage:")
		longest := 0
		for line := range strings.SplitSeq(text, "\r\n") {
			longest = max(longest, len(line))
		}
		if longest > int(width) || longest < int(width)-10 {
			t.Errorf("a terminal of %d columns: the longest line has %d:\n%s", width, longest, text)
		}
	}
}

// TestProcessAsArgument: attach and hang take a process with -p and without it, and a time without its unit.
func TestProcessAsArgument(t *testing.T) {
	needBPF(t)
	t.Parallel()
	_, pid := startServer(t)
	id := strconv.Itoa(pid)
	for _, args := range [][]string{
		{"attach", "--duration", "0.2", id}, {"attach", "--duration", "0.2", "-p", id}, {"attach", id, "--duration=0.2s", "-p" + id},
		{"hang", id}, {"hang", "-p", id}, {"repair", id}, {"repair", "--dry-run", "-p", id},
	} {
		tool := startTool(t, childOptions{}, args...)
		tool.want(0)
	}
}
