package procfs

import (
	"fmt"
	"os"
	"strings"
)

// Dir returns the directory of /proc that shows the memory and the files of a process. That of a
// first thread that has called pthread_exit shows neither; then Dir returns that of another
// thread, which shows the same.
func Dir(pid int) string {
	dir := fmt.Sprintf("/proc/%d", pid)
	if tid := Living(pid); tid != pid {
		return fmt.Sprintf("%s/task/%d", dir, tid)
	}
	return dir
}

// Living returns the ID of a thread that has the memory of a process: that of its first thread, if this has not called
// pthread_exit or if no other one is left.
func Living(pid int) (tid int) {
	dir := fmt.Sprintf("/proc/%d", pid)
	if _, err := os.Readlink(dir + "/exe"); err == nil {
		return pid
	}
	tids, err := Threads(pid)
	if err != nil {
		return pid
	}
	for _, tid := range tids {
		if _, err := os.Readlink(fmt.Sprintf("%s/task/%d/exe", dir, tid)); err == nil {
			return tid
		}
	}
	return pid
}

// Executable returns the path of the program that a process runs.
func Executable(pid int) (string, error) {
	path, err := os.Readlink(Dir(pid) + "/exe")
	if err != nil {
		return "", fmt.Errorf("find the program of process %d: %w", pid, err)
	}
	return trimDeleted(path), nil
}

func trimDeleted(path string) string { return strings.TrimSuffix(path, " (deleted)") }
