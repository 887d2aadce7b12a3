package variable

import (
	"encoding/binary"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/internal/testtool"
	bin "github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// afterData has data that ends off an 8-byte boundary, so that the end of the table of clones, which
// is aligned, is the address of one of its uninitialised variables.
const afterData = `
int x = -1;
int p, q, r;
int keep(int *);
int bump(void) { return x + p++ + q++ + r++ %s; }
`

// TestTableOfClones checks that start-up code, which makes the address where the table of clones
// ends, lets no address of the variable there escape; and that other code still does.
func TestTableOfClones(t *testing.T) {
	for _, c := range []struct {
		name, compiler string
		flags          []string
		stripped       bool
	}{
		{"PIE", "gcc", []string{"-O1", "-pie", "-fPIE"}, false},
		{"at a fixed address", "gcc", []string{"-O1", "-no-pie", "-fno-pie"}, false},
		{"library", "gcc", []string{"-O1", "-shared", "-fPIC", "-Wl,-Bsymbolic"}, false},
		{"library without symbols", "gcc", []string{"-O1", "-shared", "-fPIC", "-Wl,-Bsymbolic"}, true},
		{"clang", "clang-19", []string{"-O1"}, false},
		{"musl", "musl-gcc", []string{"-O1"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			for what, escapes := range map[string]bool{"": false, "+ keep(&p) + keep(&q) + keep(&r)": true} {
				v := behindData(t, c.compiler, c.flags, fmt.Sprintf(afterData, what), c.stripped)
				if got := accesses(t, v.File, v); (len(got.Escapes) > 0) != escapes || len(got.Accesses) == 0 {
					t.Errorf("with %q, %s has %d accesses, escapes %v", what, v.Name, len(got.Accesses), got.Escapes)
				}
			}
		})
	}
}

// behindData builds a file and returns the variable that lies where the table of clones ends.
func behindData(t *testing.T, compiler string, flags []string, source string, stripped bool) Variable {
	t.Helper()
	dir := t.TempDir()
	f := buildIn(t, dir, "file", compiler, flags, []string{"a.c", "main.c"}, map[string]string{"a.c": source, "main.c": "int bump(void); int keep(int *p) { return *p; } int main(void) { return bump(); }"})
	ends := f.Lookup("__TMC_END__")
	if len(ends) == 0 {
		t.Skip("this compiler's start-up code has no table of clones")
	}
	for _, name := range []string{"p", "q", "r"} {
		at := f.Lookup(name)
		if len(at) == 0 || at[0].Addr != ends[0].Addr {
			continue
		}
		if !stripped {
			return mustFind(t, f, name+":i32")
		}
		testtool.Need(t, "strip")
		if out, err := exec.Command("strip", dir+"/file").CombinedOutput(); err != nil {
			t.Fatalf("strip: %v\n%s", err, out)
		}
		return mustFind(t, open(t, dir+"/file"), name+":i32")
	}
	t.Skip("the linker has put no variable where the table of clones ends")
	return Variable{}
}

// The code of gcc's start-up files that registers clones, with v where the table ends.
const (
	deregister = `lea v(%rip), %rdi
lea v(%rip), %rax
cmp %rdi, %rax
je 1f
mov HOOK@GOTPCREL(%rip), %rax
test %rax, %rax
je 1f
jmp *%rax
nopl 0(%rax)
1: ret`
	register = `lea v(%rip), %rdi
lea v(%rip), %rsi
sub %rdi, %rsi
mov %rsi, %rax
shr $63, %rsi
sar $3, %rax
add %rax, %rsi
sar %rsi
je 1f
mov HOOK@GOTPCREL(%rip), %rax
test %rax, %rax
je 1f
jmp *%rax
1: ret`
	deregisterFixed = `mov $v, %eax
cmp $v, %rax
je 1f
mov $0, %eax
test %rax, %rax
je 1f
mov $v, %edi
jmp *%rax
1: ret`
	registerFixed = `mov $v, %esi
sub $v, %rsi
mov %rsi, %rax
shr $63, %rsi
sar $3, %rax
add %rax, %rsi
sar %rsi
je 1f
mov $0, %eax
test %rax, %rax
je 1f
mov $v, %edi
jmp *%rax
1: ret`
	deregisterOld = `mov $v+7, %eax
push %rbp
sub $v, %rax
cmp $14, %rax
mov %rsp, %rbp
jbe 1f
mov $0, %eax
test %rax, %rax
je 1f
pop %rbp
mov $v, %edi
jmp *%rax
1: pop %rbp
ret`
)

// TestCodeOfClones checks which code is taken for that of start-up files: not code that differs from
// it where the address may go on to other code.
func TestCodeOfClones(t *testing.T) {
	const hook = "_ITM_deregisterTMCloneTable"
	with := func(code string, oldnew ...string) string { return strings.NewReplacer(oldnew...).Replace(code) }
	for _, c := range []struct {
		name, code string
		fixed      bool
		escapes    bool
	}{
		{"deregister", with(deregister, "HOOK", hook), false, false},
		{"register", with(register, "HOOK", "_ITM_registerTMCloneTable"), false, false},
		{"deregister at a fixed address", deregisterFixed, true, false},
		{"register at a fixed address", registerFixed, true, false},
		{"deregister by an old compiler", deregisterOld, true, false},
		{"other weak function", with(deregister, "HOOK", "on_exit_hook"), false, true},
		{"no comparison", with(deregister, "HOOK", hook, "cmp %rdi, %rax\nje 1f\n", ""), false, true},
		{"no test of the pointer", with(deregister, "HOOK", hook, "test %rax, %rax\nje 1f\n", ""), false, true},
		{"another comparison", with(deregister, "HOOK", hook, "cmp %rdi, %rax", "cmp %rdx, %rax"), false, true},
		{"stores it", with(deregister, "HOOK", hook, "cmp %rdi, %rax", "mov %rax, w(%rip)\ncmp %rdi, %rax"), false, true},
		{"another end", with(deregister, "HOOK", hook, "1: ret", "1: lea v(%rip), %rax\nret"), false, true},
		{"returns it after a null pointer", with(deregisterFixed, "1: ret", "1: mov $v, %eax\nret"), true, true},
		{"jumps elsewhere", with(deregister, "HOOK", hook, "je 1f\njmp", "je sink\njmp"), false, true},
		{"jumps to a pointer in data", with(deregister, "HOOK@GOTPCREL", "w"), false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			flags := []string{"-pie"}
			if c.fixed {
				flags = []string{"-no-pie"}
			}
			// Start-up code has no unwind information and, stripped, no name.
			nameless := ".globl run_0_end\nret\n.balign 16\n.cfi_endproc\n" + c.code + "\n.balign 16\n.globl named\n.type named,%function\nnamed:\n.cfi_startproc\n"
			weak := ".weak _ITM_deregisterTMCloneTable\n.weak _ITM_registerTMCloneTable\n.weak on_exit_hook\n"
			f, _ := assemble(t, flags, []string{weak + nameless})
			if got := accesses(t, f, mustFind(t, f, "v")); (len(got.Escapes) > 0) != c.escapes {
				t.Errorf("escapes %v", got.Escapes)
			}
			f, _ = assemble(t, flags, []string{weak + c.code})
			if got := accesses(t, f, mustFind(t, f, "v")); len(got.Escapes) == 0 {
				t.Error("no escape from a function that has another name")
			}
		})
	}
}

