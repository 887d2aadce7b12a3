package spec

import (
	"fmt"
	"slices"
	"strconv"
	"unsafe"

	"github.com/cilium/ebpf/asm"

	"github.com/tracepredict/tracepredict/analysis/knowledge"
	"github.com/tracepredict/tracepredict/analysis/spec/ir"
	"github.com/tracepredict/tracepredict/analysis/spec/syntax"
	"github.com/tracepredict/tracepredict/bpf"
)

// Kernel is a formula for the programs in the kernel.
type Kernel struct {
	bpf.Knowledge
	spec   *Spec
	events []int // the indices in Spec.Events of those that it looks at
}

// UserOnly is the error that a formula cannot be evaluated in the kernel. Its text is the reason.
type UserOnly struct{ Why string }

// Error returns the reason.
func (e *UserOnly) Error() string { return e.Why }

func userOnly(format string, args ...any) error { return &UserOnly{fmt.Sprintf(format, args...)} }

// Kernel returns a formula for the programs in the kernel. The error is a *UserOnly if it is not made for them.
func (s *Spec) Kernel(f *Formula) (*Kernel, error) {
	of, codes, problems := s.Knowledge(f, nil)
	if problems.HasErrors() {
		return nil, problems
	}
	k := &kernel{Kernel: Kernel{spec: s}, f: f, of: of, codes: codes}
	if err := k.check(); err != nil {
		return nil, err
	}
	if err := k.locals(); err != nil {
		return nil, err
	}
	for i := range of.Tops {
		if _, err := k.body(of.Tops[i].Body, bpf.BodyTop, boundIn(&of.Tops[i])); err != nil {
			return nil, err
		}
	}
	k.Formula.Bodies, k.Formula.Entries = uint32(len(k.bodies)), uint32(k.entries)
	if err := k.generate(); err != nil {
		return nil, err
	}
	return &k.Kernel, nil
}

// Events returns the events that calls or returns of functions that match a pattern may be, a bit for each.
func (k *Kernel) Events(pattern string, returns bool) (mask uint64) {
	for _, i := range k.events {
		if d := &k.spec.Events[i]; d.On == pattern && d.Op.Ends() == returns {
			mask |= 1 << i
		}
	}
	return mask
}

// kernel makes a Kernel.
type kernel struct {
	Kernel
	f       *Formula
	of      *knowledge.Formula
	codes   []knowledge.Code
	bodies  []*knowledge.Body // by their number in Formula
	entries int
}

// check returns an error for what formulas of the kernel have not.
func (k *kernel) check() error {
	switch {
	case k.f.EachEvent:
		return userOnly("its threads have a state after each of their events")
	case len(k.f.Vars) > 0:
		return userOnly("it reads the variable %s", k.spec.Vars[k.f.Vars[0]].Name)
	case len(k.f.Declared) > 0:
		return userOnly("it names the thread %s, which is not bound by forall", k.spec.Threads[k.f.Declared[0]].Name)
	case len(k.of.Bound) > 2:
		return userOnly("it binds %d threads: at most 2 in the kernel", len(k.of.Bound))
	case len(k.spec.Locals) > bpf.KnownLocals:
		return userOnly("the specification has %d local variables: at most %d in the kernel", len(k.spec.Locals), bpf.KnownLocals)
	}
	for _, i := range k.f.Types {
		if t := &k.spec.Threads[i]; t.Kind != syntax.ByName || t.Text != "*" {
			return userOnly("its threads are of the type %s: in the kernel they are all threads", t.Name)
		}
	}
	for i := range k.of.Tops {
		t := &k.of.Tops[i]
		switch {
		case len(t.Bound) != len(k.of.Bound):
			return userOnly("its parts bind different threads")
		case len(t.Differ) > 0:
			k.Formula.Differ = 1
		}
	}
	return nil
}

