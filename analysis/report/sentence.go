package report

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/observer/event"
)

// sentence returns the error in one sentence, which describes objects without a name by the
// location of their initialisation.
func (n Names) sentence(f *Finding) string { return n.withOrigins(f, n.sentenceOf(f)) }

// sentenceOf is sentence without the locations.
func (n Names) sentenceOf(f *Finding) string {
	switch {
	case f.Message != "":
		return f.Message
	case f.NoCycle:
		return n.noCycle(f)
	case f.Rule == finding.Relock && len(f.Evidence) == 1 && f.Evidence[0].Blocked:
		return n.relock(f)
	case f.Kind == finding.Deadlock && len(f.Evidence) > 1:
		return n.deadlock(f)
	case f.Kind == finding.Race && len(f.Evidence) == 2:
		return n.race(f)
	case f.Kind == finding.Misuse && len(f.Evidence) > 0:
		return n.misuse(f)
	}
	return n.generic(f)
}

func (n Names) deadlock(f *Finding) string {
	verb, until := "can block each other", " for ever"
	if f.Confidence == finding.Observed {
		verb = "block each other"
	}
	if f.HasTimeout {
		until = " until one gives up"
	}
	verb += until
	return fmt.Sprintf("%s %s: %s", threadList(f.Explained().Evidence, f.hiddenSides()), verb, n.sides(f))
}

// sides returns a phrase for each thread of a cycle: what it holds and waits for.
func (n Names) sides(f *Finding) string {
	var parts []string
	for _, i := range f.Shown() {
		side := f.Evidence[i]
		holds := ""
		if held := heldInCycle(f, i); held != "" {
			holds = "holds " + held + " and "
		}
		parts = append(parts, fmt.Sprintf("T%d %s%s%s", side.Thread, holds, waitsFor(side), prefixed(" at ", n.At(side.Stack))))
	}
	text := strings.Join(parts, ", while ")
	if more := f.hiddenSides(); more > 0 {
		text += fmt.Sprintf(", and %s in the same way", plural.Counted(uint64(more), "more thread", "more threads"))
	}
	return text
}

// heldInCycle returns the locks of the cycle that a side holds; "" for a thread that holds
// nothing, such as a writer behind which a reader waits.
func heldInCycle(f *Finding, i int) string {
	var held []string
	for _, h := range f.Evidence[i].Held {
		if requestedByOther(f, i, *h.Object) {
			held = append(held, Quoted(h.Object))
		}
	}
	if len(held) == 0 && len(f.Evidence[i].Held) > 0 {
		return "a lock"
	}
	return strings.Join(held, " and ")
}

func (n Names) race(f *Finding) string {
	a, b := f.Evidence[0], f.Evidence[1]
	verb := "can happen at the same time as"
	switch f.Confidence {
	case finding.Observed:
		verb = "is not ordered with"
	case finding.Potential:
		verb = "shares no lock with"
		if shareLock(a, b) {
			verb = "shares only a read lock with"
		}
	}
	return fmt.Sprintf("%s of %s%s (T%d) %s the %s%s (T%d)",
		Capital(access(a)), Quoted(a.Object), n.inAccess(a), a.Thread, verb, access(b), n.inAccess(b), b.Thread)
}

// shareLock reports whether the two sides of a race hold the same lock; they hold it for
// reading then.
func shareLock(a, b Step) bool {
	for _, x := range a.Held {
		for _, y := range b.Held {
			if Same(*x.Object, *y.Object) {
				return true
			}
		}
	}
	return false
}

func (n Names) generic(f *Finding) string {
	what := string(f.Kind)
	if f.Property != "" {
		what += " of " + f.Property
	}
	if len(f.Objects) > 0 {
		what += " on " + Quoted(&f.Objects[0])
	}
	if len(f.Evidence) > 0 {
		e := f.Evidence[0]
		what += fmt.Sprintf(": %s%s (T%d)", access(e), n.inAccess(e), e.Thread)
	}
	return what
}

// in returns " in function at file:line", or the known part of it; "" if nothing is known.
func (n Names) in(s Stack) string { return prefixed(" in ", n.where(s)) }

