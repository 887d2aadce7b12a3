package profile

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// builder makes the tables of a profile, whose entries samples share.
type builder struct {
	names     run.Namer
	profile   *profile.Profile
	modules   []run.Module // by address
	mappings  map[run.Module]*profile.Mapping
	functions map[profile.Function]*profile.Function // by all but the identifier
	locations map[string]*profile.Location
	stacks    map[event.StackID][]*profile.Location
	inLibrary bool // call stacks end in the C library, in functions that may have no name: these are left out
}

// newBuilder returns a builder of a profile that has its types and no sample.
func newBuilder(opts Options, p *profile.Profile) *builder {
	b := &builder{
		names: opts.Names, profile: p,
		mappings:  map[run.Module]*profile.Mapping{},
		functions: map[profile.Function]*profile.Function{},
		locations: map[string]*profile.Location{},
		stacks:    map[event.StackID][]*profile.Location{},
	}
	if opts.Modules != nil {
		b.modules = opts.Modules()
	}
	return b
}

// sampleTypes returns the type of each value of a sample.
func sampleTypes() []*profile.ValueType {
	var types []*profile.ValueType
	for _, name := range []string{"futex_wait", "condition_wait", "barrier_wait", "possible_semaphore_wait", "possible_lock_wait", "lock_hold"} {
		types = append(types, &profile.ValueType{Type: name + "s", Unit: "count"}, &profile.ValueType{Type: name, Unit: "nanoseconds"})
	}
	return types
}

// dropped are the functions, with all that they call, that pprof leaves out, so that the innermost function is the one that
// locks or waits. They call no code of the program.
const dropped = `(__)?pthread_(mutex|rwlock|spin|cond|barrier)_\w+|(mtx|cnd|sem)_\w+|__gthread_\w+` +
	`|_{2,3}(futex|lll|new_sem|pthread)_\S+|pthread_\w*join\w*` + // as the symbols of the C library's debug information call them
	`|std::((recursive_|timed_|recursive_timed_)?mutex|__shared_mutex_pthread|shared_(timed_)?mutex)::\w+` +
	`|std::(unique|shared)_lock<.*>::(lock|unlock|\w+_lock)|std::(lock_guard|scoped_lock)<.*>::\w+`

// build returns the profile of what was added up.
func (w *Writer) build() *profile.Profile {
	types := sampleTypes()
	b := newBuilder(w.opts, &profile.Profile{SampleType: types, DefaultSampleType: types[hold].Type, DurationNanos: int64(w.now - w.first), DropFrames: dropped})
	for _, k := range slices.SortedFunc(maps.Keys(w.sums), compareKeys) {
		b.profile.Sample = append(b.profile.Sample, &profile.Sample{Location: b.stack(k.stack), Value: w.sums[k][:], Label: b.labels(k)})
	}
	b.inLibrary = true
	for _, f := range sortedFutexWaits(w.futexes) {
		values := make([]int64, numValues)
		values[futexWaits], values[futexWait] = f.Waits, f.Time
		b.profile.Sample = append(b.profile.Sample, &profile.Sample{Location: b.stack(f.Stack), Value: values, Label: b.futexLabels(&f)})
	}
	b.putFirst(w.opts.Program)
	return b.profile
}

// putFirst puts the mapping of the program first, which readers take for its. Where the program was called by the name of
// a link, it is the first file that is not named as a library.
func (b *builder) putFirst(program string) {
	m := b.profile.Mapping
	i := slices.IndexFunc(m, func(m *profile.Mapping) bool { return path.Base(m.File) == path.Base(program) })
	if i < 0 {
		i = slices.IndexFunc(m, func(m *profile.Mapping) bool {
			return !strings.Contains(path.Base(m.File), ".so") && !strings.HasPrefix(m.File, "[")
		})
	}
	if i > 0 {
		m[0], m[i] = m[i], m[0]
	}
}

