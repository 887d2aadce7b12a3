package unwind_test

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/internal/testtool"
	elffile "github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
	"github.com/tracepredict/tracepredict/probes/symbolize"
	"github.com/tracepredict/tracepredict/probes/unwind"
)

// build compiles a file of testdata and returns the program's path.
func build(t testing.TB, compiler, source string, flags ...string) string {
	t.Helper()
	testtool.Need(t, compiler)
	out := filepath.Join(t.TempDir(), strings.TrimSuffix(source, filepath.Ext(source)))
	args := append([]string{"-o", out, filepath.Join("testdata", source), "-pthread"}, flags...)
	if msg, err := exec.Command(compiler, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", compiler, strings.Join(args, " "), err, msg)
	}
	return out
}

// traced is a program under ptrace, stopped.
type traced struct {
	t       *testing.T
	pid     int
	tid     int // the thread that trapped last
	mem     *os.File
	modules []*module
}

// module is a mapped file.
type module struct {
	path   string
	lo, hi uint64
	bias   uint64
	file   *elffile.File
	frames *unwind.Table
	names  *symbolize.Table
}

// start runs a program up to its first int3. It binds the calling test to its OS thread, because
// only that thread may trace.
func start(t *testing.T, path string, args ...string) *traced {
	t.Helper()
	if runtime.GOARCH != "amd64" {
		t.Skip("the traps are those of x86-64")
	}
	runtime.LockOSThread()
	cmd := exec.Command(path, args...)
	cmd.SysProcAttr = &unix.SysProcAttr{Ptrace: true, Pdeathsig: unix.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Skipf("trace a program: %v (ptrace must be allowed)", err)
	}
	p := &traced{t: t, pid: cmd.Process.Pid}
	t.Cleanup(func() {
		cmd.Process.Kill()
		var ws unix.WaitStatus
		for tid := 0; tid != p.pid; { // threads that are traced must be waited for one by one, the first comes last
			var err error
			if tid, err = unix.Wait4(-1, &ws, unix.WALL, nil); err != nil {
				t.Error(err)
				break
			}
		}
		runtime.UnlockOSThread()
	})
	p.wait()
	if err := unix.PtraceSetOptions(p.pid, unix.PTRACE_O_TRACECLONE|unix.PTRACE_O_EXITKILL); err != nil {
		t.Fatal(err)
	}
	p.tid = p.pid
	p.untilTrap()
	var err error
	if p.mem, err = os.Open(fmt.Sprintf("/proc/%d/mem", p.pid)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.mem.Close() })
	p.loadModules()
	return p
}

func (p *traced) wait() unix.WaitStatus {
	p.t.Helper()
	var ws unix.WaitStatus
	tid, err := unix.Wait4(-1, &ws, unix.WALL, nil)
	if err != nil || ws.Exited() || ws.Signaled() {
		p.t.Fatalf("the program ended: %v, status %x", err, ws)
	}
	p.tid = tid
	return ws
}

// untilTrap lets the program run to its next int3.
func (p *traced) untilTrap() {
	p.t.Helper()
	signal := 0
	for {
		if err := unix.PtraceCont(p.tid, signal); err != nil {
			p.t.Fatal(err)
		}
		ws := p.wait()
		signal = 0
		switch {
		case ws.StopSignal() == unix.SIGTRAP && ws.TrapCause() <= 0:
			return
		case ws.StopSignal() == unix.SIGTRAP:
			continue // a thread was created; the new thread itself stops with SIGSTOP
		case ws.StopSignal() != unix.SIGSTOP:
			signal = int(ws.StopSignal())
		}
	}
}

func (p *traced) loadModules() {
	maps, err := os.Open(fmt.Sprintf("/proc/%d/maps", p.pid))
	if err != nil {
		p.t.Fatal(err)
	}
	defer maps.Close()
	for sc := bufio.NewScanner(maps); sc.Scan(); {
		var lo, hi, off uint64
		var mode, dev, inode, path string
		if n, _ := fmt.Sscanf(sc.Text(), "%x-%x %s %x %s %s %s", &lo, &hi, &mode, &off, &dev, &inode, &path); n < 7 || !strings.Contains(mode, "x") || path[0] != '/' {
			continue
		}
		f, err := elffile.Open(path)
		if err != nil {
			p.t.Fatal(err)
		}
		p.t.Cleanup(func() { f.Close() })
		addr, err := f.Addr(off)
		if err != nil {
			p.t.Fatal(err)
		}
		p.modules = append(p.modules, &module{path, lo, hi, lo - addr, f, unwind.New(f), symbolize.New(f, symbolize.WithoutDWARF())})
	}
}

func (p *traced) module(pc uint64) *module {
	for _, m := range p.modules {
		if m.lo <= pc && pc < m.hi {
			return m
		}
	}
	return nil
}

func (p *traced) memory(addr uint64, size int) (uint64, bool) {
	var b [8]byte
	if _, err := p.mem.ReadAt(b[:size], int64(addr)); err != nil {
		return 0, false
	}
	return binary.LittleEndian.Uint64(b[:]), true
}

func (p *traced) machine() *unwind.Machine {
	return &unwind.Machine{Arch: insn.AMD64, Memory: p.memory, Find: func(pc uint64) (*unwind.Table, uint64, bool) {
		if m := p.module(pc); m != nil {
			return m.frames, m.bias, true
		}
		return nil, 0, false
	}}
}

func (p *traced) name(pc uint64) string {
	m := p.module(pc)
	if m == nil {
		return fmt.Sprintf("0x%x", pc)
	}
	f := m.names.Frames(pc - m.bias)
	return f[len(f)-1].Function
}

func (p *traced) names(chain []uint64) []string {
	var out []string
	for _, pc := range chain {
		out = append(out, p.name(pc-1))
	}
	return out
}
