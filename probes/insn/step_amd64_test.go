package insn

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestStep compares Decode with the processor: it runs a program one instruction at a time and
// compares what each changes with what Decode returns.
func TestStep(t *testing.T) {
	steps := 150_000
	if testing.Short() {
		steps = 30_000
	}
	s := startStepper(t, "/bin/ls", "-l", "/")
	done, distinct := 0, map[uint64]bool{}
	for ; done < steps && s.step(t); done++ {
		distinct[s.before.Rip] = true
		if t.Failed() {
			return
		}
	}
	t.Logf("%d steps, %d distinct instructions, %d of them not modelled", done, len(distinct), len(s.unknown))
}

type stepper struct {
	pid     int
	mem     *os.File
	before  unix.PtraceRegs
	after   unix.PtraceRegs
	unknown map[uint64]bool
}

func startStepper(t *testing.T, argv ...string) *stepper {
	runtime.LockOSThread() // ptrace belongs to the thread
	t.Cleanup(runtime.UnlockOSThread)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = []string{"LC_ALL=C"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Skipf("cannot trace %s: %v (a sandbox without ptrace?)", argv[0], err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Process.Wait() })
	var ws unix.WaitStatus
	if _, err := unix.Wait4(cmd.Process.Pid, &ws, 0, nil); err != nil || !ws.Stopped() {
		t.Fatalf("wait for the first stop: %v %v", err, ws)
	}
	mem, err := os.OpenFile("/proc/"+strconv.Itoa(cmd.Process.Pid)+"/mem", os.O_RDONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { mem.Close() })
	return &stepper{pid: cmd.Process.Pid, mem: mem, unknown: map[uint64]bool{}}
}

// step executes one instruction and checks it; false when the program ends.
func (s *stepper) step(t *testing.T) bool {
	t.Helper()
	if err := unix.PtraceGetRegs(s.pid, &s.before); err != nil {
		t.Fatal(err)
	}
	var code [15]byte
	n, _ := s.mem.ReadAt(code[:], int64(s.before.Rip))
	in, err := Decode(AMD64, code[:n], s.before.Rip)
	if err != nil {
		t.Errorf("% x: %v", code[:n], err)
		return false
	}
	if !in.Known {
		s.unknown[in.Addr] = true
	}
	loaded := s.peek(&in, &s.before)
	if err := unix.PtraceSingleStep(s.pid); err != nil {
		t.Fatal(err)
	}
	var ws unix.WaitStatus
	if _, err := unix.Wait4(s.pid, &ws, 0, nil); err != nil {
		t.Fatal(err)
	}
	if !ws.Stopped() || ws.StopSignal() != unix.SIGTRAP {
		return false
	}
	if err := unix.PtraceGetRegs(s.pid, &s.after); err != nil {
		t.Fatal(err)
	}
	if emulated(code[:in.Len]) {
		return true
	}
	if why := s.check(&in, loaded); why != "" {
		t.Errorf("%x: % x %s: %s\n%+v", in.Addr, code[:in.Len], Format(AMD64, code[:n], in.Addr), why, in)
	}
	return true
}

// emulated reports whether a virtual machine's monitor executes an instruction itself: cpuid or xgetbv. Some monitors then
// forget to report the step, so that the program stops one instruction later.
func emulated(code []byte) bool {
	return bytes.Equal(code, []byte{0x0f, 0xa2}) || bytes.Equal(code, []byte{0x0f, 0x01, 0xd0})
}

func general(r *unix.PtraceRegs) [16]uint64 {
	return [16]uint64{r.Rax, r.Rcx, r.Rdx, r.Rbx, r.Rsp, r.Rbp, r.Rsi, r.Rdi, r.R8, r.R9, r.R10, r.R11, r.R12, r.R13, r.R14, r.R15}
}

// effective computes an operand's address.
func effective(m *Mem, r *unix.PtraceRegs) uint64 {
	g := general(r)
	at := uint64(m.Disp)
	if m.Fixed {
		return m.Addr
	}
	if m.Segment {
		at += r.Fs_base // gs is unused in user space
	}
	if m.Base != NoReg {
		at += g[m.Base]
	}
	if m.Index != NoReg {
		at += g[m.Index] * uint64(m.Scale)
	}
	return at
}

// peek reads the first memory operand, up to 8 bytes.
func (s *stepper) peek(in *Inst, r *unix.PtraceRegs) uint64 {
	if !in.Known || in.NMem == 0 || in.Mem[0].Size == 0 || in.Mem[0].Size > 8 {
		return 0
	}
	var b [8]byte
	s.mem.ReadAt(b[:in.Mem[0].Size], int64(effective(&in.Mem[0], r)))
	return binary.LittleEndian.Uint64(b[:])
}

func (s *stepper) check(in *Inst, loaded uint64) string {
	next := in.Addr + uint64(in.Len)
	rip := s.after.Rip
	switch in.Kind {
	case Plain:
		if rip != next && (rip != in.Addr || in.Writes&(1<<RCX) == 0) { // an instruction with rep stays at its address
			return "control went elsewhere"
		}
	case Nop, Push, Syscall:
		if rip != next {
			return "control went elsewhere"
		}
	case Jump, Call:
		if rip != in.Target {
			return "control did not go to the target"
		}
	case CondJump:
		if rip != in.Target && rip != next {
			return "control went neither way"
		}
	case Stop:
		return "it did not stop"
	}
	if !in.Known {
		return ""
	}
	if why := s.checkRegisters(in); why != "" {
		return why
	}
	return s.checkMemory(in, loaded)
}

func (s *stepper) checkRegisters(in *Inst) string {
	was, is := general(&s.before), general(&s.after)
	for r := range Reg(16) {
		if was[r] != is[r] && !in.Writes.Has(r) {
			return "it wrote register " + strconv.Itoa(int(r))
		}
	}
	falls := in.Kind == Plain || in.Kind == Nop || in.Kind == Push
	if falls && !in.SPLost && int64(is[RSP]-was[RSP]) != in.SPChange {
		return "the stack pointer moved otherwise"
	}
	if sum := in.Sum; sum.Dst != NoReg {
		want := uint64(sum.Imm)
		for _, r := range []Reg{sum.Src, sum.Add} {
			if r != NoReg {
				want += was[r]
			}
		}
		if is[sum.Dst] != want {
			return "the sum is wrong"
		}
	}
	return ""
}

// checkMemory checks that plain loads and stores moved the value that Decode describes.
func (s *stepper) checkMemory(in *Inst, loaded uint64) string {
	if in.NMem != 1 || in.ValueReg == NoReg && !in.HasImm || in.Mem[0].Size == 0 {
		return ""
	}
	m := &in.Mem[0]
	was, is := general(&s.before), general(&s.after)
	switch {
	case m.Read && !m.Write:
		if truncate(is[in.ValueReg], m.Size) != loaded {
			return "the register does not hold what was loaded"
		}
	case m.Write && !m.Read:
		stored := in.ValueImm
		if !in.HasImm {
			stored = truncate(was[in.ValueReg], m.Size)
		}
		if s.peek(in, &s.before) != stored {
			return "memory does not hold what was stored"
		}
	}
	return ""
}
