package loader

import (
	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/loader/procfs"
)

// noteChangedCode adds notes on code of files that is executed elsewhere than in the file, or that may be: where no
// tracer is there, nobody puts back the instructions under breakpoints that are copied with it (copied.go). The caller
// holds s.mu. The mappings are in the order of their addresses.
func (s *Session) noteChangedCode(maps []procfs.Mapping) {
	for i := range maps {
		switch m := &maps[i]; {
		case !m.Exec:
		case m.File.Inode == 0:
			if path := copiedOver(maps, i); path != "" {
				s.notes.add(plural.About(path, "%s executes a copy of its code, %d KiB in memory that is no file, as programs make for huge pages: what it does there is not observed",
					path, (m.Hi-m.Lo)>>10))
			}
		case m.Write && m.InFileSystem():
			s.notes.add(plural.About(m.Path, "the code of %s can be written: if the program copies it elsewhere while it is observed, breakpoints of probes go with it, and end the program by SIGTRAP; under exec they are put right",
				m.Path))
		}
	}
}

// copiedOver returns the path of the file that memory without a file lies in the middle of; "" if there is none.
func copiedOver(maps []procfs.Mapping, i int) string {
	from, to := i, i
	for from > 0 && maps[from].File.Inode == 0 && maps[from-1].Hi == maps[from].Lo {
		from--
	}
	for to+1 < len(maps) && maps[to].File.Inode == 0 && maps[to+1].Lo == maps[to].Hi {
		to++
	}
	if file := maps[from].File; maps[i].Path != "" || file.Inode == 0 || file != maps[to].File {
		return ""
	}
	return maps[from].Path
}
