package live

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"

	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/loader"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/probes/debugpkg"
	"github.com/tracepredict/tracepredict/probes/dwarf"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/libname"
)

// missingInfo describes what the frames of a module in the stacks of a report lack.
type missingInfo struct {
	functions bool // names of functions; false: only files and lines
}

// DebugNotes returns, for each module whose frames in the stacks of a report lack a function
// name, or a file and line, a sentence on what would supply them. The sentences are
// sorted by the paths of the modules.
func (l *Link) DebugNotes(stacks func(visit func([]event.Frame))) []plural.Note {
	s, found := l.Session, map[string]missingInfo{}
	stacks(func(frames []event.Frame) { missingNames(frames, found) })
	if len(found) == 0 {
		return nil
	}
	modules := map[string]*loader.Module{}
	for _, m := range s.Modules() {
		modules[m.Path] = m
	}
	root := rootOf(s.PID())
	var notes []plural.Note
	for _, file := range slices.Sorted(maps.Keys(found)) {
		if m := modules[file]; m != nil {
			if _, err := dwarf.Of(m.Bin).Data(); err != nil {
				notes = append(notes, debugNote(root, m.Bin, file, found[file], err))
			}
		}
	}
	return notes
}

// missingNames adds the modules of frames that lack names. The frames of runtime libraries
// that start a thread or the program need no names, and of their other frames the function
// is enough.
func missingNames(frames []event.Frame, found map[string]missingInfo) {
	for len(frames) > 0 && libname.Runtime(frames[len(frames)-1].Module) {
		frames = frames[:len(frames)-1]
	}
	for _, f := range frames {
		switch {
		case f.Module == "" || f.Module == event.KernelModule || f.Module == event.LibraryModule:
		case f.Function == "":
			found[f.Module] = missingInfo{functions: true}
		case f.File == "" && !libname.Runtime(f.Module):
			found[f.Module] = missingInfo{functions: found[f.Module].functions}
		}
	}
}

// rootOf returns the root folder of a process; the tool's own if the process has ended.
func rootOf(pid int) string {
	root := fmt.Sprintf("/proc/%d/root", pid)
	if _, err := os.Stat(root + "/."); err != nil {
		return "/"
	}
	return root
}

// debugNote returns a sentence on what a module lacks and where to get it. Why is the
// error of reading its debug information.
func debugNote(root string, bin *elf.File, file string, lacks missingInfo, why error) plural.Note {
	what := "files and lines"
	if lacks.functions {
		what = "the names of functions"
	}
	what += " of %s are not known"
	if !errors.Is(why, elf.ErrNoDWARF) {
		return plural.About(file, what+": %v", path.Base(file), why)
	}
	if pkg, err := debugpkg.Owner(root, file); err == nil && pkg != "" {
		return plural.About(file, what+": install the package %s", path.Base(file), debugpkg.Symbols(pkg))
	}
	if id := bin.BuildID(); len(id) > 2 {
		return plural.About(file, what+": build it with -g, or install its debug file as /usr/lib/debug/.build-id/%s/%s.debug", path.Base(file), id[:2], id[2:])
	}
	return plural.About(file, what+": build it with -g", path.Base(file))
}