// locals collects the events that set locals, or that the formula mentions, and the initial values.
func (k *kernel) locals() error {
	for i := range k.spec.Locals {
		k.Formula.Locals[i] = k.spec.Locals[i].Value
		for _, c := range k.spec.Locals[i].On {
			k.events = append(k.events, c.Event)
		}
	}
	k.events = append(k.events, k.f.Events...)
	slices.Sort(k.events)
	k.events = slices.Compact(k.events)
	for _, i := range k.events {
		d := &k.spec.Events[i]
		switch {
		case i >= MaxEvents:
			return userOnly("the specification has more than %d events", MaxEvents)
		case d.Op != syntax.OpCall && d.Op != syntax.OpReturn && !d.leavesFunction():
			return userOnly("the event %s is neither a call nor a return", d.Name)
		case len(d.Bound) > 0:
			return userOnly("the event %s binds %s", d.Name, d.Bound[0])
		case d.By >= 0:
			return userOnly("the event %s is one of the threads %s alone", d.Name, k.spec.Threads[d.By].Name)
		case d.When != nil && d.When.code.Reads(0):
			return userOnly("the event %s reads tid", d.Name)
		}
	}
	for _, i := range k.f.Events {
		k.Formula.Mentioned |= 1 << i
	}
	return nil
}

// boundIn returns the numbers of the threads that a formula binds, a bit for each. There must be some for it to be
// evaluated, whether it names them or not.
func boundIn(t *knowledge.Top) (mask uint8) {
	for _, n := range t.Bound {
		mask |= 1 << n
	}
	return mask
}

// body adds a body that is no part of another one, after those that it names, and returns its number. It is evaluated for
// all threads of a mask.
func (k *kernel) body(b *knowledge.Body, kind bpf.BodyKind, mask uint8) (int, error) {
	if n := slices.Index(k.bodies, b); n >= 0 {
		return n, nil
	}
	first := len(k.bodies)
	n, err := k.expression(b, kind, mask)
	if err != nil {
		return 0, err
	}
	for i := first; i <= n; i++ {
		if to := &k.Formula.Body[i]; to.Kind == uint8(bpf.BodyPart) || to.Kind == uint8(bpf.BodyPast) {
			if int(to.Root) == noRoot {
				to.Root = uint8(n)
			}
		}
	}
	if kind == bpf.BodyTop {
		return n, nil
	}
	size := 1
	for rest := k.Formula.Body[n].Names; rest != 0; rest &= rest - 1 {
		size *= bpf.KnownThreads
	}
	if k.entries += size; k.entries > bpf.KnownEntries {
		return 0, userOnly("threads would know %d values: at most %d in the kernel", k.entries, bpf.KnownEntries)
	}
	return n, nil
}

// noRoot is the root of a part whose root has no number yet.
const noRoot = 0xff

// expression adds an expression that is evaluated for all threads of a mask, after what it names.
func (k *kernel) expression(b *knowledge.Body, kind bpf.BodyKind, mask uint8) (int, error) {
	var inputs []bpf.FormulaInput
	for i := range b.Inputs {
		x, err := k.input(&b.Inputs[i], mask)
		if err != nil {
			return 0, err
		}
		inputs = append(inputs, x)
	}
	return k.add(b, bpf.FormulaBody{Kind: uint8(kind), Thread: uint8(b.Thread), Names: mask, Initial: k.initial(b), Base: uint32(k.entries), Root: noRoot}, inputs)
}

// input returns an input of a body, and adds what it names.
func (k *kernel) input(in *knowledge.Input, mask uint8) (bpf.FormulaInput, error) {
	switch in.Kind {
	case knowledge.Local:
		return bpf.FormulaInput{Kind: uint8(bpf.InputLocal), Index: uint8(in.Index)}, nil
	case knowledge.Happened:
		return bpf.FormulaInput{Kind: uint8(bpf.InputHappened), Index: uint8(in.Index)}, nil
	case knowledge.Remote:
		n, err := k.body(in.X, bpf.BodyRemote, names(in.X))
		return bpf.FormulaInput{Kind: uint8(bpf.InputRemote), Index: uint8(n)}, err
	}
	if why := outside[in.Kind]; why != "" {
		return bpf.FormulaInput{}, userOnly("%s", why)
	}
	n, err := k.past(in, mask)
	return bpf.FormulaInput{Kind: uint8(bpf.InputPast), Index: uint8(n)}, err
}

