package ptrace

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestExit(t *testing.T) {
	for _, c := range []struct {
		status unix.WaitStatus
		want   Exit
		code   int
	}{
		{0, Exit{}, 0},
		{0x0100, Exit{Status: 1}, 1},
		{0xff00, Exit{Status: 255}, 255},
		{9, Exit{Signal: unix.SIGKILL}, 137},
		{0x86, Exit{Signal: unix.SIGABRT, Core: true}, 134},
	} {
		got := exitOf(c.status)
		if got != c.want || got.Code() != c.code {
			t.Errorf("%#x: %+v, %d", c.status, got, got.Code())
		}
	}
}
