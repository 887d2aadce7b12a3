package cheapsite

import (
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// memCode is code in memory: one executable section at base, data after it.
type memCode struct {
	arch  insn.Arch
	base  uint64
	code  []byte
	data  []byte // at dataAt
	funcs []elf.Range
	marks []uint64
}

const (
	base   = 0x1000
	dataAt = 0x8000
)

func (c *memCode) Arch() insn.Arch        { return c.arch }
func (c *memCode) Functions() []elf.Range { return c.funcs }
func (c *memCode) Landmarks() []uint64    { return c.marks }
func (c *memCode) Text() []elf.Range {
	return []elf.Range{{Lo: c.base, Hi: c.base + uint64(len(c.code))}}
}

func (c *memCode) Bytes(addr uint64, n int) ([]byte, error) {
	for at, b := range map[uint64][]byte{c.base: c.code, dataAt: c.data} {
		if addr >= at && addr < at+uint64(len(b)) {
			return b[addr-at:][:min(n, len(b)-int(addr-at))], nil
		}
	}
	return nil, os.ErrNotExist
}

// machineCode converts hexadecimal text to code; "|" begins a new function, "/" begins bytes that
// no function covers.
func machineCode(t testing.TB, text string) *memCode {
	t.Helper()
	c := &memCode{arch: insn.AMD64, base: base}
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return r == '|' }) {
		part, gap, _ := strings.Cut(part, "/")
		lo := base + uint64(len(c.code))
		c.code = append(c.code, unhex(t, part)...)
		c.funcs = append(c.funcs, elf.Range{Lo: lo, Hi: base + uint64(len(c.code))})
		c.code = append(c.code, unhex(t, gap)...)
	}
	return c
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var (
	rsp = insn.RegSet(0).With(insn.RSP)
	rax = insn.RegSet(0).With(insn.RAX)
	fix = []insn.Mem{{Base: insn.NoReg, Index: insn.NoReg, Fixed: true, Addr: dataAt, Size: 4}}
	ptr = []insn.Mem{{Base: insn.RDI, Index: insn.NoReg, Size: 4}}
)