// past adds an operator that looks at the past, after its operands.
func (k *kernel) past(in *knowledge.Input, mask uint8) (int, error) {
	var operands []bpf.FormulaInput
	for _, x := range []*knowledge.Body{in.X, in.Y} {
		if x == nil {
			continue
		}
		n, err := k.expression(x, bpf.BodyPart, mask)
		if err != nil {
			return 0, err
		}
		operands = append(operands, bpf.FormulaInput{Index: uint8(n)})
	}
	b := bpf.FormulaBody{Kind: uint8(bpf.BodyPast), Thread: uint8(in.X.Thread), Names: mask, Root: noRoot}
	for is := range 16 {
		now, keep := in.Kind.Past(is&1 != 0, is&2 != 0, is&4 != 0, is&8 != 0)
		if now {
			b.Holds |= 1 << is
		}
		if keep {
			b.Keeps |= 1 << is
		}
	}
	return k.add(nil, b, operands)
}

// add adds a body of the kernel; of is its expression, nil for an operator.
func (k *kernel) add(of *knowledge.Body, b bpf.FormulaBody, inputs []bpf.FormulaInput) (int, error) {
	n := len(k.bodies)
	switch {
	case n == bpf.FormulaBodies:
		return 0, userOnly("it has more than %d parts with @, or with operators that look at the past and what these are of", bpf.FormulaBodies)
	case len(inputs) > bpf.FormulaInputs:
		return 0, userOnly("one of its parts reads %d values: at most %d in the kernel", len(inputs), bpf.FormulaInputs)
	}
	k.bodies = append(k.bodies, of)
	to := &k.Formula.Body[n]
	to.Kind, to.Thread, to.Names, to.Root, to.Inputs = b.Kind, b.Thread, b.Names, b.Root, uint8(len(inputs))
	to.Initial, to.Base, to.Holds, to.Keeps = b.Initial, b.Base, b.Holds, b.Keeps
	for i, in := range inputs {
		to.Input[i].Kind, to.Input[i].Index = in.Kind, in.Index
	}
	return n, nil
}

// outside says what the kernel does not compute.
var outside = map[knowledge.InputKind]string{
	knowledge.Variable: "it reads a variable", knowledge.Thread: "it reads tid",
	knowledge.ForAll: "it has forall inside of a formula", knowledge.Exists: "it has exists inside of a formula",
}

// names returns the numbers of the threads that a body names, a bit for each.
func names(b *knowledge.Body) uint8 {
	mask := uint8(1) << b.Thread
	for i := range b.Inputs {
		for _, x := range []*knowledge.Body{b.Inputs[i].X, b.Inputs[i].Y} {
			if x != nil {
				mask |= names(x)
			}
		}
	}
	return mask
}

// initial returns the value of a body in the initial state.
func (k *kernel) initial(b *knowledge.Body) uint64 {
	inputs := make([]uint64, len(b.Inputs))
	for i := range b.Inputs {
		switch in := &b.Inputs[i]; in.Kind {
		case knowledge.Local:
			inputs[i] = k.spec.Locals[in.Index].Value
		case knowledge.Remote:
			inputs[i] = k.initial(in.X)
		default:
			inputs[i] = k.initialPast(in)
		}
	}
	v, _ := k.codes[b.ID].Eval(inputs)
	return v
}

// initialPast returns the value of an operator that looks at the past in the initial state.
func (k *kernel) initialPast(in *knowledge.Input) uint64 {
	if in.X == nil {
		return 0
	}
	y := in.Y != nil && k.initial(in.Y) != 0
	if now, _ := in.Kind.Past(k.initial(in.X) != 0, y, false, true); now {
		return 1
	}
	return 0
}

// Where bpf.KnownThread has what the code of expressions reads and writes.
const (
	matchedAt = int16(unsafe.Offsetof(bpf.KnownThread{}.Matched))
	tidAt     = int32(unsafe.Offsetof(bpf.KnownThread{}.Tid))
	localsAt  = int16(unsafe.Offsetof(bpf.KnownThread{}.Locals))
	inAt      = int32(unsafe.Offsetof(bpf.KnownThread{}.In))
	outAt     = int16(unsafe.Offsetof(bpf.KnownThread{}.Out))
)

// generate makes the code for the kernel.
func (k *kernel) generate() (err error) {
	if k.OnMatched, err = k.onMatched(); err == nil {
		k.OnBody, err = k.onBody()
	}
	return err
}

// expression returns the code of an expression over the inputs at R7.
func expression(c *ir.Code, label string) (asm.Instructions, error) {
	if why := c.UserOnly(); why != "" {
		return nil, userOnly("of one of its expressions, %s", why)
	}
	return c.BPF(ir.BPFOptions{Inputs: asm.R7, Label: label})
}

