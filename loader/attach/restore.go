package attach

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/loader/need"
)

// Restorer has the kernel remove breakpoints that it left behind in the memory of a process. Where a breakpoint is
// already, a new probe leaves it, and the end of that probe puts the instruction of the file back, unless the kernel
// has another probe there. So nothing but the kernel writes into the process, in the way in which it removes all
// probes, and breakpoints of other tools that use uprobes stay.
type Restorer struct{ prog *ebpf.Program }

// NewRestorer loads the BPF program of the probes, which does nothing.
func NewRestorer() (*Restorer, error) {
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: "on_restore", Type: ebpf.Kprobe, AttachType: ebpf.AttachTraceUprobeMulti, KernelVersion: 1, License: "GPL",
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()},
	})
	if err != nil {
		return nil, need.ExplainLoad(fmt.Errorf("load a program for probes: %w", err))
	}
	return &Restorer{prog}, nil
}

// Restore removes the breakpoints at offsets of a file in a process. Whether it did shows in the memory of the process.
func (r *Restorer) Restore(file *os.File, pid int, offsets []uint64) error {
	defer runtime.KeepAlive(file)
	path := fmt.Sprintf("/proc/self/fd/%d", file.Fd())
	all := make([]offset, len(offsets))
	for i, at := range offsets {
		all[i].at = at
	}
	l, err := linkMulti(path, r.prog.FD(), false, pid, all)
	if err == nil {
		return l.Close()
	}
	if len(offsets) == 1 {
		return fmt.Errorf("have the kernel remove the breakpoint at %s+%#x: %w", file.Name(), offsets[0], err)
	}
	// The kernel takes all of them or none.
	var errs []error
	for _, at := range offsets {
		errs = append(errs, r.Restore(file, pid, []uint64{at}))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%s: %w", plural.Sprintf("of %d {breakpoint|breakpoints}", len(offsets)), err)
	}
	return nil
}

// Close unloads the program.
func (r *Restorer) Close() error { return r.prog.Close() }
