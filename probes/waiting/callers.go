package waiting

import (
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// caller is a function, with the functions of the file that it calls.
type caller struct {
	callees []uint64
	// idles reports that it, or one that it calls, may pause or call a function that sleeps or yields:
	// an upper bound of effect.idles, without data flow.
	idles   bool
	settled bool // idles is computed
}

// mayIdle reports whether a loop may pause, or call a function that sleeps or yields.
func (x *Finder) mayIdle(r *routine, blocks []int) bool {
	for _, b := range blocks {
		for i := r.Blocks[b].Lo; i < r.Blocks[b].Hi; i++ {
			in := &r.Insts[i]
			switch {
			case in.Kind == insn.Nop && isPause(r.code(in)), Idles(x.imported(in)):
				return true
			case in.Kind == insn.Call && x.imported(in) == "" && x.functionMayIdle(in.Target):
				return true
			}
		}
	}
	return false
}

// functionMayIdle reports whether the function that begins at an address may idle.
func (x *Finder) functionMayIdle(entry uint64) bool {
	first := x.caller(entry)
	if first.settled {
		return first.idles
	}
	seen, todo := map[uint64]*caller{entry: first}, []uint64{entry}
	for len(todo) > 0 {
		c := seen[todo[len(todo)-1]]
		todo = todo[:len(todo)-1]
		if c.idles {
			first.idles, first.settled = true, true
			return true
		}
		if c.settled {
			continue
		}
		for _, to := range c.callees {
			if seen[to] == nil {
				seen[to] = x.caller(to)
				todo = append(todo, to)
			}
		}
	}
	for _, c := range seen { // what they call was seen, too
		c.settled = true
	}
	return false
}

// caller returns what is known of the function that begins at an address.
func (x *Finder) caller(entry uint64) *caller {
	c := x.callers[entry]
	if c == nil {
		c = &caller{}
		x.callers[entry] = c
		if fn, ok := x.file.FunctionAt(entry); ok && fn.Lo == entry && fn.Hi-fn.Lo <= maxCallee {
			x.skimCalls(c, fn)
		}
	}
	return c
}

// skimCalls finds what a function calls.
func (x *Finder) skimCalls(c *caller, fn elf.Range) {
	bytes, err := x.file.Bytes(fn.Lo, int(fn.Hi-fn.Lo))
	if err != nil {
		return
	}
	x.work -= len(bytes) / 64
	for at := fn.Lo; len(bytes) > 0; {
		s, ok := insn.Skim(x.file.Arch(), bytes, at)
		if !ok || s.Len <= 0 {
			return
		}
		switch {
		case isPause(bytes[:s.Len]):
			c.idles = true
		case s.Kind == insn.Call, s.Kind.Branches() && !fn.Contains(s.Target):
			if name := x.plt[s.Target]; name != "" {
				c.idles = c.idles || Idles(name)
			} else {
				c.callees = append(c.callees, s.Target)
			}
		case s.Kind == insn.IndirectCall || s.Kind == insn.IndirectJump:
			in, err := insn.Decode(x.file.Arch(), bytes, at)
			c.idles = c.idles || err == nil && Idles(x.imported(&in))
		}
		bytes, at = bytes[s.Len:], at+uint64(s.Len)
	}
}
