package pointer

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/internal/testtool"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// assemble assembles one function, f, of x86-64 in the syntax of Intel.
func assemble(t *testing.T, code string) *elf.File {
	t.Helper()
	testtool.Need(t, "gcc")
	dir := t.TempDir()
	source, program := filepath.Join(dir, "f.s"), filepath.Join(dir, "f")
	text := ".intel_syntax noprefix\n.text\n.globl f\n.type f, @function\nf:\n" + code + "\n.size f, .-f\n" +
		".globl g\n.type g, @function\ng: ret\n.size g, .-g\n"
	if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-nostdlib", "-static", "-no-pie", "-Wl,-e,f", "-Wa,--noexecstack", "-o", program, source).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// access is what a test compares of an Access; Nth counts the instructions of the function from 0.
type access struct {
	Nth                    int
	Read, Write            bool
	Locked, Repeats, Stack bool
}

// TestSurvey checks which instructions access memory that other threads may reach.
func TestSurvey(t *testing.T) {
	for _, c := range []struct {
		name, code string
		want       []access
		private    int
		unknown    int
	}{
		{name: "load and store", code: "mov eax, [rdi]; mov [rdi+8], eax; ret",
			want: []access{{Nth: 0, Read: true}, {Nth: 1, Write: true}}},
		{name: "update", code: "add dword ptr [rdi+rsi*4], 1; ret", want: []access{{Nth: 0, Read: true, Write: true}}},
		{name: "locked", code: "lock xadd [rdi], eax; ret", want: []access{{Nth: 0, Read: true, Write: true, Locked: true}}},
		{name: "exchange", code: "xchg [rdi], eax; ret", want: []access{{Nth: 0, Read: true, Write: true, Locked: true}}},
		{name: "string", code: "rep stosb; ret", want: []access{{Nth: 0, Write: true, Repeats: true}}},
		{name: "string, both operands", code: "movsq; rep movsq; ret",
			want: []access{{Nth: 0, Read: true}, {Nth: 0, Write: true}, {Nth: 1, Read: true, Repeats: true}, {Nth: 1, Write: true, Repeats: true}}},
		{name: "string downwards", code: "std; rep movsq; movsq; cld; ret", want: []access{{Nth: 2, Read: true}, {Nth: 2, Write: true}}, unknown: 1},
		{name: "address alone", code: "lea rax, [rdi+8]; ret"},
		{name: "thread-local", code: "mov eax, fs:[16]; mov eax, fs:[rax]; ret"},
		{name: "fixed", code: "mov eax, [rip+f]; ret"},
		{name: "own frame", code: "sub rsp, 24; mov [rsp+8], edi; mov eax, [rsp+8]; add rsp, 24; ret", private: 2},
		{name: "own frame by frame pointer", code: "push rbp; mov rbp, rsp; mov [rbp-8], edi; mov eax, [rbp-8]; leave; ret", private: 2},
		{name: "frame given to a callee", code: "sub rsp, 24; mov dword ptr [rsp+8], 0; lea rdi, [rsp+8]; call g; mov eax, [rsp+8]; add rsp, 24; ret",
			want: []access{{Nth: 1, Write: true, Stack: true}, {Nth: 4, Read: true, Stack: true}}},
		{name: "below what is given away", code: "sub rsp, 24; mov dword ptr [rsp], 0; lea rdi, [rsp+8]; call g; mov eax, [rsp+8]; add rsp, 24; ret",
			want: []access{{Nth: 4, Read: true, Stack: true}}, private: 1},
		{name: "frame stored", code: "sub rsp, 24; lea rax, [rsp+8]; mov [rdi], rax; mov dword ptr [rsp+8], 1; add rsp, 24; ret",
			want: []access{{Nth: 2, Write: true}, {Nth: 3, Write: true, Stack: true}}},
		{name: "frame returned", code: "lea rax, [rsp-8]; mov dword ptr [rsp-8], 1; ret", want: []access{{Nth: 1, Write: true, Stack: true}}},
		{name: "alias of the frame", code: "sub rsp, 24; lea rax, [rsp+8]; mov [rax], edi; mov eax, [rax]; add rsp, 24; ret", private: 2},
		{name: "frame or other memory", code: "sub rsp, 24; test esi, esi; jz 1f; lea rdi, [rsp+8]; 1: mov [rdi], esi; add rsp, 24; ret",
			want: []access{{Nth: 4, Write: true}}},
		{name: "index into the frame", code: "sub rsp, 40; mov [rsp+rsi*4], edi; mov eax, [rsp+rsi*4]; add rsp, 40; ret", private: 2},
		{name: "loop over the frame", code: "sub rsp, 40; lea rax, [rsp]; 1: mov [rax], edi; add rax, 4; dec edi; jnz 1b; add rsp, 40; xor eax, eax; ret", private: 1},
		{name: "gather", code: "vpgatherdd ymm0, [rdi+ymm1*4], ymm2; ret", unknown: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := assemble(t, c.code)
			fn := f.Functions()[0] // f comes before g
			census, err := Survey(f, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got := accesses(t, f, fn, census); !slices.Equal(got, c.want) || census.Private != c.private || len(census.Unknown) != c.unknown {
				t.Errorf("accesses %+v, %d private, %d unknown; want %+v, %d, %d", got, census.Private, len(census.Unknown), c.want, c.private, c.unknown)
			}
		})
	}
}

func accesses(t *testing.T, f *elf.File, fn elf.Range, census *Census) (out []access) {
	t.Helper()
	code, err := f.Bytes(fn.Lo, int(fn.Hi-fn.Lo))
	if err != nil {
		t.Fatal(err)
	}
	insts := insn.DecodeRun(nil, insn.AMD64, code, fn.Lo, nil)
	for _, a := range census.Accesses {
		nth := slices.IndexFunc(insts, func(in insn.Inst) bool { return in.Addr == a.Addr })
		out = append(out, access{nth, a.Operand.Read, a.Operand.Write, a.Locked, a.Repeats, a.Stack})
	}
	return out
}

// TestSkip checks that functions of libraries are left out.
func TestSkip(t *testing.T) {
	f := assemble(t, "mov eax, [rdi]; ret")
	census, err := Survey(f, Options{Skip: func(elf.Range) bool { return true }})
	if err != nil || len(census.Accesses) != 0 {
		t.Errorf("accesses %+v, error %v; want none", census.Accesses, err)
	}
}

// TestSurveyPart checks that of a function whose cold part lies elsewhere, and jumps back into the middle of
// it, all accesses are found once.
func TestSurveyPart(t *testing.T) {
	f := assemble(t, `mov eax, [rdi+8]; jmp 2f; .size f, .-f
.type h, @function
h: sub rsp, 24; test esi, esi; jz f; 2: mov [rdi+16], eax; mov [rsp+8], eax; add rsp, 24; ret; .size h, .-h
.set f_size, .-f`)
	census, err := Survey(f, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []int64
	for _, a := range census.Accesses {
		got = append(got, a.Operand.Disp)
	}
	slices.Sort(got)
	if want := []int64{8, 16}; !slices.Equal(got, want) {
		t.Errorf("accesses at %d, want %d (private: %d)", got, want, census.Private)
	}
}

// TestSurveyAll compares the survey of many functions on all processors with that of one after the other.
func TestSurveyAll(t *testing.T) {
	var text strings.Builder
	text.WriteString("ret; .size f, .-f\n")
	for i := range 5 * group {
		fmt.Fprintf(&text, ".type f%d, @function\nf%[1]d: sub rsp, 24; mov [rdi+%[1]d], eax; mov [rsp+8], esi; ", i)
		if i%7 == 3 { // this function and the one before it are one
			fmt.Fprintf(&text, "jz f%d; ", i-1)
		}
		fmt.Fprintf(&text, "gs mov eax, [0]; call g; add rsp, 24; ret; .size f%d, .-f%[1]d\n", i)
	}
	f := assemble(t, text.String())
	opts := Options{Callee: func(in *insn.Inst) string {
		if in.Kind == insn.Call {
			return "g"
		}
		return ""
	}}
	one := &surveyor{Options: opts, file: f, census: &Census{}, parts: map[uint64]bool{}}
	for _, fn := range f.Functions() {
		one.function(fn)
	}
	all := &surveyor{Options: opts, file: f, census: &Census{}, parts: map[uint64]bool{}}
	for _, some := range surveyAll(f, opts, f.Functions()) {
		all.add(some)
	}
	if len(one.census.Accesses) < 5*group || len(one.census.Calls) < 5*group || len(one.parts) == 0 {
		t.Fatalf("%d accesses, %d calls and %d parts were found", len(one.census.Accesses), len(one.census.Calls), len(one.parts))
	}
	if diff := cmp.Diff(one.census, all.census); diff != "" {
		t.Errorf("one after the other, and at once: %s", diff)
	}
	if diff := cmp.Diff(one.parts, all.parts); diff != "" {
		t.Errorf("parts: %s", diff)
	}
}

// TestCalls checks which calls of a function that is looked for are found, and how control passes.
func TestCalls(t *testing.T) {
	for _, c := range []struct {
		name, code string
		want       []Call // Addr counts the instructions
	}{
		{"called", "call g; ret", []Call{{Addr: 0}}},
		{"called last", "nop; jmp g", []Call{{Addr: 1, Tail: true}}},
		{"if", "test edi, edi; jz g; ret", []Call{{Addr: 1, Tail: true, Cond: 5}}},
		{"if a counter is 0", "1: jrcxz 2f; jmp 1b; 2: ret", nil},
		{"not called", "lea rax, [rip+g]; ret", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := assemble(t, c.code)
			fn := f.Functions()[0]
			g := fn.Hi
			insts := map[uint64]uint64{}
			for at := fn.Lo; at < fn.Hi; {
				b, err := f.Bytes(at, 16)
				if err != nil {
					t.Fatal(err)
				}
				in, err := insn.Decode(insn.AMD64, b, at)
				if err != nil {
					t.Fatal(err)
				}
				insts[at] = uint64(len(insts))
				at += uint64(in.Len)
			}
			census, err := Survey(f, Options{Callee: func(in *insn.Inst) string {
				if in.Target == g {
					return "g"
				}
				return ""
			}})
			if err != nil {
				t.Fatal(err)
			}
			for i := range census.Calls {
				x := &census.Calls[i]
				if x.Callee != "g" || x.Len == 0 || x.Func != fn {
					t.Errorf("%+v", x)
				}
				*x = Call{Addr: insts[x.Addr], Tail: x.Tail, Cond: x.Cond}
			}
			if !slices.Equal(census.Calls, c.want) {
				t.Errorf("%+v, want %+v", census.Calls, c.want)
			}
		})
	}
}
