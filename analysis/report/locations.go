package report

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
	"github.com/tracepredict/tracepredict/probes/libname"
)

// Top returns the frame with index s.At, the innermost one of the program's own code; the
// zero Frame if the stack is empty.
func (s Stack) Top() event.Frame {
	if s.At < len(s.Frames) {
		return s.Frames[s.At]
	}
	return event.Frame{}
}

func newStack(frames []event.Frame) Stack {
	return Stack{Frames: frames, At: run.OwnIndex(frames)}
}

// startRoutines are the start routines that libstdc++ and the sanitizers have for all threads.
var startRoutines = []string{
	"execute_native_thread_routine", "execute_native_thread_routine_compat",
	"asan_thread_start(void*)", "__lsan_thread_start_func", "__tsan_thread_start_func",
}

// startsInLibrary reports whether a start routine, a function or an offset in a module, is one of
// the C++ library's or a sanitizer's, which many threads have.
func startsInLibrary(start string) bool {
	module, _, _ := strings.Cut(start, "+0x")
	return libname.CPlusPlus(module) || slices.Contains(startRoutines, start) ||
		strings.HasPrefix(strings.TrimPrefix(start, "void* "), "std::")
}

// nameThreads replaces the start routine of threads that start in a library by the outermost known function of the program that it calls.
func (f *Finding) nameThreads() {
	runs := map[event.ThreadID]string{}
	for _, steps := range f.steps() {
		for i := range steps {
			if t := steps[i].Thread; runs[t] == "" {
				runs[t] = outermost(steps[i].Stack.Frames)
			}
		}
	}
	for i := range f.Mentioned {
		t := &f.Mentioned[i]
		if runs[t.ID] != "" && startsInLibrary(t.Start) {
			t.Start = runs[t.ID]
		}
	}
}

// outermost returns the outermost function of the program on a stack, which the library
// called; "" if the outermost frame is not the library's, or there is no such function.
func outermost(frames []event.Frame) string {
	i := len(frames) - 1
	for i >= 0 && run.OfLibrary(frames[i]) {
		i--
	}
	if i < 0 || i == len(frames)-1 {
		return ""
	}
	return frames[i].Function
}

// Names has a short form of each file path: the fewest trailing components that distinguish
// the files of the report.
type Names map[string]string

// Names returns the names that the report was built with, or else those of its stacks.
func (r Report) Names() Names {
	if r.names != nil {
		return r.names
	}
	return namesIn(r.DistinctStacks())
}

func namesIn(stacks []Stack) Names {
	set := map[string]bool{}
	for _, s := range stacks {
		for _, f := range s.Frames {
			if f.File != "" {
				set[f.File] = true
			}
		}
	}
	return shorten(slices.Collect(maps.Keys(set)))
}

// shorten takes components of each path, from the end, until no other path that is not yet
// shortened ends in the same ones.
func shorten(files []string) Names {
	type tail struct {
		file string
		at   int // where it begins
	}
	left := each(files, func(f string) tail { return tail{f, len(f)} })
	short := make(Names, len(files))
	for len(left) > 0 {
		times := make(map[string]int, len(left))
		for i := range left {
			t := &left[i]
			t.at = strings.LastIndexByte(t.file[:max(t.at-1, 0)], '/') + 1
			times[t.file[t.at:]]++
		}
		left = slices.DeleteFunc(left, func(t tail) bool {
			name := t.file[t.at:]
			if t.at > 0 && times[name] > 1 {
				return false
			}
			short[t.file] = name
			return true
		})
	}
	return short
}

// Line returns "file:line", the file shortened; "" if unknown.
func (n Names) Line(f event.Frame) string {
	if f.File == "" {
		return ""
	}
	file := n[f.File]
	if file == "" {
		file = f.File
	}
	if f.Line == 0 {
		return file
	}
	return fmt.Sprintf("%s:%d", file, f.Line)
}

// where returns "function at file:line", or the known part of it; "" if nothing is known.
func (n Names) where(s Stack) string {
	if len(s.Frames) == 0 {
		return ""
	}
	f := s.Top()
	if line := n.Line(f); line != "" {
		return FrameName(f) + " at " + line
	}
	if f.Function != "" && f.Module != "" {
		return FrameName(f) + " of " + path.Base(f.Module)
	}
	return FrameName(f)
}

