package ir

import (
	"encoding/binary"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/features"
	"pgregory.net/rapid"
)

// needBPF skips a test if this user may not load BPF programs, or fails it where BPF is known to
// work.
func needBPF(t *testing.T) {
	t.Helper()
	err := features.HaveProgramType(ebpf.XDP)
	if err == nil {
		return
	}
	if os.Getenv("TRACEPREDICT_REQUIRE_BPF") == "1" {
		t.Fatalf("TRACEPREDICT_REQUIRE_BPF=1, but BPF programs cannot be loaded: %v", err)
	}
	t.Skipf("needs CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN: run as root (%v)", err)
}

// kernelProgram is a program in the kernel that computes an expression of the first words of a
// packet. It writes R0 and R1 + 1 into the words after them.
type kernelProgram struct {
	*ebpf.Program
	inputs int
	packet []byte
}

func newKernelProgram(t failer, c *Code, inputs int) *kernelProgram {
	p := &kernelProgram{inputs: inputs, packet: make([]byte, max(8*inputs+16, 64))}
	code, err := c.BPF(BPFOptions{Inputs: asm.R6, Stack: -8, Label: "x"})
	if err != nil {
		t.Fatal(err)
	}
	out := int16(8 * inputs)
	program := asm.Instructions{
		asm.LoadMem(asm.R6, asm.R1, 0, asm.Word), // the packet's first byte
		asm.LoadMem(asm.R2, asm.R1, 4, asm.Word), // and its end
		asm.Mov.Reg(asm.R1, asm.R6),
		asm.Add.Imm(asm.R1, int32(len(p.packet))),
		asm.JGT.Reg(asm.R1, asm.R2, "end"),
		asm.Mov.Imm(asm.R7, 0x5eed),
		asm.StoreMem(asm.RFP, -8, asm.R7, asm.DWord), // the expression may use the stack below it
	}
	program = append(program, code...)
	program = append(program,
		asm.StoreMem(asm.R6, out, asm.R0, asm.DWord),
		asm.LoadMem(asm.R0, asm.RFP, -8, asm.DWord),
		asm.JNE.Reg(asm.R0, asm.R7, "end"),
		asm.Add.Imm(asm.R1, 1),
		asm.StoreMem(asm.R6, out+8, asm.R1, asm.DWord),
		asm.Mov.Imm(asm.R0, 2).WithSymbol("end"), // XDP_PASS
		asm.Return(),
	)
	p.Program, err = ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.XDP, License: "GPL", Instructions: program})
	if err != nil {
		t.Fatalf("%+v\nof\n%s", err, c)
	}
	return p
}

// eval computes the expression.
func (p *kernelProgram) eval(t failer, in []uint64) (uint64, bool) {
	clear(p.packet)
	for i, v := range in {
		binary.NativeEndian.PutUint64(p.packet[8*i:], v)
	}
	o := ebpf.RunOptions{Data: p.packet, DataOut: make([]byte, len(p.packet)+256)}
	if status, err := p.Run(&o); err != nil || status != 2 {
		t.Fatalf("status %d, %v", status, err)
	}
	result := o.DataOut[8*p.inputs:]
	known := binary.NativeEndian.Uint64(result[8:])
	if known != 1 && known != 2 {
		t.Fatalf("the program does not end: %d", known)
	}
	return binary.NativeEndian.Uint64(result), known == 2
}

// agree checks that the kernel computes what Go does.
func (p *kernelProgram) agree(t failer, c *Code, in []uint64) {
	want, wantOK := c.Eval(in)
	if got, ok := p.eval(t, in); got != want || ok != wantOK {
		t.Fatalf("of %#x: the kernel computes %#x, %v, and Go %#x, %v:\n%s", in, got, ok, want, wantOK, c)
	}
}

// TestKernel: both back ends compute what the naive evaluation does, on random expressions.
func TestKernel(t *testing.T) {
	needBPF(t)
	const inputs = 4
	rapid.Check(t, func(t *rapid.T) {
		g := grower{t, inputs, false}
		x := g.tree(rapid.SampledFrom(g.types()).Draw(t, "type"), rapid.IntRange(1, 7).Draw(t, "depth"))
		c := compiled(t, x.expr())
		if why := c.UserOnly(); why != "" {
			t.Fatalf("%s:\n%s", why, c)
		}
		p := newKernelProgram(t, c, inputs)
		defer p.Close()
		for range 10 {
			in := rapid.SliceOfN(rapid.Custom(anyBits), inputs, inputs).Draw(t, "inputs")
			agree(t, x, c, in)
			p.agree(t, c, in)
		}
	})
}

