package steer

import (
	"errors"
	"os"
	"os/exec"
	"testing"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/internal/loadertest"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// source is a file of one function at address 0x1000.
type source []byte

func (s source) Arch() insn.Arch        { return insn.AMD64 }
func (s source) Functions() []elf.Range { return s.Text() }
func (s source) Text() []elf.Range {
	return []elf.Range{{Lo: 0x1000, Hi: 0x1000 + uint64(len(s))}}
}

func (s source) Bytes(addr uint64, n int) ([]byte, error) {
	at := int(addr - 0x1000)
	if addr < 0x1000 || at > len(s) {
		return nil, errors.New("outside")
	}
	return s[at:min(at+n, len(s))], nil
}

func TestCallBefore(t *testing.T) {
	code := source{
		0x90,                         // 1000 nop
		0xe8, 0x00, 0x00, 0x00, 0x00, // 1001 call 1006
		0xff, 0x15, 0x00, 0x01, 0x00, 0x00, // 1006 call *0x100(%rip)
		0xb8, 0xe8, 0x00, 0x00, 0x00, // 100c mov $0xe8, %eax
		0xc3, // 1011 ret
	}
	for _, c := range []struct{ behind, want uint64 }{
		{0x1006, 0x1001}, {0x100c, 0x1006},
		{0x1001, 0}, // behind a nop
		{0x1011, 0}, // behind a mov whose bytes hold one of a call
		{0x100a, 0}, // within an instruction
		{0x2000, 0}, // outside
	} {
		got, err := CallBefore(code, c.behind)
		if got != c.want || (err == nil) != (c.want != 0) {
			t.Errorf("the call before %#x: %#x, %v, want %#x", c.behind, got, err, c.want)
		}
	}
}

// TestSignal: a signal that the process has no handler for.
func TestSignal(t *testing.T) {
	c := exec.Command("sleep", "100")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = c.Process.Kill(), c.Wait() }()
	if sig, err := Signal(c.Process.Pid); err != nil || sig != unix.SIGURG {
		t.Errorf("%v, %v", sig, err)
	}
	// Go's run-time system handles both.
	if sig, err := Signal(os.Getpid()); err == nil && sig == unix.SIGURG {
		t.Errorf("%v has a handler here", sig)
	}
}

// TestProgramIsAccepted: the kernel's verifier accepts the program, also for a tool in a PID namespace.
func TestProgramIsAccepted(t *testing.T) {
	loadertest.NeedBPF(t)
	p, err := NewProbes()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	in, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Type: ebpf.Kprobe, AttachType: ebpf.AttachTraceUprobeMulti, KernelVersion: 1, License: "GPL",
		Instructions: instructions(p.armed.FD(), 4, 0xf0000001),
	})
	if err != nil {
		t.Fatalf("in a namespace: %v", err)
	}
	in.Close()
	if err := p.Arm(7, unix.SIGURG, []Armed{{Site: 1, In: 2}}); err != nil {
		t.Fatal(err)
	}
	if site, ok := p.Fired(7, 2); ok {
		t.Errorf("it has come to site %d", site)
	}
	p.Forget(7, 2)
}
