package function

import (
	"bytes"
	"testing"

	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/elftest"
)

// FuzzPatched searches for functions in programs that were partly overwritten.
func FuzzPatched(f *testing.F) {
	seeds, err := elftest.Seeds()
	if err != nil {
		f.Fatal(err)
	}
	for i := range seeds {
		f.Add(byte(i), []byte{}, "call *(a, b)")
		f.Add(byte(i), []byte{9, 3, 20, 0, 1, 2, 3, 4, 5, 6, 7, 8}, "return main(this) -> r")
	}
	f.Fuzz(func(t *testing.T, seed byte, program []byte, text string) {
		p, err := Parse(text)
		if err != nil {
			return
		}
		content := elftest.Patch(seeds[int(seed)%len(seeds)], program)
		file, err := elf.New(bytes.NewReader(content), int64(len(content)), "fuzz")
		if err != nil {
			return
		}
		found, err := Find(file, []Pattern{p})
		if err != nil {
			return
		}
		for _, fn := range found.Functions {
			if len(fn.Params) > MaxParams || len(fn.Patterns) == 0 || !found.Matched[0] {
				t.Fatalf("%+v", fn)
			}
		}
		Near([]*elf.File{file}, p)
	})
}

// TestFindsAll checks that the pattern * finds functions in every seed.
func TestFindsAll(t *testing.T) {
	seeds, err := elftest.Seeds()
	if err != nil {
		t.Fatal(err)
	}
	for i, content := range seeds {
		file, err := elf.New(bytes.NewReader(content), int64(len(content)), "seed")
		if err != nil {
			t.Fatal(err)
		}
		found, err := Find(file, []Pattern{{Text: "call *", Name: "*"}})
		if err != nil || len(found.Functions) == 0 {
			t.Errorf("seed %d: %d functions, %v", i, len(found.Functions), err)
		}
	}
}
