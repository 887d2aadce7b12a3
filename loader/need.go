package loader

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/moby/sys/capability"
	"golang.org/x/sys/unix"
)

// NeedError says what the tool lacks, and how to come by it.
type NeedError struct {
	What   string // what is missing, or in the way
	Remedy string // what a person can do, with commands to type; "" if nothing
	Err    error  // what failed; nil if What says all
	Kind   error  // what errors.Is answers to beside Err; not printed; nil if nothing
}

// Error implements error: what, why, remedy.
func (e *NeedError) Error() string {
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

// Unwrap gives the cause.
func (e *NeedError) Unwrap() error { return e.Err }

// Is lets errors.Is find the kind.
func (e *NeedError) Is(target error) bool { return e.Kind != nil && errors.Is(e.Kind, target) }

// Format implements fmt.Formatter: %+v adds the whole log of the kernel's
// verifier, however deep in the cause it lies.
func (e *NeedError) Format(s fmt.State, verb rune) {
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

// The capabilities that the tool uses. CAP_SYS_ADMIN stands for the first two,
// and is not asked for: the kernel accepts it from before they were split off.
var capabilitiesUsed = [...]struct {
	cap   capability.Cap
	name  string
	why   string
	admin bool // CAP_SYS_ADMIN does as well
}{
	{capability.CAP_BPF, "CAP_BPF", "load BPF programs", true},
	{capability.CAP_PERFMON, "CAP_PERFMON", "attach them to programs", true},
	{capability.CAP_SYS_PTRACE, capSysPtrace, "observe programs of other users", false},
}

// capSysPtrace is wanted, and not needed: one's own programs can be observed
// without it unless a setting of the system says otherwise, which the trial of
// ptrace shows.
const capSysPtrace = "CAP_SYS_PTRACE"

// fileCapabilities is what setcap(8) is to give to the binary.
const fileCapabilities = "cap_bpf,cap_perfmon,cap_sys_ptrace+ep"

// circumstances are the facts about user and kernel that explain a refusal.
type circumstances struct {
	missing   []string // capabilities for BPF that are not in effect
	noPtrace  bool     // CAP_SYS_PTRACE is not in effect
	nested    bool     // in a user namespace of its own, where capabilities do not reach BPF
	seccomp   bool     // a filter of system calls is in effect
	noBTF     bool
	release   string // of the kernel
	self      string // the tool's own path
	lockdown  string // "", "integrity" or "confidentiality"
	capsKnown bool
}

func readCircumstances() circumstances {
	c := circumstances{nested: inUserNamespace(), lockdown: lockdownMode(), release: kernelRelease(), self: selfPath()}
	_, err := os.Stat(btfPath)
	c.noBTF = errors.Is(err, os.ErrNotExist)
	if status, err := readStatus("self"); err == nil {
		c.seccomp = status["Seccomp"] == "2"
	}
	caps, err := ownCapabilities()
	c.capsKnown = err == nil
	for _, n := range capabilitiesUsed {
		switch {
		case err != nil || caps.has(n.cap, n.admin):
		case n.name == capSysPtrace:
			c.noPtrace = true
		default:
			c.missing = append(c.missing, n.name)
		}
	}
	return c
}

// selfPath is the tool's path for commands that a person is to type.
func selfPath() string {
	self, err := os.Executable()
	if err != nil {
		return "tracepredict"
	}
	if real, err := filepath.EvalSymlinks(self); err == nil {
		self = real
	}
	return shellQuote(self)
}

// shellQuote makes s one word of a shell's command line.
func shellQuote(s string) string {
	plain := func(r rune) bool {
		return strings.ContainsRune("/._-+=:,@%", r) || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
	}
	if s != "" && strings.TrimFunc(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func (c circumstances) privilegeRemedy() string {
	return fmt.Sprintf("run it with sudo, or give the binary its capabilities: sudo setcap %s %s", fileCapabilities, c.self)
}

// explainLoad wraps an error of loading the BPF objects with its likely cause,
// as a *NeedError. The log of the verifier stays printable with %+v.
func explainLoad(err error) error {
	if err == nil {
		return nil
	}
	return readCircumstances().explain(err)
}

func (c circumstances) explain(err error) error {
	refused, denied := asRefusal(err)
	switch {
	case denied && c.nested:
		return &NeedError{
			What:   "BPF programs cannot be loaded from within a user namespace (a rootless container, unshare -U)",
			Remedy: "run it outside of the container, or in one started by root with --privileged --pid=host",
			Err:    refused,
		}
	case denied && len(c.missing) > 0:
		return &NeedError{What: "missing " + strings.Join(c.missing, ", "), Remedy: c.privilegeRemedy(), Err: refused}
	case denied && c.lockdown == lockdownConfidentiality:
		return &NeedError{What: "the kernel is locked down for confidentiality: BPF programs may not read memory", Remedy: lockdownRemedy, Err: refused}
	case c.noBTF:
		return &NeedError{What: "the kernel does not describe its types (no " + btfPath + ")", Remedy: btfRemedy, Err: err}
	case olderThan(c.release, minimumKernel):
		return &NeedError{
			What:   fmt.Sprintf("Linux %s is too old", c.release),
			Remedy: fmt.Sprintf("boot Linux %s or later", minimumKernel),
			Err:    err,
		}
	case errors.Is(err, unix.ENOSYS):
		return &NeedError{What: "the kernel has no bpf system call", Remedy: "boot a kernel built with CONFIG_BPF_SYSCALL=y", Err: err}
	case denied && c.seccomp:
		return &NeedError{
			What:   "a filter of system calls (seccomp, as containers set it) forbids BPF",
			Remedy: "start the container with --privileged, or with --security-opt seccomp=unconfined and --cap-add BPF,PERFMON,SYS_PTRACE",
			Err:    refused,
		}
	case errors.Is(err, unix.ENOMEM):
		return &NeedError{What: "not enough memory for the BPF maps", Remedy: "raise the memory limit of the container or of the service", Err: err}
	}
	return &NeedError{What: "the kernel did not take the BPF programs", Remedy: fmt.Sprintf("see what is missing: %s doctor", c.self), Err: err}
}

// refusal is a refusal by the kernel that is explained by something else: on
// one line it is the kernel's word alone, as the library's guess (a limit on
// locked memory) is wrong since Linux 5.11.
type refusal struct {
	errno unix.Errno
	err   error
}

func (r *refusal) Error() string { return r.errno.Error() }
func (r *refusal) Unwrap() error { return r.err }

// asRefusal reports whether err says that permission is lacking.
func asRefusal(err error) (error, bool) {
	var errno unix.Errno
	if !errors.As(err, &errno) || errno != unix.EPERM && errno != unix.EACCES {
		return err, false
	}
	return &refusal{errno, err}, true
}

// capabilitySet are the capabilities in effect.
type capabilitySet struct{ c capability.Capabilities }

func ownCapabilities() (capabilitySet, error) {
	c, err := capability.NewPid2(0)
	if err == nil {
		err = c.Load()
	}
	if err != nil {
		return capabilitySet{}, fmt.Errorf("read the tool's own capabilities: %w", err)
	}
	return capabilitySet{c}, nil
}

func (s capabilitySet) has(c capability.Cap, admin bool) bool {
	return s.c.Get(capability.EFFECTIVE, c) || admin && s.c.Get(capability.EFFECTIVE, capability.CAP_SYS_ADMIN)
}
