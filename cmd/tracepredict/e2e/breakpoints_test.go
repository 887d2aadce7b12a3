package e2e

import (
	"errors"
	"runtime"
	"sync"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// needBreakpoints skips the test where hardware breakpoints have no effect, as in some virtual machines: then no thread can
// be stopped before an instruction.
func needBreakpoints(t *testing.T) {
	t.Helper()
	if err := tryBreakpoint(); err != nil {
		t.Skipf("hardware breakpoints do not work here: %v", err)
	}
}

// tryBreakpoint has the processor count the writes of a variable by this thread.
var tryBreakpoint = sync.OnceValue(func() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var variable uint64
	const writes = 2 // HW_BREAKPOINT_W
	attr := unix.PerfEventAttr{
		Type: unix.PERF_TYPE_BREAKPOINT, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Sample: 1,
		Bp_type: writes, Ext1: uint64(uintptr(unsafe.Pointer(&variable))), Ext2: uint64(unsafe.Sizeof(variable)),
		Bits: unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv,
	}
	fd, err := unix.PerfEventOpen(&attr, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	for i := range uint64(8) {
		write(&variable, i)
	}
	var count [8]byte
	if _, err := unix.Read(fd, count[:]); err != nil {
		return err
	}
	runtime.KeepAlive(&variable)
	if count == [8]byte{} {
		return errors.New("one does not count what it should")
	}
	return nil
})

//go:noinline
func write(to *uint64, value uint64) { *to = value }
