package waiting

import (
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
	"github.com/tracepredict/tracepredict/probes/libname"
)

// effect is what a function does that matters to a loop that calls it.
type effect struct {
	busy    bool
	unknown bool // it may store anywhere
	idles   bool
	sleeps  bool
	stores  []span // relative to the registers at its entry
	loads   []load // on which the result depends
	result  value
	held    int8 // locks at its return
}

const (
	maxDepth  = 6
	maxCallee = 2048 // bytes
	// touched is the number of bytes that a function of another file is taken to write at an address
	// that it gets.
	touched = 32
)

// effect returns the effect of the function that begins at an address.
func (x *finder) effect(entry uint64, depth int) *effect {
	if e := x.effects[entry]; e != nil {
		if e.busy {
			return &effect{unknown: true} // a recursion
		}
		return e
	}
	fn, ok := x.file.FunctionAt(entry)
	if !ok || fn.Lo != entry || fn.Hi-fn.Lo > maxCallee || depth >= maxDepth {
		return &effect{unknown: true}
	}
	e := &effect{busy: true}
	x.effects[entry] = e
	*e = x.effectOf(fn, depth)
	return e
}

func (x *finder) effectOf(fn elf.Range, depth int) effect {
	r, err := x.routine(fn)
	if err != nil || r == nil {
		return effect{unknown: true}
	}
	defer x.done(r)
	if r.Open {
		return effect{unknown: true}
	}
	g := &region{x: x, r: r, depth: depth + 1, blocks: make([]int, len(r.Blocks))}
	for i := range g.blocks {
		g.blocks[i] = i
	}
	g.solve(x.entry())
	if g.failed {
		return effect{unknown: true}
	}
	e := effect{unknown: g.unknown, idles: g.idles, sleeps: g.sleeps, stores: g.stores, loads: g.loads, result: g.result, held: g.held}
	if !g.othersDecide(e.result.loads) {
		e.result = value{}
	}
	return e
}

// call changes a state to that after a call has returned.
func (g *region) call(s *state, in *insn.Inst) {
	name := g.x.imported(in)
	result := value{}
	switch {
	case name != "":
		result = g.callImport(s, in, name)
	case in.Kind == insn.IndirectCall || in.Kind == insn.IndirectJump:
		g.unknown = true
		g.passes(s, true)
	case g.rough:
		result = value{class: loaded, loads: returned}
	default:
		result = g.callFunction(s, g.x.effect(in.Target, g.depth))
	}
	if !g.rough {
		s.held = hold(s.held, g.x.holds(in))
	}
	for reg := range insn.Reg(len(s.regs)) {
		if insn.AMD64.CallerSaved().Has(reg) {
			s.regs[reg] = value{}
		}
	}
	s.regs[insn.RAX], s.flags = result, value{}
}

// idle are functions of the C library that sleep, or let other threads run, and change no memory of
// the program but what their arguments point to.
var idle = []string{"nanosleep", "clock_nanosleep", "usleep", "sleep", "thrd_sleep", "sched_yield", "pthread_yield", "thrd_yield", "poll", "syscall"}

// Idles reports whether a function of the C library sleeps, or lets other threads run.
func Idles(name string) bool { return slices.Contains(idle, name) }

// resting are other functions that wait with a time limit: a loop may ask again whenever one returns.
var resting = words(`
pthread_cond_timedwait pthread_cond_clockwait cnd_timedwait sem_timedwait sem_clockwait select pselect ppoll
epoll_wait epoll_pwait epoll_pwait2 g_usleep
`)

// restsBy reports whether a function sleeps, lets other threads run, or waits with a time limit. A system call by its
// number, as futex in much code that ends a program, is a doubt of its own.
func restsBy(name string) bool { return Idles(name) && name != "syscall" || resting[name] }

// harmless are other functions that loops which wait call, and that change no memory of the program.
var harmless = []string{"pthread_testcancel", "pthread_self", "getpid", "gettid", "puts", "putchar", "printf", "fflush"}

// unshared are functions of which no other thread changes the result, apart from that of memory: they
// compute, look at the clock, or change what their arguments point to.
var unshared = words(`
rand random rand_r drand48 lrand48 mrand48 erand48 nrand48 jrand48 arc4random arc4random_uniform
time clock clock_gettime clock_getres gettimeofday times localtime localtime_r gmtime gmtime_r mktime timegm
difftime strftime ctime ctime_r asctime asctime_r
malloc calloc realloc reallocarray free memalign aligned_alloc posix_memalign _Znwm _Znam _ZdlPv _ZdlPvm _ZdaPv
memcpy memmove memset memcmp memchr memrchr memmem bcmp bcopy bzero mempcpy rawmemchr
strlen strnlen strcpy strncpy strcat strncat strcmp strncmp strcasecmp strncasecmp strcoll strchr strrchr
strchrnul strstr strcasestr strspn strcspn strpbrk strtok strtok_r strsep strdup strndup stpcpy stpncpy
strerror strerror_r strsignal atoi atol atoll atof strtol strtoll strtoul strtoull strtod strtof strtold
abs labs llabs div ldiv lldiv qsort bsearch isatty sysconf getpagesize getenv secure_getenv
printf fprintf sprintf snprintf vprintf vfprintf vsprintf vsnprintf dprintf puts fputs putchar fputc putc
fwrite fflush perror write writev pwrite send sendto sendmsg close fclose
abort exit _exit _Exit _ZSt9terminatev __stack_chk_fail __assert_fail __errno_location __error
sched_getcpu getcpu getuid geteuid getgid getegid __tls_get_addr __cxa_thread_atexit_impl
`)

