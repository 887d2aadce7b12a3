package loader

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/cilium/ebpf"
)

// State is the answer of a probe of what kernel and user can do.
type State uint8

// The answers. Unknown is for a probe that could not be carried out.
const (
	Unknown State = iota
	Yes
	No
)

// String gives "unknown", "yes" or "no".
func (s State) String() string {
	switch s {
	case Yes:
		return "yes"
	case No:
		return "no"
	}
	return "unknown"
}

// Feature is something that the tool wants of the kernel or of its user, and
// how to find out by trying.
type Feature struct {
	Name   string
	Why    string // what it is for
	Since  string // the first Linux that has it, "6.6"; "" for all that we know
	Needed bool   // nothing works without it

	// probe gives nil for yes, an error that is ebpf.ErrNotSupported or a
	// *NeedError for no, any other for "could not tell".
	probe func() error
	// detail adds to a yes; may be nil.
	detail func() string
}

// Check is what Diagnose found out about one feature.
type Check struct {
	Name   string
	State  State
	Needed bool   // nothing works without it
	Detail string // what was seen, or why it could not be told
	Remedy string // what a person can do, with commands to type; "" if nothing
}

// Diagnose tries all that the tool wants of kernel and user; the last check,
// which decides, loads and attaches the whole BPF object. It starts a process
// of its own, so main must have called MainIfHeld.
func Diagnose() []Check {
	c := readCircumstances()
	var checks []Check
	for _, f := range allFeatures(c) {
		checks = append(checks, f.check(c))
	}
	return checks
}

// check carries the probe out.
func (f Feature) check(c circumstances) Check {
	result := Check{Name: f.Name, Needed: f.Needed}
	err := f.probe()
	var need *NeedError
	switch {
	case err == nil:
		result.State, result.Detail = Yes, f.Why
		if f.detail != nil {
			result.Detail = f.detail()
		}
	case errors.As(err, &need):
		result.State, result.Detail, result.Remedy = No, need.reason(), need.Remedy
	case errors.Is(err, ebpf.ErrNotSupported):
		result.State, result.Detail = No, fmt.Sprintf("to %s: %v", f.Why, err)
		result.Remedy = f.kernelRemedy(c)
	default:
		result.Detail, result.Remedy = f.untold(err, c)
	}
	return result
}

// untold says why a probe could not be carried out.
func (f Feature) untold(err error, c circumstances) (detail, remedy string) {
	refused, denied := asRefusal(err)
	if !denied {
		return fmt.Sprintf("could not tell: %v", err), ""
	}
	if len(c.missing) > 0 {
		remedy = c.privilegeRemedy()
	}
	return fmt.Sprintf("to %s; not permitted to try (%v)", f.Why, refused), remedy
}

// reason is the error without its remedy, on one line.
func (e *NeedError) reason() string {
	return strings.ReplaceAll((&NeedError{What: e.What, Err: e.Err}).Error(), "\n", " ")
}

func (f Feature) kernelRemedy(c circumstances) string {
	switch {
	case f.Since == "":
		return ""
	case olderThan(c.release, f.Since):
		return fmt.Sprintf("boot Linux %s or later (this is %s)", f.Since, c.release)
	}
	return fmt.Sprintf("boot a kernel that is configured for it; Linux has it since %s, and this is %s", f.Since, c.release)
}

// allFeatures lists what Diagnose tries, the causes before their effects.
func allFeatures(c circumstances) []Feature {
	list := []Feature{
		{Name: "architecture", Why: "read and probe machine code", Needed: true, probe: probeArchitecture, detail: machine},
		{Name: "kernel", Why: "have all that follows", Since: minimumKernel, Needed: true,
			probe: func() error { return probeKernel(c.release) }, detail: func() string { return "Linux " + c.release }},
		{Name: "initial user namespace", Why: "have capabilities that count for BPF", Needed: true,
			probe: func() error { return probeUserNamespace(c) }, detail: func() string { return "capabilities count for BPF" }},
	}
	for _, n := range capabilitiesUsed {
		list = append(list, Feature{Name: n.name, Why: n.why, Since: "5.8", Needed: n.name != capSysPtrace, probe: func() error {
			return probeCapability(c, n.name)
		}})
	}
	list = append(list, bpfFeatures()...)
	list = append(list,
		Feature{Name: "ptrace", Why: "hold a program until its probes are in place", Since: "3.4", Needed: true, probe: probePtrace},
		Feature{Name: "ptrace system calls", Why: "see libraries before their code runs", Since: "5.3", Needed: true, probe: probeSyscallInfo},
		Feature{Name: "hardware watchpoints", Why: "see accesses of a variable through pointers", Since: "5.13", probe: probeWatchpoints},
		Feature{Name: "not traced", Why: "trace the programs that it starts", probe: probeNotTraced},
	)
	list = append(list, settings(c)...)
	return append(list, Feature{Name: "all together", Why: "load and attach the whole", Since: minimumKernel, Needed: true, probe: probeWhole,
		detail: func() string { return "all BPF programs load and attach" }})
}

