package variable

import (
	"testing"
)

func TestArrays(t *testing.T) {
	tests := []snippet{
		{"slots[3]", "mov slots+24(%rip), %rax", "read 8 r0"},
		{"slots[3]", "mov slots+16(%rip), %rax", ""},
		{"slots[3]", "lea slots(%rip), %rcx\nmov 24(%rcx), %rax", "read 8 r0 via r1+24"},
		{"slots[3]", "lea slots(%rip), %rcx\nmov 16(%rcx), %rax", ""},
		{"slots[3]", "lea slots(%rip), %rcx\nmov (%rcx,%rdx,8), %rax", "read inside 8 r0 via r1+r2*8"},
		{"slots[3]", "lea slots(%rip), %rcx\nmov %rax, 8(%rdx,%rcx)", "write inside 8 r0 via r2+8+r1*1"},
		{"slots[3]", "lea slots-8(%rip), %rcx\nincq (%rcx,%rdx,8)", "update inside 8 mem via r1+r2*8"},
		{"slots[3]", "lea slots(%rip), %rcx\nlea (%rcx,%rdx,8), %rsi\nmovq $1, (%rsi)", "write inside 8 $0x1 via r6"},
		{"slots[3]", "lea slots(%rip), %rcx\nadd %rdx, %rcx\nmov 8(%rcx), %rax", "read inside 8 r0 via r1+8"},
		{"slots[3]", "lea slots(%rip), %rcx\nadd %rcx, %rdx\nmov 8(%rdx), %rax", "read inside 8 r0 via r2+8"},
		{"slots[3]", "lea slots(%rip), %rcx\n1: incq (%rcx)\nadd $8, %rcx\ncmp %rdx, %rcx\njne 1b", "update inside 8 mem via r1"},
		{"slots[3]", "lea slots(%rip), %rcx\nlea behind(%rip), %rdx\n1: movdqu (%rcx), %xmm0\nadd $16, %rcx\ncmp %rdx, %rcx\njne 1b", "read inside 16 mem via r1"},
		{"slots[3]", "lea slots(%rip), %rcx\ntest %eax, %eax\nje 1f\nlea 24(%rcx), %rcx\n1: incq (%rcx)", "update inside 8 mem via r1"},
		{"slots[3]", "lea slots(%rip), %rcx\ncmove %rcx, %rbx\nincq (%rbx)", "update inside 8 mem via r3"},
		{"slots[3]", "lea slots(%rip), %rcx\nsub %rcx, %rdx\nmov %rdx, (%rax)", ""},
		{"slots[3]", "lea slots(%rip), %rcx\nlea (%rcx,%rdx,8), %rdi\ncall sink", "taken 1"},
		{"slots[3]", "lea behind(%rip), %rdi\ncall main", ""},
		{"slots[3]", "mov slots@GOTPCREL(%rip), %rcx\nincq 24(%rcx)", "update 8 mem via r1+24"},
		{"slots[3]", "mov slots@GOTPCREL(%rip), %rcx\nincq (%rcx,%rdx,8)", "update inside 8 mem via r1+r2*8"},
		{"slots[3]", "lea slots(%rip), %rdi\nrep stosq", "write inside 8 mem via r7"},
		{"slots[3]", "lea slots(%rip), %rdi\nbts %rax, (%rdi)", "update inside 1 mem via r7+r0*255"},
		{"slots[3]", "lea slots(%rip), %rdi\nlock cmpxchg %rdx, (%rdi,%rcx,8)", "update atomic inside 8 mem via r7+r1*8"},
		// an access of the next object that the code alone does not show to be one
		{"behind", "lea slots(%rip), %rcx\nincq (%rcx,%rdx,8)", ""},
		// through the stack
		{"slots[3]", "sub $24, %rsp\nlea slots(%rip), %r10\nmov %r10, 8(%rsp)\ncall main\nmov 8(%rsp), %rax\nincq 24(%rax)\nadd $24, %rsp\nxor %eax, %eax", "update 8 mem via r0+24"},
		{"slots[3]", "push %rbp\nmov %rsp, %rbp\nsub $16, %rsp\nlea slots(%rip), %rcx\nmov %rcx, -8(%rbp)\n1: mov -8(%rbp), %rax\nincq (%rax)\naddq $8, %rax\nmov %rax, -8(%rbp)\njne 1b\nxor %eax, %eax\nleave", "update inside 8 mem via r0"},
		{"slots[3]", "sub $24, %rsp\nlea slots(%rip), %r10\nmov %r10, 8(%rsp)\ncall main\nadd $24, %rsp", "taken 1"},
		{"slots[3]", "sub $24, %rsp\nlea slots(%rip), %rcx\nmov %rcx, 8(%rsp)\nmov %rsp, %rdi\nxor %ecx, %ecx\ncall main\nmov 8(%rsp), %rax\nincq 24(%rax)\nadd $24, %rsp", "taken 1"},
	}
	f, where := assemble(t, nil, pieces(tests))
	checkSnippets(t, f, where, tests)
}

func TestArraysAtFixedAddresses(t *testing.T) {
	tests := []snippet{
		{"slots[3]", "mov slots(,%rax,8), %rcx", "read inside 8 r1+r0*8"},
		{"slots[3]", "movl $1, slots+8(,%rax,8)", "write inside 4 mem+r0*8"},
		{"slots[3]", "lea slots(,%rax,8), %rcx\nmov (%rcx), %rdx", "read inside 8 r2 via r1"},
		{"slots[3]", "mov slots(%rax), %rcx", "read inside 8 r1 via r0"},
		{"slots[3]", "mov %fs:24(%rax), %rcx", ""},
	}
	f, where := assemble(t, []string{"-no-pie", "-static"}, pieces(tests))
	checkSnippets(t, f, where, tests)
}