// TestCodeOfClonesARM64 checks that the code of gcc's start-up files for arm64 is known, and is not
// if its pointer comes from another slot.
func TestCodeOfClonesARM64(t *testing.T) {
	words := []uint32{
		0x90000080, 0x9100a000, 0x90000081, 0x9100a021, 0xeb00003f, 0x540000c0, 0xf0000061, 0xf947e421, 0xb4000061, 0xaa0103f0, 0xd61f0200, 0xd65f03c0,
		0x90000080, 0x9100a000, 0x90000081, 0x9100a021, 0xcb000021, 0xd37ffc22, 0x8b810c41, 0x9341fc21, 0xb40000c1, 0xf0000062, 0xf947ec42, 0xb4000062,
		0xaa0203f0, 0xd61f0200, 0xd65f03c0,
	}
	var code []byte
	for _, w := range words {
		code = binary.LittleEndian.AppendUint32(code, w)
	}
	fn := bin.Range{Hi: uint64(len(code))}
	for _, tt := range []struct {
		slots []uint64
		want  []bin.Range
	}{
		{[]uint64{0xffc8, 0xffd8}, []bin.Range{{Hi: 0x30}, {Lo: 0x30, Hi: 0x6c}}},
		{[]uint64{0xffd8}, []bin.Range{{Lo: 0x30, Hi: 0x6c}}},
		{[]uint64{}, nil},
	} {
		c := &Code{arch: insn.ARM64, hooks: tt.slots}
		if got := c.clones(c.decode(fn, code)); fmt.Sprint(got) != fmt.Sprint(tt.want) {
			t.Errorf("with slots %x, clones are registered in %x, want %x", tt.slots, got, tt.want)
		}
	}
}

// bounds has loops whose bound is the address of the next variable, and comparisons with the symbols
// that the linker defines at the ends of sections.
const bounds = `
struct { int a[7]; int next; } s, t;
extern char __bss_start[], _edata[], _end[];
int keep(int *p) { return *p; }
__attribute__((noinline)) int sum(void)
{
	int n = 0;
	for (int *p = s.a; p != s.a + 7; p++) n += *p;
	for (int *p = t.a; p < t.a + 7; p++) n += *p;
	return n;
}
__attribute__((noinline)) int ours(char *p) { return p >= __bss_start && p >= _edata && p < _end; }
int main(int argc, char **argv) { s.next++; t.next++; return sum() + ours(argv[0]) + %s; }
`

// TestBound checks that a pointer to the end of an array that is only compared lets the address of the
// variable there not escape, but that one which is passed does: it could be meant for the variable.
func TestBound(t *testing.T) {
	for _, level := range []string{"-O0", "-O1", "-O2"} {
		for what, escapes := range map[string]bool{"0": false, "keep(&s.next)": true, "keep(s.a + 7)": true} {
			f := build(t, "gcc", []string{level, "-g"}, []string{"a.c"}, map[string]string{"a.c": fmt.Sprintf(bounds, what)})
			v := mustFind(t, f, "s.next")
			v.Whole, v.Reach = bin.Range{}, nil // as a variable of its own, since compilers order these as they like
			if got := accesses(t, f, v); escapes && level == "-O0" && len(got.Escapes) == 0 || !escapes && len(got.Escapes) > 0 {
				t.Errorf("%s, %s: escapes %v", level, what, got.Escapes)
			}
		}
	}
}
