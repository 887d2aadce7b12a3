package watchpoint

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	_ "github.com/tracepredict/tracepredict/internal/fixedseed"
)

func TestCover(t *testing.T) {
	for _, c := range []struct {
		addr uint64
		size int
		want []Part
	}{
		{0x1000, 1, []Part{{0x1000, 1}}},
		{0x1001, 1, []Part{{0x1001, 1}}},
		{0x1000, 8, []Part{{0x1000, 8}}},
		{0x1004, 8, []Part{{0x1004, 4}, {0x1008, 4}}},
		{0x1002, 4, []Part{{0x1002, 2}, {0x1004, 2}}},
		{0x1001, 8, []Part{{0x1001, 1}, {0x1002, 2}, {0x1004, 4}, {0x1008, 1}}},
		{0x1000, 32, []Part{{0x1000, 8}, {0x1008, 8}, {0x1010, 8}, {0x1018, 8}}},
		{0x1000, 0, nil},
		{0x1000, -1, nil},
		{0x1001, 32, nil},
		{0x1000, 40, nil},
		{^uint64(0) - 3, 8, nil},
	} {
		got, err := Cover(c.addr, c.size)
		if diff := cmp.Diff(c.want, got); diff != "" || (err == nil) != (c.want != nil) {
			t.Errorf("%d bytes at 0x%x: %v\n%s", c.size, c.addr, err, diff)
		}
	}
}

// TestCoverExactly checks that each byte is covered once, and no other, with sizes and alignments
// that the processor supports.
func TestCoverExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		addr, size := rapid.Uint64Range(0, 1<<47).Draw(t, "addr"), rapid.IntRange(1, 32).Draw(t, "size")
		parts, err := Cover(addr, size)
		if err != nil {
			return
		}
		at := addr
		for _, p := range parts {
			if p.Addr != at || p.Addr%uint64(p.Size) != 0 || p.Size&(p.Size-1) != 0 || p.Size > 8 {
				t.Fatalf("%v", parts)
			}
			at += uint64(p.Size)
		}
		if at != addr+uint64(size) || len(parts) > Registers {
			t.Fatalf("%v", parts)
		}
	})
}

// TestInKernel finds the kernel's access from the bytes around it alone.
func TestInKernel(t *testing.T) {
	for _, c := range []struct {
		name       string
		before, at string
		hint       Hint
		want       Access
	}{
		{"put_user", "\x0f\x01\xcb\x31\xc9\x89\x01", "\x0f\x01\xca\xc3", Hint{}, Access{Write: true, Len: 2, Width: 4}},
		{"get_user", "\x0f\x01\xcb\x8b\x10", "\x31\xc0\x0f\x01\xca", Hint{}, Access{Read: true, Len: 2, Width: 4}},
		{"rep movsb out", "\x0f\x01\xcb", "\xf3\xa4\x0f\x01\xca", Hint{Dest: true}, Access{Write: true, Repeats: true, Len: 2}},
		{"rep movsb in", "\x0f\x01\xcb", "\xf3\xa4\x0f\x01\xca", Hint{Source: true}, Access{Read: true, Repeats: true, Len: 2}},
		{"after rep movsb", "\x0f\x01\xcb\xf3\xa4", "\x0f\x01\xca", Hint{Source: true}, Access{Read: true, Repeats: true, Len: 2}},
		{"copy loop", "\x48\x8b\x06\x48\x89\x07", "\x48\x83\xc6\x08\x48\x83\xc7\x08", Hint{Dest: true}, Access{Write: true, Repeats: true, Len: 3, Width: 8}},
		{"futex", "\x31\xc0\xf0\x41\x0f\xc1\x04\x24", "\x90", Hint{}, Access{Read: true, Write: true, Atomic: true, Len: 6, Width: 4}},
	} {
		got, ok := InKernel([]byte(c.before), []byte(c.at), c.hint)
		if !ok {
			t.Errorf("%s: not understood", c.name)
			continue
		}
		got.Addr = 0
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// FuzzInKernel checks that any bytes lead to a result.
func FuzzInKernel(f *testing.F) {
	f.Add([]byte("\x0f\x01\xcb\xf3\xa4"), []byte("\x0f\x01\xca"), true, false)
	f.Add([]byte("\x62\xe1\x7f\x29\x7f\x00"), []byte("\xc3"), false, true)
	f.Fuzz(func(t *testing.T, before, at []byte, source, dest bool) {
		if len(before) > 64 || len(at) > 64 {
			return
		}
		if a, ok := InKernel(before, at, Hint{source, dest}); ok && !a.Read && !a.Write {
			t.Errorf("an access that is none: %+v", a)
		}
	})
}
