// Package need explains what the tool lacks and how to obtain it: an Error contains what is
// missing and the remedy, and Circumstances are the facts about kernel and user (release,
// capabilities, namespaces, lockdown) from which the cause of a refusal follows.
package need

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/moby/sys/capability"
	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/loader/procfs"
)

// Error is something that the tool lacks, with a remedy.
type Error struct {
	What   string // what is missing, or in the way
	Remedy string // what a person can do, with commands to type; "" if nothing
	Err    error  // the error that occurred; nil if What is all there is to say
	Kind   error  // an error that errors.Is finds besides Err; not printed; nil: none
}

// Error returns What, Err and Remedy.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.What)
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	if e.Remedy != "" {
		fmt.Fprintf(&b, "; %s", e.Remedy)
	}
	return b.String()
}

// Reason returns the error without its remedy, on one line.
func (e *Error) Reason() string {
	return strings.ReplaceAll((&Error{What: e.What, Err: e.Err}).Error(), "\n", " ")
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is makes errors.Is find the kind.
func (e *Error) Is(target error) bool { return e.Kind != nil && errors.Is(e.Kind, target) }

// Format implements fmt.Formatter: %+v adds the whole log of the kernel's verifier, however deep
// in the chain of causes it is.
func (e *Error) Format(s fmt.State, verb rune) {
	switch {
	case verb == 'q':
		fmt.Fprintf(s, "%q", e.Error())
		return
	default:
		fmt.Fprint(s, e.Error())
	}
	var log *ebpf.VerifierError
	if verb == 'v' && s.Flag('+') && errors.As(e.Err, &log) {
		fmt.Fprintf(s, "\n%+v", log)
	}
}

// CapabilitiesUsed are the capabilities that the tool uses. The kernel accepts CAP_SYS_ADMIN
// instead of the first two, from the time before they were split off; the tool does not ask for
// it.
var CapabilitiesUsed = [...]struct {
	Cap   capability.Cap
	Name  string
	Why   string
	Admin bool // the kernel accepts CAP_SYS_ADMIN instead
}{
	{capability.CAP_BPF, "CAP_BPF", "load BPF programs", true},
	{capability.CAP_PERFMON, "CAP_PERFMON", "attach them to programs", true},
	{capability.CAP_SYS_PTRACE, CapSysPtrace, "observe programs of other users", false},
}

// CapSysPtrace is a capability that the tool uses and does not need: users can observe their own
// programs without it unless a setting of the system forbids that, which the probe of ptrace
// shows.
const CapSysPtrace = "CAP_SYS_PTRACE"

// FileCapabilities is the argument of setcap(8) for the tool's binary.
const FileCapabilities = "cap_bpf,cap_perfmon,cap_sys_ptrace+ep"

// Circumstances are the facts about the user and the kernel that explain a refusal.
type Circumstances struct {
	Missing   []string // names of capabilities for BPF that are not in effect
	NoPtrace  bool     // CAP_SYS_PTRACE is not in effect
	Nested    bool     // not in the initial user namespace: capabilities do not apply to BPF
	seccomp   bool     // a filter of system calls is in effect
	noBTF     bool     // the kernel has no BTFPath
	Release   string   // release of the kernel, as uname -r prints it
	Self      string   // the tool's own path, quoted for a shell
	Lockdown  string   // "", "integrity" or "confidentiality"
	CapsKnown bool     // the tool's capabilities could be read
	// SecurityModules are the names of the kernel's security modules; "" if they are not known.
	SecurityModules string
}

// Read returns the circumstances of this process.
func Read() Circumstances {
	c := Circumstances{Nested: inUserNamespace(), Lockdown: lockdownMode(), Release: kernelRelease(), Self: selfPath()}
	_, err := os.Stat(BTFPath)
	c.noBTF = errors.Is(err, os.ErrNotExist)
	c.SecurityModules = securityModules()
	if status, err := procfs.Status("self"); err == nil {
		c.seccomp = status["Seccomp"] == "2"
	}
	caps, err := OwnCapabilities()
	c.CapsKnown = err == nil
	for _, n := range CapabilitiesUsed {
		switch {
		case err != nil || caps.Has(n.Cap, n.Admin):
		case n.Name == CapSysPtrace:
			c.NoPtrace = true
		default:
			c.Missing = append(c.Missing, n.Name)
		}
	}
	return c
}

// Lacks reports whether a capability that the tool uses is known to be missing.
func (c Circumstances) Lacks(name string) bool {
	return slices.Contains(c.Missing, name) || name == CapSysPtrace && c.NoPtrace
}

// selfPath returns the tool's path for commands that a person is to type, quoted for a shell.
func selfPath() string {
	self, err := os.Executable()
	if err != nil {
		return "tracepredict"
	}
	if real, err := filepath.EvalSymlinks(self); err == nil {
		self = real
	}
	return ShellQuote(self)
}

// ShellQuote returns s as one word of a shell's command line.
func ShellQuote(s string) string {
	plain := func(r rune) bool {
		return strings.ContainsRune("/._-+=:,@%", r) || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
	}
	if s != "" && strings.TrimFunc(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// PrivilegeRemedy returns how to obtain the capabilities that the tool uses.
func (c Circumstances) PrivilegeRemedy() string {
	return fmt.Sprintf("run it with sudo, or give the binary its capabilities: sudo setcap %s %s", FileCapabilities, c.Self)
}

// ExplainLoad wraps an error of loading the BPF objects in an *Error with its likely cause. %+v
// still prints the log of the verifier.
func ExplainLoad(err error) error {
	if err == nil {
		return nil
	}
	return Read().explain(err)
}

func (c Circumstances) explain(err error) error {
	refused, denied := AsRefusal(err)
	switch {
	case OutOfFiles(err):
		return ExplainFiles(err)
	case denied && c.Nested:
		return &Error{
			What:   "BPF programs cannot be loaded from within a user namespace (a rootless container, unshare -U)",
			Remedy: "run it outside of the container, or in one started by root with --privileged --pid=host",
			Err:    refused,
		}
	case denied && len(c.Missing) > 0:
		return &Error{What: "missing " + strings.Join(c.Missing, ", "), Remedy: c.PrivilegeRemedy(), Err: refused}
	case denied && c.Lockdown == LockdownConfidentiality:
		return &Error{What: "the kernel is locked down for confidentiality: BPF programs may not read memory", Remedy: LockdownRemedy, Err: refused}
	case c.noBTF:
		return &Error{What: "the kernel does not describe its types (no " + BTFPath + ")", Remedy: BTFRemedy, Err: err}
	case OlderThan(c.Release, MinimumKernel):
		return &Error{
			What:   fmt.Sprintf("Linux %s is too old", c.Release),
			Remedy: fmt.Sprintf("boot Linux %s or later", MinimumKernel),
			Err:    err,
		}
	case errors.Is(err, unix.ENOSYS):
		return &Error{What: "the kernel has no bpf system call", Remedy: "boot a kernel built with CONFIG_BPF_SYSCALL=y", Err: err}
	case denied && c.seccomp:
		return &Error{
			What:   "a filter of system calls (seccomp, as containers set it) forbids BPF",
			Remedy: "start the container with --privileged, or with --security-opt seccomp=unconfined and --cap-add BPF,PERFMON,SYS_PTRACE",
			Err:    refused,
		}
	case errors.Is(err, unix.ENOMEM):
		return &Error{What: "not enough memory for the BPF maps", Remedy: "raise the memory limit of the container or of the service", Err: err}
	}
	return &Error{What: "the kernel did not take the BPF programs", Remedy: fmt.Sprintf("see what is missing: %s doctor", c.Self), Err: err}
}

// refusal is a refusal by the kernel that another error explains. Its text is that of errno
// alone, because the BPF library's guess at the cause (a limit on locked memory) is wrong since
// Linux 5.11.
type refusal struct {
	errno unix.Errno
	err   error
}

func (r *refusal) Error() string { return r.errno.Error() }

func (r *refusal) Unwrap() error { return r.err }

// AsRefusal reports whether err means that permission is lacking, and then returns it as a
// refusal; otherwise it returns err.
func AsRefusal(err error) (error, bool) {
	var errno unix.Errno
	if !errors.As(err, &errno) || errno != unix.EPERM && errno != unix.EACCES {
		return err, false
	}
	return &refusal{errno, err}, true
}

// CapabilitySet is a process's set of capabilities.
type CapabilitySet struct{ C capability.Capabilities }

// OwnCapabilities returns the capabilities of this process.
func OwnCapabilities() (CapabilitySet, error) {
	c, err := capability.NewPid2(0)
	if err == nil {
		err = c.Load()
	}
	if err != nil {
		return CapabilitySet{}, fmt.Errorf("read the tool's own capabilities: %w", err)
	}
	return CapabilitySet{c}, nil
}

// Has reports whether a capability is in effect or, with admin, CAP_SYS_ADMIN, which the kernel
// accepts instead.
func (s CapabilitySet) Has(c capability.Cap, admin bool) bool {
	return s.C.Get(capability.EFFECTIVE, c) || admin && s.C.Get(capability.EFFECTIVE, capability.CAP_SYS_ADMIN)
}
