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
	if _, err := os.Readlink(dir + "/exe"); err == nil {
		return dir
	}
	tasks, err := os.ReadDir(dir + "/task")
	if err != nil {
		return dir
	}
	for _, t := range tasks {
		task := dir + "/task/" + t.Name()
		if _, err := os.Readlink(task + "/exe"); err == nil {
			return task
		}
	}
	return dir
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
