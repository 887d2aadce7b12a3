package variable

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/internal/testtool"
	bin "github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// assemble builds an x86-64 program with a function for each of the given pieces of code, and
// returns the range of each function. The variables are v (4 bytes), w (8), b (1), f (float), d
// (double), pair (8), neighbour (8, directly after pair), slots (64) and behind (8, directly after
// slots).
func assemble(t testing.TB, flags []string, pieces []string) (*bin.File, []bin.Range) {
	t.Helper()
	src := ".text\n" + asmFunction("main", "ret") + asmFunction("sink", "add %rdi, %rcx\nret")
	for i, code := range pieces {
		src += asmFunction(fmt.Sprintf("run_%d", i), code+"\nret")
	}
	src += ".data\n"
	for _, v := range []struct {
		name string
		size int
	}{{"v", 4}, {"w", 8}, {"b", 1}, {"f", 4}, {"d", 8}, {"pair", 8}, {"neighbour", 8}, {"slots", 64}, {"behind", 8}} {
		src += fmt.Sprintf(".globl %s\n.type %s,@object\n.size %s,%d\n.balign 8\n%s:\n.zero %d\n", v.name, v.name, v.name, v.size, v.name, v.size)
	}
	src += ".section .note.GNU-stack,\"\",@progbits\n"
	f := build(t, "gcc", flags, []string{"s.s"}, map[string]string{"s.s": src})
	var where []bin.Range
	for i := range pieces {
		where = append(where, symbolRange(t, f, fmt.Sprintf("run_%d", i)))
	}
	return f, where
}

func asmFunction(name, code string) string {
	return fmt.Sprintf(".globl %[1]s\n.type %[1]s,%%function\n.balign 16\n%[1]s:\n.cfi_startproc\n%[2]s\n.cfi_endproc\n.size %[1]s,.-%[1]s\n", name, code)
}

// within returns the part of the result that lies in a function.
func (r Result) within(fn bin.Range) Result {
	keep := func(list []uint64) []uint64 {
		return slices.DeleteFunc(slices.Clone(list), func(a uint64) bool { return !fn.Contains(a) })
	}
	return Result{
		Accesses:     slices.DeleteFunc(slices.Clone(r.Accesses), func(a Access) bool { return !fn.Contains(a.Addr) }),
		AddressTaken: keep(r.AddressTaken), GOT: keep(r.GOT), Unknown: keep(r.Unknown), Undecoded: keep(r.Undecoded),
	}
}

// snippet is a piece of assembly and the expected accesses of a variable.
type snippet struct{ variable, code, want string }

func checkSnippets(t *testing.T, f *bin.File, where []bin.Range, tests []snippet) {
	t.Helper()
	all := map[string]Result{}
	for i, tt := range tests {
		if _, ok := all[tt.variable]; !ok {
			all[tt.variable] = accesses(t, f, find(t, f, tt.variable))
		}
		got := describeAll(all[tt.variable].within(where[i]))
		// The displacement may be split between the two instructions that make an address.
		if f.Arch() == insn.ARM64 {
			got = regexp.MustCompile(`(via r\d+)[+-]\d+`).ReplaceAllString(got, "$1")
		}
		if got != tt.want {
			t.Errorf("%s: %s:\n got %q\nwant %q", tt.variable, strings.ReplaceAll(tt.code, "\n", "; "), got, tt.want)
		}
	}
}

// find returns a variable of assemble's program; "slots[3]" is the fourth word of slots.
func find(t *testing.T, f *bin.File, name string) Variable {
	t.Helper()
	if name != "slots[3]" {
		return mustFind(t, f, name)
	}
	slots := f.Lookup("slots")[0].Addr
	whole := bin.Range{Lo: slots, Hi: slots + 64}
	return Variable{Name: name, File: f, Addr: slots + 24, Size: 8, Symbol: "slots", Whole: whole, Reach: []bin.Range{whole}}
}

func pieces(tests []snippet) (code []string) {
	for _, tt := range tests {
		code = append(code, tt.code)
	}
	return code
}

