package between

import (
	"strings"

	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// PassesNothingOn reports whether the code by which a function comes from a wait on a condition, at a call
// stack as in Query, to the same wait again notifies no condition and calls no code that may; if it does,
// or that cannot be shown, why is the reason. A thread that is woken there for something else waits again,
// and does not pass the signal on. Functions of the C++ library that do nothing but wait are skipped.
func (x *Examiner) PassesNothingOn(wait []uint64) (ok bool, why Why) {
	for _, back := range wait[min(1, len(wait)):] {
		f, bias, known := x.process.Code(back - 1)
		if !known {
			return false, Why{Kind: NotUnderstood, At: back}
		}
		im := x.image(f)
		fn, known := im.FunctionAt(back - 1 - bias)
		if !known {
			return false, Why{Kind: NotUnderstood, At: back}
		}
		if !waitsWithin(im.FunctionName(fn.Lo)) {
			l := waitLoop{x: x, im: im, fn: fn, bias: bias, back: back - bias, before: map[uint64][]uint64{}, seen: map[uint64]bool{}}
			return l.notifiesNothing()
		}
	}
	return false, Why{Kind: NotUnderstood}
}

// waitLoop is the code by which a function comes from a wait to the same wait again.
type waitLoop struct {
	x      *Examiner
	im     *image
	fn     elf.Range
	bias   uint64
	back   uint64              // the address behind the call that waits
	call   uint64              // that call; 0: it was not reached
	before map[uint64][]uint64 // by instruction: those after which it may be executed
	seen   map[uint64]bool
}

// notifiesNothing is PassesNothingOn for one function.
func (l *waitLoop) notifiesNothing() (ok bool, why Why) {
	if why := l.follow(); why.Kind != NoReason {
		return false, why
	}
	if l.call == 0 {
		return false, Why{Kind: NoPath}
	}
	clear(l.seen)
	for todo := l.before[l.call]; len(todo) > 0; {
		pc := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if l.seen[pc] {
			continue
		}
		l.seen[pc] = true
		if in, _ := l.im.at(pc); in != nil {
			if why := l.notifies(in); why.Kind != NoReason {
				return false, why
			}
		}
		todo = append(todo, l.before[pc]...)
	}
	return true, Why{}
}

// follow finds the instructions that the function may execute from behind the wait on, up to the wait.
func (l *waitLoop) follow() Why {
	for todo := []uint64{l.back}; len(todo) > 0; {
		pc := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if l.seen[pc] {
			continue
		}
		l.seen[pc] = true
		if l.x.Budget--; l.x.Budget < 0 {
			return Why{Kind: TooMuch}
		}
		in, _ := l.im.at(pc)
		switch {
		case in == nil:
			return Why{Kind: NotUnderstood, At: pc + l.bias}
		case in.End() == l.back && in.Kind.Calls():
			l.call = pc
			continue
		case in.Kind == insn.IndirectJump && l.im.imported(in) == "":
			return Why{Kind: Indirect, At: pc + l.bias}
		}
		next := func(to uint64) {
			l.before[to] = append(l.before[to], pc)
			todo = append(todo, to)
		}
		if in.Kind.Branches() && l.fn.Contains(in.Target) {
			next(in.Target)
		}
		if in.Kind.FallsThrough() && l.fn.Contains(in.End()) {
			next(in.End())
		}
	}
	return Why{}
}

// notifies returns the reason why an instruction may notify a condition, if there is one.
func (l *waitLoop) notifies(in *insn.Inst) Why {
	name, leaves := l.x.leavesTo(l.im, l.fn, in)
	if !leaves {
		return Why{}
	}
	at := in.Addr + l.bias
	switch _, known := keepsNothing(name); {
	case name == "" && in.Kind != insn.IndirectCall && in.Kind != insn.IndirectJump:
		return Why{Kind: Calls, At: at, Name: l.im.FunctionName(in.Target)}
	case name == "":
		return Why{Kind: Indirect, At: at}
	case !known || notifies(name):
		return Why{Kind: Calls, At: at, Name: name}
	}
	return Why{}
}

// leavesTo returns the name of the library function that an instruction calls or jumps to outside of its
// own function; "" if it is another one, or not known.
func (x *Examiner) leavesTo(im *image, fn elf.Range, in *insn.Inst) (name string, leaves bool) {
	switch in.Kind {
	case insn.Call, insn.Jump, insn.CondJump:
		if fn.Contains(in.Target) {
			return "", false
		}
		if name = im.imported(in); name == "" && (im.endsPath(in) || x.process.Synchronises(im.File, in.Target)) {
			name = im.FunctionName(in.Target)
		}
		return name, true
	case insn.IndirectCall, insn.IndirectJump:
		return im.imported(in), true
	}
	return "", false
}

// notifies reports whether a function, by its name, notifies a condition.
func notifies(name string) bool {
	return strings.Contains(name, "signal") || strings.Contains(name, "broadcast") || strings.Contains(name, "notify")
}
