package insn

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"

	"github.com/tracepredict/tracepredict/internal/testtool"
)

// snippet is one instruction between a set-up and the code that collects its result.
type snippet struct {
	before, insn, after string
	avx                 bool
}

// The snippets end with their result in rax; each may use any register that a
// call may destroy, and 32 bytes at data(%rip).
var snippets = []snippet{
	{"mov $5,%eax", "nop", "", false},
	{"mov $5,%eax", ".byte 0x66,0x90", "", false},
	{"mov $5,%eax", ".byte 0x66,0x66,0x90", "", false},
	{"mov $5,%eax", ".byte 0xf3,0x90", "", false},
	{"mov $5,%eax", ".byte 0x0f,0x1f,0x00", "", false},
	{"mov $5,%eax", ".byte 0x0f,0x1f,0x40,0x00", "", false},
	{"mov $5,%eax", ".byte 0x0f,0x1f,0x44,0x00,0x00", "", false},
	{"mov $5,%eax", ".byte 0x66,0x0f,0x1f,0x44,0x00,0x00", "", false},
	{"mov $5,%eax", ".byte 0x0f,0x1f,0x80,0,0,0,0", "", false},
	{"mov $5,%eax", ".byte 0x0f,0x1f,0x84,0,0,0,0,0", "", false},
	{"mov $5,%eax", ".byte 0x66,0x0f,0x1f,0x84,0,0,0,0,0", "", false},
	{"mov $5,%eax", "endbr64", "", false},
	{"mov $5,%eax", "push %rax", "pop %rdx; add %rdx,%rax", false},
	{"mov $5,%eax; mov $7,%r9d", "push %r9", "pop %rdx; add %rdx,%rax", false},
	{"mov $5,%eax", "push $3", "pop %rdx; add %rdx,%rax", false},
	{"mov $5,%eax", "pushq data(%rip)", "pop %rdx; add %rdx,%rax", false},
	{"mov $5,%eax; push %rax", "pop %rdx", "add %rdx,%rax", false},
	{"mov $5,%eax; cmp $5,%eax", "je 7f", "inc %eax; 7:", false},
	{"mov $5,%eax; cmp $5,%eax", "jne 7f", "inc %eax; 7:", false},
	{"mov $5,%eax; cmp $5,%eax", ".byte 0x0f,0x84,2,0,0,0", "inc %eax; 7:", false},
	{"mov $5,%eax", "jmp 7f", "inc %eax; 7:", false},
	{"mov $5,%eax", "bnd jmp 7f", "inc %eax; 7:", false},
	{"mov $5,%eax", "call 7f", "jmp 8f; 7: inc %eax; ret; 8:", false},
	{"mov $5,%eax; mov $2,%ecx", "loop 7f", "inc %eax; 7: add %ecx,%eax", false},
	{"mov $5,%eax; xor %ecx,%ecx", "jrcxz 7f", "inc %eax; 7: add %ecx,%eax", false},
	{"lea 7f(%rip),%rdx; mov $5,%eax", "jmp *%rdx", "inc %eax; 7:", false},
	{"lea 7f(%rip),%rdx; mov $5,%eax", "notrack jmp *%rdx", "inc %eax; 7:", false},
	{"lea 7f(%rip),%rdx; mov $5,%eax", "call *%rdx", "jmp 8f; 7: inc %eax; ret; 8:", false},
	{"mov $5,%eax; mov $7,%r8d", "xchg %rax,%r8", "", false},
	{"mov $5,%eax; mov $7,%edx", "xchg %rax,%rdx", "", false},
	{"mov $5,%eax; mov $7,%edx", "xchg %rdx,data(%rip)", "add %rdx,%rax; add data(%rip),%rax", false},
	{"mov $5,%eax; mov $7,%edx", "lock xadd %rdx,data(%rip)", "add %rdx,%rax; add data(%rip),%rax", false},
	{"mov $5,%eax", "mov data(%rip),%rdx", "add %rdx,%rax", false},
	{"mov $5,%eax", "mov %rax,data(%rip)", "add data(%rip),%rax", false},
	{"mov $5,%eax", "mov %fs:0,%rdx", "cmp %rdx,%fs:0; sete %al", false},
	{"mov $5,%eax", ".byte 0x2e,0x90", "", false},
	{"", "xgetbv", "", false},
	{"mov $39,%eax; xor %edx,%edx", "syscall", "test %eax,%eax; setg %al; movzbl %al,%eax", false},
	{"mov $5,%eax", "mov %eax,%eax", "", false},
	{"pushf; pop %rax; push %rax", "popf", "", false},
	{"", "pushf", "pop %rax", false},
	{"cvtsi2sd data(%rip),%xmm0", "movsd %xmm0,data+8(%rip)", "mov data+8(%rip),%rax", false},
	{"movdqu data(%rip),%xmm0", "movdqa %xmm0,data+16(%rip)", "mov data+16(%rip),%rax", false},
	{"movdqu data(%rip),%xmm0", "movmskps %xmm0,%eax", "", false},
	{"vmovdqu data(%rip),%ymm0", "vmovdqu %ymm0,data(%rip)", "mov data(%rip),%rax", true},
	{"vmovdqu data(%rip),%xmm0; vpxor %xmm1,%xmm1,%xmm1; xor %eax,%eax", "vpcmpeqb %xmm0,%xmm1,%xmm2", "vmovd %xmm2,%eax", true},
	{"vmovdqu data(%rip),%xmm0; vpxor %xmm1,%xmm1,%xmm1; cmp %eax,%eax", "vpor %xmm0,%xmm1,%xmm2", "vmovd %xmm2,%eax", true},
	{"vmovdqu data(%rip),%xmm0", "vmovd %xmm0,%eax", "", true},
	{"vmovdqu data(%rip),%xmm0; xor %eax,%eax", "vmovups %xmm0,data+16(%rip)", "mov data+16(%rip),%rax", true},
	{"vmovdqu data(%rip),%xmm0; xor %eax,%eax", "vmovss %xmm0,data+16(%rip)", "mov data+16(%rip),%rax", true},
	{"xor %eax,%eax", "vmovups data(%rip),%ymm1", "vmovd %xmm1,%eax", true},
	{"xor %eax,%eax", "vmovdqa data(%rip),%ymm1", "vmovd %xmm1,%eax", true},
	{"vmovups data(%rip),%ymm1", "vaddps %ymm1,%ymm1,%ymm2", "vmovd %xmm2,%eax", true},
	{"vmovups data(%rip),%ymm1; mov $1,%eax", "vzeroupper", "", true},
	{"vmovups data(%rip),%xmm1", "vpxor %xmm1,%xmm1,%xmm2", "vmovd %xmm2,%eax", true},
	{"mov $0xff,%eax; mov $3,%edx", "andn %eax,%edx,%eax", "", true},
	{"mov $0xff,%eax; mov $3,%edx", "shlx %edx,%eax,%eax", "", true},
}