func machine() string { return runtime.GOARCH }

func probeArchitecture() error {
	if slices.Contains([]string{"amd64", "arm64"}, runtime.GOARCH) {
		return nil
	}
	return &NeedError{What: "no probes for " + runtime.GOARCH, Remedy: "use an x86-64 or arm64 machine"}
}

func probeKernel(release string) error {
	if _, _, err := parseRelease(release); err != nil {
		return err
	}
	if olderThan(release, minimumKernel) {
		return fmt.Errorf("%w by Linux %s", ebpf.ErrNotSupported, release)
	}
	return nil
}

func probeUserNamespace(c circumstances) error {
	if !c.nested {
		return nil
	}
	return &NeedError{
		What:   "in a user namespace of its own (a rootless container): capabilities do not reach BPF",
		Remedy: "run it outside of the container, or in one started by root with --privileged --pid=host",
	}
}

// lacks reports whether a capability that the tool uses is known to be missing.
func (c circumstances) lacks(name string) bool {
	return slices.Contains(c.missing, name) || name == capSysPtrace && c.noPtrace
}

func probeCapability(c circumstances, name string) error {
	switch {
	case !c.capsKnown:
		return errors.New("the tool's own capabilities cannot be read")
	case c.lacks(name):
		return &NeedError{What: fmt.Sprintf("not in effect (user id %d)", os.Geteuid()), Remedy: c.privilegeRemedy()}
	}
	return nil
}

// probeWhole is the deciding one: whatever stands in the way is a no.
func probeWhole() error {
	t, err := NewTracer(TracerOptions{})
	if err == nil {
		err = t.Close()
	}
	var need *NeedError
	if err == nil || errors.As(err, &need) {
		return err
	}
	return &NeedError{What: "does not work here", Err: err}
}

// settings are those of the system that explain refusals; none is needed to
// have a value once the capabilities are there.
func settings(c circumstances) []Feature {
	return []Feature{
		{Name: "kernel.unprivileged_bpf_disabled", Why: "say why BPF is refused", probe: func() error {
			return explainSetting(c, "kernel.unprivileged_bpf_disabled", 1, "CAP_BPF")
		}, detail: settingDetail("kernel.unprivileged_bpf_disabled", "does not concern CAP_BPF")},
		{Name: "kernel.perf_event_paranoid", Why: "say why watching memory is refused", probe: func() error {
			return explainSetting(c, "kernel.perf_event_paranoid", 2, "CAP_PERFMON")
		}, detail: settingDetail("kernel.perf_event_paranoid", "does not concern CAP_PERFMON")},
		{Name: "kernel.yama.ptrace_scope", Why: "say why tracing is refused", probe: func() error { return probeYama(c) },
			detail: settingDetail("kernel.yama.ptrace_scope", "does not concern CAP_SYS_PTRACE")},
		{Name: "lockdown", Why: "say why reading memory is refused", probe: func() error { return probeLockdown(c.lockdown) },
			detail: func() string { return "does not forbid BPF" }},
	}
}

// settingDetail tells a setting's value and why it is not in the way.
func settingDetail(name, harmless string) func() string {
	return func() string {
		n, ok, err := readSetting(name)
		if err != nil || !ok {
			return "not set by this kernel"
		}
		return fmt.Sprintf("%d: %s", n, harmless)
	}
}

// explainSetting says no where the setting has at least the value strict and
// the capability that lifts it is missing.
func explainSetting(c circumstances, name string, strict int, lifts string) error {
	n, ok, err := readSetting(name)
	if err != nil || !ok {
		return err
	}
	if n < strict || !c.lacks(lifts) {
		return nil
	}
	return &NeedError{What: fmt.Sprintf("%d: refuses those without %s", n, lifts), Remedy: c.privilegeRemedy()}
}

func probeYama(c circumstances) error {
	n, ok, err := readSetting("kernel.yama.ptrace_scope")
	if err != nil || !ok {
		return err
	}
	return judgeYama(c, n)
}

func judgeYama(c circumstances, scope int) error {
	switch {
	case scope >= 3:
		return &NeedError{What: "3: nobody may trace, until the next boot",
			Remedy: "set kernel.yama.ptrace_scope to 1 where it is set (grep -r ptrace_scope /etc/sysctl.*), and boot"}
	case scope == 2 && c.noPtrace:
		return &NeedError{What: "2: refuses those without " + capSysPtrace, Remedy: c.privilegeRemedy()}
	case scope == 1 && c.noPtrace:
		return &NeedError{What: "1: only programs that the tool starts may be traced without " + capSysPtrace, Remedy: c.privilegeRemedy()}
	}
	return nil
}

func probeLockdown(mode string) error {
	if mode != lockdownConfidentiality {
		return nil
	}
	return &NeedError{What: "confidentiality: BPF programs may not read memory", Remedy: lockdownRemedy}
}
