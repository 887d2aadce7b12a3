package procfs

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Identity is a process, told from others that have its ID before or after it, as long as the machine runs.
type Identity struct {
	PID   int
	Start uint64 // when it began, in clock ticks since the boot
}

// IdentityOf returns the identity of a process that exists, even if it has ended and nobody has taken notice yet.
func IdentityOf(pid int) (Identity, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Identity{}, fmt.Errorf("find when process %d began: %w", pid, err)
	}
	start, ok := startTime(string(stat))
	if !ok {
		return Identity{}, fmt.Errorf("find when process %d began: /proc does not tell", pid)
	}
	return Identity{pid, start}, nil
}

// Lives reports whether the process has not ended.
func (i Identity) Lives() bool {
	now, err := IdentityOf(i.PID)
	return err == nil && now == i && HasLiveThread(i.PID)
}

// startTime returns field 22 of /proc/PID/stat.
func startTime(stat string) (uint64, bool) {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	const at = 22 - 3 // the first of them is field 3
	if len(fields) <= at {
		return 0, false
	}
	n, err := strconv.ParseUint(fields[at], 10, 64)
	return n, err == nil
}

// Boot returns an identifier of the present run of the kernel, and of the PID namespace of this process's IDs.
func Boot() (string, error) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("find which boot this is: %w", err)
	}
	ns, err := OwnPIDNamespace()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s-%d", strings.TrimSpace(string(id)), ns.Inode), nil
}
