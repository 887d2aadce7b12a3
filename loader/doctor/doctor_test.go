package doctor

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/loader/attach"
	"github.com/tracepredict/tracepredict/loader/ptrace"

	"github.com/cilium/ebpf"
	"github.com/google/go-cmp/cmp"
	"github.com/moby/sys/capability"
	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/internal/loadertest"
	"github.com/tracepredict/tracepredict/loader/need"
)

func init() {
	ptrace.MainIfHeld()
	loadertest.Serve(map[string]func(string) error{
		"diagnose": func(string) error { return json.NewEncoder(os.Stdout).Encode(Diagnose()) },
		"load": func(string) error {
			_, err := attach.NewTracer(attach.TracerOptions{RingBytes: 1 << 16})
			return err
		},
	})
}

// TestFeaturesOfThisKernel: a probe must not return No on a kernel that is new enough.
func TestFeaturesOfThisKernel(t *testing.T) {
	loadertest.NeedBPF(t)
	c := need.Read()
	seen := map[string]bool{}
	for _, f := range allFeatures(c) {
		t.Run(f.name, func(t *testing.T) {
			if seen[f.name] || f.name == "" || f.why == "" {
				t.Errorf("no name of its own, or no purpose: %+v", f)
			}
			seen[f.name] = true
			check := f.check(c)
			t.Logf("%+v", check)
			if check.State != Yes && f.needed && !need.OlderThan(c.Release, f.since) {
				t.Errorf("Linux %s has it since %s", c.Release, f.since)
			}
			if check.State == Yes && check.Remedy != "" || check.Detail == "" {
				t.Errorf("%+v", check)
			}
		})
	}
}

func TestDiagnoseLeavesNothing(t *testing.T) {
	loadertest.NeedBPF(t)
	Diagnose() // opens what is opened once and kept
	before := openFiles(t)
	Diagnose()
	if diff := cmp.Diff(before, openFiles(t)); diff != "" {
		t.Errorf("open files: %s", diff)
	}
	var ws unix.WaitStatus
	if pid, err := unix.Wait4(-1, &ws, unix.WALL|unix.WNOHANG, nil); !errors.Is(err, unix.ECHILD) {
		t.Errorf("child %d is left, %v", pid, err)
	}
}

func openFiles(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil {
			names = append(names, to)
		}
	}
	slices.Sort(names)
	return names
}

func TestDiagnoseWithLess(t *testing.T) {
	loadertest.NeedRoot(t)
	loadertest.NeedBPF(t)
	bin := loadertest.PublicBinary(t)
	const bpf, perfmon, ptrace = capability.CAP_BPF, capability.CAP_PERFMON, capability.CAP_SYS_PTRACE
	for _, c := range []struct {
		name    string
		who     *loadertest.As
		no      []string // the needed checks that must be No
		unknown string   // a check that cannot be tried; "" if all can
		whole   State
	}{
		{"nobody", &loadertest.As{UID: loadertest.Nobody}, []string{"CAP_BPF", "CAP_PERFMON", "all together"}, "uprobe hit", No},
		{"nobody, CAP_BPF", &loadertest.As{UID: loadertest.Nobody, Caps: []capability.Cap{bpf}}, []string{"CAP_PERFMON", "all together"}, "uprobe_multi", No},
		{"nobody, CAP_PERFMON", &loadertest.As{UID: loadertest.Nobody, Caps: []capability.Cap{perfmon, ptrace}}, []string{"CAP_BPF", "all together"}, "ring buffer", No},
		{"nobody, CAP_SYS_ADMIN", &loadertest.As{UID: loadertest.Nobody, Caps: []capability.Cap{capability.CAP_SYS_ADMIN}}, nil, "", Yes},
		{"nobody, no CAP_SYS_PTRACE", &loadertest.As{UID: loadertest.Nobody, Caps: []capability.Cap{bpf, perfmon}}, nil, "", Yes},
		{"nobody, all three", &loadertest.As{UID: loadertest.Nobody, Caps: []capability.Cap{bpf, perfmon, ptrace}}, nil, "", Yes},
	} {
		t.Run(c.name, func(t *testing.T) {
			checks := diagnoseAs(t, bin, c.who)
			var no []string
			for _, check := range checks {
				t.Logf("%-34s %-8s %s", check.Name, check.State, check.Detail)
				if check.Needed && check.State == No {
					no = append(no, check.Name)
				}
				if check.State == No && !strings.Contains(check.Remedy, "setcap cap_bpf,cap_perfmon,cap_sys_ptrace+ep "+bin) {
					t.Errorf("%s: remedy %q", check.Name, check.Remedy)
				}
				if check.Name == c.unknown && check.State != Unknown || c.unknown == "" && check.State == Unknown {
					t.Errorf("%+v", check)
				}
			}
			if diff := cmp.Diff(c.no, no); diff != "" {
				t.Errorf("needed and missing: %s", diff)
			}
			if last := checks[len(checks)-1]; last.State != c.whole {
				t.Errorf("the last check: %+v", last)
			}
		})
	}
}

