package variable

import (
	bin "github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// block is a straight run of instructions, insts[lo:hi].
type block struct {
	lo, hi int
	next   []int // blocks that may follow
}

// routine is a function's code, decoded: the same for every variable.
type routine struct {
	machine   insn.Arch
	fn        bin.Range
	code      []byte
	insts     []insn.Inst
	undecoded []uint64 // addresses at which it could not be decoded
	blocks    []block
	hatches   []int // blocks that are entered otherwise than by falling or branching
	open      bool  // an indirect jump may land anywhere
}

// decode decodes a function and finds its blocks.
func (c *Code) decode(fn bin.Range, code []byte) *routine {
	r := &routine{machine: c.arch, fn: fn, code: code}
	r.insts = insn.DecodeRun(make([]insn.Inst, 0, len(code)/4), c.arch, code, fn.Lo, func(at uint64) {
		r.undecoded = append(r.undecoded, at)
	})
	r.split(c.landings)
	return r
}

// split finds the blocks and what follows each.
func (r *routine) split(landings Landings) {
	leaders, hatches := r.leaders(landings)
	at := map[uint64]int{}
	for i := range r.insts {
		addr := r.insts[i].Addr
		if i == 0 || r.open || leaders[addr] {
			at[addr] = len(r.blocks)
			if i > 0 && (r.open || hatches[addr]) {
				r.hatches = append(r.hatches, len(r.blocks))
			}
			r.blocks = append(r.blocks, block{lo: i})
		}
		r.blocks[len(r.blocks)-1].hi = i + 1
	}
	for i := range r.blocks {
		r.link(&r.blocks[i], i, at)
	}
}

// leaders are where blocks begin; hatches are those of them that control enters
// by tables, exceptions or other parts of the function.
func (r *routine) leaders(landings Landings) (leaders, hatches map[uint64]bool) {
	leaders, hatches = map[uint64]bool{r.fn.Lo: true}, map[uint64]bool{}
	tables := false
	for i := range r.insts {
		in := &r.insts[i]
		after := in.Addr + uint64(in.Len)
		switch in.Kind {
		case insn.Jump, insn.CondJump:
			leaders[in.Target], leaders[after] = true, true
		case insn.IndirectJump, insn.Return, insn.Stop:
			tables = tables || in.Kind == insn.IndirectJump
			leaders[after] = true
		}
	}
	if landings == nil {
		r.open = tables
		return leaders, hatches
	}
	arrivals, open := landings(r.fn)
	r.open = tables && open
	for _, a := range arrivals {
		leaders[a], hatches[a] = true, true
	}
	return leaders, hatches
}

func (r *routine) link(from *block, i int, at map[uint64]int) {
	last := &r.insts[from.hi-1]
	if last.Kind == insn.Jump || last.Kind == insn.CondJump {
		if to, ok := at[last.Target]; ok {
			from.next = append(from.next, to)
		}
	}
	switch last.Kind {
	case insn.Jump, insn.IndirectJump, insn.Return, insn.Stop:
	default:
		if i+1 < len(r.blocks) {
			from.next = append(from.next, i+1)
		}
	}
}

// mayLand reports whether control may go on, within the function, where no
// branch leads: by a table, or from a call by an exception.
func (r *routine) mayLand(in *insn.Inst) bool {
	switch in.Kind {
	case insn.IndirectJump, insn.Call, insn.IndirectCall:
		return true
	case insn.Jump, insn.CondJump:
		return !r.fn.Contains(in.Target)
	}
	return false
}

func (r *routine) bytes(in *insn.Inst) []byte {
	at := in.Addr - r.fn.Lo
	return r.code[at : at+uint64(in.Len)]
}

// relative reports whether the instruction computes an address from its own:
// lea, ADR, ADRP.
func (r *routine) relative(in *insn.Inst) bool {
	code := r.bytes(in)
	if r.machine == insn.ARM64 {
		return code[3]&0x1f == 0x10
	}
	for len(code) > 1 && (code[0] == 0x66 || code[0] == 0x67 || code[0]&0xf0 == 0x40) {
		code = code[1:]
	}
	return code[0] == 0x8d
}
