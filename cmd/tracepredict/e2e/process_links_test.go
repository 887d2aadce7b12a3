package e2e

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/loader/procfs"
)

// linksOf returns the links of probes in the kernel that are for one process, since
// other runs on the machine have links too.
func linksOf(t testing.TB, pid int) []link.ID {
	t.Helper()
	var ids []link.ID
	eachProbeLink(t, func(id link.ID, m *link.UprobeMultiInfo) {
		if p, ok := m.Pid(); ok && int(p) == pid {
			ids = append(ids, id)
		}
	})
	return ids
}

// probesIn returns the offsets in a file at which there are probes.
func probesIn(t testing.TB, path string) map[uint64]bool {
	t.Helper()
	at := map[uint64]bool{}
	eachProbeLink(t, func(_ link.ID, m *link.UprobeMultiInfo) {
		offsets, known := m.Offsets()
		if m.File != path {
			return
		}
		if !known {
			t.Fatalf("the kernel does not say where in %s the probes are", path)
		}
		for _, o := range offsets {
			at[o.Offset] = true
		}
	})
	return at
}

func eachProbeLink(t testing.TB, f func(link.ID, *link.UprobeMultiInfo)) {
	t.Helper()
	var infos []*link.Info
	poll(t, "a list of the links", func() bool {
		var err error
		infos, err = probeLinks()
		if err != nil && !errors.Is(err, unix.EAGAIN) { // try again: a link is being created
			t.Fatalf("list links: %v", err)
		}
		return err == nil
	})
	for _, info := range infos {
		f(info.ID, info.UprobeMulti())
	}
}

func probeLinks() (infos []*link.Info, err error) {
	it := new(link.Iterator)
	defer it.Close()
	for it.Next() {
		info, err := it.Link.Info()
		if err == nil && info.UprobeMulti() != nil { // otherwise it has been closed meanwhile, or is of another kind
			infos = append(infos, info)
		}
	}
	return infos, it.Err()
}

// wantLeftAlone waits until a process has nothing of the tool's left: no link, no
// tracer, no stopped thread, and the code of its C library as in the file.
func wantLeftAlone(t testing.TB, pid int) {
	t.Helper()
	poll(t, fmt.Sprintf("the links of process %d to go", pid), func() bool { return len(linksOf(t, pid)) == 0 })
	poll(t, fmt.Sprintf("the tracer of process %d to go", pid), func() bool {
		for _, tracer := range threadStates(pid, "TracerPid") {
			if tracer != "0" {
				return false
			}
		}
		return !stopped(pid)
	})
	poll(t, fmt.Sprintf("the code of process %d to be its file's", pid), func() bool { return codeIntact(t, pid) })
}

// codeIntact compares the code of all files that a process maps, including deleted or
// replaced ones, with the files.
func codeIntact(t testing.TB, pid int) bool {
	t.Helper()
	dir := taskWithMemory(t, pid)
	f, err := os.Open(dir + "/maps")
	if err != nil {
		t.Fatal(err)
	}
	maps, err := procfs.ParseMaps(f)
	f.Close()
	if err != nil {
		t.Fatal(err)
	}
	mem, err := os.Open(dir + "/mem")
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Close()
	for _, m := range maps {
		if !m.Exec || m.File.Inode == 0 {
			continue
		}
		// For a first thread that has ended there is no such entry.
		path := fmt.Sprintf("/proc/%d/map_files/%x-%x", pid, m.Lo, m.Hi)
		if _, err := os.Stat(path); err != nil {
			path = dir + "/root" + m.Path
		}
		if !sameCode(t, mem, m, path) {
			return false
		}
	}
	return true
}

// taskWithMemory returns the folder in /proc of a live thread, since the first one may
// have ended.
func taskWithMemory(t testing.TB, pid int) string {
	t.Helper()
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	for _, dir := range tasks {
		if _, err := os.Readlink(dir + "/exe"); err == nil {
			return dir
		}
	}
	t.Fatalf("process %d is gone", pid)
	return ""
}

func sameCode(t testing.TB, mem *os.File, m procfs.Mapping, path string) bool {
	t.Helper()
	file, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, s := range file.Sections {
		if s.Flags&elf.SHF_EXECINSTR == 0 || s.Offset < m.Offset || s.Offset+s.Size > m.Offset+(m.Hi-m.Lo) {
			continue
		}
		want, err := s.Data()
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(want))
		if _, err := mem.ReadAt(got, int64(m.Lo+s.Offset-m.Offset)); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			return false
		}
	}
	return true
}

// openTerminal creates a pseudo-terminal.
func openTerminal(t testing.TB) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	t.Cleanup(func() { master.Close() })
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return master, slave
}

// terminalCommand returns a command that runs in a session of its own at the terminal.
func terminalCommand(t testing.TB, slave *os.File, args ...string) *exec.Cmd {
	cmd := command(t, args[0], args[1:]...)
	cmd.Env = cleanEnv(nil)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true, Setctty: true}
	return cmd
}
