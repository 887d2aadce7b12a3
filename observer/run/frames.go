package run

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/probes/libname"
)

// OwnFrame returns the frame of a stack that a reader looks for: the innermost one of
// the program's own code, outside the C library and the wrappers in system headers. It
// returns the zero Frame if the stack is empty.
func OwnFrame(frames []event.Frame) event.Frame {
	if len(frames) == 0 {
		return event.Frame{}
	}
	return frames[OwnIndex(frames)]
}

// OwnIndex returns the index of OwnFrame: the innermost frame of the program's code that has a
// source line. If there is none, it is the innermost frame of the program's code without a line,
// as a stripped program has them; if there is none, the innermost frame with a line; else the
// innermost frame that is not the kernel's.
func OwnIndex(frames []event.Frame) int {
	own, line := -1, -1
	for i, f := range frames {
		switch {
		case f.File != "" && !OfLibrary(f):
			return i
		case own < 0 && !OfLibrary(f) && (f.Function != "" || f.Module != ""):
			own = i
		case line < 0 && f.File != "":
			line = i
		}
	}
	if own < 0 {
		own = line
	}
	if own < 0 && len(frames) > 1 && (frames[0].Module == event.KernelModule || frames[0].Module == event.LibraryModule) {
		own = 1
	}
	return max(own, 0)
}

// libraryPaths are parts of the paths of libraries' source files and headers.
var libraryPaths = []string{
	"/usr/include/", "/usr/lib/gcc", "/include/c++/", "/rustc/", "/nptl/", "/sysdeps/",
}

// OfLibrary reports whether a frame belongs to the C or C++ library or the kernel, rather
// than to the program. It is a guess by names, which affects only what a report shows first
// and never what is found. Names of functions are for a static binary, which contains the
// libraries; they count only for frames without a source line.
func OfLibrary(f event.Frame) bool {
	return InLibrary(f) ||
		f.File == "" && libname.OfThreads(f.Function) ||
		slices.ContainsFunc(libraryPaths, func(p string) bool { return strings.Contains("/"+f.File, p) })
}

// InLibrary reports whether the code of a frame is in a file of a library of the system, and not in the program, which
// may have functions of such a library's headers.
func InLibrary(f event.Frame) bool {
	return f.Module == event.KernelModule || f.Module == event.LibraryModule || libname.Language(f.Module)
}

// CallsBackLocked reports whether a frame is of a function of the C library that may call the program's code back while
// it holds a lock of its own. As in OfLibrary, the name decides in a static program.
func CallsBackLocked(f event.Frame) bool {
	return (f.File == "" || OfLibrary(f)) && libname.CallsBackLocked(f.Function)
}

// OfLoader reports whether a frame belongs to the dynamic loader.
func OfLoader(f event.Frame) bool { return libname.Loader(f.Module) }

// FrameName returns the function of a frame, or the module and offset where that is
// unknown.
func FrameName(f event.Frame) string {
	switch {
	case f.Function != "":
		return f.Function
	case f.Module != "":
		return fmt.Sprintf("%s+%#x", path.Base(f.Module), f.Offset)
	case f.Addr != 0:
		return fmt.Sprintf("%#x", f.Addr)
	}
	return "an unknown place"
}
