package loader

import (
	"encoding/binary"

	"github.com/tracepredict/tracepredict/bpf"
	bin "github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// Where threads of a process that was found began. glibc keeps the routine in the
// descriptor of each thread, and tells debuggers where: _thread_db_pthread_start_routine
// is how many bits the field has, how many fields there are, and how far in the
// descriptor they begin (nptl_db/structs.def, DB_STRUCT_FIELD).

// Task is a thread that lived when observation began.
type Task struct {
	bpf.TaskLine
	Start uint64 // address of its start routine; 0 if that is not known
}

// descriptor says where glibc's thread descriptors have the start routine.
type descriptor struct {
	routine uint64 // offset
	before  uint64 // how far before the thread pointer a descriptor begins
}

const maxDescriptor = 1 << 16

// descriptorOf reads it from a file; ok is false if this is no glibc.
func descriptorOf(f *bin.File) (d descriptor, ok bool) {
	field, ok := words(f, "_thread_db_pthread_start_routine", 3)
	if !ok || field[0] != 64 || field[1] != 1 || field[2] > maxDescriptor {
		return d, false
	}
	d.routine = uint64(field[2])
	if f.Arch() == insn.ARM64 { // the thread pointer is behind it
		size, ok := words(f, "_thread_db_sizeof_pthread", 1)
		if !ok || size[0] > maxDescriptor {
			return d, false
		}
		d.before = uint64(size[0])
	}
	return d, true
}

// words reads a constant of so many 32-bit words.
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

// withStarts adds where each thread began, as far as the C library tells.
func (s *Session) withStarts(lines []bpf.TaskLine) []Task {
	tasks := make([]Task, len(lines))
	known := map[uint32]*descriptor{}
	for i, l := range lines {
		tasks[i].TaskLine = l
		d, asked := known[l.Tgid]
		if !asked {
			d = s.descriptor(int(l.Tgid))
			known[l.Tgid] = d
		}
		if d == nil || l.ThreadPointer == 0 || l.Tid == l.Tgid {
			continue
		}
		var b [8]byte
		if !s.ReadMemory(int(l.Tgid), l.ThreadPointer-d.before+d.routine, b[:]) {
			continue
		}
		start := binary.LittleEndian.Uint64(b[:])
		if _, code := s.Segment(int(l.Tgid), start); code {
			tasks[i].Start = start
		}
	}
	return tasks
}

func (s *Session) descriptor(pid int) *descriptor {
	for _, seg := range s.Segments(pid) {
		if d, ok := descriptorOf(seg.Module.Bin); ok {
			return &d
		}
	}
	return nil
}