// kernelSource writes the snippets as functions f0, f1, … with the instruction
// at s0, s1, …, and a main that prints each one's result.
func kernelSource(avx bool) string {
	var b strings.Builder
	b.WriteString(".data\n.balign 32\ndata: .quad 3, 5, 7, 9\n.text\n")
	n := 0
	for _, s := range snippets {
		if s.avx && !avx {
			continue
		}
		fmt.Fprintf(&b, ".globl s%d\nf%d:\nmovq $3,data(%%rip)\n%s\ns%d: %s\n%s\nret\n", n, n, s.before, n, s.insn, s.after)
		n++
	}
	b.WriteString(".globl main\nmain: push %rbx\n")
	for i := range n {
		fmt.Fprintf(&b, "xor %%ecx,%%ecx\nmov $%d,%%esi\ncall f%d\nmov %%rax,%%rdx\nlea fmt(%%rip),%%rdi\nmov $%d,%%esi\nxor %%eax,%%eax\ncall printf@plt\n", i, i, i)
	}
	b.WriteString("xor %eax,%eax\npop %rbx\nret\n.section .rodata\nfmt: .asciz \"%d %lx\\n\"\n.section .note.GNU-stack,\"\",@progbits\n")
	return b.String()
}

// TestKernel puts a uprobe under every instruction that is not Refused and checks that the program
// computes the same: it compares this package's model of the kernel with the running kernel.
func TestKernel(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the snippets are x86-64 code")
	}
	cpu, _ := os.ReadFile("/proc/cpuinfo")
	avx := bytes.Contains(cpu, []byte(" avx2 ")) && bytes.Contains(cpu, []byte(" bmi2 "))
	exe := assemble(t, kernelSource(avx))
	want := run(t, exe)
	sites := sitesOf(t, exe)
	prog, counts := counter(t, len(sites))

	var offsets, cookies []uint64
	for i, s := range sites {
		in, err := Decode(AMD64, s.code, s.addr)
		if err != nil {
			t.Fatalf("%d: % x: %v", i, s.code, err)
		}
		t.Logf("%2d %-40s emulated %-5v refused %v", i, Format(AMD64, s.code, s.addr), in.Emulated, in.Refused)
		if !in.Refused {
			offsets, cookies = append(offsets, s.offset), append(cookies, uint64(i))
		}
	}
	ex, err := link.OpenExecutable(exe)
	if err != nil {
		t.Fatal(err)
	}
	l, err := ex.UprobeMulti(nil, prog, &link.UprobeMultiOptions{Addresses: offsets, Cookies: cookies})
	if err != nil {
		t.Fatalf("the kernel refuses a site of ours: %v", err)
	}
	got := run(t, exe)
	l.Close()
	if got != want {
		t.Errorf("under probes the program computes\n%s\ninstead of\n%s", got, want)
	}
	for _, c := range cookies {
		var n uint64
		if err := counts.Lookup(uint32(c), &n); err != nil || n != 1 {
			t.Errorf("site %d (%s): %d hits, want 1 (%v)", c, Format(AMD64, sites[c].code, 0), n, err)
		}
	}
}

