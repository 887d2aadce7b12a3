// Package doctor finds out, by trying, what this kernel and this user can do, and which remedies
// there are for what is missing.
package doctor

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"

	"github.com/cilium/ebpf"

	"github.com/tracepredict/tracepredict/loader/attach"
	"github.com/tracepredict/tracepredict/loader/need"
	"github.com/tracepredict/tracepredict/loader/procfs"
)

// State is the result of a probe of what the kernel and the user can do.
type State uint8

// The results. Unknown means that the probe could not be carried out.
const (
	Unknown State = iota
	Yes
	No
)

// String returns "unknown", "yes" or "no".
func (s State) String() string {
	switch s {
	case Yes:
		return "yes"
	case No:
		return "no"
	}
	return "unknown"
}

// feature is something that the tool needs of the kernel or of its user, with a probe that finds
// out whether it is there.
type feature struct {
	name   string
	why    string // what it is for: a verb phrase
	since  string // the first Linux that has it, such as "6.6"; "" if all known ones have it
	needed bool   // without it nothing works

	// probe returns nil for Yes, an error that is ebpf.ErrNotSupported or a *need.Error for No,
	// and any other error for Unknown.
	probe func() error
	// detail returns the text of a Yes; nil: why.
	detail func() string
}

// Check is the result of Diagnose for one feature.
type Check struct {
	Name   string
	State  State
	Needed bool   // without it nothing works
	Detail string // what was seen, or why the state is unknown
	Remedy string // what a person can do, with commands to type; "" if nothing
}

// Diagnose tries all that the tool needs of the kernel and the user. The last check, which
// decides, loads and attaches the whole BPF object. Diagnose starts a process of its own, so
// main must have called ptrace.MainIfHeld.
func Diagnose() []Check {
	c := need.Read()
	var checks []Check
	for _, f := range allFeatures(c) {
		checks = append(checks, f.check(c))
	}
	return checks
}

// check carries out the probe.
func (f feature) check(c need.Circumstances) Check {
	result := Check{Name: f.name, Needed: f.needed}
	err := f.probe()
	var known *need.Error
	switch {
	case err == nil:
		result.State, result.Detail = Yes, f.why
		if f.detail != nil {
			result.Detail = f.detail()
		}
	case errors.As(err, &known):
		result.State, result.Detail, result.Remedy = No, known.Reason(), known.Remedy
	case errors.Is(err, ebpf.ErrNotSupported):
		result.State, result.Detail = No, fmt.Sprintf("to %s: %v", f.why, err)
		result.Remedy = f.kernelRemedy(c)
	default:
		result.Detail, result.Remedy = f.notTried(err, c)
	}
	return result
}

// notTried returns the detail and the remedy for a probe that could not be carried out.
func (f feature) notTried(err error, c need.Circumstances) (detail, remedy string) {
	refused, denied := need.AsRefusal(err)
	if !denied {
		return fmt.Sprintf("could not tell: %v", err), ""
	}
	if len(c.Missing) > 0 {
		remedy = c.PrivilegeRemedy()
	}
	return fmt.Sprintf("to %s; not permitted to try (%v)", f.why, refused), remedy
}

func (f feature) kernelRemedy(c need.Circumstances) string {
	switch {
	case f.since == "":
		return ""
	case need.OlderThan(c.Release, f.since):
		return fmt.Sprintf("boot Linux %s or later (this is %s)", f.since, c.Release)
	}
	return fmt.Sprintf("boot a kernel that is configured for it; Linux has it since %s, and this is %s", f.since, c.Release)
}

// allFeatures returns what Diagnose tries, causes before their effects.
func allFeatures(c need.Circumstances) []feature {
	list := []feature{
		{name: "architecture", why: "read and probe machine code", needed: true, probe: probeArchitecture, detail: machine},
		{name: "kernel", why: "have all that follows", since: need.MinimumKernel, needed: true,
			probe: func() error { return probeKernel(c.Release) }, detail: func() string { return "Linux " + c.Release }},
		{name: "initial user namespace", why: "have capabilities that count for BPF", needed: true,
			probe: func() error { return probeUserNamespace(c) }, detail: func() string { return "capabilities count for BPF" }},
	}
	for _, n := range need.CapabilitiesUsed {
		since := "5.8"
		if n.Name == need.CapSysPtrace {
			since = "" // all kernels have it
		}
		list = append(list, feature{name: n.Name, why: n.Why, since: since, needed: n.Name != need.CapSysPtrace, probe: func() error {
			return probeCapability(c, n.Name)
		}})
	}
	list = append(list, bpfFeatures()...)
	list = append(list,
		feature{name: "ptrace", why: "hold a program until its probes are in place", since: "3.4", needed: true, probe: probePtrace},
		feature{name: "ptrace system calls", why: "see libraries before their code runs", since: "5.3", needed: true, probe: probeSyscallInfo},
		feature{name: "hardware watchpoints", why: "see accesses of a variable through pointers", since: "5.13", probe: attach.TryWatchpoint},
		feature{name: "not traced", why: "trace the programs that it starts", probe: probeNotTraced},
	)
	list = append(list, settings(c)...)
	return append(list, feature{name: "all together", why: "load and attach the whole", since: need.MinimumKernel, needed: true, probe: probeWhole,
		detail: func() string { return "all BPF programs load and attach" }})
}

