package cheapsite

import (
	"fmt"
	"maps"
	"slices"

	"github.com/tracepredict/tracepredict/probes/code"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// An inlined copy of a function has no return instruction: it ends where control leaves its code.
// An exit is a return only under two conditions. Control must not come back into the middle of the
// copy, as it does where the compiler has mixed the copy's instructions with those around it. And
// the distance of the stack pointer from its value at the copy's beginning must be the same on all
// paths.

// CopyExit is an address to which control goes when it leaves an inlined copy.
type CopyExit struct {
	At      uint64
	SPDelta int64 // the stack pointer at the copy's beginning minus the one at At, in bytes
}

// CopyExits returns all addresses to which control goes from the inlined copy that begins at an
// address and has the code given, in ascending order. why, if not "", is the reason why they are
// not known.
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
	if why := c.findExits(); why != "" {
		return nil, why
	}
	order := slices.Sorted(maps.Keys(c.exits)) // sorted, so that of several reasons always the same is returned
	for _, to := range order {
		exits = append(exits, CopyExit{At: to, SPDelta: -c.exits[to]})
	}
	slices.Reverse(order) // code.Reach takes the last address first
	if why := c.reentry(order); why != "" {
		return nil, why
	}
	return exits, ""
}

// EntersElsewhere reports whether control may enter the code of an inlined copy from outside, by a
// direct jump or by falling through, other than at its beginning. It may where the compiler already
// knew the result of the copy's first instructions. Instructions of other code that are mixed with
// the copy's own do not count, as long as none of them branches.
func (im *Image) EntersElsewhere(at uint64, code []elf.Range) bool {
	c, found := &copyWalk{code: code}, false
	falls, own := false, false // whether the instruction before falls through; whether it does so from one of the copy's
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

// copyWalk follows control through an inlined copy, and on from where control leaves it.
type copyWalk struct {
	im    *Image
	at    uint64
	code  []elf.Range
	sp    map[uint64]int64 // sp at the instructions of the copy, minus sp at its beginning, in bytes
	exits map[uint64]int64 // the same at the addresses where control leaves the copy
}

func (c *copyWalk) inside(addr uint64) bool {
	return slices.ContainsFunc(c.code, func(r elf.Range) bool { return r.Contains(addr) })
}

// next returns the addresses that may be executed after an instruction; why, if not "", is the
// reason why they are not known.
func (c *copyWalk) next(in *insn.Inst) (to []uint64, why string) {
	switch {
	case in.Kind == insn.IndirectJump:
		return nil, fmt.Sprintf("there is an indirect jump at 0x%x", in.Addr)
	case in.Kind == insn.Call && c.im.neverReturns(in.Target, maxDepth):
		return nil, ""
	}
	to = in.Next()
	slices.Reverse(to) // a jump's target is followed before the next instruction
	return to, ""
}

// findExits finds the exits, and returns the reason why they are not known; "" if they are.
func (c *copyWalk) findExits() (why string) {
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
		case insn.Call, insn.IndirectCall: // sp is unchanged when the call returns
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

// reentry returns the reason why control, after it has come to an address after the copy, may
// enter the copy again, other than at its beginning; "" if it may not.
func (c *copyWalk) reentry(exits []uint64) (why string) {
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
		other := func(t uint64) bool { // t is another function, which returns to the caller
			e := c.im.ExtentAt(t)
			return in.Kind == insn.Jump && e != nil && e.Lo == t && !e.Contains(at) && c.im.Landings().Called(t)
		}
		return slices.DeleteFunc(to, other), why == ""
	})
	return why
}