// inAccess is in for a step. Of an access it names the frame that makes it: " in push of libqueue.so,
// called from fill at q.c:12", if that has no line.
func (n Names) inAccess(s Step) string {
	inner := s.From()
	if inner.At == s.At {
		return n.in(s.Stack)
	}
	return n.in(inner) + ", called from " + n.where(s.Stack)
}

// prefixed returns prefix and s, or "" if s is empty.
func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

// access returns a phrase for the operation of a step, as "atomic write".
func access(s Step) string {
	if s.Flags&event.Kernel != 0 && s.Op.IsAccess() {
		return s.Op.String() + " " + byKernel(s)
	}
	if s.Flags&event.Freed != 0 && s.Op.IsAccess() {
		return "free"
	}
	if s.Flags&event.Atomic != 0 && s.Op.IsAccess() {
		return "atomic " + s.Op.String()
	}
	return s.Op.String() + byLibrary(s)
}

// byLibrary returns a phrase for an access by a library function that the program calls; "" for others.
func byLibrary(s Step) string {
	if f := s.Stack.Frames; s.Op.IsAccess() && len(f) > 0 && f[0].Module == event.LibraryModule {
		return " by " + f[0].Function
	}
	return ""
}

// byKernel returns a phrase for an access by the kernel, with the system call if the trace
// records it.
func byKernel(s Step) string {
	call := "a system call"
	if f := s.Stack.Frames; len(f) > 0 && f[0].Module == event.KernelModule {
		call = f[0].Function
	}
	return "by the kernel in " + call
}

// Capital returns s with its first letter in upper case.
func Capital(s string) string {
	if s == "" {
		return s
	}
	_, n := utf8.DecodeRuneInString(s)
	return strings.ToUpper(s[:n]) + s[n:]
}

// Quoted returns the name of an object in a sentence.
func Quoted(o *Object) string {
	if o == nil {
		return "something"
	}
	name := inSentence(o.Name)
	if o.Anonymous {
		return fmt.Sprintf("the %s %s", o.Kind, name)
	}
	if (o.ByMember || o.Kind == event.KindField) && o.Addr != 0 {
		return fmt.Sprintf("'%s' at %#x", name, o.Addr)
	}
	return "'" + name + "'"
}

// threadList returns "T2, T3 and T4", or "T2, T3 and 998 more threads".
func threadList(steps []Step, more int) string {
	ids := make([]string, 0, len(steps)+1)
	for _, s := range steps {
		ids = append(ids, fmt.Sprintf("T%d", s.Thread))
	}
	if more > 0 {
		ids = append(ids, plural.Counted(uint64(more), "more thread", "more threads"))
	}
	return plural.Enumerated(ids)
}

// Label returns the name of a thread, with its process if there are several: "T2 worker".
func (t Thread) Label() string {
	if t.Process != "" {
		return t.ShortLabel() + " of " + t.Process
	}
	return t.ShortLabel()
}

// ShortLabel returns the number of the thread with what else identifies it.
func (t Thread) ShortLabel() string {
	switch {
	case t.Main:
		return fmt.Sprintf("T%d main thread", t.ID)
	case t.Start != "":
		return fmt.Sprintf("T%d %s", t.ID, t.Start)
	case t.Name != "":
		return fmt.Sprintf("T%d %s", t.ID, t.Name)
	}
	return fmt.Sprintf("T%d", t.ID)
}

// withOrigins adds to the first mention of each object without a name the location of its
// initialisation: "the mutex initialised in open at pool.c:41 (0x5581…)". The next object with
// the same location becomes "another such mutex (0x55c0…)"; later mentions stay "the mutex
// 0x5581…".
func (n Names) withOrigins(f *Finding, text string) string {
	left, last := f.Involved(), ""
	for {
		first, at := -1, len(text)
		for i, o := range left {
			if m := mention(text, Quoted(&o)); o.Anonymous && n.origin(o) != "" && m >= 0 && m < at {
				first, at = i, m
			}
		}
		if first < 0 {
			return n.withBlocks(f, text)
		}
		o := left[first]
		left = slices.Delete(left, first, first+1)
		full := n.full(&o)
		if n.origin(o) == last {
			full = fmt.Sprintf("another such %s (%s)", o.Kind, o.Name)
		}
		last = n.origin(o)
		text = text[:at] + full + text[at+len(Quoted(&o)):]
	}
}

