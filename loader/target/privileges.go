package target

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"github.com/moby/sys/capability"
	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/loader/need"
	"github.com/tracepredict/tracepredict/loader/procfs"
)

// The privileges of the tool. Problem: it reads what a program that it does not trust has
// written, for as long as that program runs, and needs three capabilities for it, while root has
// forty. Solution: what needs more is done first: the user's files are opened, and the process
// that is to become the program is started, which keeps the privileges that it would have
// without the tool. Then all others are given up irrevocably. Credentials belong to a thread:
// each change is made on all threads of the Go runtime, which only a binary without cgo can do.

// ErrCgo means that the tool cannot give up privileges, because it was built with cgo.
var ErrCgo = errors.New("it was built with cgo: build it with make, or with CGO_ENABLED=0")

// fileUser is the user with whose rights files are opened once privileges are dropped.
type fileUser struct {
	uid, gid int
	groups   []int
}

// DropPrivileges gives up all privileges but the three capabilities, and those of also that it has. If become is not nil, the
// whole tool becomes that user; then the user can send signals to the tool, and the tool to the
// user's program. Otherwise, if files is not nil, only files are opened as that user. Without
// the capabilities to change the user and group it does neither, and opening a file later
// reports what is missing.
func DropPrivileges(become *Credentials, files *fileUser, also ...capability.Cap) error {
	caps, err := ownCapabilities()
	if err != nil {
		return err
	}
	keep := neededOf(caps)
	for _, c := range also {
		if caps.C.Get(capability.PERMITTED, c) && !slices.Contains(keep, c) {
			keep = append(keep, c)
		}
	}
	return keepOnly(caps, keep, become, files)
}

// KeepOnlySignals gives up all privileges but CAP_KILL, with which a process sends signals to those of other users. It
// does not gain CAP_KILL.
func KeepOnlySignals() error {
	caps, err := ownCapabilities()
	if err != nil {
		return err
	}
	var keep []capability.Cap
	if caps.C.Get(capability.PERMITTED, capability.CAP_KILL) {
		keep = append(keep, capability.CAP_KILL)
	}
	return keepOnly(caps, keep, nil, nil)
}

// ownCapabilities returns the capabilities of the process, if it can change those of all its threads.
func ownCapabilities() (need.CapabilitySet, error) {
	if _, _, e := syscall.AllThreadsSyscall(unix.SYS_GETPID, 0, 0, 0); e == unix.ENOTSUP {
		return need.CapabilitySet{}, ErrCgo
	}
	return need.OwnCapabilities()
}

func keepOnly(caps need.CapabilitySet, keep []capability.Cap, become *Credentials, files *fileUser) error {
	if err := dropBounding(caps, keep); err != nil {
		return fmt.Errorf("limit the capabilities that can be had: %w", err)
	}
	if caps.Has(capability.CAP_SETUID, false) && caps.Has(capability.CAP_SETGID, false) {
		if err := changeUser(become, files); err != nil {
			return err
		}
	}
	if err := setCapabilities(keep); err != nil {
		return fmt.Errorf("give up capabilities: %w", err)
	}
	if err := onAllThreads(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1); err != nil {
		return fmt.Errorf("give up gaining privileges: %w", err)
	}
	return nil
}

func onAllThreads(trap, a1, a2 uintptr) error {
	if _, _, e := syscall.AllThreadsSyscall(trap, a1, a2, 0); e != 0 {
		return e
	}
	return nil
}

// neededOf returns the capabilities of a set that the tool keeps: those that it uses. If
// CAP_SYS_ADMIN stands for one of them, as in a container set up for older kernels, that is
// kept.
func neededOf(s need.CapabilitySet) []capability.Cap {
	var keep []capability.Cap
	for _, n := range need.CapabilitiesUsed {
		c := n.Cap
		if n.Admin && !s.C.Get(capability.PERMITTED, c) {
			c = capability.CAP_SYS_ADMIN
		}
		if s.C.Get(capability.PERMITTED, c) && !slices.Contains(keep, c) {
			keep = append(keep, c)
		}
	}
	return keep
}

// dropBounding removes all capabilities but keep from the bounding set, if the tool may do that,
// as root may.
func dropBounding(s need.CapabilitySet, keep []capability.Cap) error {
	if !s.Has(capability.CAP_SETPCAP, false) {
		return nil
	}
	last, err := capability.LastCap()
	if err != nil {
		return err
	}
	for c := capability.Cap(0); c <= last; c++ {
		if slices.Contains(keep, c) || !s.C.Get(capability.BOUNDING, c) {
			continue
		}
		if err := onAllThreads(unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, uintptr(c)); err != nil {
			return fmt.Errorf("%s: %w", c, err)
		}
	}
	return nil
}