func TestDiagnoseInNamespaces(t *testing.T) {
	loadertest.NeedRoot(t)
	loadertest.NeedBPF(t)
	for _, c := range []struct {
		name string
		args []string
		no   []string
	}{
		{"PID namespace", []string{"--pid", "--fork", "--mount-proc"}, nil},
		{"user namespace", []string{"--user", "--map-root-user"}, []string{"initial user namespace", "all together"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if out, err := exec.Command("unshare", append(c.args, "true")...).CombinedOutput(); err != nil {
				t.Skipf("needs unshare(1) and its right to %q: %v %s", c.args, err, out)
			}
			cmd := loadertest.HelperCommand("unshare", "diagnose", nil)
			cmd.Args = append(append(cmd.Args, c.args...), loadertest.PublicBinary(t))
			var no []string
			for _, check := range diagnoseBy(t, cmd) {
				if strings.Contains(check.Remedy, "setcap") {
					t.Errorf("%+v: the capabilities are there", check)
				}
				if check.State == No {
					no = append(no, check.Name)
					t.Logf("%+v", check)
				}
			}
			if diff := cmp.Diff(c.no, no); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func diagnoseAs(t *testing.T, bin string, who *loadertest.As) []Check {
	t.Helper()
	return diagnoseBy(t, loadertest.HelperCommand(bin, "diagnose", who))
}

// diagnoseBy returns the checks, but for that of hardware watchpoints where the machine has none for anybody.
func diagnoseBy(t *testing.T, cmd *exec.Cmd) []Check {
	t.Helper()
	out, failure := loadertest.RunHelper(t, cmd)
	var checks []Check
	if err := json.Unmarshal([]byte(out), &checks); err != nil || failure != "" || len(checks) == 0 {
		t.Fatalf("%v: %s %s", err, failure, out)
	}
	if errors.Is(attach.TryWatchpoint(), attach.ErrNoWatchpoint) {
		checks = slices.DeleteFunc(checks, func(c Check) bool { return c.Name == "hardware watchpoints" })
	}
	return checks
}

func TestLoadWithoutCapabilities(t *testing.T) {
	loadertest.NeedRoot(t)
	_, failure := loadertest.RunHelper(t, loadertest.HelperCommand(loadertest.PublicBinary(t), "load", &loadertest.As{UID: loadertest.Nobody}))
	t.Log(failure)
	for _, word := range []string{"missing CAP_BPF, CAP_PERFMON", "sudo setcap", "operation not permitted"} {
		if !strings.Contains(failure, word) {
			t.Errorf("%q does not say %q", failure, word)
		}
	}
	if strings.Contains(failure, "MEMLOCK") {
		t.Errorf("%q blames a limit that does not matter", failure)
	}
}

func TestCheckOfFeature(t *testing.T) {
	old := need.Circumstances{Release: "5.10.0-9-amd64", Self: "/bin/tp", Missing: []string{"CAP_BPF"}}
	current := need.Circumstances{Release: "6.12.1"}
	for _, c := range []struct {
		name string
		err  error
		in   need.Circumstances
		want Check
	}{
		{"yes", nil, current, Check{State: Yes, Detail: "fly"}},
		{"no, old", fmt.Errorf("wings: %w", ebpf.ErrNotSupported), old,
			Check{State: No, Detail: "to fly: wings: not supported", Remedy: "boot Linux 6.6 or later (this is 5.10.0-9-amd64)"}},
		{"no, configured away", ebpf.ErrNotSupported, current,
			Check{State: No, Detail: "to fly: not supported", Remedy: "boot a kernel that is configured for it; Linux has it since 6.6, and this is 6.12.1"}},
		{"no, with remedy", &need.Error{What: "no wings", Remedy: "grow some", Err: errors.New("a\nb")}, current,
			Check{State: No, Detail: "no wings: a b", Remedy: "grow some"}},
		{"refused", fmt.Errorf("wings (of lead): %w", unix.EPERM), old,
			Check{Detail: "to fly; not permitted to try (operation not permitted)", Remedy: old.PrivilegeRemedy()}},
		{"refused to the capable", unix.EACCES, current, Check{Detail: "to fly; not permitted to try (permission denied)"}},
		{"broken", errors.New("rain"), current, Check{Detail: "could not tell: rain"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := feature{name: "wings", why: "fly", since: "6.6", needed: true, probe: func() error { return c.err }}
			c.want.Name, c.want.Needed = "wings", true
			if diff := cmp.Diff(c.want, f.check(c.in)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestProbeArchitectureAndKernel(t *testing.T) {
	if err := probeArchitecture(); err != nil {
		t.Error(err)
	}
	for release, want := range map[string]error{"6.6.0": nil, "7.0": nil, "6.5.13-x": ebpf.ErrNotSupported, "5.19": ebpf.ErrNotSupported} {
		if err := probeKernel(release); !errors.Is(err, want) {
			t.Errorf("%s gives %v, want %v", release, err, want)
		}
	}
	if err := probeKernel("?"); err == nil || errors.Is(err, ebpf.ErrNotSupported) {
		t.Errorf("a release that cannot be read gives %v", err)
	}
}

func TestJudgeYama(t *testing.T) {
	with, without := need.Circumstances{}, need.Circumstances{NoPtrace: true}
	for _, c := range []struct {
		scope int
		in    need.Circumstances
		ok    bool
	}{
		{0, with, true}, {1, with, true}, {2, with, true}, {3, with, false},
		{0, without, true}, {1, without, false}, {2, without, false}, {3, without, false},
	} {
		err := explainYama(c.in, c.scope)
		if (err == nil) != c.ok {
			t.Errorf("scope %d, %+v: %v", c.scope, c.in, err)
		}
	}
}