func accesses(t testing.TB, f *bin.File, v Variable) Result {
	t.Helper()
	r, err := Accesses(f, v)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// describe returns an access as text, one word for each fact, for tables.
func describe(a Access) string {
	s := a.Kind.String()
	if a.Atomic {
		s += " atomic"
	}
	if a.Partial {
		s += " partial"
	}
	if a.Maybe {
		s += " maybe"
	}
	if a.Inside {
		s += " inside"
	}
	s += fmt.Sprintf(" %d", a.Width)
	if a.Offset != 0 {
		s += fmt.Sprintf("@%d", a.Offset)
	}
	switch a.Value.Source {
	case FromReg:
		s += fmt.Sprintf(" r%d", a.Value.Reg)
	case FromImm:
		s += fmt.Sprintf(" $%#x", a.Value.Imm)
	default:
		s += " mem"
	}
	if a.Base != insn.NoReg {
		s += fmt.Sprintf(" via r%d", a.Base)
		if a.Disp != 0 && a.Disp < 0x1000 { // not an absolute address
			s += fmt.Sprintf("%+d", a.Disp)
		}
	}
	if a.Index != insn.NoReg {
		s += fmt.Sprintf("+r%d*%d", a.Index, a.Scale)
	}
	return s
}

func describeAll(r Result) string {
	var parts []string
	for _, a := range r.Accesses {
		parts = append(parts, describe(a))
	}
	if n := len(r.AddressTaken); n > 0 {
		parts = append(parts, fmt.Sprintf("taken %d", n))
	}
	if n := len(r.Unknown); n > 0 {
		parts = append(parts, fmt.Sprintf("unknown %d", n))
	}
	if n := len(r.Undecoded); n > 0 {
		parts = append(parts, fmt.Sprintf("undecoded %d", n))
	}
	return strings.Join(parts, "; ")
}

func TestInstructions(t *testing.T) {
	tests := []snippet{
		{"v", "mov v(%rip), %eax", "read 4 r0"},
		{"v", "mov %r9d, v(%rip)", "write 4 r9"},
		{"v", "movl $7, v(%rip)", "write 4 $0x7"},
		{"w", "movq $-1, w(%rip)", "write 8 $0xffffffffffffffff"},
		{"w", "mov %rsi, w(%rip)", "write 8 r6"},
		{"b", "mov %al, b(%rip)", "write 1 r0"},
		{"b", "mov %ah, b(%rip)", "write 1 mem"},
		{"b", "mov %sil, b(%rip)", "write 1 r6"},
		{"b", "movzbl b(%rip), %ecx", "read 1 r1"},
		{"b", "movsbq b(%rip), %rcx", "read 1 r1"},
		{"v", "movslq v(%rip), %rdx", "read 4 r2"},
		{"b", "setne b(%rip)", "write 1 mem"},
		{"v", "incl v(%rip)", "update 4 mem"},
		{"v", "negl v(%rip)", "update 4 mem"},
		{"v", "addl $1, v(%rip)", "update 4 mem"},
		{"v", "addl $100000, v(%rip)", "update 4 mem"},
		{"v", "add %eax, v(%rip)", "update 4 mem"},
		{"v", "shll $3, v(%rip)", "update 4 mem"},
		{"v", "lock incl v(%rip)", "update atomic 4 mem"},
		{"v", "lock addl $5, v(%rip)", "update atomic 4 mem"},
		{"v", "lock xadd %eax, v(%rip)", "update atomic 4 mem"},
		{"v", "xchg %eax, v(%rip)", "update atomic 4 mem"},
		{"v", "lock cmpxchg %ecx, v(%rip)", "update atomic 4 mem"},
		{"v", "cmpxchg %ecx, v(%rip)", "update 4 mem"},
		{"v", "cmpl $3, v(%rip)", "read 4 mem"},
		{"v", "cmp %eax, v(%rip)", "read 4 mem"},
		{"v", "testl $3, v(%rip)", "read 4 mem"},
		{"v", "add v(%rip), %eax", "read 4 mem"},
		{"v", "imul $3, v(%rip), %eax", "read 4 mem"},
		{"v", "cmovne v(%rip), %eax", "read 4 mem"},
		{"w", "pushq w(%rip)\npop %rax", "read 8 mem"},
		{"w", "call *w(%rip)", "read 8 mem"},
		{"f", "movss %xmm0, f(%rip)", "write 4 mem"},
		{"f", "movss f(%rip), %xmm0", "read 4 mem"},
		{"d", "movsd %xmm3, d(%rip)", "write 8 mem"},
		{"d", "addsd d(%rip), %xmm0", "read 8 mem"},
		{"d", "cvtsi2sdl v(%rip), %xmm0\nmovlpd %xmm0, d(%rip)", "write 8 mem"},
		{"f", "movd %xmm0, f(%rip)", "write 4 mem"},
		{"d", "movq %xmm0, d(%rip)", "write 8 mem"},
		{"f", "vmovss %xmm0, f(%rip)", "write 4 mem"},
		{"d", "vmovsd d(%rip), %xmm0", "read 8 mem"},
		{"d", "vaddsd d(%rip), %xmm0, %xmm1", "read 8 mem"},
		{"pair", "movups %xmm0, pair(%rip)", "write 16 mem"},
		{"neighbour", "movups %xmm0, pair(%rip)", "write 16@-8 mem"},
		{"w", "movl $1, w(%rip)", "write partial 4 mem"},
		{"w", "movl %eax, w+4(%rip)", "write partial 4@4 mem"},
		{"w", "movb w+3(%rip), %al", "read partial 1@3 mem"},
		{"v", "nopl v(%rip)", ""},
		{"v", "mov %fs:0x28, %rax\nmov b(%rip), %al", ""},
		// through registers
		{"v", "lea v(%rip), %rcx\nmov (%rcx), %eax", "read 4 r0 via r1"},
		{"v", "lea v(%rip), %rdx\nlock xadd %ecx, (%rdx)", "update atomic 4 mem via r2"},
		{"v", "lea v(%rip), %rcx\nmov %rcx, %rbx\nmovl $1, (%rbx)", "write 4 $0x1 via r3"},
		{"w", "lea w+4(%rip), %rcx\nmovl $1, -4(%rcx)", "write partial 4 mem via r1-4"},
		{"w", "lea w+4(%rip), %rcx\nmovl $1, (%rcx)", "write partial 4@4 mem via r1-4"},
		{"v", "lea v(%rip), %rbx\ncall main\nmov (%rbx), %eax", "read 4 r0 via r3"},
		{"v", "lea v(%rip), %rcx\ncall sink\nmov (%rcx), %eax", "taken 1"},
		{"v", "lea v(%rip), %rcx\ncall main", ""},
		{"v", "lea v(%rip), %rax\ncall main\nmov (%rax), %eax", ""},
		{"v", "lea v(%rip), %rdi\ncall sink", "taken 1"},
		{"v", "lea v(%rip), %rsi\ncall sink", ""},
		{"v", "lea v(%rip), %rax", "taken 1"},
		{"v", "lea v(%rip), %rcx", ""},
		{"v", "lea v(%rip), %rcx\nmov %rcx, (%rdx)", "taken 1"},
		{"v", "lea v(%rip), %rcx\nmovq %rcx, %xmm0", "taken 1"},
		{"v", "lea v(%rip), %rcx\ncmp %rcx, %rdx", ""},
		{"v", "lea v(%rip), %rcx\nmov (%rcx,%rdx,4), %eax", "read inside 4 r0 via r1+r2*4"},
		{"v", "lea v(%rip), %rcx\nmov 8(%rcx), %edx", ""},
		{"v", "lea v(%rip), %rcx\npush %rcx\npop %rcx", ""},
		{"v", "lea v(%rip), %rcx\n1: push %rcx\npop %rdx\nincl (%rdx)\njne 1b", "update 4 mem via r2"},
		{"v", "lea v(%rip), %rcx\npush %rcx\npop %rcx\npush %rax\npop %rdx\nincl (%rdx)", ""},
		{"v", "lea v(%rip), %rcx\njmp 1f\n1: incl (%rcx)", "update 4 mem via r1"},
		{"v", "lea v(%rip), %rcx\n1: incl (%rcx)\njne 1b", "update 4 mem via r1"},
		{"v", "test %eax, %eax\nje 1f\nlea v(%rip), %rcx\n1: incl (%rcx)", "update maybe 4 mem via r1"},
		{"v", "lea v(%rip), %rcx\ntest %eax, %eax\nje 1f\nlea w(%rip), %rcx\n1: incl (%rcx)", "update maybe 4 mem via r1"},
		{"w", "lea v(%rip), %rcx\ntest %eax, %eax\nje 1f\nlea w(%rip), %rcx\n1: incl (%rcx)", "update partial maybe 4 mem via r1"},
		{"v", "mov v@GOTPCREL(%rip), %rcx\nincl (%rcx)", "update 4 mem via r1"},
		{"v", "mov v@GOTPCREL(%rip), %rax\nincl (%rax)", "update 4 mem via r0; taken 1"},
		{"v", "lea v(%rip), %r11\ntest %eax, %eax\nje 1f\njmp *%rax\n1: incl (%r11)", "update maybe 4 mem via r11"},
		{"v", "vaddps v(%rip), %zmm0, %zmm1", "read 64 mem"},
		{"v", "vaddps v(%rip), %zmm0, %zmm1{%k1}", "unknown 1"},
	}
	f, where := assemble(t, nil, pieces(tests))
	checkSnippets(t, f, where, tests)
}

func TestAbsoluteAddresses(t *testing.T) {
	tests := []snippet{
		{"v", "mov v, %eax", "read 4 r0"},
		{"v", "movl $9, v", "write 4 $0x9"},
		{"v", "lock decl v", "update atomic 4 mem"},
		{"v", "mov $v, %ecx\nincl (%rcx)", "update 4 mem via r1"},
		{"v", "mov $v, %edi\ncall sink", "taken 1"},
		{"v", "movabs $v, %rcx\nincl (%rcx)", "update 4 mem via r1"},
		{"v", "movq $v, -8(%rsp)", "taken 1"},
		{"v", "push $v\npop %rax", "taken 1"},
		{"v", "movabs v, %eax", "read 4 r0"},
		{"v", "cmp $v, %rcx", ""},
	}
	f, where := assemble(t, []string{"-no-pie", "-static"}, pieces(tests))
	checkSnippets(t, f, where, tests)
}

const accessSource = `
int counter; static long total; _Atomic int turns; double level; static char state; int *pointer; volatile int spin;
__attribute__((noinline)) int read_it(void) { return counter; }
__attribute__((noinline)) void write_it(int n) { counter = n; }
__attribute__((noinline)) void set_it(void) { counter = 42; }
__attribute__((noinline)) void bump_it(void) { total++; }
__attribute__((noinline)) long get_total(void) { return total; }
__attribute__((noinline)) int turn(void) { return turns++; }
__attribute__((noinline)) void cool(double by) { level = by; }
__attribute__((noinline)) double how_cool(void) { return level; }
__attribute__((noinline)) void set_state(char c) { state = c; }
__attribute__((noinline)) int is_on(void) { return state == 3; }
__attribute__((noinline)) void wait_for(void) { while (!spin) ; }
__attribute__((noinline)) int *where(void) { return &counter; }
int drive(int n) { write_it(n); set_it(); bump_it(); cool(n); set_state(n); if (n > 99) wait_for(); pointer = where(); return read_it() + (int)get_total() + turn() + (int)how_cool() + is_on(); }
`

func TestCompiledAccesses(t *testing.T) {
	main := "int drive(int); int main(int argc, char **argv) { (void)argv; return drive(argc); }\n"
	for _, flags := range [][]string{
		{"-O0"}, {"-O2"}, {"-O0", "-no-pie", "-fno-pie"}, {"-O2", "-no-pie", "-fno-pie"}, {"-O2", "-static"}, {"-O0", "-static-pie"},
		{"-O0", "-shared", "-fPIC"}, {"-O2", "-shared", "-fPIC"}, {"-O2", "-shared", "-fPIC", "-fvisibility=hidden"},
		{"-O3", "-march=haswell"}, {"-Os", "-fPIE", "-pie"}, {"-O1", "-mcmodel=large", "-no-pie", "-fno-pie"}, {"-O2", "-fcf-protection"},
	} {
		for _, compiler := range []string{"gcc", "clang-19"} {
			t.Run(compiler+" "+strings.Join(flags, " "), func(t *testing.T) {
				names := []string{"x.c", "m.c"}
				f := build(t, compiler, append(flags, "-g"), names, map[string]string{"x.c": accessSource, "m.c": main})
				checkCompiled(t, f)
			})
		}
	}
}

// checkCompiled compares the accesses in each function with those that its source makes.
func checkCompiled(t *testing.T, f *bin.File) {
	tests := []struct{ variable, function, kinds string }{
		{"counter", "read_it", "read"}, {"counter", "write_it", "write"}, {"counter", "set_it", "write"},
		{"total", "bump_it", "(read write|update)"}, {"total", "get_total", "read"},
		{"turns", "turn", "update atomic"},
		{"level", "cool", "write"}, {"level", "how_cool", "read"},
		{"state", "set_state", "write"}, {"state", "is_on", "read"},
		{"spin", "wait_for", "(read )*read"},
		{"counter", "where", ""},
	}
	for _, tt := range tests {
		r := accesses(t, f, mustFind(t, f, tt.variable))
		var kinds []string
		fn := symbolRange(t, f, tt.function)
		for _, a := range r.Accesses {
			if fn.Contains(a.Addr) {
				k := a.Kind.String()
				if a.Atomic {
					k += " atomic"
				}
				kinds = append(kinds, k)
				if a.Partial || a.Maybe {
					t.Errorf("%s in %s: %s", tt.variable, tt.function, describe(a))
				}
			}
		}
		if got := strings.Join(kinds, " "); !regexp.MustCompile("^" + tt.kinds + "$").MatchString(got) {
			t.Errorf("%s in %s: got %q, want %s", tt.variable, tt.function, got, tt.kinds)
		}
		if len(r.Unknown)+len(r.Undecoded) > 0 {
			t.Errorf("%s: unknown %x, undecoded %x", tt.variable, r.Unknown, r.Undecoded)
		}
		if tt.function == "where" && len(r.AddressTaken) == 0 {
			t.Error("where takes the address, but that is not said")
		}
	}
}

func symbolRange(t testing.TB, f *bin.File, name string) bin.Range {
	t.Helper()
	for _, s := range f.Lookup(name) {
		if s.Kind == bin.Func && s.Size > 0 {
			return bin.Range{Lo: s.Addr, Hi: s.Addr + s.Size}
		}
	}
	t.Fatalf("no function %s", name)
	return bin.Range{}
}

// objdump annotates operands that are relative to the instruction pointer: "# 404028 <counter>".
// The result must contain every one that is not a lea, a nop or a load of the global offset table,
// and no others.
func TestAgreesWithObjdump(t *testing.T) {
	testtool.Need(t, "objdump")
	main := "int drive(int); int main(int argc, char **argv) { (void)argv; return drive(argc); }\n"
	for _, flags := range [][]string{{"-O0"}, {"-O2"}, {"-O3", "-march=haswell"}, {"-O2", "-static"}} {
		f := build(t, "gcc", append(flags, "-g"), []string{"x.c", "m.c"}, map[string]string{"x.c": accessSource, "m.c": main})
		noted := annotations(t, f)
		names := []string{"counter", "total", "turns", "level", "state", "pointer", "spin"}
		if flags[len(flags)-1] == "-static" { // variables of glibc's own
			names = append(names, "__libc_single_threaded", "_dl_pagesize", "__libc_enable_secure")
		}
		for _, name := range names {
			v := mustFind(t, f, name)
			var want []uint64
			for at, to := range noted {
				if v.Overlaps(to.addr, to.size) {
					want = append(want, at)
				}
			}
			slices.Sort(want)
			var got []uint64
			for _, a := range accesses(t, f, v).Accesses {
				if a.Base == insn.NoReg {
					got = append(got, a.Addr)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%v: %s: got %x, want %x", flags, name, got, want)
			}
		}
	}
}

type annotation struct {
	addr uint64
	size int
}

// annotations returns, from objdump's disassembly, the operand that each instruction accesses.
func annotations(t *testing.T, f *bin.File) map[uint64]annotation {
	t.Helper()
	out, err := exec.Command("objdump", "-d", "--no-show-raw-insn", f.Name()).Output()
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`^\s*([0-9a-f]+):\s+(?:notrack |bnd |lock )*(\S+)\s+.*# ([0-9a-f]+) `)
	result := map[uint64]annotation{}
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		m := line.FindStringSubmatch(lines.Text())
		if m == nil || strings.HasPrefix(m[2], "lea") || strings.HasPrefix(m[2], "nop") || strings.HasPrefix(m[2], "prefetch") {
			continue
		}
		at, _ := strconv.ParseUint(m[1], 16, 64)
		to, _ := strconv.ParseUint(m[3], 16, 64)
		size := 1 // the true size does not matter: no access begins before a variable of the test
		result[at] = annotation{to, size}
	}
	return result
}

