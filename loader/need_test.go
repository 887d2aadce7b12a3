package loader

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

func TestExplain(t *testing.T) {
	good := circumstances{release: "6.12.0", self: "tracepredict"}
	with := func(change func(*circumstances)) circumstances {
		c := good
		change(&c)
		return c
	}
	for _, c := range []struct {
		name         string
		in           circumstances
		err          error
		what, remedy string
	}{
		{"capability", with(func(c *circumstances) { c.missing = []string{"CAP_BPF"} }), unix.EPERM, "missing CAP_BPF", "sudo setcap cap_bpf,cap_perfmon,cap_sys_ptrace+ep tracepredict"},
		{"user namespace", with(func(c *circumstances) { c.nested = true; c.seccomp = true }), unix.EPERM, "user namespace", "--privileged"},
		{"lockdown", with(func(c *circumstances) { c.lockdown = lockdownConfidentiality }), unix.EPERM, "locked down", "lockdown=integrity"},
		{"seccomp", with(func(c *circumstances) { c.seccomp = true }), unix.EPERM, "seccomp", "seccomp=unconfined"},
		{"no BTF", with(func(c *circumstances) { c.noBTF = true }), ebpf.ErrNotSupported, btfPath, "CONFIG_DEBUG_INFO_BTF"},
		{"old", with(func(c *circumstances) { c.release = "5.15.0-91-generic" }), unix.EINVAL, "Linux 5.15.0-91-generic is too old", "Linux 6.6"},
		{"no BPF", good, unix.ENOSYS, "no bpf system call", "CONFIG_BPF_SYSCALL"},
		{"memory", good, unix.ENOMEM, "not enough memory", "memory limit"},
		{"anything else", with(func(c *circumstances) { c.missing = []string{"CAP_BPF"} }), errors.New("odd"), "did not take", "tracepredict doctor"},
		{"refused without cause", good, unix.EPERM, "did not take", "tracepredict doctor"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.in.explain(fmt.Errorf("load program (consider a limit): %w", c.err))
			wantNeed(t, err, c.err, c.what, c.remedy)
		})
	}
	if err := explainLoad(nil); err != nil {
		t.Error(err)
	}
}

func TestVerifierLogStaysPrintable(t *testing.T) {
	needBPF(t)
	_, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Type: ebpf.SocketFilter, License: "GPL",
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R1, 1), asm.Mov.Reg(asm.R0, asm.R7), asm.Return()},
	})
	var log *ebpf.VerifierError
	if !errors.As(err, &log) || len(log.Log) < 3 {
		t.Fatalf("no log of the verifier: %v", err)
	}
	for _, c := range []circumstances{{release: "6.12.0"}, {release: "6.12.0", missing: []string{"CAP_BPF"}}} {
		explained := c.explain(fmt.Errorf("program on_probe: %w", err))
		full := fmt.Sprintf("%+v", explained)
		for _, line := range log.Log {
			if !strings.Contains(full, line) {
				t.Errorf("%q lacks %q", full, line)
			}
		}
		for _, short := range []string{fmt.Sprintf("%v", explained), fmt.Sprintf("%s", explained), explained.Error()} {
			if strings.Contains(short, "\n") {
				t.Errorf("more than one line: %q", short)
			}
		}
	}
}

func TestNeedErrorFormat(t *testing.T) {
	e := &NeedError{What: "no wings", Remedy: "grow some", Err: unix.ENOENT}
	const want = "no wings: no such file or directory; grow some"
	for format, want := range map[string]string{"%v": want, "%s": want, "%+v": want, "%q": `"` + want + `"`} {
		if got := fmt.Sprintf(format, e); got != want {
			t.Errorf("%s gives %q, want %q", format, got, want)
		}
	}
	if got := (&NeedError{What: "no wings"}).Error(); got != "no wings" {
		t.Error(got)
	}
	if got := (&NeedError{What: "x", Err: &ExitError{Code: 126, Err: e}}); !errors.Is(got, unix.ENOENT) {
		t.Errorf("%v hides its cause", got)
	}
}

// The oracle is the shell.
func TestShellQuote(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("needs sh")
	}
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.OneOf(rapid.StringMatching(`[a-z/.'"$ \n*~]*`), rapid.StringMatching(`[[:ascii:]]*`)).Draw(t, "word")
		word = strings.ReplaceAll(word, "\x00", "")
		out, err := exec.Command(sh, "-c", "printf %s. "+shellQuote(word)).Output()
		if err != nil || string(out) != word+"." {
			t.Fatalf("%s gives %q, %v", shellQuote(word), out, err)
		}
	})
}
