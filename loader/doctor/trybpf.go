package doctor

import (
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/features"
	"github.com/cilium/ebpf/link"

	"github.com/tracepredict/tracepredict/loader/need"
	"github.com/tracepredict/tracepredict/loader/procfs"
)

// bpfFeatures returns the features of BPF. Each is tried with a program of a few instructions
// that does one thing that the tool does.
func bpfFeatures() []feature {
	list := []feature{
		{name: "BPF", why: "run programs of ours in the kernel", since: "4.1", needed: true, probe: probeBPF},
		{name: "BTF", why: "know the layout of the kernel's structures", since: "5.4", needed: true, probe: probeBTF,
			detail: func() string { return need.BTFPath }},
		{name: "ring buffer", why: "get events in their order", since: "5.8", needed: true, probe: probeRingBuffer},
		{name: "uprobe_multi", why: "place thousands of probes at once", since: need.MinimumKernel, needed: true, probe: probeUprobeMulti},
		{name: "uprobe hit", why: "see a function of a program called", since: need.MinimumKernel, needed: true, probe: probeUprobe},
		{name: "cookies", why: "tell probes apart", since: need.MinimumKernel, needed: true, probe: probeCookie},
	}
	for _, point := range []struct{ name, why string }{
		{"task_newtask", "see threads start"}, {"sched_process_exit", "see threads end"}, {"sched_process_exec", "see programs replaced"},
		{"task_rename", "see threads named"},
	} {
		list = append(list, feature{name: "tracepoint " + point.name, why: point.why, since: "5.5", needed: true, probe: func() error {
			return probeTracepoint(point.name)
		}})
	}
	return append(list, feature{name: "task iterator", why: "list the threads of a running program", since: "5.8", needed: true, probe: probeTaskIterator})
}

var returnZero = asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()}

// anyVersion is the kernel version that the tried programs name. The kernel ignores it. If it is 0, the eBPF library looks
// the version up in /proc/self/mem, which a process with file capabilities may not open.
const anyVersion = 1

func probeBPF() error {
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{Name: "probe_bpf", Type: ebpf.Kprobe, Instructions: returnZero, License: "GPL", KernelVersion: anyVersion})
	if err != nil {
		return features.HaveProgramType(ebpf.Kprobe)
	}
	return p.Close()
}

func probeUprobeMulti() error {
	if _, err := hitOwnProbe(); err != nil {
		return features.HaveBPFLinkUprobeMulti()
	}
	return nil
}

func probeBTF() error {
	_, err := btf.LoadKernelSpec()
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, ebpf.ErrNotSupported) {
		return &need.Error{What: "no " + need.BTFPath, Remedy: need.BTFRemedy}
	}
	return err
}

func probeRingBuffer() error {
	m, err := ebpf.NewMap(&ebpf.MapSpec{Name: "probe_ring", Type: ebpf.RingBuf, MaxEntries: uint32(os.Getpagesize())})
	if err != nil {
		if haveErr := features.HaveMapType(ebpf.RingBuf); errors.Is(haveErr, ebpf.ErrNotSupported) {
			return haveErr
		}
		return fmt.Errorf("make a ring buffer: %w", err)
	}
	return m.Close()
}

func probeTracepoint(name string) error {
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: "probe_tp", Type: ebpf.Tracing, AttachType: ebpf.AttachTraceRawTp, AttachTo: name, Instructions: returnZero, License: "GPL",
	})
	if err != nil {
		return fmt.Errorf("load a program for the tracepoint %s: %w", name, err)
	}
	defer p.Close()
	l, err := link.AttachTracing(link.TracingOptions{Program: p})
	if err != nil {
		return fmt.Errorf("attach to the tracepoint %s: %w", name, err)
	}
	return l.Close()
}

func probeTaskIterator() error {
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: "probe_iter", Type: ebpf.Tracing, AttachType: ebpf.AttachTraceIter, AttachTo: "task", Instructions: returnZero, License: "GPL",
	})
	if err != nil {
		return fmt.Errorf("load a task iterator: %w", err)
	}
	defer p.Close()
	it, err := link.AttachIter(link.IterOptions{Program: p})
	if err != nil {
		return fmt.Errorf("attach a task iterator: %w", err)
	}
	defer it.Close()
	r, err := it.Open()
	if err != nil {
		return fmt.Errorf("run a task iterator: %w", err)
	}
	defer r.Close()
	if _, err := io.Copy(io.Discard, r); err != nil {
		return fmt.Errorf("run a task iterator: %w", err)
	}
	return nil
}

