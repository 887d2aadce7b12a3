package target

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/loader/need"
	"github.com/tracepredict/tracepredict/loader/procfs"
)

// A binary with file capabilities lends its privileges to whoever may execute it. They are meant for observing one's
// own programs: with them, the kernel would let every user look into every process.

// CheckCaller returns an error if the user who executed the tool could not trace a process, while the tool could, by
// the capabilities of its file: if the process has another user or group, more capabilities, or is not dumpable, as
// ptrace(2) says. Tools that root runs, or that were given their capabilities otherwise, are not limited.
func CheckCaller(pid int) error {
	if !elevated() || os.Getuid() == 0 {
		return nil
	}
	status, err := procfs.Status(strconv.Itoa(pid))
	if err != nil {
		return noStatus(pid, err)
	}
	info, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
	if err != nil {
		return noStatus(pid, err)
	}
	owner := -1
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		owner = int(st.Uid)
	}
	if why := untraceable(os.Getuid(), os.Getgid(), status, owner, ownsUserNamespace(pid)); why != "" {
		return &need.Error{
			What:   fmt.Sprintf("process %d %s, so that you could not trace it, and the capabilities of tracepredict's file are for programs of your own", pid, why),
			Remedy: "run tracepredict with sudo",
			Kind:   ErrNotYours,
		}
	}
	return nil
}

// untraceable returns why a user could not trace a process with this /proc/PID/status, "" if it could. The owner is
// that of /proc/PID, which is not the process's user if it is not dumpable. A process in a user namespace of the user's
// own may have all capabilities, which count there alone.
func untraceable(uid, gid int, status map[string]string, owner int, ownNamespace bool) string {
	for _, id := range []struct {
		field, what string
		want        int
	}{{"Uid", "is another user's", uid}, {"Gid", "has another group", gid}} {
		ids := strings.Fields(status[id.field])
		const kernelOnly = 3 // real, effective and saved ones; that of files comes behind them
		if len(ids) < kernelOnly || slices.ContainsFunc(ids[:kernelOnly], func(s string) bool { return s != strconv.Itoa(id.want) }) {
			return id.what
		}
	}
	caps, err := strconv.ParseUint(status["CapPrm"], 16, 64)
	switch {
	case err != nil || caps != 0 && !ownNamespace:
		return "has capabilities"
	case owner != uid:
		return "is not dumpable"
	}
	return ""
}

// ownsUserNamespace reports whether a process is in another user namespace than the tool, which the user made who
// executed the tool.
func ownsUserNamespace(pid int) bool {
	ours, err := os.Readlink("/proc/self/ns/user")
	if err != nil {
		return false
	}
	f, err := os.Open(fmt.Sprintf("/proc/%d/ns/user", pid))
	if err != nil {
		return false
	}
	defer f.Close()
	if theirs, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd())); err != nil || theirs == ours {
		return false
	}
	uid, err := unix.IoctlGetUint32(int(f.Fd()), unix.NS_GET_OWNER_UID)
	return err == nil && int(uid) == os.Getuid()
}
