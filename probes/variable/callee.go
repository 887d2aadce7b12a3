package variable

import (
	bin "github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
	"github.com/tracepredict/tracepredict/probes/libname"
)

// What is known of a function that is called while a register holds the address: which registers it
// reads at all and, for some functions of the C library, what they do with the memory.

// memoryArgument describes what a function does with the memory that one of its arguments points
// to.
type memoryArgument struct {
	register, count insn.Reg // count holds the number of bytes; NoReg: at least the first byte
	kind            Kind
}

// memoryCall describes a function of the C library that accesses memory and keeps no address.
type memoryCall struct {
	args []memoryArgument
	// first reports whether the function returns its first argument.
	first bool
}

// memoryCalls returns the description of the function of that name. The prefix and suffix of
// fortified functions (__memcpy_chk) are ignored.
func memoryCalls(name string) (memoryCall, bool) {
	const to, from = insn.RDI, insn.RSI
	switch libname.Plain(name) {
	case "memcpy", "memmove", "strncpy":
		return memoryCall{[]memoryArgument{{to, insn.RDX, Write}, {from, insn.RDX, Read}}, true}, true
	case "mempcpy", "stpncpy":
		return memoryCall{[]memoryArgument{{to, insn.RDX, Write}, {from, insn.RDX, Read}}, false}, true
	case "strcpy", "strcat", "strncat":
		return memoryCall{[]memoryArgument{{to, insn.NoReg, Write}, {from, insn.NoReg, Read}}, true}, true
	case "memset":
		return memoryCall{[]memoryArgument{{to, insn.RDX, Write}}, true}, true
	case "bzero", "explicit_bzero":
		return memoryCall{[]memoryArgument{{to, insn.RSI, Write}}, false}, true
	case "bcopy":
		return memoryCall{[]memoryArgument{{from, insn.RDX, Write}, {to, insn.RDX, Read}}, false}, true
	case "memcmp", "bcmp":
		return memoryCall{[]memoryArgument{{to, insn.RDX, Read}, {from, insn.RDX, Read}}, false}, true
	case "strcmp", "strncmp":
		return memoryCall{[]memoryArgument{{to, insn.NoReg, Read}, {from, insn.NoReg, Read}}, false}, true
	case "strlen", "strnlen", "puts":
		return memoryCall{[]memoryArgument{{to, insn.NoReg, Read}}, false}, true
	}
	return memoryCall{}, false
}

// arguments returns how many arguments some frequently called functions of the C library take; -1
// for other functions.
func arguments(name string) int {
	if n := libname.Arguments(name); n >= 0 {
		return n
	}
	if call, ok := memoryCalls(name); ok && len(call.args) > 0 {
		return 4 // the fortified variants
	}
	return -1
}

// memoryCall returns what the function that an instruction calls, or jumps to, does with memory.
func (f *flow) memoryCall(in *insn.Inst) (memoryCall, string, bool) {
	if f.arch != insn.AMD64 || in.Kind != insn.Call && (in.Kind != insn.Jump || f.fn.Contains(in.Target)) {
		return memoryCall{}, "", false
	}
	name := f.known().calleeName(in.Target)
	call, ok := memoryCalls(name)
	return call, name, ok
}

// passes returns the registers by which a call may pass an address to a function whose use of it is
// not known.
func (f *flow) passes(in *insn.Inst) insn.RegSet {
	if f.arch != insn.AMD64 || in.Kind != insn.Call && in.Kind != insn.Jump {
		return allRegs
	}
	name := f.known().calleeName(in.Target)
	if _, ok := memoryCalls(name); ok || libname.OnObject(name) {
		return 0
	}
	if n := arguments(name); n >= 0 {
		var set insn.RegSet
		for _, r := range f.arch.Arguments()[:n] {
			set = set.With(r)
		}
		return set
	}
	return f.known().readsAtEntry(in.Target)
}

// maxEntry bounds the instructions of a callee that are examined for the registers that it reads.
const maxEntry = 256

// readsAtEntry returns the registers whose content at its entry a function of the file may read or
// pass on; all that pass arguments where that is not known.
func (c *Code) readsAtEntry(entry uint64) insn.RegSet {
	if set, ok := c.entryReads[entry]; ok {
		return set
	}
	e := entryReader{file: c.file, seen: map[uint64]insn.RegSet{}, left: maxEntry}
	e.follow(entry, 0)
	c.entryReads[entry] = e.reads
	return e.reads
}

// entryReader follows the paths from a function's entry to find the registers that it reads.
type entryReader struct {
	file  *bin.File
	reads insn.RegSet
	seen  map[uint64]insn.RegSet // by address visited: the registers written before it
	left  int
}

func (e *entryReader) follow(at uint64, written insn.RegSet) {
	for {
		if old, ok := e.seen[at]; ok && old&^written == 0 {
			return
		}
		in, ok := e.decode(at)
		if !ok {
			e.reads |= argsAMD64 &^ written
			return
		}
		e.seen[at] = written
		e.reads |= in.Reads &^ written
		written |= in.Writes
		switch in.Kind {
		case insn.Return, insn.Stop:
			return
		case insn.Jump:
			at = in.Target
			continue
		case insn.CondJump:
			e.follow(in.Target, written)
		case insn.Call, insn.IndirectCall, insn.IndirectJump, insn.Syscall:
			e.reads |= argsAMD64 &^ written
			if written |= insn.AMD64.CallerSaved(); in.Kind == insn.IndirectJump {
				return
			}
		}
		at += uint64(in.Len)
	}
}

// decode returns the instruction at an address; false if it could not be decoded, or the budget is
// exhausted.
func (e *entryReader) decode(at uint64) (insn.Inst, bool) {
	if e.left--; e.left < 0 || e.file == nil {
		return insn.Inst{}, false
	}
	arch := e.file.Arch()
	code, err := e.file.Bytes(at, arch.MaxLen())
	if err != nil {
		return insn.Inst{}, false
	}
	in, err := insn.Decode(arch, code, at)
	return in, err == nil && in.Known
}
