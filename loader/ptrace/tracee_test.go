package ptrace

import (
	"testing"

	"golang.org/x/sys/unix"
)

// TestMapsCode reads entries of system calls that a dynamic loader makes.
func TestMapsCode(t *testing.T) {
	for _, c := range []struct {
		nr, protection uint64
		maps           bool
	}{
		{unix.SYS_MMAP, unix.PROT_READ | unix.PROT_EXEC, true},
		{unix.SYS_MMAP, unix.PROT_READ, false},
		{unix.SYS_MMAP, unix.PROT_READ | unix.PROT_WRITE, false},
		{unix.SYS_MPROTECT, unix.PROT_READ | unix.PROT_EXEC, true},
		{unix.SYS_MPROTECT, unix.PROT_READ, false},
		{unix.SYS_PKEY_MPROTECT, unix.PROT_EXEC, true},
		{unix.SYS_MREMAP, 0, true},
		{unix.SYS_READ, unix.PROT_EXEC, false},
		{unix.SYS_CLOSE, 0, false},
	} {
		info := ptraceSyscallInfo{op: unix.PTRACE_SYSCALL_INFO_ENTRY}
		info.data[0], info.data[3] = c.nr, c.protection // the third argument
		if got := info.mapsCode(); got != c.maps {
			t.Errorf("system call %d with %d: %v", c.nr, c.protection, got)
		}
	}
}
