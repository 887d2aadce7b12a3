package steer

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/loader/procfs"
	"github.com/tracepredict/tracepredict/probes/code"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// Probes is the BPF program of the probes of a plan, and the map by which it is told whom to stop. The program is
// written as instructions: it is short, and the objects from C hold what observes.
type Probes struct {
	armed   *ebpf.Map
	program *ebpf.Program
}

// key names a thread at a site.
type key struct{ Tid, Site uint32 }

// value is what is asked of a thread at a site. The thread alone changes it while it runs.
type value struct {
	Left   uint32 // hits up to the one at which the thread is stopped; 0: it is not
	Signal uint32
	Fired  uint32 // 1: it has been sent the signal
	_      uint32
}

// maxArmed bounds the threads of a plan that exist at one time, times their sites.
const maxArmed = 1 << 12

// NewProbes loads the program.
func NewProbes() (*Probes, error) {
	armed, err := ebpf.NewMap(&ebpf.MapSpec{Name: "armed", Type: ebpf.Hash, KeySize: 8, ValueSize: 16, MaxEntries: maxArmed})
	if err != nil {
		return nil, fmt.Errorf("make the map of the threads that are steered: %w", err)
	}
	namespace, err := procfs.OwnPIDNamespace()
	if err != nil {
		return nil, errors.Join(err, armed.Close())
	}
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: "on_steer", Type: ebpf.Kprobe, AttachType: ebpf.AttachTraceUprobeMulti, KernelVersion: 1, License: "GPL",
		Instructions: instructions(armed.FD(), namespace.HelperDev(), namespace.Inode),
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("load the program that stops threads: %w", err), armed.Close())
	}
	return &Probes{armed, program}, nil
}

// Where the program keeps what it uses on its stack.
const (
	stackKey  = -8  // key
	stackPIDs = -16 // struct bpf_pidns_info: thread and process
)

// instructions returns the program: it counts the hits of a thread at a site, and sends the signal at the last.
func instructions(armed int, dev, inode uint64) asm.Instructions {
	program := asm.Instructions{asm.Mov.Reg(asm.R6, asm.R1)}
	if dev == 0 { // the initial namespace
		program = append(program, asm.FnGetCurrentPidTgid.Call(), asm.StoreMem(asm.RFP, stackKey, asm.R0, asm.Word))
	} else {
		program = append(program,
			asm.LoadImm(asm.R1, int64(dev), asm.DWord), asm.LoadImm(asm.R2, int64(inode), asm.DWord),
			asm.Mov.Reg(asm.R3, asm.RFP), asm.Add.Imm(asm.R3, stackPIDs), asm.Mov.Imm(asm.R4, 8),
			asm.FnGetNsCurrentPidTgid.Call(), asm.JNE.Imm(asm.R0, 0, "out"),
			asm.LoadMem(asm.R1, asm.RFP, stackPIDs, asm.Word), asm.StoreMem(asm.RFP, stackKey, asm.R1, asm.Word))
	}
	return append(program,
		asm.Mov.Reg(asm.R1, asm.R6), asm.FnGetAttachCookie.Call(), asm.StoreMem(asm.RFP, stackKey+4, asm.R0, asm.Word),
		asm.LoadMapPtr(asm.R1, armed), asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Imm(asm.R2, stackKey),
		asm.FnMapLookupElem.Call(), asm.JEq.Imm(asm.R0, 0, "out"), asm.Mov.Reg(asm.R8, asm.R0),
		asm.LoadMem(asm.R1, asm.R8, 0, asm.Word), asm.JEq.Imm(asm.R1, 0, "out"),
		asm.Sub.Imm(asm.R1, 1), asm.StoreMem(asm.R8, 0, asm.R1, asm.Word), asm.JNE.Imm(asm.R1, 0, "out"),
		asm.Mov.Imm(asm.R1, 1), asm.StoreMem(asm.R8, 8, asm.R1, asm.Word),
		asm.LoadMem(asm.R1, asm.R8, 4, asm.Word), asm.FnSendSignalThread.Call(),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("out"), asm.Return())
}

// Program returns the program's descriptor.
func (p *Probes) Program() int { return p.program.FD() }

// Arm has a thread stopped by a signal at its next hits of sites.
func (p *Probes) Arm(tid int, signal unix.Signal, all []Armed) error {
	for _, a := range all {
		v := value{Left: a.In, Signal: uint32(signal)}
		if err := p.armed.Update(key{uint32(tid), uint32(a.Site)}, v, ebpf.UpdateAny); err != nil {
			return fmt.Errorf("have thread %d stopped at a call: %w", tid, err)
		}
	}
	return nil
}

// Fired returns the site at which a thread, which is in a stop, has been sent its signal, and forgets it.
func (p *Probes) Fired(tid, sites int) (site int, ok bool) {
	for site := range sites {
		k, v := key{uint32(tid), uint32(site)}, value{}
		if p.armed.Lookup(k, &v) == nil && v.Fired == 1 {
			_ = p.armed.Delete(k) // without it the thread is not stopped there again: Left is 0
			return site, true
		}
	}
	return 0, false
}

// Forget has a thread never stopped again.
func (p *Probes) Forget(tid, sites int) {
	for site := range sites {
		_ = p.armed.Delete(key{uint32(tid), uint32(site)}) // it need not be there
	}
}

// Close unloads the program.
func (p *Probes) Close() error { return errors.Join(p.program.Close(), p.armed.Close()) }

// Instruction returns the address of a site's instruction in its file.
func (s *Site) Instruction(f code.Source) (uint64, error) {
	if s.At != 0 {
		return s.At, nil
	}
	return CallBefore(f, s.Return)
}

// CallBefore returns the address of the call that ends at an address of a file. The kernel stops a thread behind the
// probed instruction: that is the entry of what is called.
func CallBefore(f code.Source, behind uint64) (uint64, error) {
	im := code.NewImage(f)
	extent := im.ExtentAt(behind - 1)
	if extent == nil {
		return 0, fmt.Errorf("find the call before 0x%x: no function is known there", behind)
	}
	var last insn.Inst
	im.Sweep(elf.Range{Lo: extent.Lo, Hi: behind}, func(in *insn.Inst) bool {
		last = *in
		return true
	})
	if last.Addr+uint64(last.Len) != behind || last.Kind != insn.Call && last.Kind != insn.IndirectCall {
		return 0, fmt.Errorf("find the call before 0x%x: the instruction before it is none", behind)
	}
	return last.Addr, nil
}

// Signal returns the signal by which the threads of a process can be stopped: one that is ignored by default, and for
// which the process has no handler, so that it harms nobody if it is delivered.
func Signal(pid int) (unix.Signal, error) {
	status, err := procfs.Status(fmt.Sprint(pid))
	if err != nil {
		return 0, err
	}
	var caught, blocked uint64
	for _, f := range []struct {
		name string
		to   *uint64
	}{{"SigCgt", &caught}, {"SigBlk", &blocked}} {
		if _, err := fmt.Sscanf(status[f.name], "%x", f.to); err != nil {
			return 0, fmt.Errorf("read the signals of process %d: %w", pid, err)
		}
	}
	for _, sig := range []unix.Signal{unix.SIGURG, unix.SIGWINCH} {
		if (caught|blocked)>>(sig-1)&1 == 0 {
			return sig, nil
		}
	}
	return 0, fmt.Errorf("process %d handles or blocks both SIGURG and SIGWINCH, so its threads cannot be stopped", pid)
}
