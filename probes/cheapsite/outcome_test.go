package cheapsite

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

var inRDI = map[insn.Reg]Operand{insn.RDI: {Reg: insn.RDI}}

// TestOutcomes finds the outcomes of hand-assembled functions, one for each rule. f0ff07 is lock
// incl (%rdi), a synchronisation; 31c0 is xor %eax,%eax; 75 is jne, 74 je, eb jmp.
func TestOutcomes(t *testing.T) {
	for _, x := range []struct {
		name string
		code string
		want Outcomes
		why  string // part of the error
	}{
		{"a nop in the tail", "f0ff07 90 31c0 c3", Outcomes{Sites: []Outcome{
			{Addr: 0x1003, Class: Emulated, Const: true, Operands: inRDI, Why: "nop +0x3: returns 0"}}, Hot: []Class{Emulated}}, ""},
		{"the result is in its register", "f0ff07 90 c3", Outcomes{Sites: []Outcome{
			{Addr: 0x1003, Class: Emulated, Operands: inRDI, Why: "nop +0x3"}}, Hot: []Class{Emulated}}, ""},
		{"a constant that is there already", "f0ff07 b807000000 90 c3", Outcomes{Sites: []Outcome{
			{Addr: 0x1008, Class: Emulated, Const: true, Value: 7, Operands: inRDI, Why: "nop +0x8: returns 7"}}, Hot: []Class{Emulated}}, ""},
		{"the result is computed after it", "90 f0ff07 90 8b07 c3", Outcomes{Sites: []Outcome{
			{Addr: 0x1007, Operands: inRDI, Why: "ret +0x7"}}, Hot: []Class{Stepped}}, ""},
		{"nothing emulated after the operation", "90 f0ff07 31c0 c3", Outcomes{Sites: []Outcome{
			{Addr: 0x1006, Const: true, Operands: inRDI, Why: "ret +0x6: returns 0"}}, Hot: []Class{Stepped}}, ""},
		// lock cmpxchg %edx,(%rdi); jne fail; xor; ret; fail: mov $16,%eax; ret
		{"both sides of a branch", "f00fb117 7503 31c0 c3 b810000000 c3", Outcomes{Sites: []Outcome{
			{Addr: 0x1004, Class: Emulated, When: 6, Const: true, Value: 16, Operands: inRDI, Why: "jne taken +0x4: returns 16"},
			{Addr: 0x1004, Class: Emulated, When: 5, Const: true, Operands: inRDI, Why: "jne not taken +0x4: returns 0"},
		}, Hot: []Class{Emulated}}, ""},
		{"both sides of a branch, one result", "f0ff07 7502 31c9 31c0 c3", Outcomes{Sites: []Outcome{
			{Addr: 0x1003, Class: Emulated, Const: true, Operands: inRDI, Why: "jne +0x3: returns 0"}}, Hot: []Class{Emulated}}, ""},
		// 0: lock decl (%rdi); jne 7; xor; ret; 7: pause; jmp 0
		{"one side goes round again", "f0ff0f 7503 31c0 c3 f390 ebf4", Outcomes{Sites: []Outcome{
			{Addr: 0x1003, Class: Emulated, When: 5, Const: true, Operands: inRDI, Why: "jne not taken +0x3: returns 0"}}, Hot: []Class{Emulated}}, ""},
		{"a jump into a shared tail", "f00fb117 7504 31c0 eb05 b810000000 c3", Outcomes{Sites: []Outcome{
			{Addr: 0x1004, Class: Emulated, When: 6, Const: true, Value: 16, Operands: inRDI, Why: "jne taken +0x4: returns 16"},
			{Addr: 0x1008, Class: Emulated, Const: true, Operands: inRDI, Why: "jmp +0x8: returns 0"},
		}, Hot: []Class{Emulated}}, ""},
		{"one side never returns", "f0ff07 7503 31c0 c3 0f0b", Outcomes{Sites: []Outcome{
			{Addr: 0x1003, Class: Emulated, When: 5, Const: true, Operands: inRDI, Why: "jne not taken +0x3: returns 0"}}, Hot: []Class{Emulated}}, ""},
		// sub $8,%rsp; lock; jne 11; xor; add $8,%rsp; ret; 11: call neverReturns, which loops
		{"one side calls what never returns", "4883ec08 f0ff07 7507 31c0 4883c408 c3 e801000000 c3 | ebfe", Outcomes{Sites: []Outcome{
			{Addr: 0x1007, Class: Emulated, When: 5, SPDelta: 8, Const: true, Operands: inRDI, Why: "jne not taken +0x7: returns 0"}}, Hot: []Class{Emulated}}, ""},
		// lock; jne 7; xor; ret; 7: push %rdi; call; pop %rdi; 0e: jmp 5
		{"an operand kept on the stack over a call", "f0ff07 7503 31c0 c3 4883ec18 48897c2408 e80b000000 488b7c2408 4883c418 ebe4 | c3", Outcomes{Sites: []Outcome{
			{Addr: 0x1003, Class: Emulated, When: 5, Const: true, Operands: inRDI, Why: "jne not taken +0x3: returns 0"},
			{Addr: 0x101f, Class: Emulated, Const: true, Operands: inRDI, Why: "jmp +0x1f: returns 0"},
		}, Hot: []Class{Emulated}}, ""},
		// push %rbx; mov %rdi,%rbx; call; nop; xor; pop %rbx; ret
		{"an operand in a register that calls keep", "53 4889fb e805000000 90 31c0 5b c3 | c3", Outcomes{Sites: []Outcome{
			{Addr: 0x1009, Class: Emulated, SPDelta: 8, Const: true, Operands: map[insn.Reg]Operand{insn.RDI: {Reg: insn.RBX}}, Why: "nop +0x9: returns 0"}}, Hot: []Class{Emulated}}, ""},
		// push %rdi; call; nop; xor; pop %rcx; ret
		{"an operand only on the stack", "57 e805000000 90 31c0 59 c3 | c3", Outcomes{Sites: []Outcome{
			{Addr: 0x1006, Class: Emulated, SPDelta: 8, Const: true, Operands: map[insn.Reg]Operand{insn.RDI: {Reg: insn.NoReg, Slot: -8}}, Why: "nop +0x6: returns 0"}}, Hot: []Class{Emulated}}, ""},
		{"a word of the stack to which there is a pointer", "57 488d0c24 e805000000 90 31c0 59 c3 | c3", Outcomes{}, "shows too little"},
		{"the operand is lost", "f0ff07 31ff 90 31c0 c3", Outcomes{}, "shows too little"},
		{"the frame pointer is lost", "f0ff07 31ed 90 31c0 c3", Outcomes{}, "shows too little"},
		{"control goes on in an observed function", "4885ff 7507 f0ff07 90 31c0 c3 | c3", Outcomes{}, "goes on"},
		{"a jump that hands the call on", "4885ff 7405 f0ff07 90 c3 eb00 | f0ff07 31c0 c3", Outcomes{Sites: []Outcome{
			{Addr: 0x1008, Class: Emulated, Operands: inRDI, Why: "nop +0x8"}},
			Tails: []Tail{{0x100a, 0x100c, "jmp +0xa, which hands the call on"}}, Hot: []Class{Emulated}}, ""},
		{"one that is reached from elsewhere too", "4885ff 7405 f0ff07 90 c3 eb02 ebfc | f0ff07 31c0 c3", Outcomes{}, "from elsewhere too"},
		{"only jumps that hand the call on", "eb00 | f0ff07 31c0 c3", Outcomes{}, "no place is better"},
		{"a jump that leaves the operand behind", "4885ff 7405 f0ff07 90 c3 31ff eb00 | f0ff07 31c0 c3", Outcomes{}, "shows too little"},
		{"entered from elsewhere", "f0ff07 90 31c0 c3 | ebfa", Outcomes{}, "shows too little"},
		{"entered by a call", "f0ff07 90 31c0 c3 | e8f7ffffff c3", Outcomes{}, "shows too little"},
		{"entered from dead code of its own", "f0ff07 90 31c0 c3 ebfa", Outcomes{}, "shows too little"},
		{"endbr64 within", "f0ff07 f30f1efa 90 31c0 c3", Outcomes{}, "shows too little"},
		{"endbr64 beside it", "f0ff07 90 31c0 c3 f30f1efa c3", Outcomes{}, "entered in its midst"},
		{"an indirect jump", "f0ff07 90 31c0 c3 ffe0", Outcomes{}, "indirect jump"},
		{"an indirect call", "f0ff07 ffd0 90 31c0 c3", Outcomes{}, "indirect call"},
		{"a call that may be observed", "e805000000 90 31c0 c3 | c3 | c3", Outcomes{}, "observed"},
		{"one that calls it", "53 4889fb e805000000 90 31c0 5b c3 | e801000000 c3 | c3", Outcomes{}, "observed"},
		{"a system call last", "90 f0ff07 90 0f05 c3", Outcomes{Sites: []Outcome{
			{Addr: 0x1007, Operands: inRDI, Why: "ret +0x7"}}, Hot: []Class{Stepped}}, ""},
		{"a loop last", "f0ff07 b803000000 90 83e801 75fa c3", Outcomes{Sites: []Outcome{
			{Addr: 0x100c, Class: Emulated, When: 5, Operands: inRDI, Why: "jne not taken +0xc"}}, Hot: []Class{Emulated}}, ""},
		{"no code", "", Outcomes{}, "no executable section"},
	} {
		t.Run(x.name, func(t *testing.T) { testOutcomes(t, x.code, x.want, x.why) })
	}
}