func machine() string { return runtime.GOARCH }

func probeArchitecture() error {
	if slices.Contains([]string{"amd64", "arm64"}, runtime.GOARCH) {
		return nil
	}
	return &need.Error{What: "no probes for " + runtime.GOARCH, Remedy: "use an x86-64 or arm64 machine"}
}

func probeKernel(release string) error {
	if _, _, err := need.ParseRelease(release); err != nil {
		return err
	}
	if need.OlderThan(release, need.MinimumKernel) {
		return fmt.Errorf("%w by Linux %s", ebpf.ErrNotSupported, release)
	}
	return nil
}

func probeUserNamespace(c need.Circumstances) error {
	if !c.Nested {
		return nil
	}
	return &need.Error{
		What:   "in a user namespace of its own (a rootless container): capabilities do not reach BPF",
		Remedy: "run it outside of the container, or in one started by root with --privileged --pid=host",
	}
}

func probeCapability(c need.Circumstances, name string) error {
	switch {
	case !c.CapsKnown:
		return errors.New("the tool's own capabilities cannot be read")
	case c.Lacks(name):
		return &need.Error{What: fmt.Sprintf("not in effect (user id %d)", os.Geteuid()), Remedy: c.PrivilegeRemedy()}
	}
	return nil
}

// probeWhole decides: any error is a No.
func probeWhole() error {
	t, err := attach.NewTracer(attach.TracerOptions{})
	if err == nil {
		err = errors.Join(t.LoadAll(), t.Close())
	}
	var known *need.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	return &need.Error{What: "does not work here", Err: err}
}

// settings returns the features for settings of the system that explain refusals. With the
// capabilities in effect, none of them needs to have a certain value.
func settings(c need.Circumstances) []feature {
	return []feature{
		{name: "kernel.unprivileged_bpf_disabled", why: "say why BPF is refused", probe: func() error {
			return explainSetting(c, "kernel.unprivileged_bpf_disabled", 1, "CAP_BPF")
		}, detail: settingDetail("kernel.unprivileged_bpf_disabled", "does not concern CAP_BPF")},
		{name: "kernel.perf_event_paranoid", why: "say why watching memory is refused", probe: func() error {
			return explainSetting(c, "kernel.perf_event_paranoid", 2, "CAP_PERFMON")
		}, detail: settingDetail("kernel.perf_event_paranoid", "does not concern CAP_PERFMON")},
		{name: "kernel.yama.ptrace_scope", why: "say why tracing is refused", probe: func() error { return probeYama(c) },
			detail: settingDetail("kernel.yama.ptrace_scope", "does not concern CAP_SYS_PTRACE")},
		{name: "lockdown", why: "say why reading memory is refused", probe: func() error { return probeLockdown(c.Lockdown) },
			detail: func() string { return "does not forbid BPF" }},
	}
}

// settingDetail returns a function that returns a setting's value and why it is harmless.
func settingDetail(name, harmless string) func() string {
	return func() string {
		n, ok, err := procfs.Setting(name)
		if err != nil || !ok {
			return "not set by this kernel"
		}
		return fmt.Sprintf("%d: %s", n, harmless)
	}
}

// explainSetting returns an error if the setting is at least strict and the capability that
// lifts the restriction is missing.
func explainSetting(c need.Circumstances, name string, strict int, lifts string) error {
	n, ok, err := procfs.Setting(name)
	if err != nil || !ok {
		return err
	}
	if n < strict || !c.Lacks(lifts) {
		return nil
	}
	return &need.Error{What: fmt.Sprintf("%d: refuses those without %s", n, lifts), Remedy: c.PrivilegeRemedy()}
}

func probeYama(c need.Circumstances) error {
	n, ok, err := procfs.Setting("kernel.yama.ptrace_scope")
	if err != nil || !ok {
		return err
	}
	return explainYama(c, n)
}

func explainYama(c need.Circumstances, scope int) error {
	switch {
	case scope >= 3:
		return &need.Error{What: "3: nobody may trace, until the next boot",
			Remedy: "set kernel.yama.ptrace_scope to 1 where it is set (grep -r ptrace_scope /etc/sysctl.*), and boot"}
	case scope == 2 && c.NoPtrace:
		return &need.Error{What: "2: refuses those without " + need.CapSysPtrace, Remedy: c.PrivilegeRemedy()}
	case scope == 1 && c.NoPtrace:
		return &need.Error{What: "1: only programs that the tool starts may be traced without " + need.CapSysPtrace, Remedy: c.PrivilegeRemedy()}
	}
	return nil
}

func probeLockdown(mode string) error {
	if mode != need.LockdownConfidentiality {
		return nil
	}
	return &need.Error{What: "confidentiality: BPF programs may not read memory", Remedy: need.LockdownRemedy}
}
