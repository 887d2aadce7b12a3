package main

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/loader/procfs"
)

// unharmed waits until nothing of the tool is left in a server's processes, and then for more answers. It returns an error that
// says what is wrong. Connections may have been broken only if breaks.
func unharmed(ctx context.Context, s *server, breaks bool) error {
	if err := probesGo(ctx, s); err != nil {
		return err
	}
	for what, check := range map[string]func(int) error{"tracers and stops to go": runsFreely, "the code to be its file's": codeIntact} {
		var left error
		err := wait(ctx, what, func() bool {
			left = nil
			for _, pid := range s.processes() {
				if left = check(pid); left != nil && exists(pid) {
					return false
				}
			}
			return true
		})
		if err != nil {
			return fmt.Errorf("%w: %w", err, left)
		}
	}
	before := s.served.Load()
	err := wait(ctx, s.name+" to answer", func() bool { return !s.alive() || s.failure() != nil || s.served.Load() >= before+2*clients })
	switch {
	case !s.alive():
		return fmt.Errorf("%s (process %d) has ended", s.name, s.pid)
	case err != nil:
		return err
	case s.broken.Load() > 0 && !breaks:
		return fmt.Errorf("%s broke %d connections", s.name, s.broken.Load())
	}
	return s.failure()
}

func exists(pid int) bool { return !errors.Is(unix.Kill(pid, 0), unix.ESRCH) }

// probesOf returns the number of links of probes that the kernel has for a process.
func probesOf(pid int) (n int, err error) {
	it := new(link.Iterator)
	defer it.Close()
	for it.Next() {
		info, err := it.Link.Info()
		if err != nil || info.UprobeMulti() == nil {
			continue // it has been closed meanwhile, or is of another kind
		}
		if owner, ok := info.UprobeMulti().Pid(); ok && int(owner) == pid {
			n++
		}
	}
	return n, it.Err()
}

// probesGo waits until a server has no probes. The kernel closes the links of a tool that was killed one after the other,
// and each waits for the machine's processors, so that only links of which none goes any more are harm.
func probesGo(ctx context.Context, s *server) error {
	for least := math.MaxInt; ; {
		left := least
		err := wait(ctx, "one more of the links of probes to go", func() bool {
			sum := 0
			for _, pid := range s.processes() {
				n, err := probesOf(pid)
				if err != nil {
					return false // a link is being made, or is going
				}
				sum += n
			}
			left = sum
			return left < least
		})
		switch {
		case err != nil:
			return fmt.Errorf("%w: %d are left", err, left)
		case left == 0:
			return nil
		}
		least = left
	}
}

// removedBy returns the number of breakpoints that tracepredict repair says it has removed.
func removedBy(said []byte) int { return bytes.Count(said, []byte("\n  removed: ")) }

// runsFreely returns an error if a thread is traced or stopped.
func runsFreely(pid int) error {
	tids, err := procfs.Threads(pid)
	if err != nil {
		return err
	}
	for _, tid := range tids {
		status, err := procfs.Status(fmt.Sprintf("%d/task/%d", pid, tid))
		switch {
		case err != nil: // it has ended
		case status["TracerPid"] != "0":
			return fmt.Errorf("thread %d is traced by %s", tid, status["TracerPid"])
		case strings.HasPrefix(strings.ToUpper(status["State"]), "T"):
			return fmt.Errorf("thread %d: %s", tid, status["State"])
		}
	}
	return nil
}

// codeIntact returns an error if the code of a file that a process maps is not that of the file.
func codeIntact(pid int) error {
	maps, err := procfs.Maps(pid)
	if err != nil {
		return err
	}
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		return err
	}
	defer mem.Close()
	for _, m := range maps {
		if !m.Exec || m.File.Inode == 0 {
			continue
		}
		if err := sameCode(mem, m, fmt.Sprintf("/proc/%d/map_files/%x-%x", pid, m.Lo, m.Hi)); err != nil {
			return err
		}
	}
	return nil
}

// sameCode compares the sections of code that a mapping has with those of its file.
func sameCode(mem io.ReaderAt, m procfs.Mapping, path string) error {
	file, err := elf.Open(path)
	if err != nil {
		return fmt.Errorf("read the code of %s: %w", m.Path, err)
	}
	defer file.Close()
	for _, s := range file.Sections {
		if s.Flags&elf.SHF_EXECINSTR == 0 || s.Offset < m.Offset || s.Offset+s.Size > m.Offset+(m.Hi-m.Lo) {
			continue
		}
		want, err := s.Data()
		if err != nil {
			return fmt.Errorf("read the code of %s: %w", m.Path, err)
		}
		got := make([]byte, len(want))
		if _, err := mem.ReadAt(got, int64(m.Lo+s.Offset-m.Offset)); err != nil {
			return fmt.Errorf("read the memory of %s: %w", m.Path, err)
		}
		if at := firstDifference(got, want); at >= 0 {
			return fmt.Errorf("%s+%#x is %#x, and %#x in the file: a breakpoint is left", m.Path, s.Addr+uint64(at), got[at], want[at])
		}
	}
	return nil
}

// firstDifference returns where two texts of one length differ first; -1 if they are equal.
func firstDifference(a, b []byte) int {
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return -1
}

// right returns an error if what a tool that has ended by itself left is not right.
func (t *tool) right(p plan) (*report, error) {
	status := t.cmd.ProcessState.ExitCode()
	if p.what == diskFull && status == failed && strings.Contains(t.said(), unix.ENOSPC.Error()) {
		return nil, nil
	}
	terminated := p.exec && status == 128+int(unix.SIGTERM) // as the server was
	if status != 0 && !terminated {
		return nil, fmt.Errorf("tracepredict's exit status is %d", status)
	}
	r, err := t.readReport()
	if err == nil && r.Run.Lost > 0 && !p.lossy && p.what != toolStopped {
		err = fmt.Errorf("%d events were lost without --lossy", r.Run.Lost)
	}
	return r, err
}

// failed is tracepredict's exit status if it failed itself.
const failed = 125

// group is a cgroup for a tool.
type group string

// newGroup makes a cgroup below the mount of cgroup2.
func newGroup() (group, error) {
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); len(f) > 2 && f[2] == "cgroup2" {
			dir := filepath.Join(f[1], fmt.Sprintf("tracepredict-chaos-%d", os.Getpid()))
			if err := os.Mkdir(dir, 0o755); err != nil {
				return "", err
			}
			if _, err := os.Stat(filepath.Join(dir, "cgroup.kill")); err != nil {
				return "", errors.Join(err, os.Remove(dir))
			}
			return group(dir), nil
		}
	}
	return "", errors.New("no cgroup2 is mounted")
}

// add moves a process into the group.
func (g group) add(pid int) error {
	return os.WriteFile(filepath.Join(string(g), "cgroup.procs"), []byte(strconv.Itoa(pid)), 0)
}

// kill kills the processes of the group.
func (g group) kill() error {
	return os.WriteFile(filepath.Join(string(g), "cgroup.kill"), []byte("1"), 0)
}

// remove removes the group.
func (g group) remove() {
	if g != "" {
		_ = os.Remove(string(g))
	}
}
