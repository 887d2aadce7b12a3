package need

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

	"github.com/tracepredict/tracepredict/internal/loadertest"
)

// wantNeed checks that err is an *Error of a kind, and that its text contains all words.
func wantNeed(t *testing.T, err, kind error, words ...string) {
	t.Helper()
	var known *Error
	if !errors.As(err, &known) || kind != nil && !errors.Is(err, kind) {
		t.Fatalf("got %v (%T), want a *Error that is %v", err, err, kind)
	}
	t.Log(err)
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not say %q", err, w)
		}
	}
}

func TestExplain(t *testing.T) {
	good := Circumstances{Release: "6.12.0", Self: "tracepredict"}
	with := func(change func(*Circumstances)) Circumstances {
		c := good
		change(&c)
		return c
	}
	for _, c := range []struct {
		name         string
		in           Circumstances
		err          error
		what, remedy string
	}{
		{"capability", with(func(c *Circumstances) { c.Missing = []string{"CAP_BPF"} }), unix.EPERM, "missing CAP_BPF", "sudo setcap cap_bpf,cap_perfmon,cap_sys_ptrace+ep tracepredict"},
		{"user namespace", with(func(c *Circumstances) { c.Nested = true; c.seccomp = true }), unix.EPERM, "user namespace", "--privileged"},
		{"lockdown", with(func(c *Circumstances) { c.Lockdown = LockdownConfidentiality }), unix.EPERM, "locked down", "lockdown=integrity"},
		{"seccomp", with(func(c *Circumstances) { c.seccomp = true }), unix.EPERM, "seccomp", "seccomp=unconfined"},
		{"no BTF", with(func(c *Circumstances) { c.noBTF = true }), ebpf.ErrNotSupported, BTFPath, "CONFIG_DEBUG_INFO_BTF"},
		{"old", with(func(c *Circumstances) { c.Release = "5.15.0-91-generic" }), unix.EINVAL, "Linux 5.15.0-91-generic is too old", "Linux 6.6"},
		{"no BPF", good, unix.ENOSYS, "no bpf system call", "CONFIG_BPF_SYSCALL"},
		{"memory", good, unix.ENOMEM, "not enough memory", "memory limit"},
		{"descriptors of the process", with(func(c *Circumstances) { c.noBTF = true }), unix.EMFILE, "file descriptors ran out (at most", "raise the limit: ulimit -n"},
		{"descriptors of the system", good, unix.ENFILE, "the system has as many files open as it may", "fs.file-max"},
		{"anything else", with(func(c *Circumstances) { c.Missing = []string{"CAP_BPF"} }), errors.New("odd"), "did not take", "tracepredict doctor"},
		{"refused without cause", good, unix.EPERM, "did not take", "tracepredict doctor"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.in.explain(fmt.Errorf("load program (consider a limit): %w", c.err))
			wantNeed(t, err, c.err, c.what, c.remedy)
		})
	}
	if err := ExplainLoad(nil); err != nil {
		t.Error(err)
	}
}

func TestVerifierLogStaysPrintable(t *testing.T) {
	loadertest.NeedBPF(t)
	_, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Type: ebpf.SocketFilter, License: "GPL",
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R1, 1), asm.Mov.Reg(asm.R0, asm.R7), asm.Return()},
	})
	var log *ebpf.VerifierError
	if !errors.As(err, &log) || len(log.Log) < 3 {
		t.Fatalf("no log of the verifier: %v", err)
	}
	for _, c := range []Circumstances{{Release: "6.12.0"}, {Release: "6.12.0", Missing: []string{"CAP_BPF"}}} {
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
	e := &Error{What: "no wings", Remedy: "grow some", Err: unix.ENOENT}
	const want = "no wings: no such file or directory; grow some"
	for format, want := range map[string]string{"%v": want, "%s": want, "%+v": want, "%q": `"` + want + `"`} {
		if got := fmt.Sprintf(format, e); got != want {
			t.Errorf("%s gives %q, want %q", format, got, want)
		}
	}
	if got := (&Error{What: "no wings"}).Error(); got != "no wings" {
		t.Error(got)
	}
	if got := (&Error{What: "x", Err: fmt.Errorf("exit status: %w", e)}); !errors.Is(got, unix.ENOENT) {
		t.Errorf("%v hides its cause", got)
	}
}

// TestShellQuote compares with what a shell makes of the quoted words.
func TestShellQuote(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("needs sh")
	}
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.OneOf(rapid.StringMatching(`[a-z/.'"$ \n*~]*`), rapid.StringMatching(`[[:ascii:]]*`)).Draw(t, "word")
		word = strings.ReplaceAll(word, "\x00", "")
		out, err := exec.Command(sh, "-c", "printf %s. "+ShellQuote(word)).Output()
		if err != nil || string(out) != word+"." {
			t.Fatalf("%s gives %q, %v", ShellQuote(word), out, err)
		}
	})
}
