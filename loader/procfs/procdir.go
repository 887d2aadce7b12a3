package procfs

import (
	"fmt"
	"os"
	"strings"
)

// Dir returns the folder of /proc that shows the process's memory and files. A
// leader that has called pthread_exit has neither any more; each of the other
// threads shows the same.
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
