package field

import (
	"debug/dwarf"

	dw "github.com/tracepredict/tracepredict/probes/dwarf"
	bin "github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// Argument describes what a function passes at a call, as far as its code and the debug information
// determine it.
type Argument struct {
	// Type is the offset, in the debug information, of the type of the object that the argument
	// points into, At bytes from its beginning; 0 if that is not known. An index into an array is
	// ignored.
	Type dwarf.Offset
	At   int64
	// Local is the variable of Function's frame that is the object; "" if it is not one.
	Local, Function string
	// Param, if not 0, is the number, from 1, of the function's own parameter whose value plus
	// ParamAt is passed. Entry is the address of the function.
	Param   int
	ParamAt int64
	Entry   uint64
}

// Arguments finds what code passes to functions. It reads the debug information of only those units
// whose functions are looked up, and at most maxArgumentEntries entries in total, so that a lookup
// takes about a second. After that it knows no more types. It is not safe for concurrent use.
type Arguments struct {
	file  *bin.File
	plain *program // a program without debug information
	p     *program // nil: there is no debug information
	spans *dw.Spans
	read  map[dwarf.Offset]bool
	stubs map[uint64]string
	slots map[uint64]uint64
}

// maxArgumentEntries bounds the entries that are read for all lookups.
const maxArgumentEntries = 1 << 22

// NewArguments returns Arguments for a file, which must stay open.
func NewArguments(f *bin.File) *Arguments {
	a := &Arguments{file: f, read: map[dwarf.Offset]bool{}, stubs: f.PLTTargets()}
	a.plain = &program{db: &database{Tree: &dw.Tree{}, file: f}, results: map[uint64]*dw.Type{}, named: map[string]*dw.Type{}}
	if err := a.open(); err != nil {
		a.p = nil // damaged debug information is not used
	}
	a.slots = a.plain.slotAddresses()
	return a
}

func (a *Arguments) open() (err error) {
	defer recoverDamage(&err, a.file)
	db, err := openDatabase(a.file, maxArgumentEntries)
	if err != nil {
		return err
	}
	l, err := db.locations()
	if err != nil {
		return err
	}
	a.p = &program{db: db, lists: l, results: map[uint64]*dw.Type{}, named: map[string]*dw.Type{}, inlined: map[string]int{}, seen: map[uint64]bool{}}
	a.spans, _ = dw.Of(a.file).Spans() // damaged data: no spans
	return nil
}

// At returns what the call or jump at an address passes in an argument, counted from 1; ok is false
// if that is not known.
func (a *Arguments) At(at uint64, argument int) (arg Argument, ok bool) {
	reg, has := argumentRegister(a.file.Arch(), argument)
	if !has {
		return Argument{}, false
	}
	return a.Register(at, reg)
}

// Register returns what a register holds before the instruction at an address, as if it were passed
// there; ok is false if that is not known.
func (a *Arguments) Register(at uint64, reg insn.Reg) (arg Argument, ok bool) {
	defer func() {
		if recover() != nil { // damaged debug information
			arg, ok = Argument{}, false
		}
	}()
	fn, known := a.file.FunctionAt(at)
	if !known || fn.Hi-fn.Lo > maxFunction {
		return Argument{}, false
	}
	arg.Entry = fn.Lo
	a.typed(&arg, at, reg)
	a.passed(&arg, fn, at, reg)
	return arg, arg.Type != 0 || arg.Param != 0
}

// maxArgument bounds the arguments that are followed: every architecture passes at least that many
// in registers.
const maxArgument = 6

// argumentRegister returns the register that passes the n-th integer argument, counted from 1.
func argumentRegister(arch insn.Arch, n int) (insn.Reg, bool) {
	if n < 1 || n > maxArgument {
		return insn.NoReg, false
	}
	return arch.Arguments()[n-1], true
}

// typed sets the type of the argument from the function's debug information. The code may use a
// value before the debug information states its type: through a variable that holds it later, or
// one that it is stored in.
func (a *Arguments) typed(arg *Argument, at uint64, reg insn.Reg) {
	fn := a.function(at)
	if fn == nil {
		return
	}
	f, _ := newFlow(a.p, fn, a.stubs, a.slots)
	f.strict = true
	sources := map[uint64]*dw.Type{}
	f.fresh = func(addr uint64) *dw.Type {
		if sources[addr] == nil {
			sources[addr] = &dw.Type{}
		}
		return sources[addr]
	}
	f.run(f.atEntry())
	v, ok := f.registerAt(at, reg)
	switch {
	case !ok:
	case v.kind == object && isUnknown(v.typ):
		if t, off := f.known(v.typ); t != nil {
			arg.Type, arg.At = t.Offset, off+v.at
		}
	case v.kind == object && v.typ != nil:
		arg.Type, arg.At = v.typ.Offset, v.at
	case v.kind == frame:
		if x, off, ok := f.slotOf(v.at, at); ok && x.name != "" && x.typ.Offset != 0 {
			arg.Type, arg.At, arg.Local, arg.Function = x.typ.Offset, off, x.name, fn.name
		}
	}
}

// known returns the type that the debug information states for the variables to which the value of
// an instruction goes, and the offset at which the value points into it; nil if there is none, or
// they differ.
func (f *flow) known(source *dw.Type) (t *dw.Type, off int64) {
	same := true
	hint := func(v value, to *dw.Type, at int64) {
		if v.kind == object && v.typ == source && to != nil && !isUnknown(to) && at >= v.at { // not into a part
			same = same && (t == nil || t == to && off == at-v.at)
			t, off = to, at-v.at
		}
	}
	f.before.Each(f.Graph, func(s *state, in *insn.Inst) {
		for j := range f.fn.seeds {
			if x := &f.fn.seeds[j]; x.reg < numRegs && x.Contains(in.Addr) {
				hint(s.regs[x.reg], x.to, -x.off)
			}
		}
		if m := &in.Mem[0]; in.Known && in.NMem == 1 && m.Write && !m.Read && m.Size == 8 && in.ValueReg < numRegs {
			d := f.declared(f.address(s, m, in.Addr), in.Addr)
			hint(s.regs[in.ValueReg], d.typ, d.at)
		}
		f.step(s, in)
	})
	if !same {
		return nil, 0
	}
	return t, off
}

// passed finds out whether the function passes on one of its own arguments, from its code alone:
// each argument register is followed from the entry as if it pointed to a type of its own.
func (a *Arguments) passed(arg *Argument, r bin.Range, at uint64, reg insn.Reg) {
	f, _ := newFlow(a.plain, &function{ranges: []bin.Range{r}}, a.stubs, a.slots)
	f.strict = true
	params := map[*dw.Type]int{}
	entry := f.atEntry()
	for n := 1; ; n++ {
		reg, ok := argumentRegister(f.arch, n)
		if !ok {
			break
		}
		t := &dw.Type{Tag: dwarf.TagStructType}
		params[t] = n
		entry.regs[reg] = value{kind: object, typ: t}
	}
	f.run(entry)
	if v, ok := f.registerAt(at, reg); ok && v.kind == object {
		arg.Param, arg.ParamAt = params[v.typ], v.at
	}
}

// function returns the function of the debug information that contains an address; nil if there is
// none.
func (a *Arguments) function(at uint64) *function {
	if a.p == nil {
		return nil
	}
	for _, n := range a.spans.At(at) {
		u := a.spans.Unit(n)
		if a.read[u.Entry] || a.p.db.Budget <= 0 {
			continue
		}
		a.read[u.Entry] = true
		_ = a.p.unit(u) // after an error, what was read so far is valid
		a.p.sortGlobals()
	}
	for _, fn := range a.p.functions {
		for _, r := range fn.ranges {
			if r.Contains(at) {
				return fn
			}
		}
	}
	return nil
}

// registerAt returns the value of a register before the instruction at an address.
func (f *flow) registerAt(at uint64, reg insn.Reg) (value, bool) {
	s := f.before.At(f.Graph, at, f.step)
	if s == nil {
		return value{}, false
	}
	return f.get(s, reg, at), true
}