// compareKeys orders samples, so that a trace has one profile.
func compareKeys(a, b key) int {
	return cmp.Or(cmp.Compare(a.thread, b.thread), cmp.Compare(a.object, b.object), cmp.Compare(a.stack, b.stack), cmp.Compare(a.kind, b.kind),
		cmp.Compare(a.by.thread, b.by.thread), cmp.Compare(a.by.stack, b.by.stack))
}

// stack returns the locations of a call stack, innermost first. A stack that is unknown has one location, since readers
// leave out what has none.
func (b *builder) stack(id event.StackID) []*profile.Location {
	if known, ok := b.stacks[id]; ok {
		return known
	}
	frames := b.stackFrames(id)
	var at []*profile.Location
	called := false // frames has functions that called another one
	for len(frames) > 0 {
		n := 1 // frames of the inlined functions, and the one of the function that they are inlined into
		for n < len(frames) && frames[n-1].Inlined {
			n++
		}
		addr := frames[n-1].Addr
		if called && addr > 0 {
			addr-- // into the call, behind which it returns
		}
		called = called || addr > 0
		at = append(at, b.location(frames[:n], addr))
		frames = frames[n:]
	}
	b.stacks[id] = at
	return at
}

// stackFrames returns the frames of a call stack, at least one. Those of the dynamic loader are left out, unless there are no
// others: it locks for its own sake, between the program and what the program calls.
func (b *builder) stackFrames(id event.StackID) []event.Frame {
	var frames []event.Frame
	if b.names != nil {
		frames = b.names.Frames(id)
	}
	if slices.ContainsFunc(frames, func(f event.Frame) bool { return !run.OfLoader(f) && f.Module != event.LibraryModule }) {
		frames = slices.DeleteFunc(slices.Clone(frames), run.OfLoader)
	}
	if b.inLibrary {
		frames = withoutUnnamed(frames)
	}
	if len(frames) == 0 {
		return []event.Frame{{}}
	}
	return frames
}

// location returns the location of the frames of one place in the code, at an address, the innermost function first.
func (b *builder) location(frames []event.Frame, addr uint64) *profile.Location {
	var text strings.Builder
	m := b.moduleOf(frames[len(frames)-1].Module, addr)
	if m.Hi > 0 {
		fmt.Fprintf(&text, "%#x\n", addr)
	}
	for _, f := range frames {
		fmt.Fprintf(&text, "%q %q %q %d %#x\n", f.Module, frameName(f), f.File, f.Line, f.Offset)
	}
	if known := b.locations[text.String()]; known != nil {
		return known
	}
	l := &profile.Location{ID: uint64(len(b.profile.Location)) + 1}
	if m.Path != "" {
		l.Mapping = b.mapping(m)
	}
	if m.Hi > 0 {
		l.Address = addr
	}
	for _, f := range frames {
		l.Line = append(l.Line, profile.Line{Function: b.function(f), Line: int64(f.Line)})
	}
	b.locations[text.String()] = l
	b.profile.Location = append(b.profile.Location, l)
	return l
}

// frameName returns the name of a frame's function. One that is not known is in brackets, which readers that shorten
// names leave whole.
func frameName(f event.Frame) string {
	if f.Function != "" {
		return valid(f.Function)
	}
	return "[" + valid(run.FrameName(f)) + "]"
}

// function returns the function of a frame. Its system name is left empty: where it is the name, readers take that for a
// mangled one, and cut out what they take for parameters.
func (b *builder) function(f event.Frame) *profile.Function {
	fn := profile.Function{Name: frameName(f), Filename: valid(f.File), StartLine: int64(f.Start)}
	if known := b.functions[fn]; known != nil {
		return known
	}
	added := &profile.Function{ID: uint64(len(b.profile.Function)) + 1, Name: fn.Name, Filename: fn.Filename, StartLine: fn.StartLine}
	b.functions[fn] = added
	b.profile.Function = append(b.profile.Function, added)
	return added
}

