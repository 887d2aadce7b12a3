package tries

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/loader/procfs"
)

// MainIfServer must be among the first calls of main. In the process that starts tries it serves and never returns; in
// others it does nothing.
func MainIfServer() {
	if len(os.Args) < 4 || os.Args[1] != serverArg {
		return
	}
	fd, err := strconv.Atoi(os.Args[2])
	offset, err2 := strconv.ParseInt(os.Args[3], 10, 64)
	if err != nil || err2 != nil {
		os.Exit(1)
	}
	unix.CloseOnExec(fd)
	s := server{conn: os.NewFile(uintptr(fd), "tool"), offset: offset, args: os.Args[4:]}
	s.serve()
	os.Exit(0)
}

// server starts tries. One goroutine runs it.
type server struct {
	conn   *os.File
	offset int64
	args   []string // of the tool
}

// serve makes the tries that the tool asks for until the tool ends.
func (s *server) serve() {
	// Descendants whose parents have ended become children of this process.
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	in, out := json.NewDecoder(s.conn), json.NewEncoder(s.conn)
	for {
		var o order
		if in.Decode(&o) != nil {
			return
		}
		a, err := s.try(o)
		if err != nil {
			a.Error = err.Error()
		}
		if endDescendants(); out.Encode(a) != nil {
			return
		}
	}
}

// try makes a try, and returns when that has ended, or is to end.
func (s *server) try(o order) (a answer, err error) {
	end := time.Now().Add(o.Limit)
	if o.Setup != "" {
		if a.Setup, err = s.setUp(o.Setup, o.Limit); err != nil || a.Setup != "" {
			return a, err
		}
	}
	stdin, err := s.input()
	if err != nil {
		return a, err
	}
	defer stdin.Close()
	what, err := memory(o.Order)
	if err != nil {
		return a, err
	}
	defer what.Close()
	result, err := memory(nil)
	if err != nil {
		return a, err
	}
	defer result.Close()
	pid, err := startSelf(tryArg, []int{int(what.Fd()), int(result.Fd())}, s.args, stdin, os.Environ())
	if err != nil {
		return a, err
	}
	if a.Late, err = s.wait(pid, time.Until(end)); err != nil || a.Late {
		return a, err
	}
	if a.Status, err = statusOf(pid); err != nil {
		return a, err
	}
	if _, err := result.Seek(0, io.SeekStart); err != nil {
		return a, err
	}
	a.Answer, err = io.ReadAll(result)
	return a, err
}

// statusOf returns the exit status of a child that has ended; 128 + n if signal n ended it.
func statusOf(pid int) (int, error) {
	var ws unix.WaitStatus
	if _, err := unix.Wait4(pid, &ws, 0, nil); err != nil {
		return 0, err
	}
	if ws.Signaled() {
		return 128 + int(ws.Signal()), nil
	}
	return ws.ExitStatus(), nil
}

// setUp runs the command before a try. It returns why the command failed, with the last line that it wrote to standard
// error; "" if it did not.
func (s *server) setUp(command string, limit time.Duration) (why string, err error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return "", err
	}
	defer null.Close()
	said, err := memory(nil)
	if err != nil {
		return "", err
	}
	defer said.Close()
	pid, err := syscall.ForkExec("/bin/sh", []string{"sh", "-c", command}, &syscall.ProcAttr{
		Env: os.Environ(), Files: []uintptr{null.Fd(), null.Fd(), said.Fd()}, Sys: &syscall.SysProcAttr{Setpgid: true},
	})
	if err != nil {
		return "", fmt.Errorf("start /bin/sh: %w", err)
	}
	late, err := s.wait(pid, limit)
	switch {
	case err != nil:
		return "", err
	case late:
		return fmt.Sprintf("had not ended after %.1f s", limit.Seconds()), nil
	}
	status, err := statusOf(pid)
	if err != nil || status == 0 {
		return "", err
	}
	return fmt.Sprintf("ended with status %d%s", status, lastLine(said)), nil
}

// maxSaid is how much of the end of what a command writes is read, in bytes.
const maxSaid = 256

// lastLine returns the last line of a file, after a colon; "" if there is none.
func lastLine(f *os.File) string {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return ""
	}
	b := make([]byte, min(size, maxSaid))
	if _, err := f.ReadAt(b, size-int64(len(b))); err != nil {
		return ""
	}
	text := strings.TrimSpace(string(b))
	if text = text[strings.LastIndexByte(text, '\n')+1:]; text == "" {
		return ""
	}
	return ": " + text
}

// wait waits until a try has ended, and reports whether its time was over first. It ends this process, and the try, if
// the tool has ended.
func (s *server) wait(pid int, limit time.Duration) (late bool, err error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return false, fmt.Errorf("wait for the try: %w", err)
	}
	defer unix.Close(fd)
	end := time.Now().Add(limit)
	for {
		left := time.Until(end)
		if left <= 0 {
			return true, nil
		}
		// Not POLLIN of the connection: a decoder may have left the end of the line behind the order in it.
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}, {Fd: int32(s.conn.Fd()), Events: unix.POLLRDHUP}}
		_, err := unix.Poll(fds, int(left.Milliseconds())+1)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return false, fmt.Errorf("wait for the try: %w", err)
		case fds[1].Revents != 0:
			endDescendants()
			os.Exit(0)
		case fds[0].Revents != 0:
			return false, nil
		}
	}
}

// input returns the standard input of a try.
func (s *server) input() (*os.File, error) {
	if s.offset == fromNull {
		return os.Open(os.DevNull)
	}
	f, err := os.Open("/proc/self/fd/0")
	if err != nil {
		return nil, fmt.Errorf("open standard input again: %w", err)
	}
	if _, err := f.Seek(s.offset, io.SeekStart); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// memory returns a file without a name, at whose beginning are bytes.
func memory(b []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("try", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make a file in memory: %w", err)
	}
	f := os.NewFile(uintptr(fd), "try")
	if _, err := f.WriteAt(b, 0); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// endDescendants kills all descendants of this process, and waits for their ends.
func endDescendants() {
	for {
		foreign := false
		for _, pid := range descendants() {
			foreign = errors.Is(kill(pid), unix.EPERM) || foreign
		}
		if foreign {
			return // one is another user's, and would be waited for in vain
		}
		var ws unix.WaitStatus
		if _, err := unix.Wait4(-1, &ws, 0, nil); errors.Is(err, unix.ECHILD) {
			return
		}
	}
}

// kill ends a process if it still is a descendant.
func kill(pid int) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if !isDescendant(pid, parents()) {
		return unix.ESRCH
	}
	return unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
}

// descendants returns the processes that descend from this one.
func descendants() (pids []int) {
	all := parents()
	for pid := range all {
		if isDescendant(pid, all) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func isDescendant(pid int, parents map[int]int) bool {
	self := os.Getpid()
	for range len(parents) {
		if pid = parents[pid]; pid == 0 || pid == self {
			return pid == self
		}
	}
	return false
}

// parents returns the parents of all processes.
func parents() map[int]int {
	all := map[int]int{}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if status, err := procfs.Status(e.Name()); err == nil {
			all[pid], _ = strconv.Atoi(status["PPid"])
		}
	}
	return all
}
