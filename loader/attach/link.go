package attach

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Link is probes that run the same BPF program: a uprobe_multi link, or a perf event with a link for each probe.
type Link struct{ fds []int }

// Close removes the probes, those of perf events one after the other: the kernel would do no two at a time.
func (l *Link) Close() error {
	var errs []error
	for _, fd := range l.fds {
		errs = append(errs, closeInTask(fd))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("remove probes: %w", err)
	}
	return nil
}

func closeInTask(fd int) error {
	_, err := callInTask(unix.SYS_CLOSE, []uintptr{uintptr(fd)})
	return err
}

// offset is where a probe is: its offset in the file, and the cookie that its BPF program gets.
type offset struct{ at, cookie uint64 }

// multiAttr is the part of union bpf_attr for a BPF_LINK_CREATE of a uprobe_multi link.
type multiAttr struct {
	prog       uint32
	_          uint32
	attachType uint32
	_          uint32
	path       *byte
	offsets    *uint64
	_          uint64
	cookies    *uint64
	count      uint32
	flags      uint32
	pid        uint32
	_          uint32
}

const (
	linkCreate       = 28 // enum bpf_cmd
	traceUprobeMulti = 48 // enum bpf_attach_type
	uprobeReturn     = 1  // BPF_F_UPROBE_MULTI_RETURN
)

// linkMulti creates a uprobe_multi link with probes at offsets of the file at path. pid 0 stands for all processes.
func linkMulti(path string, prog int, returns bool, pid int, all []offset) (*Link, error) {
	name, err := unix.BytePtrFromString(path)
	if err != nil {
		return nil, err
	}
	offsets, cookies := make([]uint64, len(all)), make([]uint64, len(all))
	for i, o := range all {
		offsets[i], cookies[i] = o.at, o.cookie
	}
	attr := &multiAttr{
		prog: uint32(prog), attachType: traceUprobeMulti, path: name,
		offsets: unsafe.SliceData(offsets), cookies: unsafe.SliceData(cookies), count: uint32(len(all)), pid: uint32(pid),
	}
	if returns {
		attr.flags = uprobeReturn
	}
	fd, err := callInTask(unix.SYS_BPF, []uintptr{linkCreate, uintptr(unsafe.Pointer(attr)), unsafe.Sizeof(*attr)}, unsafe.Pointer(attr))
	if err != nil {
		return nil, err
	}
	return &Link{[]int{int(fd)}}, nil
}