// unsharedPrefixes are those of the mangled names of functions of libstdc++ that are such: strings, output, clocks,
// containers and exceptions.
var unsharedPrefixes = []string{
	"_ZNSt7__cxx1112basic_string", "_ZNKSt7__cxx1112basic_string", "_ZNSs", "_ZNKSs", "_ZNSo", "_ZSt4endl", "_ZSt5flush",
	"_ZSt16__ostream_insert", "_ZStls", "_ZNSt8ios_base", "_ZNSt9basic_ios", "_ZNKSt5ctype", "_ZNSt6locale", "_ZNSaIcE", "_ZNSt6chrono", "_ZNSt8__detail",
	"_ZNKSt8__detail", "_ZSt18_Rb_tree", "_ZSt28_Rb_tree", "_ZSt29_Rb_tree", "_ZNSt9exception", "_ZNSt13runtime_error",
	"_ZNSt11logic_error", "__cxa_allocate_exception", "__cxa_free_exception", "__cxa_throw", "__cxa_begin_catch",
	"__cxa_end_catch", "__cxa_rethrow", "_Unwind_Resume",
}

// readers are those of them that write nothing where their arguments point.
var readers = words(`
memcmp bcmp memchr memrchr memmem rawmemchr strlen strnlen strcmp strncmp strcasecmp strncasecmp strcoll
strchr strrchr strchrnul strstr strcasestr strspn strcspn strpbrk atoi atol atoll atof
`)

// observed are functions that return when, or because, another thread has done something, and of which
// that is recorded. Of those that read it is not: they may read a file.
var observed = words(`
recv recvfrom recvmsg recvmmsg accept accept4 connect
select pselect ppoll epoll_wait epoll_pwait epoll_pwait2 wait waitpid waitid wait3 wait4
sigwait sigwaitinfo sigtimedwait sigsuspend pause kill tgkill pthread_kill pthread_sigqueue sigqueue
mq_receive mq_timedreceive mq_send mq_timedsend msgrcv msgsnd semop semtimedop flock lockf
eventfd_read eventfd_write
`)

func words(text string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(text) {
		set[w] = true
	}
	return set
}

// asks reports whether what a function of another file returns, or writes where its arguments point,
// may depend on what another thread did, unobserved: whether a file is there, what the kernel has
// counted, how far a library is.
func asks(name string) bool {
	plain := strings.TrimSuffix(strings.TrimPrefix(name, "__"), "_chk")
	return name == "sem_getvalue" || !Idles(name) && !slices.Contains(harmless, name) && !libname.OfThreads(name) &&
		!computes(name) && !observed[name] && !observed[plain]
}