// part is code that is labelled, so that others can jump to it.
type part struct {
	code asm.Instructions
	next string // label of what is added next
}

func (p *part) add(all ...asm.Instruction) {
	for _, i := range all {
		if p.next != "" {
			i, p.next = i.WithSymbol(p.next), ""
		}
		p.code = append(p.code, i)
	}
}

// end adds the end of a function. What does not find a thread jumps there.
func (p *part) end(label string) asm.Instructions {
	if p.next != "" {
		p.add(asm.Ja.Label(label))
	}
	return append(p.code, asm.Mov.Imm(asm.R0, 0).WithSymbol(label), asm.Return())
}

// onMatched returns the code that takes the events out of matched whose conditions do not hold, and makes the
// assignments of the others, in the order written.
func (k *kernel) onMatched() (asm.Instructions, error) {
	p := &part{}
	p.add(
		asm.JEq.Imm(asm.R1, 0, "matched_end"),
		asm.Mov.Reg(asm.R6, asm.R1),
		asm.Mov.Reg(asm.R7, asm.R1), asm.Add.Imm(asm.R7, tidAt),
		asm.LoadMem(asm.R8, asm.R6, matchedAt, asm.DWord),
	)
	for _, i := range k.events {
		if c := k.spec.Events[i].When; c != nil {
			label := "when_" + strconv.Itoa(i)
			code, err := expression(c.code, label)
			if err != nil {
				return nil, err
			}
			p.unless(i, label+"_not")
			p.add(code...)
			p.add(asm.JNE.Imm(asm.R0, 0, label+"_not"), asm.LoadImm(asm.R1, int64(^(uint64(1)<<i)), asm.DWord), asm.And.Reg(asm.R8, asm.R1))
			p.next = label + "_not"
		}
	}
	p.add(asm.StoreMem(asm.R6, matchedAt, asm.R8, asm.DWord))
	for i := range k.spec.Locals {
		for j, c := range k.spec.Locals[i].On {
			for n, set := range c.Sets {
				label := fmt.Sprintf("set_%d_%d_%d", i, j, n)
				code, err := expression(set.Value.code, label)
				if err != nil {
					return nil, err
				}
				if set.Value.code.Reads(0) {
					return nil, userOnly("an assignment to %s reads tid", k.spec.Locals[set.Local].Name)
				}
				p.unless(c.Event, label+"_not")
				p.add(code...)
				p.add(asm.JEq.Imm(asm.R1, 0, label+"_not"), asm.StoreMem(asm.R6, localsAt+int16(8*set.Local), asm.R0, asm.DWord))
				p.next = label + "_not"
			}
		}
	}
	return p.end("matched_end"), nil
}

// unless adds a jump to a label that is made unless the bit of an event is set in R8.
func (p *part) unless(event int, label string) {
	p.add(asm.Mov.Reg(asm.R1, asm.R8), asm.RSh.Imm(asm.R1, int32(event)), asm.And.Imm(asm.R1, 1), asm.JEq.Imm(asm.R1, 0, label))
}

// onBody returns the code that computes the body of a number.
func (k *kernel) onBody() (asm.Instructions, error) {
	p := &part{}
	p.add(
		asm.JEq.Imm(asm.R1, 0, "body_end"),
		asm.Mov.Reg(asm.R6, asm.R1),
		asm.Mov.Reg(asm.R7, asm.R1), asm.Add.Imm(asm.R7, inAt),
	)
	for n, b := range k.bodies {
		if b == nil {
			continue // an operator, which has no code
		}
		p.add(asm.JEq.Imm(asm.R2, int32(n), "body_"+strconv.Itoa(n)))
	}
	p.add(asm.Ja.Label("body_end"))
	for n, b := range k.bodies {
		if b == nil {
			continue
		}
		code, err := expression(k.codes[b.ID].(*ir.Code), "of_body_"+strconv.Itoa(n))
		if err != nil {
			return nil, err
		}
		p.next = "body_" + strconv.Itoa(n)
		p.add(code...)
		p.add(asm.StoreMem(asm.R6, outAt, asm.R0, asm.DWord), asm.Ja.Label("body_end"))
	}
	return p.end("body_end"), nil
}
