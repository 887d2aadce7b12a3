package procfs

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Setting reads a number under /proc/sys; ok is false if this kernel does not have that setting.
func Setting(name string) (n int, ok bool, err error) {
	path := "/proc/sys/" + strings.ReplaceAll(name, ".", "/")
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return 0, false, nil
	}
	if err == nil {
		n, err = strconv.Atoi(strings.TrimSpace(string(text)))
	}
	if err != nil {
		return 0, false, fmt.Errorf("read %s: %w", path, err)
	}
	return n, true, nil
}

// ProcessorTime returns the processor time of all threads that a process has had; false if the
// process has ended.
func ProcessorTime(pid int) (time.Duration, bool) {
	clock := int32(^pid<<3 | 2) // as clock_getcpuclockid(3) makes it
	var t unix.Timespec
	if unix.ClockGettime(clock, &t) != nil {
		return 0, false
	}
	return time.Duration(t.Nano()), true
}

// Status reads /proc/PID/status. pid is a process, a thread, "PID/task/TID" or "self".
func Status(pid string) (map[string]string, error) {
	text, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return nil, err
	}
	return parseStatus(string(text)), nil
}

// parseStatus parses lines of a name, a colon and a value. The name of a process cannot forge a
// line, because the kernel escapes line feeds in it.
func parseStatus(text string) map[string]string {
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(line, ":"); ok {
			fields[name] = strings.TrimSpace(value)
		}
	}
	return fields
}