// TestKernelEdges: the kernel's operations on all pairs of the values around which they differ,
// as inputs and as immediate values.
func TestKernelEdges(t *testing.T) {
	needBPF(t)
	for _, x := range pairwise() {
		c := compiled(t, x.expr())
		p := newKernelProgram(t, c, 2)
		for _, a := range edges {
			for _, b := range edges {
				p.agree(t, c, []uint64{a, b})
			}
		}
		p.Close()
		for _, b := range edges {
			right := *x
			right.kids = []*tree{x.kids[0], {op: "const", typ: x.kids[1].typ, bits: b}}
			c := compiled(t, right.expr())
			p := newKernelProgram(t, c, 2)
			for _, a := range edges {
				p.agree(t, c, []uint64{a, 0})
			}
			p.Close()
		}
	}
}

// TestKernelForms: the kernel reads inputs of all widths.
func TestKernelForms(t *testing.T) {
	needBPF(t)
	for bits := uint8(1); bits <= 64; bits++ {
		for _, f := range []Form{{Int, bits, true}, {Int, bits, false}, {Uint, bits, false}, {Bool, bits, false}} {
			c := compiled(t, Input(0, f))
			p := newKernelProgram(t, c, 1)
			for _, v := range edges {
				p.agree(t, c, []uint64{v})
				if got, _ := c.Eval([]uint64{v}); got != f.Read(v) {
					t.Errorf("%+v of %#x: %#x, and Read returns %#x", f, v, got, f.Read(v))
				}
			}
			p.Close()
		}
	}
}

// longest returns expressions of almost as many instructions as the kernel may get: many
// registers, many divisions, and many branches.
func longest() map[string]*Expr {
	in := func(at int) *Expr { return Input(at, Form{Type: Int, Bits: 64, Sign: true}) }
	wide := in(0)
	for i := range 9 {
		wide = Div(wide, Add(wide, Const(Int, uint64(i)<<40)))
		if wide.size > maxKernelInstructions/3 {
			break
		}
	}
	deep, any, parity := in(0), Truth(false), Truth(false)
	for i := 0; deep.size < maxKernelInstructions-8; i++ {
		deep = Mod(in(i%4), Sub(deep, in(1)))
	}
	for i := 0; any.size < maxKernelInstructions-8; i++ {
		any = Or(any, And(Gt(in(i%4), Const(Int, uint64(i))), Lt(in(1), Const(Int, 5))))
	}
	for i := 0; parity.size < maxKernelInstructions-8; i++ {
		parity = Xor(parity, Lt(in(i%4), Convert(in((i+1)%4), Uint)))
	}
	return map[string]*Expr{"wide": wide, "deep": deep, "any": any, "parity": parity}
}

// TestKernelTakesTheLongest: what UserOnly allows, the kernel's verifier accepts.
func TestKernelTakesTheLongest(t *testing.T) {
	needBPF(t)
	for name, x := range longest() {
		c := compiled(t, x)
		if why := c.UserOnly(); why != "" {
			t.Errorf("%s: %s", name, why)
			continue
		}
		p := newKernelProgram(t, c, 4)
		for _, in := range [][]uint64{{0, 0, 0, 0}, {1, 2, 3, 4}, {math.MaxUint64, 7, 1 << 63, 9}} {
			p.agree(t, c, in)
		}
		p.Close()
		t.Logf("%s: %d instructions, %d registers", name, len(c.code), c.registers)
	}
}

