package procfs

import (
	"fmt"
	"os"
	"syscall"
)

// initialPIDNamespace is the inode number that the kernel gives to the first
// PID namespace (PROC_PID_INIT_INO).
const initialPIDNamespace = 0xEFFFFFFC

// pidNamespace is the PID namespace of the process IDs that the tool, and so its /proc, uses.
type pidNamespace struct{ dev, Inode uint64 }

// OwnPIDNamespace returns the PID namespace of this process.
func OwnPIDNamespace() (pidNamespace, error) {
	fi, err := os.Stat("/proc/self/ns/pid")
	if err != nil {
		return pidNamespace{}, fmt.Errorf("find the own PID namespace (is /proc mounted?): %w", err)
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return pidNamespace{}, fmt.Errorf("find the own PID namespace: no inode number")
	}
	return pidNamespace{dev: st.Dev, Inode: st.Ino}, nil
}

// HelperDev returns the device number for the helper bpf_get_ns_current_pid_tgid. It is 0 in the
// initial namespace, where IDs need no translation, which is cheaper.
func (n pidNamespace) HelperDev() uint64 {
	if n.Inode == initialPIDNamespace {
		return 0
	}
	return n.dev
}
