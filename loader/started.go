package loader

import (
	"encoding/binary"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/loader/procfs"
	bin "github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// The start routines of the threads of an attached process. glibc keeps the start routine in the
// descriptor of each thread, and describes that field for debuggers in the constant
// _thread_db_pthread_start_routine: its size in bits, the number of elements, and its offset in
// the descriptor (nptl_db/structs.def, DB_STRUCT_FIELD).

// Task is a thread that existed when the observation began.
type Task struct {
	bpf.TaskLine
	Start uint64 // address of its start routine; 0: unknown
	// Sleeps reports that it was then in a call that only waits for a time to pass.
	Sleeps bool
}

// descriptor is the position of the start routine in glibc's thread descriptors.
type descriptor struct {
	routine uint64 // offset of the start routine in the descriptor
	before  uint64 // distance from the start of the descriptor to the thread pointer
}

// maxDescriptor bounds the offsets in a descriptor and its size, in bytes.
const maxDescriptor = 1 << 16

// descriptorOf reads the position from a file; ok is false if the file is not glibc.
func descriptorOf(f *bin.File) (d descriptor, ok bool) {
	field, ok := words(f, "_thread_db_pthread_start_routine", 3)
	if !ok || field[0] != 64 || field[1] != 1 || field[2] > maxDescriptor {
		return d, false
	}
	d.routine = uint64(field[2])
	if f.Arch() == insn.ARM64 { // the thread pointer points behind the descriptor
		size, ok := words(f, "_thread_db_sizeof_pthread", 1)
		if !ok || size[0] > maxDescriptor {
			return d, false
		}
		d.before = uint64(size[0])
	}
	return d, true
}

// words returns the constant of a symbol, which has n 32-bit words.
func words(f *bin.File, symbol string, n int) ([]uint32, bool) {
	found := f.Lookup(symbol)
	if len(found) == 0 {
		return nil, false
	}
	b, err := f.Bytes(found[0].Addr, 4*n)
	if err != nil || len(b) < 4*n {
		return nil, false
	}
	out := make([]uint32, n)
	for i := range out {
		out[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return out, true
}

// withStartRoutines adds the start routine of each thread, if the C library has it, and whether the
// thread sleeps.
func (a *Spaces) withStartRoutines(lines []bpf.TaskLine) []Task {
	tasks := make([]Task, len(lines))
	known := map[uint32]*descriptor{}
	for i, l := range lines {
		tasks[i].TaskLine, tasks[i].Sleeps = l, procfs.Sleeps(int(l.Tgid), int(l.Tid))
		d, asked := known[l.Tgid]
		if !asked {
			d = a.descriptor(int(l.Tgid))
			known[l.Tgid] = d
		}
		if d == nil || l.ThreadPointer == 0 || l.Tid == l.Tgid {
			continue
		}
		var b [8]byte
		if !a.ReadMemory(int(l.Tgid), l.ThreadPointer-d.before+d.routine, b[:]) {
			continue
		}
		start := binary.LittleEndian.Uint64(b[:])
		if _, code := a.Segment(int(l.Tgid), start); code {
			tasks[i].Start = start
		}
	}
	return tasks
}

func (a *Spaces) descriptor(pid int) *descriptor {
	for _, seg := range a.Segments(pid) {
		if d, ok := descriptorOf(seg.Module.Bin); ok {
			return &d
		}
	}
	return nil
}
