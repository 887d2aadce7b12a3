package insn

// The registers that a call may change (System V ABI of x86-64, section 3.2; AAPCS64, section 6.1).
const (
	callerAMD64 RegSet = 1<<RAX | 1<<RCX | 1<<RDX | 1<<RSI | 1<<RDI | 1<<8 | 1<<9 | 1<<10 | 1<<11
	callerARM64 RegSet = 0x7ffff | 1<<30
	allRegs     RegSet = 1<<32 - 1
)

var (
	argumentsAMD64 = []Reg{RDI, RSI, RDX, RCX, R8, R9}
	argumentsARM64 = []Reg{0, 1, 2, 3, 4, 5, 6, 7}
)

// Arguments returns the registers that pass integer arguments, in order (System V ABI of
// x86-64, section 3.2.3; AAPCS64, section 6.4.1). The slice is shared: do not change it.
func (a Arch) Arguments() []Reg {
	if a == ARM64 {
		return argumentsARM64
	}
	return argumentsAMD64
}

// CallerSaved returns the general registers that a call may change by the ABI.
func (a Arch) CallerSaved() RegSet {
	if a == ARM64 {
		return callerARM64
	}
	return callerAMD64
}

// Overwrites returns the general registers whose contents after the instruction may differ from
// those before it; for a call, after it has returned.
func (in *Inst) Overwrites(a Arch) RegSet {
	switch {
	case !in.Known && (in.SPLost || a != AMD64):
		return allRegs
	case !in.Known: // vector instructions write no frame pointers
		return allRegs &^ (1<<RSP | 1<<RBP)
	case in.Kind == Call || in.Kind == IndirectCall:
		return in.Writes | a.CallerSaved()
	}
	return in.Writes
}

// DecodeRun appends to body the instructions of code, which lies at addr. It ends at bytes that do
// not decode, except on ARM64: there the word becomes an Unknown instruction, and decoding
// continues at the next word. If undecoded is not nil, DecodeRun calls it with the address of such
// bytes.
func DecodeRun(body []Inst, a Arch, code []byte, addr uint64, undecoded func(uint64)) []Inst {
	for pos := 0; pos < len(code); {
		at := addr + uint64(pos)
		in, err := Decode(a, code[pos:], at)
		if err != nil || in.Len <= 0 {
			if undecoded != nil {
				undecoded(at)
			}
			if a != ARM64 {
				break
			}
			in = Unknown(at, 4)
		}
		body = append(body, in)
		pos += in.Len
	}
	return body
}
