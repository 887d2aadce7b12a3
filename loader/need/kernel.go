package need

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	// MinimumKernel is the first Linux version with uprobe_multi links.
	MinimumKernel = "6.6"

	// BTFPath is the file in which the kernel describes its types.
	BTFPath = "/sys/kernel/btf/vmlinux"
	// BTFRemedy is the remedy if there is no such file.
	BTFRemedy = "boot a kernel built with CONFIG_DEBUG_INFO_BTF=y, as distributions build theirs; look: grep CONFIG_DEBUG_INFO_BTF /boot/config-$(uname -r)"

	// LockdownConfidentiality is the lockdown mode that forbids BPF programs to read memory.
	LockdownConfidentiality = "confidentiality"
	// LockdownRemedy is the remedy for that mode.
	LockdownRemedy = "boot with lockdown=integrity on the kernel's command line, or without lockdown; look: cat /sys/kernel/security/lockdown"

	// initialUserNamespace is the inode number that the kernel gives to the
	// first user namespace (PROC_USER_INIT_INO).
	initialUserNamespace = "user:[4026531837]"
)

// kernelRelease returns what uname -r prints; "" if it cannot be read.
func kernelRelease() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Release[:])
}

// ParseRelease returns the first two numbers of a kernel release such as
// "6.18.44-cloud-amd64".
func ParseRelease(release string) (major, minor int, err error) {
	first, rest, ok := strings.Cut(release, ".")
	if i := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' }); i >= 0 {
		rest = rest[:i]
	}
	a, err1 := strconv.ParseUint(first, 10, 16)
	b, err2 := strconv.ParseUint(rest, 10, 16)
	if !ok || err1 != nil || err2 != nil {
		return 0, 0, fmt.Errorf("%q is not a kernel release", release)
	}
	return int(a), int(b), nil
}

// OlderThan reports whether a release is older than a version; false if either cannot be parsed.
func OlderThan(release, version string) bool {
	a, b, err := ParseRelease(release)
	c, d, err2 := ParseRelease(version)
	return err == nil && err2 == nil && (a < c || a == c && b < d)
}

// securityModules returns the names of the kernel's security modules that may forbid tracing; "" if
// there is none, or the kernel does not show them.
func securityModules() string {
	list, err := os.ReadFile("/sys/kernel/security/lsm")
	if err != nil {
		return ""
	}
	may := []string{"apparmor", "bpf", "landlock", "selinux", "smack", "yama"}
	names := slices.DeleteFunc(strings.Split(strings.TrimSpace(string(list)), ","), func(n string) bool { return !slices.Contains(may, n) })
	return strings.Join(names, ", ")
}

func inUserNamespace() bool {
	ns, err := os.Readlink("/proc/self/ns/user")
	return err == nil && ns != initialUserNamespace
}

// lockdownMode returns the lockdown mode; "" if the kernel has none or is not locked down.
func lockdownMode() string {
	line, err := os.ReadFile("/sys/kernel/security/lockdown")
	if err != nil {
		return ""
	}
	return parseLockdown(string(line))
}

// parseLockdown returns the mode in brackets of a line such as "none [integrity]
// confidentiality"; "" for none.
func parseLockdown(line string) string {
	_, rest, _ := strings.Cut(line, "[")
	mode, _, ok := strings.Cut(rest, "]")
	if !ok || mode == "none" {
		return ""
	}
	return mode
}
