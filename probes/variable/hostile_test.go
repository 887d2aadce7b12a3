package variable

import (
	"bytes"
	stdelf "debug/elf"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/probes/code"
	dw "github.com/tracepredict/tracepredict/probes/dwarf"
	bin "github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/elftest"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// Codes of abbreviations in the tests below.
const (
	aUnit = 1 + iota
	aVariable
	aTypedef
	aStruct
	aMember
	aNamespace
	aPointer
	aCompletes
	aLong
)

const codeAt = 0x10000

// entriesOf returns a program with one unit of DWARF 4. Offsets in body count from the beginning of
// the unit; body itself begins at elftest.UnitHeader4.
func entriesOf(t *testing.T, strings, body []byte) *bin.File {
	t.Helper()
	const name, size, location, typ, spec = 0x03, 0x0b, 0x02, 0x49, 0x47
	const str, strp, ref4, data1, exprloc = 0x08, 0x0e, 0x13, 0x0b, 0x18
	abbrev := slices.Concat(
		elftest.Abbrev(aUnit, 0x11, true),
		elftest.Abbrev(aVariable, 0x34, false, name, str, typ, ref4, location, exprloc),
		elftest.Abbrev(aTypedef, 0x16, false, name, str, typ, ref4),
		elftest.Abbrev(aStruct, 0x13, true, name, str, size, data1),
		elftest.Abbrev(aMember, 0x0d, false, typ, ref4),
		elftest.Abbrev(aNamespace, 0x39, true, name, str),
		elftest.Abbrev(aPointer, 0x0f, false, typ, ref4),
		elftest.Abbrev(aCompletes, 0x34, false, spec, ref4, location, exprloc),
		elftest.Abbrev(aLong, 0x39, true, name, strp),
		[]byte{0},
	)
	f := elftest.Debug(bytes.Repeat([]byte{0x90}, 64), codeAt, "info", elftest.Unit4(0, append([]byte{aUnit}, body...)...), "abbrev", abbrev, "str", strings)
	f.Segments = append(f.Segments, elftest.Segment{Flags: stdelf.PF_R | stdelf.PF_W, Addr: 0x20000, Data: make([]byte, 64)})
	b := f.Bytes()
	file, err := bin.NewWith(bytes.NewReader(b), int64(len(b)), "described", bin.Options{DebugDirs: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// v returns the entry of the variable that the tests look for, whose type is at an offset.
func v(typ uint32) []byte {
	return elftest.LE(uint8(aVariable), "v\x00", typ, string(dw.AddressExpression(0x20000)))
}

// TestEntriesThatReferInCircles checks that types that contain themselves, and names that refer to
// each other, are an error, after a short time.
func TestEntriesThatReferInCircles(t *testing.T) {
	const first = elftest.UnitHeader4 + 1 // the entry after the unit's own
	manyOfItself := elftest.LE(uint8(aNamespace), "std\x00", uint8(aStruct), "atomic<T>\x00", uint8(4))
	for range 100 {
		manyOfItself = append(manyOfItself, elftest.LE(uint8(aMember), uint32(first+5))...)
	}
	for _, c := range []struct {
		name, want string
		body       []byte
	}{
		{"typedef-of-itself", "unknown type", elftest.LE(uint8(aTypedef), "t\x00", uint32(first), v(first), uint8(0))},
		{"pointer-to-itself", "", elftest.LE(uint8(aPointer), uint32(first), v(first), uint8(0))},
		{"structure-of-itself-100-times", "not a scalar", elftest.LE(manyOfItself, uint8(0), uint8(0), v(first+5), uint8(0))},
		{"type-is-the-variable", "cannot be watched", elftest.LE(v(first), uint8(0))},
		{"type-beyond-the-unit", "unknown type", elftest.LE(v(0x7fffffff), uint8(0))},
		{"completes-itself", "no global or static variable", elftest.LE(uint8(aCompletes), uint32(first), string(dw.AddressExpression(0x20000)), uint8(0))},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := entriesOf(t, nil, c.body)
			var err error
			n := allocated(func() { _, err = Find(f, "v") })
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if n > 64<<20 {
				t.Errorf("allocated %d bytes", n)
			}
		})
	}
}

// TestDeepScopesWithLongNames checks that looking up a name that is not there allocates at most
// 512 MiB.
func TestDeepScopesWithLongNames(t *testing.T) {
	long := append(bytes.Repeat([]byte{'x'}, 60000), 0)
	var body []byte
	for range 300 {
		body = append(body, elftest.LE(uint8(aLong), uint32(0))...)
	}
	for range 3000 {
		body = append(body, v(elftest.UnitHeader4+1)...)
	}
	f := entriesOf(t, long, append(body, make([]byte, 301)...))
	var err error
	n := allocated(func() { _, err = Find(f, "nothing_of_the_kind") })
	var ve *Error
	if !errors.As(err, &ve) || ve.Reason != NotFound {
		t.Errorf("got %v", err)
	}
	if n > 512<<20 {
		t.Errorf("allocated %d bytes", n)
	}
}

// TestFunctionTooLongToFollow checks that such a function is not followed, and that the result
// reports it.
func TestFunctionTooLongToFollow(t *testing.T) {
	code := bytes.Repeat([]byte{0x90}, maxFunction+16)
	mention := len(code) - 12
	copy(code[mention:], elftest.LE(uint8(0x8b), uint8(0x05), uint32(0x200000-(codeAt+mention+6)))) // mov v(%rip), %eax
	f := elftest.Debug(code, codeAt)
	f.Segments = append(f.Segments, elftest.Segment{Flags: stdelf.PF_R | stdelf.PF_W, Addr: 0x200000, Data: make([]byte, 8)})
	b := f.Bytes()
	file, err := bin.NewWith(bytes.NewReader(b), int64(len(b)), "long", bin.Options{DebugDirs: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	var res Result
	n := allocated(func() { res, err = Accesses(file, Variable{Name: "v", File: file, Addr: 0x200000, Size: 4}) })
	if err != nil || len(res.Accesses) != 0 || len(res.Undecoded) != 1 || res.Undecoded[0] != codeAt {
		t.Errorf("%+v, %v", res, err)
	}
	if n > 16<<20 {
		t.Errorf("allocated %d bytes", n)
	}
}

// TestTooManySlots checks that too many slots of the global offset table are reported as an error.
func TestTooManySlots(t *testing.T) {
	file := entriesOf(t, nil, []byte{0})
	tg := newTarget(NewCode(file, nil), Variable{Name: "v", Symbol: "v", File: file, Addr: 0x20000, Size: 4})
	for i := range uint64(maxSlots + 1) {
		tg.slots[0x20010+8*i] = 0x20000
	}
	if _, err := tg.functions(); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("described has %d slots for the address of v", maxSlots+1)) {
		t.Errorf("got %v", err)
	}
}

// TestManyAddressesMeet checks that the flow ends after a short time if an address may come from a
// thousand instructions, and that it reports that the address escapes.
func TestManyAddressesMeet(t *testing.T) {
	var code []byte
	for range 2000 {
		at := uint32(0x1000 + len(code))
		code = append(code, elftest.LE(uint8(0x48), uint8(0x8d), uint8(0x0d), 0x200000-(at+7), uint8(0x75), uint8(0xf7))...) // lea v(%rip), %rcx; jne back to it
	}
	code = append(code, 0x48, 0x89, 0x08, 0xc3) // mov %rcx, (%rax); ret
	tg := &target{arch: insn.AMD64, v: Variable{Addr: 0x200000, Size: 8}, direct: true, slots: map[uint64]uint64{}}
	tg.whole = tg.v.enclosing()
	tg.near = tg.whole
	c := newCollector(tg)
	c.follow(c.known().decode(bin.Range{Lo: 0x1000, Hi: 0x1000 + uint64(len(code))}, code))
	if n := len(c.result().AddressTaken); n == 0 || n > maxMade {
		t.Errorf("taken at %d places", n)
	}
}

// TestJumpsThatMayLandAnywhere checks that the flow ends after a short time for many calls and an
// indirect jump that may land after each of them.
func TestJumpsThatMayLandAnywhere(t *testing.T) {
	code := elftest.LE(uint8(0x48), uint8(0x8d), uint8(0x1d), uint32(0x200000-0x1007)) // lea v(%rip), %rbx
	for range maxOpen/2 - 8 {
		code = append(code, 0xff, 0xd0, 0x90) // call *%rax; nop
	}
	code = append(code, 0xff, 0xe0, 0x8b, 0x03, 0xc3) // jmp *%rax; mov (%rbx), %eax; ret
	tg := &target{arch: insn.AMD64, v: Variable{Addr: 0x200000, Size: 4}, direct: true, slots: map[uint64]uint64{}}
	tg.whole, tg.near = tg.v.enclosing(), tg.v.enclosing()
	c := newCollector(tg)
	fn := bin.Range{Lo: 0x1000, Hi: 0x1000 + uint64(len(code))}
	if n := allocated(func() { c.follow(c.known().decode(fn, code)) }); n > 512<<20 {
		t.Errorf("allocated %d bytes", n)
	}
	if as := c.result().Accesses; len(as) != 1 || !as[0].Maybe {
		t.Errorf("%+v", as)
	}
}

// TestFlowEnds checks that the flow gives up on code whose states change again and again, and that
// the result reports it.
func TestFlowEnds(t *testing.T) {
	fl := newFlow(&target{arch: insn.AMD64, slots: map[uint64]uint64{}}, &routine{Graph: code.NewGraph(nil, nil, false)})
	if fl.budget != leastWork || !fl.run() {
		t.Error("no work is too much")
	}
	code := elftest.LE(uint8(0x48), uint8(0x8d), uint8(0x1d), uint32(0x200000-0x1007), uint8(0x8b), uint8(0x03), uint8(0xeb), uint8(0xfc)) // lea v(%rip), %rbx; again: mov (%rbx), %eax; jmp again
	tg := &target{arch: insn.AMD64, v: Variable{Addr: 0x200000, Size: 4}, direct: true, slots: map[uint64]uint64{}}
	tg.whole, tg.near = tg.v.enclosing(), tg.v.enclosing()
	c := newCollector(tg)
	r := c.known().decode(bin.Range{Lo: 0x1000, Hi: 0x1000 + uint64(len(code))}, code)
	if c.follow(r); len(c.out.Accesses) != 1 || len(c.out.Undecoded) != 0 {
		t.Fatalf("%+v", c.out)
	}
	for left := range 12 {
		fl := newFlow(tg, r)
		if fl.budget = left; fl.run() != (fl.budget >= 0) {
			t.Errorf("with %d left the run ends otherwise", left)
		}
	}
}