// withBlocks replaces the address of a member of a type, where it is first mentioned, by where its memory was
// allocated, unless the finding is about several of one name.
func (n Names) withBlocks(f *Finding, text string) string {
	all := f.Involved()
	for i := range all {
		o := &all[i]
		at, where := mention(text, Quoted(o)), n.in(o.Init)
		namesakes := slices.ContainsFunc(all, func(x Object) bool { return x.Name == o.Name && x.Addr != o.Addr })
		if !o.ByMember || !o.InBlock() || where == "" || at < 0 || namesakes {
			continue
		}
		text = text[:at] + fmt.Sprintf("'%s' (allocated%s)", inSentence(o.Name), where) + text[at+len(Quoted(o)):]
	}
	return text
}

// full returns the name of an object for its first mention. For one without a name, it adds
// the location of the initialisation.
func (n Names) full(o *Object) string {
	if o == nil || !o.Anonymous || n.origin(*o) == "" {
		return Quoted(o)
	}
	return fmt.Sprintf("the %s %s (%s)", o.Kind, n.origin(*o), o.Name)
}

// mention returns the first index in a text of a name that ends in an address, -1 if there is
// none.
func mention(text, name string) int {
	for from := 0; ; {
		at := strings.Index(text[from:], name)
		if at < 0 {
			return -1
		}
		at += from
		from = at + len(name)
		if from == len(text) || !strings.ContainsRune("0123456789abcdef", rune(text[from])) {
			return at
		}
	}
}

// Describe returns the name of an object for scripts. An object without a name appears as its
// address with the location of its initialisation or first use; a name that several objects
// may have is followed by the address.
func (n Names) Describe(o Object) string {
	if where := n.origin(o); o.Protocol != "" && where != "" {
		return fmt.Sprintf("%s (%s)", o.Name, where)
	} else if o.Anonymous && where != "" {
		return fmt.Sprintf("%s (%s %s)", o.Name, o.Kind, where)
	}
	if o.ByMember && o.Addr != 0 {
		return fmt.Sprintf("%s (%#x)", o.Name, o.Addr)
	}
	return o.Name
}

// origin returns where an object was initialised or first seen, or where the memory was allocated that it lies in;
// "" if that is unknown.
func (n Names) origin(o Object) string {
	switch {
	case o.InBlock():
		return n.inBlock(&o)
	case len(o.Init.Frames) > 0 && o.Protocol != "":
		return "created in " + n.where(o.Init)
	case len(o.Init.Frames) > 0:
		return "initialised in " + n.where(o.Init)
	case len(o.First.Frames) > 0:
		return "first seen in " + n.where(o.First)
	}
	return ""
}

// Origins returns sentences with the locations at which locks without a name were initialised, except those
// in the message of the finding, and where the memory of variables was allocated.
func (n Names) Origins(f *Finding) []string {
	var lines []string
	for _, o := range f.Explained().Involved() {
		where := n.origin(o)
		if o.InBlock() {
			lines = append(lines, fmt.Sprintf("%s: %s", Quoted(&o), n.allocated(&o)))
		} else if o.Anonymous && where != "" && !strings.Contains(f.Message, "("+o.Name+")") {
			if (len(o.Init.Frames) == 0 || o.Protocol != "") && o.FirstThread != 0 {
				where += fmt.Sprintf(" by T%d", o.FirstThread)
			}
			if o.Protocol != "" {
				lines = append(lines, fmt.Sprintf("%s was %s", o.Name, where))
				continue
			}
			lines = append(lines, fmt.Sprintf("%s is the %s %s", o.Name, o.Kind, where))
		} else if o.ByMember && where != "" {
			lines = append(lines, fmt.Sprintf("'%s' at %#x was %s", o.Name, o.Addr, where))
		} else if o.Kind == event.KindField && len(o.Init.Frames) > 0 {
			lines = append(lines, fmt.Sprintf("the object of '%s' at %#x was allocated%s", o.Name, o.Addr, n.in(o.Init)))
		}
	}
	return lines
}
