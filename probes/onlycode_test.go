package probes

import (
	"slices"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/probes/cheapsite"
)

// dataInCode has functions in whose midst there are bytes that decode as accesses and as atomic instructions: no
// control arrives there. One does something in a part of its own, which jumps back. Two jump through a table whose
// address is in a register that was set far away; in one of them that has another value, too.
const dataInCode = `
	.text
	.globl data
	.type data, @function
data:
	jmp 1f
	.globl inside
inside:
	lock incl shared(%rip)
	incl shared(%rip)
1:	incl shared(%rip)
	ret
	.size data, .-data

	.globl parts
	.type parts, @function
parts:
	test %edi, %edi
	jne cold
	ret
	.globl back
back:
	lock incl shared(%rip)
	ret
	.size parts, .-parts

	.section .text.unlikely, "ax"
	.type cold, @function
cold:
	ud2
	.globl middle
middle:
	lock decl shared(%rip)
	jmp back
	.size cold, .-cold

	.text
	.globl enters
	.type enters, @function
enters:
	test %edi, %edi
	jne middle
	ret
	.size enters, .-enters

	.globl main
	.type main, @function
main:
	xor %eax, %eax
	ret
	.size main, .-main

	.section .rodata
	.align 4
kept_table:
	.long kept_case - kept_table, kept_case - kept_table, 0x7fffffff
twice_table:
	.long twice_case - twice_table, twice_case - twice_table, 0x7fffffff

	.bss
	.globl shared
	.type shared, @object
	.size shared, 4
	.align 4
shared:
	.zero 4
	.section .note.GNU-stack, "", @progbits
`

// throughTable is a function NAME that jumps through a table, and executes an INSTRUCTION where it leads.
const throughTable = `
	.text
	.globl NAME
	.type NAME, @function
NAME:
	push %rbx
	lea NAME_table(%rip), %rbx
	test %edi, %edi
	jne 1f
	nop
1:	cmp $1, %edi
	ja 2f
	mov %edi, %eax
	movslq (%rbx,%rax,4), %rax
	add %rbx, %rax
	jmp *%rax
	.globl NAME_case
NAME_case:
	INSTRUCTION
	incl shared(%rip)
	mov $7, %edi
	jmp 1b
2:	pop %rbx
	ret
	.size NAME, .-NAME
`

// TestOnlyCode checks that no probe is put where control does not certainly arrive, and that jumps between the parts of
// a function are followed.
func TestOnlyCode(t *testing.T) {
	source := dataInCode
	for name, instruction := range map[string]string{"kept": "nop", "twice": "lea shared(%rip), %rbx"} {
		source += strings.NewReplacer("NAME", name, "INSTRUCTION", instruction).Replace(throughTable)
	}
	f := build(t, "gcc", source, "-x", "assembler", "-no-pie")
	image := cheapsite.NewImage(f)
	at := func(name string) uint64 {
		syms := f.Lookup(name)
		if len(syms) != 1 {
			t.Fatalf("%d symbols %s", len(syms), name)
		}
		return syms[0].Addr
	}
	for name, want := range map[string]bool{"data": true, "inside": false, "parts": true, "back": true, "middle": true, "enters": true, "kept_case": true, "twice_case": false} {
		if got := image.IsCode(at(name)); got != want {
			t.Errorf("%s is code: %v, want %v", name, got, want)
		}
	}
	p := plan(t, f, Options{Table: table(t), Shared: true, Pointers: true, Atomics: true})
	inside := at("inside")
	if slices.ContainsFunc(p.Sites, func(s Site) bool { return s.At >= inside && s.At < inside+13 }) {
		t.Errorf("there are probes in data: %+v", p.Sites)
	}
	if slices.ContainsFunc(p.UnseenProbes, func(u UnseenProbe) bool { return u.At >= inside && u.At < inside+13 }) {
		t.Errorf("there are probes in data: %+v", p.UnseenProbes)
	}
	if n := len(p.Sites); n == 0 {
		t.Error("there is no probe at all")
	}
}