// TestRedZone keeps a value just below the stack pointer across a nop, as leaf
// functions do, and probes the nop: where the kernel overwrites the value,
// RedZone must say so.
func TestRedZone(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("x86-64 only")
	}
	const source = `.text
f0: mov %%rdi,-8(%%rsp)
s0: %s
mov -8(%%rsp),%%rax
ret
.globl main
main: push %%rbx
mov $10,%%ebx
1: mov $77,%%edi
call f0
cmp $77,%%rax
jne 2f
dec %%ebx
jnz 1b
xor %%eax,%%eax
pop %%rbx
ret
2: mov $1,%%eax
pop %%rbx
ret
.section .note.GNU-stack,"",@progbits
`
	for _, nop := range []string{"nop", ".byte 0x66,0x90", ".byte 0x0f,0x1f,0x00", ".byte 0x0f,0x1f,0x40,0x00", ".byte 0x0f,0x1f,0x44,0x00,0x00",
		".byte 0x66,0x66,0x66,0x66,0x90", ".byte 0x66,0x0f,0x1f,0x44,0x00,0x00", ".byte 0x0f,0x1f,0x80,0,0,0,0", ".byte 0x0f,0x1f,0x84,0,0,0,0,0"} {
		exe := assemble(t, fmt.Sprintf(source, nop))
		site := sitesOf(t, exe)[0]
		in, err := Decode(AMD64, site.code, site.addr)
		if err != nil {
			t.Fatal(err)
		}
		prog, _ := counter(t, 1)
		ex, err := link.OpenExecutable(exe)
		if err != nil {
			t.Fatal(err)
		}
		l, err := ex.UprobeMulti(nil, prog, &link.UprobeMultiOptions{Addresses: []uint64{site.offset}, Cookies: []uint64{0}})
		if err != nil {
			t.Fatal(err)
		}
		harmed := run(t, exe) != ""
		l.Close()
		t.Logf("%-40s harmed %-5v RedZone %v", nop, harmed, in.RedZone)
		if harmed && !in.RedZone {
			t.Errorf("%s: a probe overwrites the red zone, and the decoder does not know", nop)
		}
	}
}

// stringSource fills pages that are not there yet, copies them and searches them by string instructions with a
// repeat prefix, while signals come, and prints what came of it.
const stringSource = `
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/time.h>
static void tick(int s) {}
int main(void)
{
	struct itimerval every = {{0, 1000}, {0, 1000}};
	long n = 8192, left = n, sum = 0;
	char *p = mmap(0, 4 * n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *to = p + 3, *from = p + 3, *q = p + 2 * n;
	signal(SIGALRM, tick);
	setitimer(ITIMER_REAL, &every, 0);
	asm volatile(".globl s0\ns0: rep stosb" : "+D"(to), "+c"(left) : "a"(7) : "memory");
	printf("%ld %ld\n", to - p, left);
	left = n;
	asm volatile(".globl s1\ns1: rep movsb" : "+S"(from), "+D"(q), "+c"(left) : : "memory");
	printf("%ld %ld %ld\n", from - p, q - p, left);
	q = p + 2 * n, left = 4 * n;
	asm volatile(".globl s2\ns2: repe scasb" : "+D"(q), "+c"(left) : "a"(7) : "memory", "cc");
	printf("%ld %ld\n", q - p, left);
	left = 0;
	asm volatile(".globl s3\ns3: rep stosb" : "+D"(to), "+c"(left) : "a"(7) : "memory");
	for (long i = 0; i < 4 * n; i++)
		sum += p[i];
	printf("%ld\n", sum);
	return 0;
}
`

