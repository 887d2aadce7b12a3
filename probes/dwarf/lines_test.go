package dwarf

import (
	"debug/dwarf"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/probes/elf"
)

// lineRows returns the rows of the line table of a unit: file, line, address, and whether a
// statement begins there.
func lineRows(t *testing.T, f *elf.File, root *dwarf.Entry) (rows []string) {
	t.Helper()
	r, err := Of(f).LineReader(root)
	if err != nil || r == nil {
		t.Fatalf("line table of %s: %v", Name(root), err)
	}
	for {
		var e dwarf.LineEntry
		if err := r.Next(&e); errors.Is(err, io.EOF) {
			return rows
		} else if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, lineRow(path.Base(e.File.Name), fmt.Sprint(e.Line), fmt.Sprintf("%#x", e.Address), e.IsStmt, e.EndSequence))
	}
}

func lineRow(file, line, address string, statement, end bool) string {
	if end {
		return "end " + address
	}
	return fmt.Sprintf("%s:%s %s %t", file, line, address, statement)
}

// decodedLines returns the rows of all line tables of a file as readelf decodes them.
func decodedLines(t *testing.T, f *elf.File) (rows []string) {
	t.Helper()
	for text := range strings.Lines(run(t, "readelf", "-W", "--debug-dump=decodedline", f.Name())) {
		if c := strings.Fields(text); len(c) >= 3 && strings.HasPrefix(c[2], "0x") {
			rows = append(rows, lineRow(path.Base(c[0]), c[1], c[2], c[len(c)-1] == "x", c[1] == "-"))
		}
	}
	return rows
}

// TestLineTablesAreThoseOfReadelf checks that the line tables of all units have the rows that
// readelf decodes, in the same order.
func TestLineTablesAreThoseOfReadelf(t *testing.T) {
	eachFixture(t, func(t *testing.T, f *elf.File) {
		tree, err := Of(f).Tree()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, u := range tree.Parts[0].Units {
			root, err := Root(tree.Parts[0].Data, u)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, lineRows(t, f, root)...)
		}
		want := decodedLines(t, f)
		if len(want) < 20 || len(got) != len(want) {
			t.Fatalf("%d rows, readelf has %d", len(got), len(want))
		}
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("row %d is %s, readelf has %s", i, got[i], want[i])
			}
		}
		if !slices.ContainsFunc(got, func(row string) bool { return strings.HasPrefix(row, "end ") }) {
			t.Error("no sequence ends")
		}
	})
}
