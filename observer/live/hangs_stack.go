package live

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/loader"
	"github.com/tracepredict/tracepredict/probes/futex"
	"github.com/tracepredict/tracepredict/probes/unwind"
)

// maxHangFrames bounds the frames of a waiting thread.
const maxHangFrames = 64

// stack returns the return addresses of a thread that sleeps, unwound in the memory of the
// process from the registers that the kernel keeps.
func (h *Hangs) stack(l bpf.Sleeper) []uint64 {
	pid := int(l.Tgid)
	m := unwind.Machine{
		Arch: hostArch,
		Find: func(pc uint64) (*unwind.Table, uint64, bool) {
			seg, ok := h.Threads.Segment(pid, pc)
			if !ok {
				return nil, 0, false
			}
			return h.table(seg.Module), seg.Bias, true
		},
	}
	memory := pages{read: func(addr uint64, b []byte) bool { return h.Threads.ReadMemory(pid, addr, b) }}
	m.Memory = func(addr uint64, size int) (uint64, bool) {
		for i, at := range l.Replaced {
			if at == addr && at != 0 {
				return l.Original[i], true
			}
		}
		return memory.number(addr, size)
	}
	regs := registers(&l)
	pcs, end := m.Walk(regs, maxHangFrames, []uint64{regs.PC})
	if end != unwind.EndNoFrames || len(pcs) > maxInLibrary {
		return pcs
	}
	if up, ok := h.caller(&l, m.Memory); ok {
		pcs, _ = m.Walk(up, maxHangFrames, []uint64{regs.PC, up.PC})
	}
	return pcs
}

func (h *Hangs) table(m *loader.Module) *unwind.Table {
	t := h.tables[m]
	if t == nil {
		t = unwind.New(m.Bin)
		h.tables[m] = t
	}
	return t
}

// waitInLibrary returns the wait of a thread, as determined by the function of the C library
// that the thread called.
func (h *Hangs) waitInLibrary(t waiting, stack []uint64) futex.Wait {
	pid := int(t.line.Tgid)
	read := func(addr uint64, b []byte) bool { return h.Threads.ReadMemory(pid, addr, b) }
	for _, pc := range stack[:min(len(stack), maxInLibrary)] {
		if w := futex.WaitIn(h.called(pid, pc), t.call, futex.Memory{Read: read}, stackPointer(&t.line)); w.Kind != futex.Unknown {
			return w
		}
	}
	return futex.Wait{}
}

// start returns the address of a thread's start routine: the outermost function of the stack
// that is not the C library's, whose own frames are outside it. It returns 0 if the stack
// does not reach that far.
func (h *Hangs) start(l bpf.Sleeper, stack []uint64) uint64 {
	pid, i := int(l.Tgid), len(stack)
	for i > 0 && h.isThreadStart(pid, stack[0], stack[i-1]) {
		i--
	}
	if i == 0 || i == len(stack) {
		return 0
	}
	return h.function(l.Tgid, stack[i-1]-1)
}

// function returns the address of the function that has an instruction of a process; 0 if that is not known.
func (h *Hangs) function(pid uint32, pc uint64) uint64 {
	seg, ok := h.Threads.Segment(int(pid), pc)
	if !ok {
		return 0
	}
	fn, ok := seg.Module.Bin.FunctionAt(pc - seg.Bias)
	if !ok {
		return 0
	}
	return fn.Lo + seg.Bias
}

// isThreadStart reports whether an outer frame belongs to the C library, as the innermost
// one does. In a static program, where all frames are in one file, the name of the
// function decides.
func (h *Hangs) isThreadStart(pid int, inner, pc uint64) bool {
	seg, ok := h.Threads.Segment(pid, pc)
	own, ok2 := h.Threads.Segment(pid, inner)
	if !ok || !ok2 || seg.Module != own.Module {
		return false
	}
	if seg.Module != h.Threads.Segments(pid)[0].Module {
		return true
	}
	name := strings.TrimLeft(seg.Module.Bin.FunctionName(pc-seg.Bias-1), "_")
	return slices.Contains([]string{"start_thread", "clone", "clone3", "start", "start_c11"}, name)
}

// maxInLibrary bounds the frames of a wait inside the C library.
const maxInLibrary = 8

// called returns the name of the function that the instruction before pc calls.
func (h *Hangs) called(pid int, pc uint64) string {
	seg, ok := h.Threads.Segment(pid, pc)
	if !ok {
		return ""
	}
	return seg.Module.Bin.CalledBefore(pc - seg.Bias)
}

// caller returns the registers at the call site in the program, for a thread that sleeps in
// a library without call frame information, such as musl. The call site is at the innermost
// word on the stack that is the return address of a call of a function that waits. It
// could be a stale word only if the same thread had made such a call with a lower stack
// pointer before, and nothing had overwritten the word since.
func (h *Hangs) caller(l *bpf.Sleeper, memory func(uint64, int) (uint64, bool)) (regs unwind.Regs, ok bool) {
	sp := stackPointer(l) &^ 7
	for addr := sp; addr < sp+maxLibraryStack; addr += 8 {
		pc, ok := memory(addr, 8)
		if !ok {
			break
		}
		if futex.Waits(h.called(int(l.Tgid), pc)) {
			regs = registers(l) // musl's waits keep the frame pointer, if not the others
			regs.PC = pc
			regs.Set(stackRegister, addr+8)
			return regs, true
		}
	}
	return regs, false
}

// maxLibraryStack bounds the bytes of stack that the C library uses for a wait.
const maxLibraryStack = 1 << 10

// pages reads memory page by page, and caches the last page.
type pages struct {
	read func(addr uint64, b []byte) bool
	at   uint64 // address of page
	page [4096]byte
	ok   bool // page was read successfully
}

// number returns the little-endian number of size (1, 2, 4 or 8) bytes at addr; false if it
// cannot be read.
func (p *pages) number(addr uint64, size int) (uint64, bool) {
	const page = uint64(len(p.page))
	var b [8]byte
	for i := range size {
		a := addr + uint64(i)
		if at := a &^ (page - 1); !p.ok || at != p.at {
			p.at, p.ok = at, p.read(at, p.page[:])
		}
		if !p.ok {
			return 0, false
		}
		b[i] = p.page[a%page]
	}
	return binary.LittleEndian.Uint64(b[:]), true
}
