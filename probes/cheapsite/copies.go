package cheapsite

import (
	"fmt"
	"maps"
	"slices"

	"github.com/tracepredict/tracepredict/probes/code"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// An inlined copy of a function has no return instruction: it ends where control
// leaves its code. That is the return only if control does not come back into the
// middle of it, as it does where the compiler has mixed the copy's instructions with
// those around it, and if the stack pointer there is that of one beginning alone.

// CopyExit is where control goes when it leaves an inlined copy.
type CopyExit struct {
	At      uint64
	SPDelta int64 // the stack pointer at the copy's beginning minus the one at At
}

// CopyExits returns all places where control goes on behind an inlined copy that begins
// at an address and has the code given. Why, if not "", is why they are not known.
func (im *Image) CopyExits(at uint64, code []elf.Range) (exits []CopyExit, why string) {
	e := im.ExtentAt(at)
	if e == nil {
		return nil, "its function's extent is not known"
	}
	c := &copyWalk{im: im, at: at, code: code, sp: map[uint64]int64{}, exits: map[uint64]int64{}}
	if !c.inside(at) {
		return nil, "it does not begin in its code"
	}
	for _, r := range code {
		if r.Lo < e.Lo || r.Hi > e.Hi {
			return nil, "it is in several parts of the function"
		}
		landings, open := im.Arrivals(r)
		if open || slices.ContainsFunc(landings, func(to uint64) bool { return to != at }) {
			return nil, "control may arrive in it by a jump table or an exception"
		}
	}
	if why := c.leave(); why != "" {
		return nil, why
	}
	order := slices.Sorted(maps.Keys(c.exits)) // of several reasons always the same is given
	for _, to := range order {
		exits = append(exits, CopyExit{At: to, SPDelta: -c.exits[to]})
	}
	slices.Reverse(order) // what comes last is looked at first
	if why := c.returns(order); why != "" {
		return nil, why
	}
	return exits, ""
}

// EntersElsewhere reports whether control may come from outside of an inlined copy into
// its code, by a direct jump or by falling through, but not to its beginning: where
// the compiler knew what the copy would find out first. Instructions of others that are
// mixed with the copy's own do not count, as long as nothing branches.
func (im *Image) EntersElsewhere(at uint64, code []elf.Range) bool {
	c, found := &copyWalk{code: code}, false
	falls, own := false, false // from the instruction before; from one of the copy's
	if e := im.ExtentAt(at); e != nil {
		im.Sweep(e.Range, func(in *insn.Inst) bool {
			inside := c.inside(in.Addr)
			jumps := in.Kind.Branches()
			found = found || jumps && in.Target != at && c.inside(in.Target) && !inside || inside && falls && !own && in.Addr != at
			falls = in.Kind != insn.Jump && in.Kind != insn.IndirectJump && in.Kind != insn.Return && in.Kind != insn.Stop
			own = falls && (inside || own && !jumps)
			return !found
		})
	}
	return found || im.Work == 0
}

// copyWalk follows control through a copy, and from where it leaves it.
type copyWalk struct {
	im    *Image
	at    uint64
	code  []elf.Range
	sp    map[uint64]int64 // at the instructions of the copy, minus that at its beginning
	exits map[uint64]int64 // likewise
}

func (c *copyWalk) inside(addr uint64) bool {
	return slices.ContainsFunc(c.code, func(r elf.Range) bool { return r.Contains(addr) })
}

// next returns what may be executed after an instruction.
func (c *copyWalk) next(in *insn.Inst) (to []uint64, why string) {
	switch {
	case in.Kind == insn.IndirectJump:
		return nil, fmt.Sprintf("there is an indirect jump at 0x%x", in.Addr)
	case in.Kind == insn.Call && c.im.neverReturns(in.Target, maxDepth):
		return nil, ""
	}
	to = in.Next()
	slices.Reverse(to) // a jump's target is followed first
	return to, ""
}

// leave finds the exits.
func (c *copyWalk) leave() (why string) {
	c.sp[c.at] = 0
	for todo := []uint64{c.at}; len(todo) > 0; {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		in, err := c.im.Decode(at)
		if err != nil || !c.im.Spend() || len(c.sp) > maxNodes {
			return "its code is not understood"
		}
		sp := c.sp[at]
		switch in.Kind {
		case insn.Return:
			return "it ends with the function around it"
		case insn.Call, insn.IndirectCall: // gives back what it takes
		default:
			sp += in.SPChange
		}
		to, why := c.next(&in)
		if why != "" || in.SPLost || !in.Known {
			return "its code is not understood"
		}
		for _, t := range to {
			known := c.sp
			if !c.inside(t) {
				known = c.exits
			}
			if was, ok := known[t]; ok && was != sp {
				return "the stack pointer differs on its paths"
			} else if !ok && c.inside(t) {
				todo = append(todo, t)
			}
			known[t] = sp
		}
	}
	return ""
}

// returns reports why control, once it has come to an address behind the copy, may come
// back into it, other than by its beginning; "" if it may not.
func (c *copyWalk) returns(exits []uint64) (why string) {
	left := maxNodes
	code.Reach(exits, func(at uint64) (to []uint64, ok bool) {
		if at == c.at {
			return nil, true
		}
		if c.inside(at) {
			why = "its code is mixed with that around it"
			return nil, false
		}
		in, err := c.im.Decode(at)
		if left--; err != nil || !c.im.Spend() || left < 0 {
			why = "the code behind it is not understood"
			return nil, false
		}
		to, why = c.next(&in)
		other := func(t uint64) bool { // another function, which returns to the caller
			e := c.im.ExtentAt(t)
			return in.Kind == insn.Jump && e != nil && e.Lo == t && !e.Contains(at) && c.im.Landings().Called(t)
		}
		return slices.DeleteFunc(to, other), why == ""
	})
	return why
}
