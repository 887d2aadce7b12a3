package tries

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// connected returns a server, and the tool's end of its connection.
func connected(t *testing.T) (s *server, tool int) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	s = &server{conn: os.NewFile(uintptr(fds[0]), "tool")}
	t.Cleanup(func() {
		s.conn.Close()
		unix.Close(fds[1])
	})
	return s, fds[1]
}

// TestSetUp: a command that fails says why, and one that succeeds says nothing.
func TestSetUp(t *testing.T) {
	s, _ := connected(t)
	for _, c := range []struct{ command, want string }{
		{"true", ""},
		{"echo much; echo more >&2", ""},
		{"exit 3", "ended with status 3"},
		{"echo first >&2; echo 'no such folder' >&2; exit 1", "ended with status 1: no such folder"},
		{"kill -9 $$", "ended with status 137"},
	} {
		if got, err := s.setUp(c.command, time.Minute); got != c.want || err != nil {
			t.Errorf("%s: %q, %v, want %q", c.command, got, err, c.want)
		}
	}
}

// TestSetUpLate: a command that does not end is not waited for longer than the limit.
func TestSetUpLate(t *testing.T) {
	s, _ := connected(t)
	if got, err := s.setUp("exec cat /dev/zero", 10*time.Millisecond); got != "had not ended after 0.0 s" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	endDescendants()
}

// TestRestOfOrder: what is left of an order in the connection is not taken for the end of the tool, in which the server
// would end.
func TestRestOfOrder(t *testing.T) {
	s, tool := connected(t)
	if _, err := unix.Write(tool, []byte("\n")); err != nil {
		t.Fatal(err)
	}
	if got, err := s.setUp("exit 4", time.Minute); got != "ended with status 4" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// TestNamedInput: a file that is named is read from its beginning; what cannot be had again is refused without waiting.
func TestNamedInput(t *testing.T) {
	f, offset, err := input("tries_test.go")
	if err != nil || offset != 0 {
		t.Fatalf("%d, %v", offset, err)
	}
	defer f.Close()
	if text, err := io.ReadAll(f); err != nil || len(text) == 0 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(t.TempDir(), "socket")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for name, ok := range map[string]bool{os.DevNull: true, "tries_test.go": true, fifo: false, socket: false, "missing": false, "/dev/zero": false, ".": false} {
		if err := CheckInput(name); (err == nil) != ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