// computes reports whether a function of another file is one of which no other thread changes the result.
func computes(name string) bool {
	plain := strings.TrimSuffix(strings.TrimPrefix(name, "__"), "_chk")
	return unshared[name] || unshared[plain] || throws(name) ||
		slices.ContainsFunc(unsharedPrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// throws reports whether a function is one by which libstdc++ throws an exception of its own.
func throws(name string) bool {
	rest, ok := strings.CutPrefix(name, "_ZSt")
	return ok && strings.HasPrefix(strings.TrimLeft(rest, "0123456789"), "__throw_")
}

// callImport records what a function of another file may write, and returns its result.
func (g *region) callImport(s *state, in *insn.Inst, name string) value {
	if Idles(name) {
		g.idles, g.sleeps = true, g.sleeps || strings.HasSuffix(name, "sleep")
		return value{}
	}
	if slices.Contains(harmless, name) || libname.OnObject(name) && !asks(name) {
		return value{}
	}
	if !asks(name) {
		result := g.ofAnswers(s)
		if !readers[name] {
			g.passes(s, false)
		}
		return result
	}
	for _, reg := range insn.AMD64.Arguments()[:maxAnswers] {
		v := s.regs[reg]
		if v.root == 0 || v.class == varies {
			continue
		}
		to := g.ofStack(span{v.root, v.off, maxObject})
		if !g.ofFrame(to.root) {
			g.stored(span{v.root, v.off, touched})
			continue
		}
		s.frame = s.frame.Overwrite(g.x.key(v.root, v.off), touched)
		g.answered(answer{to, in.Addr})
	}
	return g.askedAt(in.Addr)
}

// ofAnswers returns the value that a function computes if one of its arguments points to what another
// function has answered, as strcmp does.
func (g *region) ofAnswers(s *state) value {
	for _, reg := range insn.AMD64.Arguments()[:2] {
		v := s.regs[reg]
		if v.root == 0 || v.class == varies {
			continue
		}
		if at, ok := g.answerIn(span{v.root, v.off, 1}); ok {
			return g.askedAt(at)
		}
	}
	return value{}
}

// maxAnswers is the number of arguments through which a function is taken to answer at most.
const maxAnswers = 4

// answer is a part of the frame where the function that is called at an address may write what it has
// been asked for.
type answer struct {
	span
	at uint64
}

func (g *region) answered(a answer) {
	if !slices.Contains(g.answers, a) {
		g.failed = g.failed || len(g.answers) == maxSpans
		g.answers, g.grown = append(g.answers, a), true
	}
}

// answerIn returns the address of the call that has answered in a span of the frame, which nothing else
// writes and of whose contents no more is known.
func (g *region) answerIn(from span) (at uint64, ok bool) {
	to := g.ofStack(from)
	i := slices.IndexFunc(g.answers, func(a answer) bool { return a.overlaps(to) })
	if i < 0 || slices.ContainsFunc(g.written, func(w span) bool { return g.ofStack(w).overlaps(to) }) {
		return 0, false
	}
	return g.answers[i].at, true
}

// askedAt returns the value that the function called at an address answers.
func (g *region) askedAt(at uint64) value {
	n := slices.IndexFunc(g.loads, func(l load) bool { return l.at == at && l.asked })
	if n < 0 {
		if n = len(g.loads); n == maxLoads {
			return value{}
		}
		g.loads = append(g.loads, load{at: at, asked: true})
	}
	return value{class: answered, loads: 1 << n}
}

// passes records that a call may write to where its arguments point.
func (g *region) passes(s *state, all bool) {
	args := insn.AMD64.Arguments()
	if !all {
		args = args[:3]
	}
	for _, reg := range args {
		v := s.regs[reg]
		switch {
		case v.root == 0 || v.class == varies:
		case g.ofFrame(v.root):
			g.overwrite(s, span{v.root, v.off, touched})
		default:
			g.stored(span{v.root, v.off, touched})
		}
	}
}

// overwrite records that a called function writes a part of the frame.
func (g *region) overwrite(s *state, to span) {
	g.writes(to)
	s.frame = s.frame.Overwrite(g.x.key(to.root, to.off), to.size)
}

// callFunction records what a function of the file does, and returns its result.
func (g *region) callFunction(s *state, e *effect) value {
	g.idles, g.sleeps = g.idles || e.idles, g.sleeps || e.sleeps
	if e.unknown {
		g.unknown = true
		g.passes(s, true)
	}
	for _, w := range e.stores {
		to := g.x.translate(s, w)
		switch {
		case to.root != 0 && g.ofFrame(to.root):
			g.overwrite(s, to)
		default:
			g.stored(to)
		}
	}
	if e.result.class < loaded {
		if e.result.class == fixed && e.result.root != 0 && g.x.roots[e.result.root].kind == absolute {
			return e.result
		}
		return value{}
	}
	out := value{class: fixed}
	for n := range e.loads {
		if e.result.loads>>n&1 == 0 {
			continue
		}
		if e.loads[n].asked {
			out = combine(out, g.askedAt(e.loads[n].at))
			continue
		}
		from := g.x.translate(s, e.loads[n].span)
		if from.root == 0 {
			return value{}
		}
		out = combine(out, g.passedLoad(s, e.loads[n].at, from))
	}
	return out
}

// passedLoad returns the value that a called function loads from a span of its caller's.
func (g *region) passedLoad(s *state, at uint64, from span) value {
	return g.loadFrom(s, at, from, 0)
}

// translate returns a span of a called function in terms of the caller; without a root if it is not
// known.
func (x *finder) translate(s *state, from span) span {
	id, off := x.translateRoot(s, from.root)
	return span{id, from.off + off, from.size}
}

func (x *finder) translateRoot(s *state, id rootID) (rootID, int64) {
	r := x.roots[id]
	switch r.kind {
	case absolute, fromInstruction:
		return id, 0
	case fromRegister:
		if v := s.regs[r.reg&15]; v.class != varies {
			return v.root, v.off
		}
	case fromMemory:
		if parent, off := x.translateRoot(s, r.parent); parent != 0 {
			return x.memory(parent, r.off+off), 0
		}
	}
	return 0, 0
}
