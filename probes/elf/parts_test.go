package elf

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/tracepredict/tracepredict/internal/fixedseed"
)

// TestParts compares parts, joined, with all that they are made of.
func TestParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 500).Draw(t, "n")
		var all []int
		for _, p := range inParts(n, func(lo, hi int) (part []int, err error) {
			for i := lo; i < hi; i++ {
				part = append(part, i)
			}
			return part, nil
		}) {
			all = append(all, p.result...)
		}
		if len(all) != n || !slices.IsSorted(all) || n > 0 && (all[0] != 0 || all[n-1] != n-1) {
			t.Errorf("%d things: %v", n, all)
		}
	})
}

// TestCodeReader compares the code of functions, of random ranges and of ranges that end after the segment with what a
// read for each returns.
func TestCodeReader(t *testing.T) {
	f := open(t, build(t, "gcc", "sample.c"))
	text := f.Text()[0]
	for _, s := range f.Text() {
		if s.Hi-s.Lo > text.Hi-text.Lo {
			text = s
		}
	}
	ranges := slices.Clone(f.Functions())
	for lo := text.Lo; lo < text.Hi; lo += 7 {
		ranges = append(ranges, Range{lo, lo + (lo % 97)})
	}
	ranges = append(ranges, Range{text.Lo, text.Hi}, Range{text.Hi - 1, text.Hi + 1<<30}, Range{text.Lo, text.Lo + 1})
	r := codeReader{file: f}
	for _, fn := range ranges {
		want, wantErr := f.exactly(fn.Lo, fn.Hi-fn.Lo)
		got, err := r.code(fn)
		if !bytes.Equal(got, want) || errors.Is(err, ErrAddress) != errors.Is(wantErr, ErrAddress) || (err == nil) != (wantErr == nil) {
			t.Fatalf("%x: %x, %v; want %x, %v", fn, got, err, want, wantErr)
		}
	}
}

// TestSum changes single bytes in all parts of a file, and its length.
func TestSum(t *testing.T) {
	content, err := os.ReadFile(build(t, "gcc", "sample.c"))
	if err != nil {
		t.Fatal(err)
	}
	content = append(content, make([]byte, 3*summed)...)
	sums := map[[32]byte]int{}
	path := filepath.Join(t.TempDir(), "changed")
	for _, at := range []int{-1, len(content) - 1, summed - 1, summed, 2*summed + 5, len(content) - summed, len(content) - 2} {
		changed := slices.Clone(content)
		if at >= 0 {
			changed[at]++
		}
		if at == len(content)-2 {
			changed = content[:at]
		}
		if err := os.WriteFile(path, changed, 0o755); err != nil {
			t.Fatal(err)
		}
		f, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		sum, err := f.Sum()
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		if other, known := sums[sum]; known {
			t.Errorf("a change at %d has the sum of one at %d", at, other)
		}
		sums[sum] = at
	}
}
