package live

import (
	"bytes"
	"testing"

	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/elftest"
	"github.com/tracepredict/tracepredict/probes/field"
	"github.com/tracepredict/tracepredict/probes/variable"
)

// FuzzMember overwrites bytes of a program. The search for the names of the objects that its
// code passes to functions must not crash.
func FuzzMember(f *testing.F) {
	seeds, err := elftest.Seeds()
	if err != nil {
		f.Fatal(err)
	}
	for i := range 3 * len(seeds) {
		f.Add(byte(i), []byte{byte(i + 4), 0, byte(7 * i), 0, byte(i), 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff})
	}
	f.Fuzz(func(t *testing.T, which byte, program []byte) {
		b := elftest.Patch(seeds[int(which)%len(seeds)], program)
		file, err := elf.NewWith(bytes.NewReader(b), int64(len(b)), "patched", elf.Options{DebugDirs: []string{}})
		if err != nil {
			return
		}
		arguments, names := field.NewArguments(file), variable.NewNames(file)
		functions := file.Functions()
		for _, fn := range functions[:min(len(functions), 16)] {
			for at := fn.Lo; at < min(fn.Hi, fn.Lo+64); at++ {
				if a, ok := arguments.At(at, 1); ok {
					names.Member(a.Type, a.At, a.Local)
				}
			}
		}
	})
}
