package procfs

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// core(5) describes where the kernel puts core dumps.

// CoreDumpLocation returns a sentence on where a core dump of a process would be put now.
func CoreDumpLocation(pid int) string {
	pattern, err := os.ReadFile("/proc/sys/kernel/core_pattern")
	if err != nil {
		return "where the kernel puts it cannot be read: " + err.Error()
	}
	uses, _ := os.ReadFile("/proc/sys/kernel/core_uses_pid")
	dir := Dir(pid)
	cwd, _ := os.Readlink(dir + "/cwd")
	comm, _ := os.ReadFile(dir + "/comm")
	p := corePattern{
		text: strings.TrimSuffix(string(pattern), "\n"), addPID: strings.TrimSpace(string(uses)) == "1",
		pid: pid, name: strings.TrimSuffix(string(comm), "\n"), cwd: cwd,
	}
	var limit unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_CORE, nil, &limit); err == nil && limit.Max == 0 && !p.piped() {
		return "there is none: the hard limit on the size of core dumps is 0 (ulimit -H -c)"
	}
	return p.location()
}

// corePattern is /proc/sys/kernel/core_pattern and the values that it is expanded with.
type corePattern struct {
	text   string
	addPID bool // core_uses_pid is 1
	pid    int
	name   string // the kernel's name (comm) of the process
	cwd    string // the working directory of the process
}

func (p corePattern) piped() bool { return strings.HasPrefix(p.text, "|") }

// location expands the pattern. A part that is not known in advance becomes *.
func (p corePattern) location() string {
	switch {
	case p.piped():
		return fmt.Sprintf("the kernel hands it to %q (/proc/sys/kernel/core_pattern)", strings.TrimPrefix(p.text, "|"))
	case strings.HasPrefix(p.text, "@"):
		return fmt.Sprintf("the kernel sends it to %q (/proc/sys/kernel/core_pattern)", p.text)
	}
	pattern := p.text
	if pattern == "" {
		pattern = "core"
	}
	var b strings.Builder
	hasPID := false
	for i := 0; i < len(pattern); i++ {
		if pattern[i] != '%' {
			b.WriteByte(pattern[i])
			continue
		}
		if i++; i == len(pattern) {
			break // the kernel leaves it out
		}
		switch pattern[i] {
		case '%':
			b.WriteByte('%')
		case 'p':
			hasPID = true
			b.WriteString(strconv.Itoa(p.pid))
		case 'e':
			b.WriteString(strings.ReplaceAll(p.name, "/", "!"))
		default:
			b.WriteByte('*')
		}
	}
	if p.addPID && !hasPID {
		fmt.Fprintf(&b, ".%d", p.pid)
	}
	location := b.String()
	if !filepath.IsAbs(location) {
		location = filepath.Join(p.cwd, location)
	}
	return location
}
