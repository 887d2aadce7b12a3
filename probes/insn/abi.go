package insn

// Registers that a call may change (System V ABI of x86-64, section 3.2; AAPCS64,
// section 6.1).
const (
	callerAMD64 RegSet = 1<<RAX | 1<<RCX | 1<<RDX | 1<<RSI | 1<<RDI | 1<<8 | 1<<9 | 1<<10 | 1<<11
	callerARM64 RegSet = 0x7ffff | 1<<30
	allRegs     RegSet = 1<<32 - 1
)

// CallerSaved gives the general registers that a call may change by the ABI.
func (a Arch) CallerSaved() RegSet {
	if a == ARM64 {
		return callerARM64
	}
	return callerAMD64
}

// Overwrites gives the general registers whose content behind the instruction is
// not certainly that before it; behind a call, when it has returned.
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

// DecodeRun appends to body the instructions of code, which lies at addr. Bytes that
// are no instruction end it, but for ARM64, where the next word is an instruction
// again and theirs is Unknown; undecoded, if not nil, is told where they are.
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