// TestPlace tests each rule, and each refusal. The function lies at 0x1000, where the probe is
// wanted unless at says otherwise.
func TestPlace(t *testing.T) {
	for _, x := range []struct {
		name string
		code string
		at   uint64
		want Want
		site Site
	}{
		{"emulated already", "53 5b c3", 0, Want{Reads: rdi | rsp}, Site{Addr: 0x1000, Class: Emulated, Why: "push +0x0"}},
		{"past endbr64", "f30f1efa 53 5b c3", 0, Want{Reads: rdi | rsp}, Site{Addr: 0x1004, Class: Emulated, Moved: true, Why: "push +0x4"}},
		{"past test to je", "f30f1efa 85ff 7400 c3", 0, Want{Reads: rdi}, Site{Addr: 0x1006, Class: Emulated, Moved: true, Why: "je +0x6"}},
		{"to a call", "4889f8 e800000000 c3", 0, Want{Reads: rdi}, Site{Addr: 0x1003, Class: Emulated, Moved: true, Why: "call +0x3"}},
		{"past a load", "8b07 90 c3", 0, Want{Reads: rdi}, Site{Addr: 0x1002, Class: Emulated, Moved: true, Why: "nop +0x2"}},
		{"not past a call", "85ff e800000000 90 c3", 2, Want{Reads: rdi}, Site{Addr: 0x1002, Class: Emulated, Why: "call +0x0"}},
		{"not past an indirect call", "85ff ffd0 90 c3", 0, Want{Reads: rdi}, Site{Addr: 0x1000, Why: "stays: control may leave (call +0x2)"}},
		{"not past a system call", "85ff 0f05 90 c3", 0, Want{Reads: rdi}, Site{Addr: 0x1000, Why: "stays: control may leave (syscall +0x2)"}},
		{"not past a return", "85ff c3 90", 0, Want{Reads: rdi}, Site{Addr: 0x1000, Why: "stays: control may leave (ret +0x2)"}},
		{"not over a written register", "89c7 90 c3", 0, Want{Reads: rdi}, Site{Addr: 0x1000, Why: "stays: it writes what the probe reads (mov +0x0)"}},
		{"over another register", "89c6 90 c3", 0, Want{Reads: rdi}, Site{Addr: 0x1002, Class: Emulated, Moved: true, Why: "nop +0x2"}},
		{"not past what is not modelled", "d7 90 c3", 0, Want{Reads: rdi}, Site{Addr: 0x1000, Why: "stays: the stack pointer is set (xlat +0x0)"}},
		{"before: not past a store", "8907 90 c3", 0, Want{Reads: rdi, Sense: Before}, Site{Addr: 0x1000, Why: "stays: a store (mov +0x0)"}},
		{"before: not past lock", "f0ff07 90 c3", 0, Want{Reads: rdi, Sense: Before}, Site{Addr: 0x1000, Class: Refused, Why: "stays: synchronisation (lock +0x0)"}},
		{"before: not past xchg", "8706 90 c3", 0, Want{Reads: rdi, Sense: Before}, Site{Addr: 0x1000, Why: "stays: synchronisation (xchg +0x0)"}},
		{"before: past a store to own stack", "894424f8 90 c3", 0, Want{Reads: rdi, Sense: Before}, Site{Addr: 0x1004, Class: Emulated, Moved: true, Why: "nop +0x4"}},
		{"entry: past a store", "8906 90 c3", 0, Want{Reads: rdi, Sense: Entry}, Site{Addr: 0x1002, Class: Emulated, Moved: true, Why: "nop +0x2"}},
		{"entry: past lock", "f0ff07 7500 c3", 0, Want{Reads: rdi, Sense: Entry, Return: true}, Site{Addr: 0x1003, Class: Emulated, Moved: true, Why: "jne +0x3"}},
		{"entry that reads memory: not past a store", "8906 90 c3", 0, Want{Reads: rdi, Sense: Entry, Mem: fix}, Site{Addr: 0x1000, Why: "stays: a store (mov +0x0)"}},
		{"stack read: below sp may be written", "894424f8 90 c3", 0, Want{Reads: rdi | rsp, Sense: Entry}, Site{Addr: 0x1004, Class: Emulated, Moved: true, Why: "nop +0x4"}},
		{"stack read: above sp may not", "89442408 90 c3", 0, Want{Reads: rdi | rsp, Sense: Entry}, Site{Addr: 0x1000, Why: "stays: a store (mov +0x0)"}},
		{"stack read: after sub the frame is below", "4883ec10 89442408 90 c3", 0, Want{Reads: rsp, Sense: Entry}, Site{Addr: 0x1008, Class: Emulated, Moved: true, SPDelta: 16, Why: "nop +0x8"}},
		{"stack read: after sub, not its edge", "4883ec08 89442408 90 c3", 0, Want{Reads: rsp, Sense: Entry}, Site{Addr: 0x1000, Why: "stays: a store (mov +0x4)"}},
		{"sp known after sub", "4883ec08 90 c3", 0, Want{Reads: rdi | rsp}, Site{Addr: 0x1004, Class: Emulated, Moved: true, SPDelta: 8, Why: "nop +0x4"}},
		{"sp lost", "4883e4f0 90 c3", 0, Want{Reads: rdi}, Site{Addr: 0x1000, Why: "stays: the stack pointer is set (and +0x0)"}},
		{"stack given back", "5b 90 c3", 0, Want{Reads: rdi | rsp}, Site{Addr: 0x1000, Why: "stays: the stack that the probe reads is given back at +0x0"}},
		{"stack given back, not read", "5b 90 c3", 0, Want{Reads: rdi}, Site{Addr: 0x1001, Class: Emulated, Moved: true, SPDelta: -8, Why: "nop +0x1"}},
		{"return: not below pushes", "85ff 4883ec08 90 c3", 0, Want{Reads: rdi, Sense: Entry, Return: true}, Site{Addr: 0x1000, Why: "stays: control may leave (ret +0x7)"}},
		{"return: at the first push", "85ff 53 5b c3", 0, Want{Reads: rdi, Sense: Entry, Return: true}, Site{Addr: 0x1002, Class: Emulated, Moved: true, Why: "push +0x2"}},
		{"return: sp comes back", "f30f1efa 6a03 5b 90 c3", 0, Want{Reads: rdi, Sense: Entry, Return: true}, Site{Addr: 0x1007, Class: Emulated, Moved: true, Why: "nop +0x7"}},
		{"a branch lands between", "85ff 85f6 90 c3 ebfa", 0, Want{Reads: rdi}, Site{Addr: 0x1000, Why: "stays: a branch may land at +0x2"}},
		{"a branch lands at the site", "85ff 90 c3 ebfc", 0, Want{Reads: rdi}, Site{Addr: 0x1000, Why: "stays: a branch may land at +0x2"}},
		{"a branch lands inside what is passed", "85ff 8b0690 90 c3 ebfa", 0, Want{Reads: rdi}, Site{Addr: 0x1000, Why: "stays: a branch may land inside of an instruction, at +0x3"}},
		{"a branch lands inside the site", "85ff 660f1f440000 c3 ebf8", 0, Want{Reads: rdi}, Site{Addr: 0x1000, Why: "stays: a branch may land inside of an instruction, at +0x3"}},
		{"a branch lands past the own lock prefix", "f00fb10f 7500 c3 ebf8", 0, Want{Sense: After, Flags: true}, Site{Addr: 0x1004, Class: Emulated, Moved: true, Why: "jne +0x4"}},
		{"a branch lands past another lock prefix", "85ff f00fb10e 7500 c3 ebf8", 0, Want{Reads: rdi, Sense: Entry}, Site{Addr: 0x1000, Why: "stays: a branch may land inside of an instruction, at +0x3"}},
		{"a branch lands inside the original", "83ff00 90 c3 ebfa", 0, Want{Reads: rdi}, Site{Addr: 0x1000, Why: "stays: a branch may land inside of an instruction, at +0x1"}},
		{"a branch lands at the original", "85ff 90 c3 ebfa", 0, Want{Reads: rdi}, Site{Addr: 0x1002, Class: Emulated, Moved: true, Loops: true, Why: "nop +0x2"}},
		{"another function's branch lands", "85ff 90 c3 | ebfc", 0, Want{Reads: rdi}, Site{Addr: 0x1000, Why: "stays: a branch may land at +0x2"}},
		{"another function's call lands", "85ff 90 c3 | e8f9ffffff", 0, Want{Reads: rdi}, Site{Addr: 0x1000, Why: "stays: a branch may land at +0x2"}},
		{"a branch that no extent covers lands", "85ff 90 c3 / cccc ebfa", 0, Want{Reads: rdi}, Site{Addr: 0x1000, Why: "stays: a branch may land at +0x2"}},
		{"endbr64 is a landing", "85ff f30f1efa 90 c3", 0, Want{Reads: rdi}, Site{Addr: 0x1000, Why: "stays: a branch may land at +0x2"}},
		{"the function ends", "85ff | 90 c3", 0, Want{Reads: rdi}, Site{Addr: 0x1000, Why: "stays: the function ends at +0x2"}},
		{"a jump back to the start", "85ff 75fc 90 c3", 0, Want{Reads: rdi}, Site{Addr: 0x1002, Class: Emulated, Moved: true, Loops: true, Why: "jne +0x2"}},
		{"stop", "85ff 85f6 90 c3", 0, Want{Reads: rdi, Stop: func(a uint64) bool { return a == 0x1002 }}, Site{Addr: 0x1000, Why: "stays: another probe's operation begins at +0x2"}},
		{"an unresolved jump in the function", "85ff 90 c3 ffe0", 0, Want{Reads: rdi}, Site{Addr: 0x1000, Why: "stays: an indirect jump of the function may land anywhere in it"}},
		{"an unresolved jump elsewhere", "85ff 90 c3 | ffe0", 0, Want{Reads: rdi}, Site{Addr: 0x1002, Class: Emulated, Moved: true, Why: "nop +0x2"}},
		{"an unresolved jump in a part of it", "85ff 90 eb01 c3 | 89c0 ffe0 ebf8", 0, Want{Reads: rdi}, Site{Addr: 0x1000, Why: "stays: an indirect jump of the function may land anywhere in it"}},
		{"a jump through a slot", "85ff 90 ff2500000000", 0, Want{Reads: rdi}, Site{Addr: 0x1002, Class: Emulated, Moved: true, Why: "nop +0x2"}},
		{"an indirect jump that must find endbr64", "f30f1efa 85ff 90 ffe0", 4, Want{Reads: rdi}, Site{Addr: 0x1006, Class: Emulated, Moved: true, Why: "nop +0x2"}},
		{"one that need not", "f30f1efa 85ff 90 3effe0", 4, Want{Reads: rdi}, Site{Addr: 0x1004, Why: "stays: an indirect jump of the function may land anywhere in it"}},
		{"data in the code", "85ff 90 c3 06", 0, Want{Reads: rdi}, Site{Addr: 0x1000, Why: "stays: there is data in the function's code"}},
		{"too far", strings.Repeat("85ff", 40) + "90 c3", 0, Want{Reads: rdi}, Site{Addr: 0x1000, Why: "stays: no instruction that the kernel emulates within 32"}},
		{"access: stays at a cheap one only", "8b07 90 c3", 0, Want{Sense: After}, Site{Addr: 0x1002, Class: Emulated, Moved: true, Why: "nop +0x2"}},
		{"access: its own write does not count", "8b07 90 c3", 0, Want{Sense: After, Reads: rax}, Site{Addr: 0x1002, Class: Emulated, Moved: true, Why: "nop +0x2"}},
		{"access: a later write does", "8b07 31c0 90 c3", 0, Want{Sense: After, Reads: rax}, Site{Addr: 0x1000, Why: "stays: it writes what the probe reads (xor +0x2)"}},
		{"access: not past another store", "8b07 8906 90 c3", 0, Want{Sense: After}, Site{Addr: 0x1000, Why: "stays: a store (mov +0x2)"}},
		{"access: value must come after", "ff05fa6f0000 85ff 31c0 c3", 0, Want{Sense: After, Mem: fix}, Site{Addr: 0x1006, Moved: true, Why: "test +0x6"}},
		{"access: value after, cheap", "ff05fa6f0000 85ff 90 c3", 0, Want{Sense: After, Mem: fix}, Site{Addr: 0x1008, Class: Emulated, Moved: true, Why: "nop +0x8"}},
		{"access: no value to be had", "ff05fa6f0000 90 c3 ebfc", 0, Want{Sense: After, Mem: fix}, Site{Addr: 0x1000, Before: true, Why: "stays: a branch may land at +0x6"}},
		{"access under lock must move", "f0ff07 85ff c3", 0, Want{Sense: After}, Site{Addr: 0x1003, Moved: true, Why: "test +0x3"}},
		{"access under lock that cannot", "f0ff07 c3 ebfd", 0, Want{Sense: After}, Site{Addr: 0x1000, Class: Refused, Why: "stays: a branch may land at +0x3"}},
		{"access: operand's address is lost", "8b3f 90 c3", 0, Want{Sense: After, Mem: ptr}, Site{Addr: 0x1000, Before: true, Why: "stays: it changes the address of what the probe reads (mov +0x0)"}},
		{"access by a vector instruction", "c5fd7f05f86f0000 90 c3", 0, Want{Sense: After, Mem: fix}, Site{Addr: 0x1008, Class: Emulated, Moved: true, Why: "nop +0x8"}},
		{"access by one that is not modelled", "62f17e487f0500000000 90 c3", 0, Want{Sense: After, Mem: fix}, Site{Addr: 0x100a, Class: Emulated, Moved: true, Why: "nop +0xa"}},
		{"not to a nop that becomes a call", "85ff 0f1f440000 90 c3", 0, Want{Reads: rdi}, Site{Addr: 0x1007, Class: Emulated, Moved: true, Why: "nop +0x7"}},
		{"from a nop that becomes a call", "85ff 0f1f440000 85ff c3", 2, Want{Reads: rdi}, Site{Addr: 0x1007, Moved: true, Why: "test +0x5"}},
		{"a nop that becomes a call, at the start", "0f1f440000 85ff c3", 0, Want{Reads: rdi}, Site{Addr: 0x1000, Class: Emulated, Why: "nopl +0x0"}},
		{"after endbr64", "f30f1efa 0f1f440000 85ff c3", 4, Want{Reads: rdi}, Site{Addr: 0x1004, Class: Emulated, Why: "nopl +0x0"}},
		{"not to a site that the kernel mistakes", "85ff c5f877 c3", 0, Want{Reads: rdi}, Site{Addr: 0x1000, Why: "stays: control may leave (ret +0x5)"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			x.want.At = base + x.at
			got, err := NewImage(machineCode(t, x.code)).Place(x.want)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(x.site, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestPlaceErrors checks that Place fails for bytes that cannot be decoded.
func TestPlaceErrors(t *testing.T) {
	im := NewImage(machineCode(t, "85ff 06"))
	for _, at := range []uint64{0x1002, 0x5000} {
		if s, err := im.Place(Want{At: at}); err == nil {
			t.Errorf("Place at 0x%x gives %+v", at, s)
		}
		if s, err := im.PlaceReturn(at, 0); err == nil {
			t.Errorf("PlaceReturn at 0x%x gives %+v", at, s)
		}
		if _, err := im.Returns(at); err == nil && at == 0x5000 {
			t.Errorf("Returns at 0x%x gives no error", at)
		}
	}
}

// TestLandmarks checks that an address that the Source returns as a landmark is a landing.
func TestLandmarks(t *testing.T) {
	c := machineCode(t, "85ff 90 c3")
	c.marks = []uint64{0x1002}
	if s, err := NewImage(c).Place(Want{At: base}); err != nil || s.Moved {
		t.Errorf("%+v %v, want the probe to stay", s, err)
	}
}

// TestSwitch checks that the entries of a switch's jump table are landings, and that probes still
// move elsewhere.
func TestSwitch(t *testing.T) {
	// lea table(%rip),%rdx; movslq (%rdx,%rax,4),%rax; add %rdx,%rax; notrack jmp *%rax
	// 0x1012: test; nop; ret; 0x1016: test; nop; ret
	text := "488d15f96f0000 48630482 4801d0 3effe0 90 85ff 90 c3 85ff 90 c3"
	table := func(to ...int32) []byte {
		var b []byte
		for _, x := range append(to, 0) {
			v := uint32(x - dataAt)
			b = append(b, byte(v), byte(v>>8), byte(v>>16), byte(v>>24))
		}
		return b
	}
	place := func(data []byte, text string) Site {
		c := machineCode(t, text)
		c.data = data
		s, err := NewImage(c).Place(Want{At: 0x1012, Reads: rdi})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if s := place(table(0x1012, 0x1016), text); s.Addr != 0x1014 || s.Class != Emulated {
		t.Errorf("both cases begin at their starts: %+v, want the nop at 0x1014", s)
	}
	if s := place(table(0x1014, 0x1016), text); s.Moved {
		t.Errorf("a case begins at 0x1014: %+v, want no move", s)
	}
	if s := place(table(0x1012, 0x1016, 0x1013, 0x1014), text); s.Addr != 0x1014 {
		t.Errorf("what follows an entry that points inside of an instruction is not of the table: %+v, want the nop at 0x1014", s)
	}
	if s := place(nil, text); s.Moved {
		t.Errorf("no table to read: %+v, want no move", s)
	}
	// The same with sub in place of add is no table.
	if s := place(table(0x1012, 0x1016), strings.Replace(text, "4801d0", "4829d0", 1)); s.Moved {
		t.Errorf("not a table: %+v, want no move", s)
	}
	// A branch that lands between the load of the address and its use.
	if s := place(table(0x1012, 0x1016), text+" eb eb"); s.Moved {
		t.Errorf("another way to the jump: %+v, want no move", s)
	}
}

// TestPlaceReturn checks that the probe of a return moves back under the same rules.
func TestPlaceReturn(t *testing.T) {
	for _, x := range []struct {
		name string
		code string
		at   uint64
		site Site
	}{
		{"nothing before", "c3", 0, Site{Addr: 0x1000, Why: "stays: no instruction before it that the kernel emulates"}},
		{"a nop", "90 c3", 1, Site{Addr: 0x1000, Class: Emulated, Moved: true, Why: "nop -0x1"}},
		{"over pop and add", "90 4883c408 5b c3", 6, Site{Addr: 0x1000, Class: Emulated, Moved: true, SPDelta: 16, Why: "nop -0x6"}},
		{"not over a write of rax", "90 31c0 c3", 3, Site{Addr: 0x1003, Why: "stays: it writes what the probe reads (xor -0x2)"}},
		{"not over a store", "90 8907 c3", 3, Site{Addr: 0x1003, Why: "stays: a store (mov -0x2)"}},
		{"not over a call", "90 e800000000 c3", 6, Site{Addr: 0x1006, Why: "stays: a branch may land at +0x0"}},
		{"not where a branch lands", "90 5b c3 ebfc", 2, Site{Addr: 0x1002, Why: "stays: a branch may land at -0x1"}},
		{"not where a branch lands at it", "90 5b c3 ebfd", 2, Site{Addr: 0x1002, Why: "stays: a branch may land at +0x0"}},
		{"not past where a branch lands inside", "90 4883c408 c3 ebfa", 5, Site{Addr: 0x1005, Why: "stays: a branch may land inside of an instruction, at -0x3"}},
		{"not to where a branch lands inside", "6690 5b c3 ebfb", 3, Site{Addr: 0x1003, Why: "stays: a branch may land inside of an instruction, at -0x2"}},
		{"a branch that lands at the site", "90 5b c3 ebfb", 2, Site{Addr: 0x1000, Class: Emulated, Moved: true, SPDelta: 8, Why: "nop -0x2"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			got, err := NewImage(machineCode(t, x.code)).PlaceReturn(base+x.at, rax)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(x.site, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestReturns checks that every exit is found.
func TestReturns(t *testing.T) {
	for _, x := range []struct {
		name  string
		code  string
		exits Exits
	}{
		{"one", "90 c3 c3", Exits{Returns: []uint64{0x1001}, Complete: true}},
		{"both sides of a branch", "85ff 7401 c3 c3", Exits{Returns: []uint64{0x1004, 0x1005}, Complete: true}},
		{"a loop", "85ff 75fc c3", Exits{Returns: []uint64{0x1004}, Complete: true}},
		{"a tail jump into another function", "eb01 c3 | 90 c3", Exits{Returns: []uint64{0x1004}, Jumps: []TailJump{{At: 0x1000, Target: 0x1003}}, Complete: true}},
		{"a tail jump on a condition", "7401 c3 | c3", Exits{Returns: []uint64{0x1002, 0x1003}, Jumps: []TailJump{{At: 0x1000, Target: 0x1003, When: 5}}, Complete: true}},
		{"a tail jump through a stub", "eb01 c3 | ff2500000000", Exits{TailJumps: []uint64{0x1000}, Complete: true}},
		{"a tail jump through a slot", "ff2500000000", Exits{TailJumps: []uint64{0x1000}, Complete: true}},
		{"an unresolved jump", "7402 ffe0 c3 c3", Exits{Returns: []uint64{0x1004, 0x1005}, TailJumps: []uint64{0x1002}, Reason: "the indirect jump at 0x1002 is not resolved"}},
		{"a call that does not return", "e800000000 | c3", Exits{Complete: true}},
		{"ud2", "0f0b c3", Exits{Complete: true}},
		{"what does not decode", "7401 06 c3", Exits{Returns: []uint64{0x1003}, Reason: "decode at 0x1002: no instruction of 64-bit mode"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			got, err := NewImage(machineCode(t, x.code)).Returns(base)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(x.exits, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestReturnsSwitch checks that a resolved jump table leads to the returns of its cases, and that
// data after the table does not lead to others.
func TestReturnsSwitch(t *testing.T) {
	c := machineCode(t, "488d15f96f0000 48630482 4801d0 3effe0 90 c3 90 c3 | 90 c3")
	for _, to := range []int32{0x1011, 0x1013, 0x1015, 0} {
		v := uint32(to - dataAt)
		c.data = append(c.data, byte(v), byte(v>>8), byte(v>>16), byte(v>>24))
	}
	got, err := NewImage(c).Returns(base)
	want := Exits{Returns: []uint64{0x1012, 0x1014}, Complete: true}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

// TestWrapperOf finds the function that a function certainly calls first with its own arguments.
func TestWrapperOf(t *testing.T) {
	for _, x := range []struct {
		name string
		code string
		want []uint64
	}{
		{"a tail jump", "f30f1efa 31d2 eb01 90 | 90 c3", []uint64{0x1009}},
		{"a call", "4883ec08 e801000000 c3 | c3", []uint64{0x100a}},
		{"over its own start", "eb00 eb01 90 | c3", []uint64{0x1005}},
		{"the argument is changed", "31ff eb01 90 | c3", nil},
		{"it decides first", "85ff 7402 eb01 90 | c3", nil},
		{"it synchronises first", "f0ff07 eb01 90 | c3", nil},
		{"it returns", "c3 | c3", nil},
		{"a loop", "90 ebfd", []uint64{0x1000}},
		{"unknown", "d7 eb01 90 | c3", nil},
	} {
		t.Run(x.name, func(t *testing.T) {
			if diff := cmp.Diff(x.want, NewImage(machineCode(t, x.code)).WrapperOf(base, rdi)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestLeadsBack checks that jumps from inside and from outside the ranges are told apart.
func TestLeadsBack(t *testing.T) {
	im := NewImage(machineCode(t, "85ff 90 75fd c3 | 90 c3"))
	within := []elf.Range{{Lo: 0x1002, Hi: 0x1005}}
	for _, x := range []struct {
		at   uint64
		from []elf.Range
		want bool
	}{{0x1002, within, true}, {0x1002, nil, false}, {0x1002, []elf.Range{{Lo: 0x1005, Hi: 0x1006}}, false}, {0x1000, within, false}, {0x9000, within, false}} {
		if got := im.LeadsBack(x.at, x.from); got != x.want {
			t.Errorf("LeadsBack(%#x, %v) = %v", x.at, x.from, got)
		}
	}
}
