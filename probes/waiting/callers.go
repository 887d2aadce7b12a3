package waiting

import (
	"regexp"
	"slices"

	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// caller is a function, with the functions of the file that it calls.
type caller struct {
	callees []uint64
	// idles reports that it, or one that it calls, may pause or call a function that sleeps or yields:
	// an upper bound of effect.idles, without data flow.
	idles bool
	rests bool // the same, or wait with a time limit
	asks  bool // the same of functions that ask
	// unknown is the same of calls of functions that are not known, which may ask.
	unknown bool
	// settledIdles and its like report that these are computed.
	settledIdles, settledRests, settledAsks, settledUnknown bool
}

// mayIdle reports whether a loop may pause, or call a function that sleeps or yields.
func (x *finder) mayIdle(r *routine, blocks []int) bool {
	for in := range r.insts(blocks) {
		switch {
		case in.Kind == insn.Nop && isPause(r.code(in)), Idles(x.imported(in)):
			return true
		case in.Kind == insn.Call && x.imported(in) == "" && x.functionMayIdle(in.Target):
			return true
		}
	}
	return false
}

// mayAsk reports whether a loop may rest, and may ask something, itself or by a function that it calls.
func (x *finder) mayAsk(r *routine, blocks []int) bool {
	rests, asking := false, false
	for in := range r.insts(blocks) {
		switch name := x.imported(in); {
		case in.Kind == insn.Nop:
			rests = rests || isPause(r.code(in))
		case name != "":
			rests, asking = rests || restsBy(name), asking || asks(name)
		case in.Kind == insn.Call:
			rests = rests || x.functionMayRest(in.Target)
			asking = asking || x.functionMayAsk(in.Target) || x.functionIsUnknown(in.Target)
		case in.Kind == insn.IndirectCall:
			rests = rests || in.NMem == 0 && slices.ContainsFunc(r.hoisted, x.slotMayRest)
			asking = asking || x.unknownMayAsk(r, in)
		}
	}
	return rests && asking
}

// slotMayRest reports whether the function whose address is in a slot may rest.
func (x *finder) slotMayRest(slot uint64) bool {
	if name := x.slots[slot]; name != "" {
		return restsBy(name)
	}
	return x.functionMayRest(x.local[slot])
}

// unknownMayAsk reports whether a call of a function that is not known may ask. Where the caller keeps addresses of
// functions in registers, one of these is taken to be called by a register.
func (x *finder) unknownMayAsk(r *routine, in *insn.Inst) bool {
	return in.NMem > 0 || len(r.hoisted) == 0 || slices.ContainsFunc(r.hoisted, func(slot uint64) bool {
		if name := x.slots[slot]; name != "" {
			return asks(name)
		}
		return x.functionMayAsk(x.local[slot]) || x.functionIsUnknown(x.local[slot])
	})
}

// functionMayRest reports whether the function that begins at an address may rest.
func (x *finder) functionMayRest(entry uint64) bool {
	return x.functionMay(entry, func(c *caller) (*bool, *bool) { return &c.rests, &c.settledRests })
}

// functionIsUnknown reports whether the function that begins at an address may call one that is not known.
func (x *finder) functionIsUnknown(entry uint64) bool {
	return x.functionMay(entry, func(c *caller) (*bool, *bool) { return &c.unknown, &c.settledUnknown })
}

// functionMayIdle reports whether the function that begins at an address may idle.
func (x *finder) functionMayIdle(entry uint64) bool {
	return x.functionMay(entry, func(c *caller) (*bool, *bool) { return &c.idles, &c.settledIdles })
}

// functionMayAsk reports whether the function that begins at an address may ask something.
func (x *finder) functionMayAsk(entry uint64) bool {
	return x.functionMay(entry, func(c *caller) (*bool, *bool) { return &c.asks, &c.settledAsks })
}

// functionMay reports whether a function, or one that it calls, does something. of returns where that, and whether
// it is settled, is kept.
func (x *finder) functionMay(entry uint64, of func(*caller) (does, settled *bool)) bool {
	first := x.caller(entry)
	firstDoes, firstSettled := of(first)
	if *firstSettled {
		return *firstDoes
	}
	seen, todo := map[uint64]*caller{entry: first}, []uint64{entry}
	for len(todo) > 0 {
		c := seen[todo[len(todo)-1]]
		todo = todo[:len(todo)-1]
		does, settled := of(c)
		if *does {
			*firstDoes, *firstSettled = true, true
			return true
		}
		if *settled {
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
		_, settled := of(c)
		*settled = true
	}
	return false
}

// panics match the mangled names of the functions of Rust that report a panic. They do not return, so that what they ask
// for decides nothing about a loop that calls one.
var panics = regexp.MustCompile(`4core9panicking|4core6option\d+(?:unwrap|expect)_failed|4core6result\d+unwrap_failed|4core5slice5index|3std9panicking|3std7process|5alloc.*handle_(?:alloc_)?error`)

// caller returns what is known of the function that begins at an address.
func (x *finder) caller(entry uint64) *caller {
	c := x.callers[entry]
	if c == nil {
		c = &caller{}
		x.callers[entry] = c
		if fn, ok := x.file.FunctionAt(entry); ok && fn.Lo == entry && fn.Hi-fn.Lo <= maxCallee && !panics.MatchString(x.file.FunctionName(entry)) {
			x.skimCalls(c, fn)
		}
	}
	return c
}

// skimCalls finds what a function calls.
func (x *finder) skimCalls(c *caller, fn elf.Range) {
	bytes, err := x.file.Bytes(fn.Lo, int(fn.Hi-fn.Lo))
	if err != nil {
		return
	}
	x.work -= len(bytes) / 64
	byRegister := false
	for at, rest := fn.Lo, bytes; len(rest) > 0; {
		s, ok := insn.Skim(x.file.Arch(), rest, at)
		if !ok || s.Len <= 0 {
			return
		}
		switch {
		case isPause(rest[:s.Len]):
			c.idles, c.rests = true, true
		case s.Kind == insn.Call, s.Kind.Branches() && !fn.Contains(s.Target):
			if name := x.plt[s.Target]; name != "" {
				c.calls(name)
			} else {
				c.callees = append(c.callees, s.Target)
			}
		case s.Kind == insn.IndirectCall || s.Kind == insn.IndirectJump:
			if in, err := insn.Decode(x.file.Arch(), rest, at); err == nil {
				byRegister = x.skimIndirect(c, &in) || byRegister
			}
		}
		rest, at = rest[s.Len:], at+uint64(s.Len)
	}
	if byRegister {
		x.skimHoisted(c, bytes, fn.Lo)
	}
}

// skimIndirect adds what an indirect call or jump calls. It reports whether a register says what.
func (x *finder) skimIndirect(c *caller, in *insn.Inst) (byRegister bool) {
	name := x.imported(in)
	c.calls(name)
	switch x.direct(in); {
	case in.Kind == insn.Call:
		c.callees = append(c.callees, in.Target)
	case in.Kind == insn.IndirectCall && name == "":
		c.unknown = true
		return in.NMem == 0
	}
	return false
}

// skimHoisted adds the functions whose addresses a function that calls by registers loads into some.
func (x *finder) skimHoisted(c *caller, bytes []byte, at uint64) {
	x.work -= len(bytes) / 8
	for len(bytes) > 0 {
		in, err := insn.Decode(x.file.Arch(), bytes, at)
		if err != nil || in.Len <= 0 {
			return
		}
		if slot, ok := x.loadsSlot(&in); ok {
			if c.unknown = false; x.slots[slot] != "" {
				c.calls(x.slots[slot])
			} else {
				c.callees = append(c.callees, x.local[slot])
			}
		}
		bytes, at = bytes[in.Len:], at+uint64(in.Len)
	}
}

// calls adds what a function of another file does, if there is one.
func (c *caller) calls(name string) {
	c.idles, c.rests, c.asks = c.idles || Idles(name), c.rests || restsBy(name), c.asks || name != "" && asks(name)
}
