package loader

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	// minimumKernel is the first with uprobe_multi links.
	minimumKernel = "6.6"

	btfPath   = "/sys/kernel/btf/vmlinux"
	btfRemedy = "boot a kernel built with CONFIG_DEBUG_INFO_BTF=y, as distributions build theirs; look: grep CONFIG_DEBUG_INFO_BTF /boot/config-$(uname -r)"

	lockdownConfidentiality = "confidentiality"
	lockdownRemedy          = "boot with lockdown=integrity on the kernel's command line, or without lockdown; look: cat /sys/kernel/security/lockdown"

	// initialUserNamespace is the inode number that the kernel gives to the
	// first user namespace (PROC_USER_INIT_INO).
	initialUserNamespace = "user:[4026531837]"
)

// kernelRelease is what uname -r prints, "" if it cannot be had.
func kernelRelease() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Release[:])
}

// parseRelease gives the first two numbers of a kernel release such as
// "6.18.44-cloud-amd64".
func parseRelease(release string) (major, minor int, err error) {
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

// olderThan reports whether a release is known to be before a version.
func olderThan(release, version string) bool {
	a, b, err := parseRelease(release)
	c, d, err2 := parseRelease(version)
	return err == nil && err2 == nil && (a < c || a == c && b < d)
}

func inUserNamespace() bool {
	ns, err := os.Readlink("/proc/self/ns/user")
	return err == nil && ns != initialUserNamespace
}

// lockdownMode is "" where the kernel has none, or is not locked down.
func lockdownMode() string {
	line, err := os.ReadFile("/sys/kernel/security/lockdown")
	if err != nil {
		return ""
	}
	return parseLockdown(string(line))
}

// parseLockdown reads a line such as "none [integrity] confidentiality".
func parseLockdown(line string) string {
	_, rest, _ := strings.Cut(line, "[")
	mode, _, ok := strings.Cut(rest, "]")
	if !ok || mode == "none" {
		return ""
	}
	return mode
}

// readSetting reads a number below /proc/sys; ok is false if this kernel does
// not have it.
func readSetting(name string) (n int, ok bool, err error) {
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

// readStatus reads /proc/PID/status, of a process, a thread or "self".
func readStatus(pid string) (map[string]string, error) {
	text, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return nil, err
	}
	return parseStatus(string(text)), nil
}

// parseStatus reads lines of a name, a colon and a value. A name of a process
// cannot forge a line: the kernel escapes its line feeds.
func parseStatus(text string) map[string]string {
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(line, ":"); ok {
			fields[name] = strings.TrimSpace(value)
		}
	}
	return fields
}