func testOutcomes(t *testing.T, text string, want Outcomes, why string) {
	c := machineCode(t, text)
	foreign := uint64(0)
	if len(c.funcs) > 2 {
		foreign = c.funcs[2].Lo
	} else if len(c.funcs) == 2 && strings.Contains(why, "goes on") {
		foreign = c.funcs[1].Lo
	}
	got, err := NewImage(c).Outcomes(OutcomeWant{Entry: base, Reads: rdi, Result: insn.RAX, Foreign: func(addr uint64) bool { return addr == foreign }})
	if why != "" {
		if err == nil || !strings.Contains(err.Error(), why) {
			t.Fatalf("%+v, %v, want an error with %q", got, err, why)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestOutcomesOfGlibc checks that the path of an uncontended lock in this machine's C library has
// one probe, which is emulated.
func TestOutcomesOfGlibc(t *testing.T) {
	f, err := elf.Open(glibc)
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	stubs := f.PLTTargets()
	im := NewImage(f)
	for _, name := range []string{"pthread_mutex_lock", "pthread_spin_lock", "pthread_rwlock_trywrlock", "sem_trywait"} {
		for _, s := range f.Lookup(name) {
			out, err := im.Outcomes(OutcomeWant{Entry: s.Addr, Reads: rdi, Result: insn.RAX, Stub: func(a uint64) string { return stubs[a] }})
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			t.Logf("%s: %d places, %d tails, hot %v", name, len(out.Sites), len(out.Tails), out.Hot)
			// The path of a try also passes a probe that is there for the other side of a branch.
			if slices.Contains(out.Hot, Stepped) || len(out.Hot) > 1 && !strings.Contains(name, "try") {
				t.Errorf("%s: hot %v\n%+v", name, out.Hot, out.Sites)
			}
		}
	}
}

func BenchmarkOutcomes(b *testing.B) {
	f, err := elf.Open(glibc)
	if err != nil {
		b.Skip(err)
	}
	defer f.Close()
	im := NewImage(f)
	entry := f.Lookup("pthread_mutex_lock")[0].Addr
	for b.Loop() {
		if _, err := im.Outcomes(OutcomeWant{Entry: entry, Reads: rdi, Result: insn.RAX}); err != nil {
			b.Fatal(err)
		}
	}
}