const (
	probeCookieValue = 0x7e57_c00c // cookie of the probe on probedFunction
	neverHit         = ^uint64(0)  // result of hitOwnProbe if the BPF program did not run
)

func probeUprobe() error {
	got, err := hitOwnProbe()
	if err != nil {
		return err
	}
	if got == neverHit {
		return &need.Error{What: "a probe was placed, the function was called, and nothing was seen",
			Remedy: "is this a sandbox that emulates Linux? use a kernel of its own"}
	}
	return nil
}

func probeCookie() error {
	got, err := hitOwnProbe()
	if err != nil {
		return err
	}
	if got != probeCookieValue {
		return &need.Error{What: fmt.Sprintf("a probe with the cookie %#x brought %#x", probeCookieValue, got)}
	}
	return nil
}

// probedFunction is called with a probe at its entry.
//
//go:noinline
func probedFunction(n int) int { return n + 1 }

// hitOwnProbe attaches a probe to probedFunction, calls it and returns the cookie that the BPF
// program saw, or neverHit.
func hitOwnProbe() (uint64, error) {
	seen, err := ebpf.NewMap(&ebpf.MapSpec{Name: "probe_seen", Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1})
	if err != nil {
		return 0, fmt.Errorf("make a map: %w", err)
	}
	defer seen.Close()
	if err := seen.Put(uint32(0), neverHit); err != nil {
		return 0, fmt.Errorf("write a map: %w", err)
	}
	l, closeProgram, err := attachOwnProbe(seen)
	if err != nil {
		return 0, err
	}
	defer closeProgram()
	result := probedFunction(1)
	if err := l.Close(); err != nil {
		return 0, fmt.Errorf("remove a probe: %w", err)
	}
	if result != 2 {
		return 0, fmt.Errorf("a probed function gave %d instead of 2", result)
	}
	var got uint64
	if err := seen.Lookup(uint32(0), &got); err != nil {
		return 0, fmt.Errorf("read a map: %w", err)
	}
	return got, nil
}

func attachOwnProbe(seen *ebpf.Map) (link.Link, func() error, error) {
	offset, err := ownFileOffset(reflect.ValueOf(probedFunction).Pointer())
	if err != nil {
		return nil, nil, err
	}
	exe, err := link.OpenExecutable("/proc/self/exe")
	if err != nil {
		return nil, nil, fmt.Errorf("open the tool's own binary: %w", err)
	}
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: "probe_uprobe", Type: ebpf.Kprobe, AttachType: ebpf.AttachTraceUprobeMulti, Instructions: storeCookie(seen), License: "GPL", KernelVersion: anyVersion,
	})
	if err != nil {
		return nil, nil, fmt.Errorf("load a program for probes: %w", err)
	}
	l, err := exe.UprobeMulti(nil, p, &link.UprobeMultiOptions{
		Addresses: []uint64{offset}, Cookies: []uint64{probeCookieValue}, PID: uint32(os.Getpid()),
	})
	if err != nil {
		p.Close()
		return nil, nil, fmt.Errorf("attach a probe to the tool's own binary: %w", err)
	}
	return l, p.Close, nil
}

// storeCookie returns a program that stores its probe's cookie in m[0].
func storeCookie(m *ebpf.Map) asm.Instructions {
	return asm.Instructions{
		asm.FnGetAttachCookie.Call(),
		asm.StoreMem(asm.RFP, -8, asm.R0, asm.DWord),
		asm.StoreImm(asm.RFP, -12, 0, asm.Word),
		asm.LoadMapPtr(asm.R1, m.FD()),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, -12),
		asm.Mov.Reg(asm.R3, asm.RFP),
		asm.Add.Imm(asm.R3, -8),
		asm.Mov.Imm(asm.R4, 0),
		asm.FnMapUpdateElem.Call(),
		asm.Mov.Imm(asm.R0, 0),
		asm.Return(),
	}
}

// ownFileOffset returns the offset, in the tool's binary, of the code at addr.
func ownFileOffset(addr uintptr) (uint64, error) {
	maps, err := procfs.Maps(os.Getpid())
	if err != nil {
		return 0, err
	}
	for _, m := range maps {
		if m.Exec && m.Lo <= uint64(addr) && uint64(addr) < m.Hi {
			return uint64(addr) - m.Lo + m.Offset, nil
		}
	}
	return 0, fmt.Errorf("the tool's own code at %#x is in no mapping", addr)
}