// moduleOf returns the code of a file that an address is in. If that is not known, it has the path alone.
func (b *builder) moduleOf(path string, addr uint64) run.Module {
	i := slices.IndexFunc(b.modules, func(m run.Module) bool { return m.Path == path && m.Lo <= addr && addr < m.Hi })
	if i < 0 {
		return run.Module{Path: path}
	}
	return b.modules[i]
}

// mapping returns the mapping of a module. All that readers could look up in its file is in the profile already.
func (b *builder) mapping(module run.Module) *profile.Mapping {
	if known := b.mappings[module]; known != nil {
		return known
	}
	m := &profile.Mapping{
		ID: uint64(len(b.profile.Mapping)) + 1, File: valid(module.Path), BuildID: valid(module.BuildID),
		Start: module.Lo, Limit: module.Hi, Offset: module.Offset,
		HasFunctions: true, HasFilenames: true, HasLineNumbers: true, HasInlineFrames: true,
	}
	b.mappings[module] = m
	b.profile.Mapping = append(b.profile.Mapping, m)
	return m
}

// labels returns the labels of a sample: its object, the kind of that, and its thread. None is a number or empty, since
// filters do not find those.
func (b *builder) labels(k key) map[string][]string {
	kind := k.kind.String()
	name := "lock"
	if k.kind == event.KindCond || k.kind == event.KindBarrier || k.kind == event.KindSemaphore {
		name = kind
	}
	labels := map[string][]string{name: {b.objectName(k)}, "kind": {kind}, "thread": {threadName(k.thread)}}
	if k.by.thread != 0 {
		labels[blockerLabel], labels[blockedByLabel] = []string{threadName(k.by.thread)}, []string{b.functionOf(k.by.stack)}
	}
	b.addThreadName(labels, k.thread)
	return labels
}

// addThreadName adds the label of what a thread is called, if that is known.
func (b *builder) addThreadName(labels map[string][]string, id event.ThreadID) {
	if b.names == nil {
		return
	}
	t := b.names.Thread(id)
	if called := valid(cmp.Or(t.Start, t.Name)); called != "" {
		labels["thread_name"] = []string{called}
	}
}

// Labels of waits: the thread that is to blame, and the function in which it acquired the lock, posted, notified or arrived.
const (
	blockerLabel   = "blocker"
	blockedByLabel = "blocked_by"
)

// others is the name of the objects, and of the threads, of samples beyond maxSamples.
const others = "others"

func threadName(id event.ThreadID) string {
	if id == 0 {
		return others
	}
	return fmt.Sprintf("T%d", id)
}

// functionOf returns the function of the program in which a stack ends, with its file and line.
func (b *builder) functionOf(id event.StackID) string {
	f := run.OwnFrame(b.stackFrames(id))
	return placed(frameName(f), valid(f.File), int64(f.Line))
}

// placed returns a function with the name of its file and the line there, if these are known.
func placed(function, file string, line int64) string {
	if file == "" || line == 0 {
		return function
	}
	return fmt.Sprintf("%s (%s:%d)", function, path.Base(file), line)
}

// objectName returns what distinguishes an object for people.
func (b *builder) objectName(k key) string {
	if k.object == 0 {
		return others
	}
	if b.names == nil {
		return fmt.Sprintf("%s#%d", k.kind, k.object)
	}
	switch o := b.names.Object(k.object); {
	case o.Name != "":
		return valid(o.Name)
	case o.Addr != 0:
		return fmt.Sprintf("%s@%#x", valid(cmp.Or(o.Member, k.kind.String())), o.Addr)
	}
	return fmt.Sprintf("%s#%d", k.kind, k.object)
}

// valid returns a name of the observed program as UTF-8, which the format wants.
func valid(name string) string { return strings.ToValidUTF8(name, "\uFFFD") }
