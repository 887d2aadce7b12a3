package insn

import "encoding/binary"

// Code that walks over all instructions of a file, to find where its branches lead, needs only the
// length of most of them. Skim returns that, and how control leaves, at a tenth of the cost of
// Decode.

// Step is what a walk over code needs of an instruction.
type Step struct {
	Len    int
	Kind   Kind   // as Decode returns it, but Plain for Nop and Push
	Target uint64 // of Jump, CondJump, Call
	// MayLock means that the instruction may change memory atomically, or be a fence. It is set for
	// all instructions that do and are, and for some that do not.
	MayLock bool
}

// Skim returns the Step of the first instruction of code, which lies at addr. It returns false
// where Decode fails, and otherwise agrees with it.
func Skim(arch Arch, code []byte, addr uint64) (s Step, ok bool) {
	if arch == AMD64 {
		if s, ok := skimX86(code, addr); ok {
			return s, true
		}
	}
	in, err := Decode(arch, code, addr)
	if err != nil {
		return Step{}, false
	}
	s = Step{Len: in.Len, Kind: in.Kind, Target: in.Target, MayLock: in.Locked}
	if s.Kind == Nop || s.Kind == Push {
		s.Kind = Plain
	}
	return s, true
}

// MayBranch reports whether the first instruction of code may be a direct branch or call. It
// returns true for all that are, and for some others.
func MayBranch(arch Arch, code []byte) bool {
	if arch != AMD64 {
		return true
	}
	for _, b := range code {
		switch {
		case b&0xf0 == 0x40, b == 0x66, b == 0x67, b == 0xf0, b == 0xf2, b == 0xf3, b == 0x26, b == 0x2e, b == 0x36, b == 0x3e, b == 0x64, b == 0x65:
			continue // a prefix
		case b&0xf0 == 0x70, b&0xfc == 0xe0, b == 0xe8, b == 0xe9, b == 0xeb, b == 0x0f, b == 0xc7:
			return true
		}
		return false
	}
	return false
}

// shapes1 and shapes0F have, for each opcode of the one-byte map and of that after 0F,
// what follows it, as shape1 and shape0F do, and where control goes:
//
//	0  nothing        m  ModRM                  j  jcc and one byte
//	1  one byte       n  ModRM and one byte     i  jcc and four bytes
//	Z  two or four    z  ModRM, two or four     b  jmp and one byte
//	v  or eight       x  ModRM, exchanges       k  jmp and four bytes
//	r  ret            g  ModRM of F6 or F7      c  call and four bytes
//	s  int3           f  ModRM of FF            y  ModRM of C7, two or four
//	.  left to Decode
const (
	shapes1 = "mmmm1Z..mmmm1Z.." + "mmmm1Z..mmmm1Z.." + "mmmm1Z..mmmm1Z.." + "mmmm1Z..mmmm1Z.." +
		"................" + "0000000000000000" + "...m....Zz1n...." + "jjjjjjjjjjjjjjjj" +
		"nz.nmmxxmmmmmmm." + "0000000000.00000" + "....00001Z000000" + "11111111vvvvvvvv" +
		"nn.r..ny.0..s..." + "mmmm....mmmmmmmm" + "........ck.b...." + "......gg000000mf"
	shapes0F = "................" + "mmmmmmmmmmmmmmmm" + "........mmmmmmmm" + "................" +
		"mmmmmmmmmmmmmmmm" + "mmmmmmmmmmmmmmmm" + "mmmmmmmmmmmmmmmm" + "nnnnmmm.....mmmm" +
		"iiiiiiiiiiiiiiii" + "mmmmmmmmmmmmmmmm" + "...mnm.....mnm.m" + "mmmmmmmm..nmmmmm" +
		"mmnmnnnm00000000" + "mmmmmmmmmmmmmmmm" + "mmmmmmmmmmmmmmmm" + "mmmmmmmmmmmmmmm."
)

// skimmer is an instruction whose bytes before pos have been read.
type skimmer struct {
	code       []byte
	pos        int
	half, wide bool // the prefixes 66 and REX.W
}

