package cheapsite

import (
	"slices"
	"testing"

	"github.com/tracepredict/tracepredict/probes/code"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

var _ code.Landmarks = (*elf.File)(nil)

// withoutLandmarks is a file that does not return its landmarks.
type withoutLandmarks struct{ code.Source }

// landmarkCounter counts the calls of Landmarks.
type landmarkCounter struct {
	code.Source
	marks []uint64
	n     int
}

func (a *landmarkCounter) Landmarks() []uint64 {
	a.n++
	return a.marks
}

// TestLandmarksAreRequestedOnce checks that the landmarks, whose computation reads all of the
// file, are requested once.
func TestLandmarksAreRequestedOnce(t *testing.T) {
	c := &landmarkCounter{Source: machineCode(t, "85ff 90 c3 | 85ff 90 c3")}
	im := NewImage(withoutLandmarks{c})
	for _, im := range []*Image{NewImage(c), im} {
		for _, at := range []uint64{base, base + 4, base} {
			if s, err := im.Place(Want{At: at, Reads: rdi}); err != nil || !s.Moved {
				t.Errorf("0x%x: %+v, %v", at, s, err)
			}
		}
	}
	if c.n != 1 {
		t.Errorf("requested %d times", c.n)
	}
}

// openFile opens a program that a test has built.
func openFile(t testing.TB, path string) *elf.File {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// reached has functions of one shape: test, an address without a symbol, nop, ret. Control reaches
// that address by an address in data, by one in code, or by an exception; in the last function,
// only by falling through.
const reached = `
	.text
	.macro func name
	.globl \name
	.type \name, @function
\name:	.cfi_startproc
	.endm
	.macro done name
	.cfi_endproc
	.size \name, . - \name
	.endm

	func by_data
	test %edi, %edi
.Ldata:	nop
	ret
	done by_data

	func by_lea
	test %edi, %edi
.Llea:	nop
	ret
	done by_lea

	func by_mov
	test %edi, %edi
.Lmov:	nop
	ret
	done by_mov

	func by_exception
	.cfi_personality 0x1b, personality
	.cfi_lsda 0x1b, .Ltable
	test %edi, %edi
.Lpad:	nop
.Lcall:	call personality
.Lend:	ret
	done by_exception

	func from_above
	test %edi, %edi
	nop
	ret
	done from_above

	func personality
	ret
	done personality

	func main
	jmp *hook(%rip)
	lea .Llea(%rip), %rax
	jmp *%rax
	.ifdef FIXED
	mov $.Lmov, %eax
	jmp *%rax
	.endif
	done main

	.data
	.balign 8
hook:	.quad .Ldata

	.section .gcc_except_table, "a", @progbits
.Ltable: .byte 0xff, 0xff, 1
	.uleb128 .Lsites1 - .Lsites0
.Lsites0: .uleb128 .Lcall - by_exception
	.uleb128 .Lend - .Lcall
	.uleb128 .Lpad - by_exception
	.uleb128 0
.Lsites1:
	.section .note.GNU-stack, "", @progbits
`

// TestReachedWithoutBranch checks that no probe passes an instruction that control reaches by its
// address.
func TestReachedWithoutBranch(t *testing.T) {
	for _, x := range []struct {
		name  string
		flags []string
		stays []string
	}{
		{"fixed", []string{"-no-pie", "-Wa,--defsym,FIXED=1"}, []string{"by_data", "by_lea", "by_mov", "by_exception"}},
		{"static", []string{"-static", "-Wa,--defsym,FIXED=1"}, []string{"by_data", "by_lea", "by_mov", "by_exception"}},
		{"pie", []string{"-pie"}, []string{"by_data", "by_lea", "by_exception"}},
		{"packed", []string{"-pie", "-Wl,-z,pack-relative-relocs"}, []string{"by_data", "by_lea", "by_exception"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			f := openFile(t, build(t, "reached.s", reached, x.flags...))
			if f.Arch() != insn.AMD64 {
				t.Skip("the program is written for x86-64")
			}
			with, without := NewImage(f), NewImage(withoutLandmarks{f})
			for _, name := range []string{"by_data", "by_lea", "by_mov", "by_exception", "from_above"} {
				w := Want{At: f.Lookup(name)[0].Addr, Reads: rdi}
				a, err := with.Place(w)
				if err != nil {
					t.Fatal(err)
				}
				b, err := without.Place(w)
				if err != nil {
					t.Fatal(err)
				}
				if !b.Moved {
					t.Errorf("%s: nothing is in the way, yet %s", name, b.Why)
				}
				if a.Moved == slices.Contains(x.stays, name) {
					t.Errorf("%s: %+v", name, a)
				}
			}
		})
	}
}

const throwing = `
struct guard { int *p; ~guard() { ++*p; } };
int seen;
__attribute__((noinline)) void may_throw(int n) { if (n > 2) throw n; }
__attribute__((noinline)) int caught(int n)
{
	for (int i = 0; i < n; i++) {
		try { may_throw(i); seen += i; may_throw(i + 1); } catch (int k) { seen -= k; } catch (...) { return 1; }
	}
	guard g{&seen};
	may_throw(n - 5);
	return seen;
}
int main(int argc, char **) { try { return caught(argc); } catch (int) { return 3; } }
`

// TestNoProbePassesLandingPads checks, for every instruction of a compiled program, that its probe
// neither passes nor moves to another address that is a landmark.
func TestNoProbePassesLandingPads(t *testing.T) {
	for _, opt := range []string{"-O0", "-O1", "-O2", "-Os"} {
		t.Run(opt, func(t *testing.T) {
			f := openFile(t, build(t, "throwing.cc", throwing, opt, "-Wl,--no-as-needed", "-lstdc++"))
			im, marks, moved := NewImage(f), f.Landmarks(), 0
			for _, fn := range f.Functions() {
				im.Sweep(fn, func(in *insn.Inst) bool {
					s, err := im.Place(Want{At: in.Addr, Sense: Entry})
					if err != nil {
						t.Fatal(err)
					}
					i, _ := slices.BinarySearch(marks, in.Addr+1)
					if s.Moved && i < len(marks) && marks[i] <= s.Addr {
						t.Errorf("from 0x%x to 0x%x, past 0x%x", in.Addr, s.Addr, marks[i])
					}
					if s.Moved {
						moved++
					}
					return true
				})
			}
			if moved == 0 {
				t.Error("no probe moved: the test tests nothing")
			}
		})
	}
}

// TestWhatLandmarksCost checks that every function of glibc has the same site with and without its
// landmarks, or that its probe stays. It logs how many probes stay only because of the landmarks.
func TestWhatLandmarksCost(t *testing.T) {
	openCode(t, glibc)
	f := openFile(t, glibc)
	with, without := NewImage(f), NewImage(withoutLandmarks{f})
	for _, x := range []struct {
		name string
		want Want
	}{
		{"returns probed", Want{Reads: rdi.With(insn.RSP), Sense: Entry, Return: true}},
		{"entry", Want{Reads: rdi.With(insn.RSP), Sense: Entry}},
		{"before", Want{Reads: rdi.With(insn.RSP), Sense: Before}},
	} {
		cheap, lost := 0, 0
		for _, fn := range f.Functions() {
			x.want.At = fn.Lo
			a, errA := with.Place(x.want)
			b, errB := without.Place(x.want)
			switch {
			case (errA == nil) != (errB == nil):
				t.Errorf("0x%x: %v, without landmarks %v", fn.Lo, errA, errB)
			case a.Moved && a != b:
				t.Errorf("0x%x: %+v, without landmarks %+v", fn.Lo, a, b)
			case b.Class == Emulated && a.Class != Emulated:
				lost++
				t.Logf("0x%x: %s, without landmarks %s", fn.Lo, a.Why, b.Why)
			}
			if b.Class == Emulated {
				cheap++
			}
		}
		t.Logf("%s: of %d cheap sites %d are lost", x.name, cheap, lost)
	}
}
