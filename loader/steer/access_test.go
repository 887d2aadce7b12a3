package steer

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestAccesses: what an instruction is about to access, by its operand and the registers before it.
func TestAccesses(t *testing.T) {
	code := source{
		0x89, 0x05, 0xfa, 0x0f, 0x00, 0x00, // 1000 mov %eax, 0xffa(%rip): 2000
		0x48, 0x8b, 0x44, 0x8b, 0x08, // 1006 mov 0x8(%rbx,%rcx,4), %rax
		0xf0, 0xff, 0x07, // 100b lock incl (%rdi)
		0x64, 0x8b, 0x04, 0x25, 0, 0, 0, 0, // 100e mov %fs:0, %eax
		0xf3, 0xa4, // 1016 rep movsb
		0x90,                               // 1018 nop
		0x0f, 0xa3, 0x07, 0x90, 0x90, 0x90, // 1019 bt %eax, (%rdi)
	}
	registers := [16]uint64{1: 3, 3: 0x500, 7: 0x9000}
	for _, c := range []struct {
		at, bias uint64
		want     Access
	}{
		{0x1000, 0, Access{Addr: 0x2000, Size: 4, Write: true}},
		{0x1000, 0x7000, Access{Addr: 0x9000, Size: 4, Write: true}},
		{0x1006, 0x7000, Access{Addr: 0x514, Size: 8}},
		{0x100b, 0, Access{Addr: 0x9000, Size: 4, Write: true, Atomic: true}},
	} {
		in, err := AccessAt(code, c.at)
		if err != nil {
			t.Errorf("%#x: %v", c.at, err)
			continue
		}
		if got := Accesses(&in, c.bias, &registers); !slices.Equal(got, []Access{c.want}) {
			t.Errorf("%#x: %+v, want %+v", c.at, got, c.want)
		}
	}
	for _, at := range []uint64{0x100e, 0x1016, 0x1018, 0x1019} {
		if _, err := AccessAt(code, at); !errors.Is(err, ErrNoAccess) {
			t.Errorf("%#x: %v", at, err)
		}
	}
}

// TestConflict: against the bytes one by one.
func TestConflict(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	draw := func() []Access {
		all := make([]Access, 1+rng.IntN(2))
		for i := range all {
			all[i] = Access{Addr: rng.Uint64N(12), Size: 1 + rng.IntN(4), Write: rng.IntN(2) == 0, Atomic: rng.IntN(3) == 0}
		}
		return all
	}
	covers := func(a Access, at uint64) bool { return a.Addr <= at && at < a.Addr+uint64(a.Size) }
	met := 0
	for range 5000 {
		a, b := draw(), draw()
		common := false
		for at := range uint64(16) {
			for _, x := range a {
				for _, y := range b {
					common = common || covers(x, at) && covers(y, at) && (x.Write || y.Write) && !(x.Atomic && y.Atomic)
				}
			}
		}
		addr, size, ok := conflict(a, b)
		if ok != common {
			t.Fatalf("%+v and %+v: %v, want %v", a, b, ok, common)
		}
		if !ok {
			continue
		}
		met++
		in := func(all []Access) bool {
			return slices.ContainsFunc(all, func(x Access) bool { return covers(x, addr) && covers(x, addr+uint64(size)-1) })
		}
		if size < 1 || !in(a) || !in(b) {
			t.Fatalf("%+v and %+v: %d bytes at %#x", a, b, size, addr)
		}
	}
	if met < 1000 {
		t.Errorf("%d pairs conflict", met)
	}
}
