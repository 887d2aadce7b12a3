package attach

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A probe of perf_event_open is limited to the memory of the thread that it is opened for, which a uprobe_multi link, made
// for a process, cannot have once the first thread of the process has ended. It takes a descriptor a probe; the kernel
// removes it from the process when that thread ends; and it takes a tenth of a second to remove each, one after the other.

// MaxPerfProbes is the highest number of probes that a Tracer makes as perf events.
const MaxPerfProbes = 2000

// perfAttr is the part of union bpf_attr for a BPF_LINK_CREATE of a perf event.
type perfAttr struct {
	prog, event uint32
	attachType  uint32
	_           uint32
	cookie      uint64
}

const perfEvent = 41 // enum bpf_attach_type

// uprobePMU is how the kernel's source of uprobe events is asked for one.
type uprobePMU struct {
	kind      uint32 // of perf_event_attr
	returnBit uint
}

// findUprobePMU reads how the kernel is asked for uprobe events.
func findUprobePMU() (pmu uprobePMU, err error) {
	const dir = "/sys/bus/event_source/devices/uprobe/"
	kind, err := sysNumber(dir+"type", "")
	if err == nil {
		pmu.kind = uint32(kind)
		kind, err = sysNumber(dir+"format/retprobe", "config:")
		pmu.returnBit = uint(kind)
	}
	return pmu, err
}

func sysNumber(path, prefix string) (uint64, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, fmt.Errorf("ask the kernel for probes of perf_event_open: %w", err)
	}
	n, err := strconv.ParseUint(strings.TrimPrefix(strings.TrimSpace(string(text)), prefix), 10, 32)
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", path, err)
	}
	return n, nil
}

// linkPerf opens a perf event with a link for each offset of the file at path, in the memory of a thread.
func linkPerf(path string, prog int, returns bool, thread int, all []offset) (*Link, error) {
	pmu, err := findUprobePMU()
	if err != nil {
		return nil, err
	}
	name, err := unix.BytePtrFromString(path)
	if err != nil {
		return nil, err
	}
	l := &Link{make([]int, 0, len(all))}
	for _, o := range all {
		fd, err := pmu.open(name, o, returns, thread, prog)
		if err != nil {
			return nil, errors.Join(err, l.Close())
		}
		l.fds = append(l.fds, fd)
	}
	return l, nil
}

// open opens one probe and returns the descriptor of its link, which holds the event.
func (pmu uprobePMU) open(path *byte, o offset, returns bool, thread, prog int) (int, error) {
	attr := &unix.PerfEventAttr{Type: pmu.kind, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Sample: 1, Ext1: uint64(uintptr(unsafe.Pointer(path))), Ext2: o.at}
	if returns {
		attr.Config = 1 << pmu.returnBit
	}
	anyCPU, noGroup := ^uintptr(0), ^uintptr(0)
	args := []uintptr{uintptr(unsafe.Pointer(attr)), uintptr(thread), anyCPU, noGroup, unix.PERF_FLAG_FD_CLOEXEC}
	event, err := callInTask(unix.SYS_PERF_EVENT_OPEN, args, unsafe.Pointer(attr), unsafe.Pointer(path))
	if err != nil {
		return 0, fmt.Errorf("open a probe for thread %d: %w", thread, err)
	}
	bpf := &perfAttr{prog: uint32(prog), event: uint32(event), attachType: perfEvent, cookie: o.cookie}
	fd, err := callInTask(unix.SYS_BPF, []uintptr{linkCreate, uintptr(unsafe.Pointer(bpf)), unsafe.Sizeof(*bpf)}, unsafe.Pointer(bpf))
	closeErr := closeInTask(int(event)) // removes the probe if there is no link
	if err != nil {
		return 0, errors.Join(fmt.Errorf("link a BPF program to a probe: %w", err), closeErr)
	}
	return int(fd), closeErr
}
