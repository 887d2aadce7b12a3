package probes

import (
	"slices"
	"testing"

	"github.com/tracepredict/tracepredict/probes/cheapsite"
)

// dataInCode has functions in whose midst there are bytes that decode as accesses and as atomic instructions: no
// control arrives there. The last one does something in a part of its own, which jumps back.
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

	.bss
	.globl shared
	.type shared, @object
	.size shared, 4
	.align 4
shared:
	.zero 4
	.section .note.GNU-stack, "", @progbits
`

// TestOnlyCode checks that no probe is put where control does not certainly arrive, and that jumps between the parts of
// a function are followed.
func TestOnlyCode(t *testing.T) {
	f := build(t, "gcc", dataInCode, "-x", "assembler", "-no-pie")
	image := cheapsite.NewImage(f)
	at := func(name string) uint64 {
		syms := f.Lookup(name)
		if len(syms) != 1 {
			t.Fatalf("%d symbols %s", len(syms), name)
		}
		return syms[0].Addr
	}
	for name, want := range map[string]bool{"data": true, "inside": false, "parts": true, "back": true, "middle": true, "enters": true} {
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