// changeUser makes the tool become a user or, if become is nil, open files with the rights of one.
// It leaves the permitted capabilities as they are. The effective ones may be lost.
func changeUser(become *Credentials, files *fileUser) error {
	switch {
	case become != nil:
		if err := onAllThreads(unix.SYS_PRCTL, unix.PR_SET_KEEPCAPS, 1); err != nil {
			return fmt.Errorf("keep capabilities as user %s: %w", become.Name, err)
		}
		return become.assumeEverywhere()
	case files != nil && files.uid != os.Geteuid():
		if err := syscall.Setgroups(files.groups); err != nil {
			return fmt.Errorf("open files with the groups of user %d: %w", files.uid, err)
		}
		// Neither call reports an error: each returns the former ID.
		_ = onAllThreads(unix.SYS_SETFSGID, uintptr(files.gid), 0)
		_ = onAllThreads(unix.SYS_SETFSUID, uintptr(files.uid), 0)
	}
	return nil
}

// assumeEverywhere makes all threads of the tool run as c, irrevocably. The tool is not traced,
// so none of its threads blocks that.
func (c *Credentials) assumeEverywhere() error {
	if err := syscall.Setgroups(c.Groups); err != nil {
		return fmt.Errorf("take the groups of user %s: %w", c.Name, err)
	}
	if err := syscall.Setresgid(c.GID, c.GID, c.GID); err != nil {
		return fmt.Errorf("take the group of user %s: %w", c.Name, err)
	}
	if err := syscall.Setresuid(c.UID, c.UID, c.UID); err != nil {
		return fmt.Errorf("become user %s: %w", c.Name, err)
	}
	return nil
}

// setCapabilities makes keep the permitted and effective capabilities. No capability stays
// inheritable, and so none ambient.
func setCapabilities(keep []capability.Cap) error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	for _, c := range keep {
		data[c/32].Permitted |= 1 << (c % 32)
		data[c/32].Effective |= 1 << (c % 32)
	}
	_, _, e := syscall.AllThreadsSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&data[0])), 0)
	if e != 0 {
		return e
	}
	return nil
}

// Disinherit removes the capabilities that the tool uses from those that the calling thread
// passes on through an execve. It leaves those of root alone: a program that root runs has them,
// observed or not.
func Disinherit() error {
	if os.Geteuid() == 0 {
		return nil
	}
	caps, err := need.OwnCapabilities()
	if err != nil {
		return err
	}
	for _, n := range need.CapabilitiesUsed {
		caps.C.Unset(capability.INHERITABLE, n.Cap) // the kernel lowers the ambient one with it
	}
	if err := caps.C.Apply(capability.CAPS); err != nil {
		return fmt.Errorf("keep the tool's capabilities from the program: %w", err)
	}
	return nil
}

// FileUserOf returns the user with whose rights a process opens files.
func FileUserOf(pid int) (*fileUser, error) {
	status, err := procfs.Status(strconv.Itoa(pid))
	if err != nil {
		return nil, fmt.Errorf("find the user of process %d: %w", pid, err)
	}
	return parseFileUser(status)
}

func parseFileUser(status map[string]string) (*fileUser, error) {
	const files = 3 // index of the file system ID after the real, effective and saved ones
	var u fileUser
	for _, id := range []struct {
		field string
		to    *int
	}{{"Uid", &u.uid}, {"Gid", &u.gid}} {
		ids := strings.Fields(status[id.field])
		if len(ids) <= files {
			return nil, fmt.Errorf("/proc tells no %s", id.field)
		}
		n, err := strconv.Atoi(ids[files])
		if err != nil {
			return nil, fmt.Errorf("/proc tells %s %q: %w", id.field, ids[files], err)
		}
		*id.to = n
	}
	for _, g := range strings.Fields(status["Groups"]) {
		n, err := strconv.Atoi(g)
		if err != nil {
			return nil, fmt.Errorf("/proc tells the group %q: %w", g, err)
		}
		u.groups = append(u.groups, n)
	}
	return &u, nil
}

// ParentVariable is the environment variable with the number of the descriptor of the connection between the process
// that observes and its parent (package parent).
const ParentVariable = "TRACEPREDICT_PARENT"

// OriginalEnviron returns the environment that the tool was started with, without ParentVariable. The Go runtime adds
// GOTRACEBACK=none to it if the binary has file capabilities, and the program must not see that.
func OriginalEnviron() []string {
	return slices.DeleteFunc(environ(), func(v string) bool { return strings.HasPrefix(v, ParentVariable+"=") })
}

func environ() []string {
	if !elevated() {
		return os.Environ()
	}
	// If the process is not "dumpable", only root may read /proc/self/environ. Making it
	// dumpable for that time lets no other process look in, since that would need the tool's
	// capabilities.
	if dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); err == nil && dumpable != 1 {
		if err := unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0); err == nil {
			defer func() { _ = unix.Prctl(unix.PR_SET_DUMPABLE, uintptr(dumpable), 0, 0, 0) }()
		}
	}
	text, err := os.ReadFile("/proc/self/environ")
	if err != nil {
		return os.Environ()
	}
	return strings.FieldsFunc(string(text), func(r rune) bool { return r == 0 })
}

// elevated reports whether the tool has gained privileges by its execve.
func elevated() bool {
	const atSecure = 23
	aux, err := unix.Auxv()
	if err != nil {
		return false
	}
	return slices.ContainsFunc(aux, func(a [2]uintptr) bool { return a[0] == atSecure && a[1] != 0 })
}
