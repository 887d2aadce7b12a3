// Package proc reads from /proc what the commands of this folder need to know of the
// processes that they started.
package proc

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// StatFields splits what follows the name in /proc/PID/stat: the state, the
// parent, ...
func StatFields(raw []byte) []string {
	return strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:]))
}

// Children reads every process's parent, for not every kernel lists children, and gives the
// processes of each parent.
func Children() map[int][]int {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil // the pattern is right
	}
	children := map[int][]int{}
	for _, name := range stats {
		raw, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		fields := StatFields(raw)
		if len(fields) < 2 {
			continue
		}
		parent, bad := strconv.Atoi(fields[1])
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name))); err == nil && bad == nil {
			children[parent] = append(children[parent], pid)
		}
	}
	return children
}

// Still reports whether no thread of a process and of those below it runs, wants to, or waits for
// a device: all sleep, are stopped or have ended.
func Still(root int) bool {
	children := Children()
	for below := []int{root}; len(below) > 0; below = below[1:] {
		if !sleeps(below[0]) {
			return false
		}
		below = append(below, children[below[0]]...)
	}
	return true
}

func sleeps(pid int) bool {
	stats, err := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/[0-9]*/stat")
	if err != nil {
		return true // the pattern is right
	}
	for _, name := range stats {
		raw, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		if fields := StatFields(raw); len(fields) > 0 && strings.Contains("RDWK", fields[0]) {
			return false
		}
	}
	return true
}
