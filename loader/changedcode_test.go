package loader

import (
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/loader/procfs"
)

// TestNoteChangedCode checks which mappings are taken for copies of code, or for code that may be copied.
func TestNoteChangedCode(t *testing.T) {
	file, other := procfs.FileID{Inode: 7}, procfs.FileID{Inode: 8}
	of := func(lo uint64, flags, path string, id procfs.FileID) procfs.Mapping {
		return procfs.Mapping{Lo: lo, Hi: lo + 4096, Exec: strings.Contains(flags, "x"), Write: strings.Contains(flags, "w"), Path: path, File: id}
	}
	none := procfs.FileID{}
	for name, c := range map[string]struct {
		maps []procfs.Mapping
		says string
	}{
		"a program":             {[]procfs.Mapping{of(0, "", "/p", file), of(4096, "x", "/p", file), of(8192, "w", "/p", file), of(12288, "w", "", none)}, ""},
		"remapped":              {[]procfs.Mapping{of(0, "", "/p", file), of(4096, "x", "", none), of(8192, "w", "/p", file)}, "/p executes a copy of its code, 4 KiB"},
		"its middle remapped":   {[]procfs.Mapping{of(0, "x", "/p", file), of(4096, "x", "", none), of(8192, "x", "/p", file)}, "/p executes a copy"},
		"in two pieces":         {[]procfs.Mapping{of(0, "", "/p", file), of(4096, "x", "", none), of(8192, "", "", none), of(12288, "", "/p", file)}, "/p executes a copy"},
		"code made at run time": {[]procfs.Mapping{of(0, "w", "/p", file), of(4096, "x", "", none), of(8192, "", "/q", other)}, ""},
		"elsewhere":             {[]procfs.Mapping{of(0, "w", "/p", file), of(8192, "x", "", none), of(12288, "", "/p", file)}, ""},
		"the kernel's":          {[]procfs.Mapping{of(0, "w", "/p", file), of(4096, "x", "[vdso]", none), of(8192, "", "/p", file)}, ""},
		"writable":              {[]procfs.Mapping{of(0, "xw", "/p", file)}, "the code of /p can be written"},
		"memory of a name":      {[]procfs.Mapping{of(0, "xw", "/memfd:jit", file)}, ""},
	} {
		s := &Session{}
		s.noteChangedCode(c.maps)
		got := ""
		if all := s.notes.all(); len(all) > 0 {
			got = all[0].Text
		}
		if !strings.HasPrefix(got, c.says) || c.says == "" && got != "" {
			t.Errorf("%s: %q, want %q", name, got, c.says)
		}
	}
}