// TestUserOnly: what the kernel cannot compute is refused with the reason, all else is not.
func TestUserOnly(t *testing.T) {
	f, i := Input(0, Form{Type: Float, Bits: 64}), Input(1, Form{Type: Int, Bits: 64})
	long := i
	for range maxKernelInstructions {
		long = Negate(long)
	}
	for want, x := range map[string]*Expr{
		"computes with floats":  Lt(f, Real(1)),
		"it computes with":      Gt(Convert(i, Float), Convert(i, Float)),
		"its value is a float":  f,
		"value is a float":      Real(1),
		"it has 1501":           long,
		"it reads input 4096: ": Input(4096, Form{Type: Int}),
		"":                      Div(i, Convert(Input(4095, Form{Type: Uint, Bits: 3}), Int)),
	} {
		c := compiled(t, x)
		got := c.UserOnly()
		if (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		_, err := c.BPF(BPFOptions{Inputs: asm.R6, Label: "x"})
		if (err == nil) != (got == "") || err != nil && !strings.Contains(err.Error(), got) {
			t.Errorf("%q, and %v", got, err)
		}
	}
}

func TestBPFOptions(t *testing.T) {
	x := Input(0, Form{Type: Int, Bits: 64})
	for range 6 {
		x = Sub(x, x)
	}
	c := compiled(t, x)
	if c.StackSize() != 8*4 {
		t.Errorf("%d bytes of the stack", c.StackSize())
	}
	good := BPFOptions{Inputs: asm.R9, Stack: -480, Label: "x"}
	if _, err := c.BPF(good); err != nil {
		t.Error(err)
	}
	for _, change := range []func(*BPFOptions){
		func(o *BPFOptions) { o.Inputs = asm.R5 }, func(o *BPFOptions) { o.Inputs = asm.RFP },
		func(o *BPFOptions) { o.Stack = 8 }, func(o *BPFOptions) { o.Stack = -4 }, func(o *BPFOptions) { o.Stack = -488 },
		func(o *BPFOptions) { o.Label = "" },
	} {
		o := good
		if change(&o); o == good {
			t.Fatal("no change")
		}
		if _, err := c.BPF(o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}

// TestOldInstructions: the instructions are those that kernels before Linux 5.1 have: no 32-bit
// jumps, no division with a sign, no loads with a sign.
func TestOldInstructions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := grower{t, 4, false}
		x := g.tree(rapid.SampledFrom(g.types()).Draw(t, "type"), 6)
		code, err := compiled(t, x.expr()).BPF(BPFOptions{Inputs: asm.R6, Label: "x"})
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range code {
			class := i.OpCode.Class()
			if !slices.Contains([]asm.Class{asm.ALU64Class, asm.JumpClass, asm.LdXClass, asm.StXClass, asm.LdClass}, class) {
				t.Fatalf("%v is of class %v", i, class)
			}
			if class.IsALU() && i.Offset != 0 {
				t.Fatalf("%v has an offset, as a division with a sign has", i)
			}
			if class == asm.LdXClass && i.OpCode.Mode() != asm.MemMode {
				t.Fatalf("%v is no plain load", i)
			}
		}
	})
}

// TestOneProgram: two expressions are part of one program, of the type for uprobes too.
func TestOneProgram(t *testing.T) {
	needBPF(t)
	in := Input(0, Form{Type: Int, Bits: 64})
	var program asm.Instructions
	program = append(program, asm.Mov.Reg(asm.R8, asm.RFP), asm.Add.Imm(asm.R8, -8), asm.Mov.Imm(asm.R1, 12), asm.StoreMem(asm.RFP, -8, asm.R1, asm.DWord))
	for label, x := range map[string]*Expr{"first": And(Gt(in, Const(Int, 3)), Lt(Div(in, in), in)), "second": Or(Lt(in, Const(Int, 3)), Eq(Mod(in, Const(Int, 5)), Const(Int, 2)))} {
		code, err := compiled(t, x).BPF(BPFOptions{Inputs: asm.R8, Stack: -8, Label: label})
		if err != nil {
			t.Fatal(err)
		}
		program = append(append(program, code...), asm.JEq.Imm(asm.R0, 0, "no"))
	}
	program = append(program, asm.Mov.Imm(asm.R0, 1), asm.Return(), asm.Mov.Imm(asm.R0, 0).WithSymbol("no"), asm.Return())
	for _, kind := range []ebpf.ProgramType{ebpf.XDP, ebpf.Kprobe} {
		p, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: kind, License: "GPL", Instructions: slices.Clone(program)})
		if err != nil {
			t.Fatalf("%v: %+v", kind, err)
		}
		defer p.Close()
		if kind != ebpf.XDP { // There is no way to run one without a probe.
			continue
		}
		if got, err := p.Run(&ebpf.RunOptions{Data: make([]byte, 64)}); got != 1 || err != nil {
			t.Error(got, err)
		}
	}
}