// A GOT load hoisted out of a loop, and used after calls.
func TestAddressInRegisterAcrossLoop(t *testing.T) {
	f := build(t, "gcc", []string{"-O2", "-shared", "-fPIC", "-g", "-fno-tree-loop-im"}, []string{"l.c"}, map[string]string{"l.c": `
int counter; void other(void);
void loop(int n) { for (int i = 0; i < n; i++) { counter++; other(); } }
`})
	r := accesses(t, f, mustFind(t, f, "counter"))
	if len(r.Accesses) == 0 || len(r.GOT) == 0 || len(r.AddressTaken) != 0 {
		t.Fatalf("%+v", r)
	}
	for _, a := range r.Accesses {
		if a.Base == insn.NoReg || a.Maybe {
			t.Errorf("%s", describe(a))
		}
	}
}

func TestARM64(t *testing.T) {
	testtool.Need(t, "aarch64-linux-gnu-as", "aarch64-linux-gnu-ld")
	tests := []snippet{
		{"v", "adrp x0, v\nldr w1, [x0, :lo12:v]", "read 4 r1 via r0"},
		{"v", "adrp x1, v\nadd x1, x1, :lo12:v\nstr w2, [x1]", "write 4 r2 via r1"},
		{"v", "adrp x1, v\nadd x1, x1, :lo12:v\nstr wzr, [x1]", "write 4 $0x0 via r1"},
		{"v", "adrp x0, v\nadd x0, x0, :lo12:v\nbl other", "taken 1"},
		{"v", "adrp x9, v\nadd x9, x9, :lo12:v\nmov x3, x9\nldadd w1, w2, [x3]", "update atomic 4 mem via r3"},
		{"v", "adr x9, v\nldar w1, [x9]", "read 4 r1 via r9"},
		{"v", "adrp x19, v\nadd x19, x19, :lo12:v\nbl other\nldr w0, [x19]", "read 4 r0 via r19"},
		{"v", "adrp x9, v\nadd x9, x9, :lo12:v\nbl other\nldr w0, [x9]", ""},
		{"v", "adrp x9, v\nadd x9, x9, :lo12:v\nstr x9, [sp, #8]", "taken 1"},
		{"v", "ldr w0, v", "read 4 r0"},
		{"v", "adrp x0, before\nadd x0, x0, :lo12:before\nldr w1, [x0, #8]", "read 4 r1 via r0"},
		{"v", "adrp x0, before\nldr w1, [x0, :lo12:before]", ""},
		{"v", "adrp x0, v\nldr s0, [x0, :lo12:v]", "read 4 mem via r0"},
	}
	dir := t.TempDir()
	src := ".arch armv8.1-a\n.text\n" + asmFunction("_start", "ret") + asmFunction("other", "ret")
	for i, tt := range tests {
		src += asmFunction(fmt.Sprintf("run_%d", i), tt.code+"\nret")
	}
	src += ".data\n.zero 24\n.globl before\n.type before,%object\n.size before,8\nbefore: .zero 8\n.globl v\n.type v,%object\n.size v,4\nv: .zero 4\n"
	if err := os.WriteFile(filepath.Join(dir, "s.s"), []byte(src), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"aarch64-linux-gnu-as", "-o", "s.o", "s.s"}, {"aarch64-linux-gnu-ld", "-o", "program", "s.o"}} {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	f := open(t, filepath.Join(dir, "program"))
	var where []bin.Range
	for i := range tests {
		where = append(where, symbolRange(t, f, fmt.Sprintf("run_%d", i)))
	}
	checkSnippets(t, f, where, tests)
}

func BenchmarkAccesses(b *testing.B) {
	f := build(b, "gcc", []string{"-O2", "-static", "-g"}, []string{"x.c", "m.c"}, map[string]string{
		"x.c": accessSource, "m.c": "int drive(int); int main(int argc, char **argv) { (void)argv; return drive(argc); }\n"})
	v := mustFind(b, f, "counter")
	for b.Loop() {
		if _, err := Accesses(f, v); err != nil {
			b.Fatal(err)
		}
	}
}
