package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/loader/procfs"
)

// describe says of each thread of processes what it does.
func describe(pids []int) string {
	var text strings.Builder
	slices.Sort(pids)
	for _, pid := range slices.Compact(pids) {
		command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		fmt.Fprintf(&text, "process %d: %s\n", pid, strings.ReplaceAll(string(command), "\x00", " "))
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
		for _, task := range tasks {
			status, err := procfs.Status(strings.TrimPrefix(task, "/proc/"))
			if err != nil {
				continue // it has ended
			}
			stack, _ := os.ReadFile(task + "/stack")
			fmt.Fprintf(&text, "  thread %s: %s, parent %s, tracer %s\n%s", filepath.Base(task), status["State"], status["PPid"], status["TracerPid"], stack)
		}
	}
	return text.String()
}