// accessed returns the stack of an access with At at the frame that makes the access, if that has no
// source line: the frame that a reader looks for is then further out, and only called what made it. The
// kernel's and a library function's, which the sentence names by itself, and wrappers with a line in
// system headers are no such frames.
func (s Stack) accessed() Stack {
	for i := range min(s.At, len(s.Frames)) {
		switch f := s.Frames[i]; {
		case f.Module == event.KernelModule || f.Module == event.LibraryModule:
			continue
		case f.File == "" && (f.Function != "" || f.Module != ""):
			return Stack{Frames: s.Frames, At: i}
		default:
			return s
		}
	}
	return s
}

// From returns the stack of the step, for an access from the frame on that makes it. The call that frees
// memory is no access of its own: its caller matters.
func (s *Step) From() Stack {
	if !s.Op.IsAccess() || s.Flags&event.Freed != 0 {
		return s.Stack
	}
	return s.accessed()
}

// At returns "file:line", or the function if the line is unknown; "" if nothing is known.
func (n Names) At(s Stack) string {
	if len(s.Frames) == 0 {
		return ""
	}
	if line := n.Line(s.Top()); line != "" {
		return line
	}
	return FrameName(s.Top())
}

// maxNamed is the number of functions of a call stack, or of variables, that a sentence names.
const maxNamed = 4

// FrameName returns the name of a frame in a sentence.
func FrameName(f event.Frame) string { return inSentence(run.FrameName(f)) }

// distinctStacks collects call stacks, each of them once.
type distinctStacks struct {
	all  []Stack
	seen map[*event.Frame]bool // by the innermost frame
}

func (d *distinctStacks) add(stacks ...Stack) {
	for _, s := range stacks {
		if len(s.Frames) > 0 && !d.seen[&s.Frames[0]] {
			d.seen[&s.Frames[0]] = true
			d.all = append(d.all, s)
		}
	}
}

func (d *distinctStacks) addObject(o *Object) { d.add(o.Init, o.First) }

func (d *distinctStacks) addSteps(steps []Step) {
	for i := range steps {
		s := &steps[i]
		d.add(s.Stack)
		if s.Object != nil {
			d.addObject(s.Object)
		}
		for j := range s.Held {
			d.add(s.Held[j].Stack)
			d.addObject(s.Held[j].Object)
		}
	}
}

// DistinctStacks returns the distinct stacks of the report. A finding may name a stack many thousand times.
func (r Report) DistinctStacks() []Stack {
	d := distinctStacks{seen: map[*event.Frame]bool{}}
	for i := range r.Findings {
		f := &r.Findings[i]
		for j := range f.Objects {
			d.addObject(&f.Objects[j])
		}
		for _, t := range f.Mentioned {
			if slices.Contains(f.Threads, t.ID) {
				d.add(t.Created)
			}
		}
		for _, dep := range f.Depends {
			d.add(dep.Step.Stack)
		}
		for _, steps := range f.steps() {
			d.addSteps(steps)
		}
	}
	for i := range r.Pruned {
		p := &r.Pruned[i]
		d.addSteps(p.Evidence)
		for j := range p.Objects {
			d.addObject(&p.Objects[j])
		}
		if p.By != nil {
			d.addSteps([]Step{*p.By})
		}
		if p.Lock != nil {
			d.addObject(p.Lock)
		}
	}
	return d.all
}

// stacksOf returns the distinct stacks of steps.
func stacksOf(steps []Step) []Stack {
	d := distinctStacks{seen: map[*event.Frame]bool{}}
	d.addSteps(steps)
	return d.all
}

// Own returns the frames of the program's own part of the stack, without the library's at both ends: at least one of
// a stack that is known.
func (s Stack) Own() []event.Frame {
	if len(s.Frames) == 0 {
		return nil
	}
	frames := s.Frames[min(s.At, len(s.Frames)-1):]
	for len(frames) > 1 && run.OfLibrary(frames[len(frames)-1]) {
		frames = frames[:len(frames)-1]
	}
	return frames
}

// Callers returns the program's functions on the stack, innermost first, as "push < main"; "" if there are none.
func (s Stack) Callers() string {
	var names []string
	for _, f := range s.Frames[min(s.At, len(s.Frames)):] {
		if run.OfLibrary(f) || f.Function == "" {
			continue
		}
		if name := run.FrameName(f); len(names) == 0 || names[len(names)-1] != name {
			names = append(names, name)
		}
	}
	if len(names) > maxNamed {
		names = append(append(names[:maxNamed-1:maxNamed-1], "..."), names[len(names)-1])
	}
	return strings.Join(names, " < ")
}