// skimX86 returns the Step of the instructions that compilers write most. It returns false for
// others, and for those that extend beyond the bytes.
func skimX86(code []byte, addr uint64) (s Step, ok bool) {
	d := skimmer{code: code[:min(len(code), 15)]}
	if s.MayLock = d.prefixes(); d.pos+2 > len(d.code) { // the byte after the opcode may be read below
		return s, false
	}
	op := d.code[d.pos]
	shape := shapes1[op]
	if d.pos++; op == 0x0f {
		op = d.code[d.pos]
		shape = shapes0F[op]
		d.pos++
	}
	n, ok := d.immediate(shape)
	switch shape {
	case 'r':
		s.Kind = Return
	case 's':
		s.Kind = Stop
	case 'm', 'n', 'z':
		_, ok = d.modRM()
	case 'x', 'y', 'f', 'g':
		n, ok = d.group(shape, op, n, &s)
	}
	d.pos += n
	if s.Len = d.pos; !ok || s.Len > len(d.code) {
		return s, false
	}
	d.branch(shape, addr, &s)
	return s, true
}

// prefixes reads the prefixes that do not change the length, 66 and REX. It reports
// whether lock is among them.
func (d *skimmer) prefixes() (lock bool) {
	for d.pos < len(d.code) {
		switch b := d.code[d.pos]; b {
		case 0x66:
			d.half = true
		case 0xf0:
			lock = true
		case 0xf2, 0xf3, 0x2e, 0x3e, 0x64, 0x65:
		default:
			if b&0xf0 == 0x40 {
				d.wide = b&8 != 0
				d.pos++
			}
			return lock
		}
		d.pos++
	}
	return lock
}

// immediate returns the size of the immediate of a shape; false if it is not certain.
func (d *skimmer) immediate(shape byte) (n int, ok bool) {
	switch shape {
	case '.':
		return 0, false
	case '1', 'n', 'j', 'b':
		return 1, true
	case 'c', 'k', 'i':
		return 4, !d.half
	case 'v':
		if d.wide {
			return 8, true
		}
		return d.word(), true
	case 'Z', 'z', 'y':
		return d.word(), true
	}
	return 0, true
}

// word returns the size in bytes of an immediate of operand size.
func (d *skimmer) word() int {
	if d.half && !d.wide {
		return 2
	}
	return 4
}

// modRM reads and returns a ModRM byte, and skips the SIB byte and the displacement that belong to
// it.
func (d *skimmer) modRM() (modRM byte, ok bool) {
	if d.pos >= len(d.code) {
		return 0, false
	}
	modRM = d.code[d.pos]
	if d.pos++; modRM >= 0xc0 {
		return modRM, true
	}
	base := modRM & 7
	if base == 4 {
		if d.pos >= len(d.code) {
			return 0, false
		}
		base = d.code[d.pos] & 7
		d.pos++
	}
	switch mod := modRM >> 6; {
	case mod == 1:
		d.pos++
	case mod == 2 || base == 5:
		d.pos += 4
	}
	return modRM, true
}

// group reads the ModRM byte of an opcode whose meaning depends on it. It returns the size
// of the immediate, which is n unless that depends on the byte too.
func (d *skimmer) group(shape, op byte, n int, s *Step) (int, bool) {
	modRM, ok := d.modRM()
	reg := modRM >> 3 & 7
	switch shape {
	case 'x':
		s.MayLock = s.MayLock || modRM < 0xc0
	case 'y':
		ok = ok && modRM < 0xf8 // xbegin
	case 'g':
		switch {
		case reg > 1:
		case op == 0xf6:
			n = 1
		default:
			n = d.word()
		}
	case 'f':
		switch reg {
		case 2, 3:
			s.Kind = IndirectCall
		case 4, 5:
			s.Kind = IndirectJump
		}
	}
	return n, ok
}

// branch sets the kind and the target of a direct branch.
func (d *skimmer) branch(shape byte, addr uint64, s *Step) {
	switch shape {
	case 'j', 'i':
		s.Kind = CondJump
	case 'b', 'k':
		s.Kind = Jump
	case 'c':
		s.Kind = Call
	default:
		return
	}
	distance := int64(int8(d.code[d.pos-1]))
	if shape == 'i' || shape == 'k' || shape == 'c' {
		distance = int64(int32(binary.LittleEndian.Uint32(d.code[d.pos-4:])))
	}
	s.Target = addr + uint64(d.pos) + uint64(distance)
}
