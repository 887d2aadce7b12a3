package attach

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/loader/procfs"
)

func emulated(n int)
func stepped(n int)
func loops() (emulated, stepped unsafe.Pointer)

// The bounds of a calibration.
const (
	calibrationHits   = 64
	calibrationRounds = 3
	maxLoop           = 32 // bytes of a loop's code before the instruction
)

// Costs returns what a hit of a probe costs on this machine: of one at an instruction that the kernel emulates,
// and of one that it executes out of line. It probes the tool itself for about a millisecond.
func (t *Tracer) Costs() (c Costs, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	atEmulated, atStepped := loops()
	if c.Emulated, err = t.cost(emulated, atEmulated, []byte{0x90}); err != nil {
		return Costs{}, err
	}
	c.Stepped, err = t.cost(stepped, atStepped, []byte{0x48, 0x89, 0xd2})
	return c, err
}

// cost measures a probe at an instruction of a loop.
func (t *Tracer) cost(loop func(n int), start unsafe.Pointer, instruction []byte) (time.Duration, error) {
	code := unsafe.Slice((*byte)(start), maxLoop)
	i := bytes.Index(code, instruction)
	if i < 0 {
		return 0, fmt.Errorf("measure a probe: the loop has no instruction %x", instruction)
	}
	at, err := ownOffset(uint64(uintptr(start)) + uint64(i))
	if err != nil {
		return 0, err
	}
	pointer, err := t.programs.get(bpf.TracepredictProgOnPointer)
	if err != nil {
		return 0, err
	}
	l, err := linkMulti("/proc/self/exe", pointer.FD(), false, os.Getpid(), []offset{{at, ^uint64(0) >> 33}})
	if err != nil {
		return 0, fmt.Errorf("measure a probe: %w", err)
	}
	best := time.Duration(0)
	for range calibrationRounds {
		began := ownTime()
		loop(calibrationHits)
		if d := (ownTime() - began) / calibrationHits; best == 0 || d < best {
			best = d
		}
	}
	return best, l.Close()
}

// ownOffset returns the offset, in the tool's own file, of the code at an address.
func ownOffset(addr uint64) (uint64, error) {
	maps, err := procfs.Maps(os.Getpid())
	if err != nil {
		return 0, err
	}
	for _, m := range maps {
		if m.Exec && m.Lo <= addr && addr < m.Hi {
			return addr - m.Lo + m.Offset, nil
		}
	}
	return 0, fmt.Errorf("measure a probe: no mapping has 0x%x", addr)
}

// ownTime returns the processor time of the current thread.
func ownTime() time.Duration {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts) // cannot fail for this clock
	return time.Duration(ts.Nano())
}