// TestKernelStrings checks that a probe of a string instruction with a repeat prefix does no harm, though pages are
// missing and signals come; and that it is hit once in each iteration, for which reason such probes sit elsewhere.
func TestKernelStrings(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("x86-64 only")
	}
	exe := compile(t, "x.c", stringSource)
	want := run(t, exe)
	sites := sitesOf(t, exe)
	prog, counts := counter(t, len(sites))
	var offsets, cookies []uint64
	for i, s := range sites {
		if in, err := Decode(AMD64, s.code, s.addr); err != nil || in.Refused || in.Repeats != 1 {
			t.Fatalf("site %d: %+v, %v", i, in, err)
		}
		offsets, cookies = append(offsets, s.offset), append(cookies, uint64(i))
	}
	ex, err := link.OpenExecutable(exe)
	if err != nil {
		t.Fatal(err)
	}
	l, err := ex.UprobeMulti(nil, prog, &link.UprobeMultiOptions{Addresses: offsets, Cookies: cookies})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if got := run(t, exe); got != want {
		t.Errorf("under probes the program computes\n%s\ninstead of\n%s", got, want)
	}
	for i, want := range []uint64{8192, 8192, 8193, 1} {
		var n uint64
		if err := counts.Lookup(uint32(i), &n); err != nil || n != want {
			t.Errorf("site %d: %d hits, want %d (%v)", i, n, want, err)
		}
	}
}

// assemble builds a program of assembly code, or skips.
func assemble(t testing.TB, source string) string { return compile(t, "x.S", source) }

// compile builds a program from a source file of the given name, or skips.
func compile(t testing.TB, name, source string) string {
	t.Helper()
	testtool.Need(t, "gcc")
	dir := t.TempDir()
	file, exe := filepath.Join(dir, name), filepath.Join(dir, "x")
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-o", exe, file).CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", name, err, out)
	}
	return exe
}

func run(t testing.TB, exe string) string {
	t.Helper()
	out, err := exec.Command(exe).CombinedOutput()
	if err != nil {
		return fmt.Sprintf("%s%v", out, err)
	}
	return string(out)
}

type site struct {
	addr, offset uint64
	code         []byte
}

// sitesOf finds s0, s1, … in the program.
func sitesOf(t testing.TB, exe string) []site {
	t.Helper()
	f, err := elf.Open(exe)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	syms, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]uint64{}
	for _, s := range syms {
		at[s.Name] = s.Value
	}
	text := f.Section(".text")
	data, err := text.Data()
	if err != nil {
		t.Fatal(err)
	}
	var out []site
	for i := 0; ; i++ {
		addr, ok := at[fmt.Sprint("s", i)]
		if !ok {
			return out
		}
		rest := data[addr-text.Addr:]
		out = append(out, site{addr, addr - text.Addr + text.Offset, rest[:min(15, len(rest))]})
	}
}

// counter is a BPF program that counts hits by cookie.
func counter(t testing.TB, n int) (*ebpf.Program, *ebpf.Map) {
	t.Helper()
	m, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: uint32(n)})
	if err != nil {
		withoutBPF(t, "no BPF maps: %v (run as root on a kernel with BPF)", err)
	}
	t.Cleanup(func() { m.Close() })
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Type: ebpf.Kprobe, AttachType: ebpf.AttachTraceUprobeMulti, License: "GPL",
		Instructions: asm.Instructions{
			asm.FnGetAttachCookie.Call(),
			asm.StoreMem(asm.RFP, -4, asm.R0, asm.Word),
			asm.LoadMapPtr(asm.R1, m.FD()),
			asm.Mov.Reg(asm.R2, asm.RFP),
			asm.Add.Imm(asm.R2, -4),
			asm.FnMapLookupElem.Call(),
			asm.JEq.Imm(asm.R0, 0, "out"),
			asm.Mov.Imm(asm.R1, 1),
			asm.StoreXAdd(asm.R0, asm.R1, asm.DWord),
			asm.Mov.Imm(asm.R0, 0).WithSymbol("out"),
			asm.Return(),
		},
	})
	if errors.Is(err, os.ErrPermission) || errors.Is(err, ebpf.ErrNotSupported) {
		withoutBPF(t, "no BPF programs for uprobes: %v (run as root on Linux 6.6 or later)", err)
	}
	if err != nil {
		t.Fatalf("%+v", err)
	}
	t.Cleanup(func() { p.Close() })
	return p, m
}

// withoutBPF skips a test that needs BPF, or fails it where BPF is known to work.
func withoutBPF(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("TRACEPREDICT_REQUIRE_BPF") == "1" {
		t.Fatalf("TRACEPREDICT_REQUIRE_BPF=1, but: "+format, args...)
	}
	t.Skipf(format, args...)
}
