package probes

import (
	"path"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/probes/cheapsite"
	"github.com/tracepredict/tracepredict/probes/insn"
	"github.com/tracepredict/tracepredict/probes/libname"
	"github.com/tracepredict/tracepredict/probes/pointer"
)

// This file plans what functions of the C library access in memory that the program's own code tells them to
// access. The probes are at the calls, where the arguments are in registers: which of its functions the C
// library calls by such a name is decided when it is loaded.

// memoryRange is memory that a function of the C library accesses because an argument points to it. Arguments
// are counted from 1; 0 means that there is no such argument.
type memoryRange struct {
	pointer int
	writes  bool
	// count and size are the arguments that multiply to the number of bytes; without both, it is one byte.
	count, size int
	// first reports that, of these bytes, only the first one is certain to be accessed.
	first bool
	// returned reports that the function's result says how many elements it has accessed, plus as many as
	// plus says, and at most as many as count says. Int reports that the result is an int.
	returned bool
	plus     int
	int      bool
	// whole reports that it has accessed all of the range, or nothing: all if the result is at least least.
	whole bool
	least int
	// at is how far behind the argument the memory begins, and bytes its size, of one of count; 0: one byte.
	at, bytes int
	// result reports that it is memory of the library's own to which the function's result points, if that is not null.
	result bool
	// state is what it is instead of memory, if it is not 0.
	state libraryState
	// descriptor is the argument that is the number of an open file, without which nothing is accessed; 0: none is.
	descriptor int
	// text is the argument that points to a text, whose size bounds that of the range; 0: none does. Of what has been
	// returned, it is the range itself.
	text int
	// behind reports that the range begins where the text ends to which the argument points.
	behind bool
	// buffer is which buffer it is, counted from 1, of the vector to which the argument points, and which has as many as
	// count says; 0: it is none. Holder is what the argument points to if that only has the vector, or the buffer.
	buffer int
	holder vectorHolder
	// number reports that it is what stands for the descriptor whose number the argument count is.
	number bool
}

func reads(pointer int, sizes ...int) memoryRange { return rangeOf(pointer, sizes) }

func writes(pointer int, sizes ...int) memoryRange {
	r := rangeOf(pointer, sizes)
	r.writes = true
	return r
}

func rangeOf(pointer int, sizes []int) memoryRange {
	r := memoryRange{pointer: pointer}
	for i, to := range []*int{&r.count, &r.size} {
		if i < len(sizes) {
			*to = sizes[i]
		}
	}
	return r
}

// fillsOwn returns the range of so many bytes of the library's own memory, which each call of the function writes, and of which
// its result is the address (MT-Unsafe in glibc's manual, with race:…).
func fillsOwn(bytes int) []memoryRange {
	return []memoryRange{{writes: true, result: true, bytes: bytes}}
}

// part returns the range of so many bytes, from one on.
func (r memoryRange) part(at, bytes int) memoryRange {
	r.at, r.bytes = at, bytes
	return r
}

// asText returns the range that is as long as the text to which an argument points, or shorter.
func (r memoryRange) asText(argument int) memoryRange {
	r.text = argument
	if r.count == 0 && r.bytes == 0 {
		r.bytes = maxText
	}
	return r
}

// maxText is more than is looked at of a text.
const maxText = 1 << 16

// text returns the range of the whole text to which an argument points.
func text(argument int) memoryRange { return reads(argument).asText(argument) }

// behindText returns the range that begins where a text ends.
func (r memoryRange) behindText() memoryRange {
	r.behind = true
	return r
}

// maxBuffers bounds the buffers of a vector that are looked at.
const maxBuffers = 5

// buffers returns the ranges of each of the buffers that a range stands for.
func (r memoryRange) buffers() (all []memoryRange) {
	for r.buffer = 1; r.buffer <= maxBuffers; r.buffer++ {
		all = append(all, r)
	}
	return all
}

// vectorHolder is a structure that has a vector, or a buffer.
type vectorHolder uint8

// The structures, as in measure.h.
const (
	message vectorHolder = 1 + iota // struct msghdr
	request                         // struct aiocb
)

// in returns the range of what such a structure has.
func (r memoryRange) in(h vectorHolder) memoryRange {
	r.holder = h
	return r
}

// requested returns the range of the buffer of a request.
func requested(pointer int) memoryRange {
	r := reads(pointer).in(request)
	r.buffer = 1
	return r
}

// written returns the range that is written.
func (r memoryRange) written() memoryRange {
	r.writes = true
	return r
}

// firstByte returns the range of which only the first byte is certain to be accessed.
func (r memoryRange) firstByte() memoryRange {
	r.first = true
	return r
}

// asReturned returns the range of as many elements as the result says.
func (r memoryRange) asReturned() memoryRange {
	r.returned = true
	return r
}

// ifOpen returns the range that is accessed if the number that an argument is is that of an open file.
func (r memoryRange) ifOpen(descriptor int) memoryRange {
	r.descriptor = descriptor
	return r
}

// asPrinted returns the range of a text whose length, without the byte that ends it, is the result.
func (r memoryRange) asPrinted() memoryRange {
	r.returned, r.plus, r.int = true, 1, true
	return r
}

// ifReturned returns the range that is accessed if the result is not 0, and not negative.
func (r memoryRange) ifReturned() memoryRange {
	r.returned, r.whole, r.least = true, true, 1
	return r
}

// ifDone returns the range that is accessed if the result is the int 0.
func (r memoryRange) ifDone() memoryRange {
	r.returned, r.whole, r.int = true, true, true
	return r
}

// libraryRanges are the functions of the C library that access memory through their arguments, as far as it is
// certain what they access, from the call on or once they have returned (C23, POSIX, the fortified functions
// of LSB, and what glibc adds).
var libraryRanges = map[string][]memoryRange{
	"memcpy":  {reads(2, 3), writes(1, 3)},
	"memset":  {writes(1, 3)},
	"bzero":   {writes(1, 2)},
	"bcopy":   {reads(1, 3), writes(2, 3)},
	"memcmp":  {reads(1, 3).firstByte(), reads(2, 3).firstByte()},
	"memchr":  {reads(1, 3).firstByte()},
	"strcpy":  {text(2), writes(1).asText(2)},
	"strncpy": {reads(2, 3).asText(2), writes(1, 3)},
	"strcat":  {text(1), text(2), writes(1).behindText().asText(2)},
	"strncat": {text(1), reads(2, 3).asText(2), writes(1, 3).behindText().asText(2)},
	"strlen":  {{pointer: 1, returned: true, plus: 1}},
	"strnlen": {{pointer: 1, count: 2, returned: true, plus: 1}},
	"strcmp":  {reads(1), reads(2)},
	"strncmp": {reads(1, 3).firstByte(), reads(2, 3).firstByte()},
	"strchr":  {reads(1)},
	"strstr":  {reads(2)},
	"strdup":  {text(1)},
	"strndup": {reads(1, 2).asText(1)},
	"puts":    {text(1)},
	"fputs":   {text(1)},
	"atoi":    {reads(1)},
	"strtol":  {reads(1)},

	"sprintf":  {writes(1).asPrinted()},
	"snprintf": {writes(1, 2).asPrinted()},

	"write":  {usesNumber(1), reads(2, 3).ifOpen(1)},
	"read":   {usesNumber(1), writes(2, 3).asReturned()},
	"fwrite": {reads(1, 3, 2)},
	"fread":  {writes(1, 3, 2).asReturned()},

	"writev":  append([]memoryRange{usesNumber(1), reads(2, 3).part(0, 16)}, reads(2, 3).ifOpen(1).buffers()...),
	"readv":   append([]memoryRange{usesNumber(1), reads(2, 3).part(0, 16)}, writes(2, 3).asReturned().buffers()...),
	"sendmsg": append([]memoryRange{usesNumber(1), reads(2).part(16, 16)}, reads(2).ifOpen(1).in(message).buffers()...),
	"recvmsg": append([]memoryRange{usesNumber(1), reads(2).part(16, 16)}, writes(2).asReturned().in(message).buffers()...),

	// The other thread that does this may begin at once.
	"aio_read":  {requested(1).written()},
	"aio_write": {requested(1)},

	"close":     {closesNumber(1)},
	"lseek":     {usesNumber(1)},
	"epoll_ctl": {usesNumber(1), usesNumber(3)},
	"sendfile":  {usesNumber(1), usesNumber(2)},

	"sscanf": {reads(1)},
	"scanf":  {},
	"fgets":  {writes(1).asText(1).ifReturned()},

	"getcwd":    {writes(1).asText(1).ifReturned()},
	"inet_ntop": {writes(3).asText(3).ifReturned()},
	"realpath":  {writes(2).asText(2).ifReturned()},
	"strftime":  {writes(1).asText(1).ifReturned()},
	"asctime_r": {reads(1).part(0, 24), writes(2).asText(2).ifReturned()},
	"ctime_r":   {reads(1).part(0, 8), writes(2).asText(2).ifReturned()},
	"rand_r":    {writes(1).part(0, 4)},
	"strtok_r":  {text(2), writes(3).part(0, 8)},

	"qsort": {writes(1, 2, 3)},

	"gmtime_r":      {reads(1).part(0, 8), writes(2).part(0, 56).ifReturned()},
	"timegm":        {reads(1).part(0, 24)},
	"clock_gettime": {writes(2).part(0, 16).ifDone()},
	"gettimeofday":  {writes(1).part(0, 16).ifDone()},
	"pipe":          {writes(1).part(0, 8).ifDone()},
	"socketpair":    {writes(4).part(0, 8).ifDone()},

	"localtime":     append(fillsOwn(56), readsState(environment)), // struct tm
	"gmtime":        fillsOwn(56),
	"ctime":         append(fillsOwn(25), readsState(environment)),
	"asctime":       fillsOwn(25),
	"getpwnam":      fillsOwn(48), // struct passwd
	"getgrnam":      fillsOwn(32), // struct group
	"gethostbyname": fillsOwn(32), // struct hostent
	"getservbyname": fillsOwn(32), // struct servent

	"getprotobyname": fillsOwn(24), // struct protoent
	"getnetbyname":   fillsOwn(24), // struct netent
	"getmntent":      fillsOwn(40), // struct mntent
	"ttyname":        fillsOwn(1),

	"getenv":  {readsState(environment)},
	"setenv":  {changesState(environment)},
	"mktime":  {reads(1).part(0, 24), readsState(environment)},
	"tzset":   {readsState(environment)},
	"strtok":  {text(2), changesState(strtokState)},
	"drand48": {changesState(drand48State)},
	"hsearch": {readsState(hsearchTable), changesState(hsearchTable).unlessZero(3)},
	"hcreate": {changesState(hsearchTable)},
	// MT-Unsafe with race:rootp, and race:htab: whatever is found, the tree or table may be changed.
	"tsearch":    {writes(2).part(0, 8)},
	"tfind":      {reads(2).part(0, 8)},
	"twalk":      {reads(1).part(0, 8)}, // the first node
	"hsearch_r":  {reads(5).part(0, 8), writes(5).part(0, 8).unlessZero(3)},
	"hcreate_r":  {writes(2).part(0, 8)},
	"hdestroy_r": {writes(1).part(0, 8)},
	"getopt":     {changesState(getoptState)},
	// With a null pointer it only returns which locale is set.
	"setlocale": {readsState(localeState), changesState(localeState).unlessZero(2)},

	"getrandom":   {writes(1, 2).asReturned()},
	"__fread_chk": {writes(1, 4, 3).asReturned()},

	stringPrefix + "9_M_appendEPKcm":     {reads(1).part(0, 8), writes(1).part(8, 8), reads(2, 3)},
	stringPrefix + "10_M_replaceEmmPKcm": {reads(1).part(0, 8), writes(1).part(8, 8), reads(4, 5)},
	stringPrefix + "9_M_assignERKS4_":    {reads(2).part(0, 16), reads(1).part(0, 8), writes(1).part(8, 8)},
	stringPrefix + "9_M_mutateEmmPKcm":   {reads(1).part(8, 8), writes(1).part(0, 8)},
	stringPrefix + "4swapERS4_":          {reads(1).part(0, 8), writes(1).part(8, 8), reads(2).part(0, 8), writes(2).part(8, 8)},
}

// stringPrefix begins the names of the functions of std::string in libstdc++. An object has a pointer to the text, of 8
// bytes, and the length.
const stringPrefix = "_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE"

// libraryNames are the names in reports of functions whose symbols are not their names.
var libraryNames = map[string]string{
	stringPrefix + "9_M_appendEPKcm":     "std::string::append",
	stringPrefix + "10_M_replaceEmmPKcm": "std::string::replace",
	stringPrefix + "9_M_assignERKS4_":    "std::string::assign",
	stringPrefix + "9_M_mutateEmmPKcm":   "std::string::push_back",
	stringPrefix + "4swapERS4_":          "std::string::swap",
}

// libraryAliases are functions that access what others do.
var libraryAliases = map[string]string{
	"memmove": "memcpy", "mempcpy": "memcpy", "explicit_bzero": "bzero", "bcmp": "memcmp", "memrchr": "memchr",
	"stpcpy": "strcpy", "stpncpy": "strncpy", "strcasecmp": "strcmp", "strncasecmp": "strncmp",
	"strrchr": "strchr", "strchrnul": "strchr", "index": "strchr", "rindex": "strchr",
	"atol": "atoi", "atoll": "atoi", "atof": "atoi", "strtoul": "strtol", "strtoll": "strtol", "strtoull": "strtol",
	"strtod": "strtol", "strtof": "strtol",
	"vsprintf": "sprintf", "vsnprintf": "snprintf", "fputs_unlocked": "fputs",
	"send": "write", "sendto": "write", "pwrite": "write", "pwrite64": "write",
	"vsscanf": "sscanf", "__isoc99_sscanf": "sscanf", "__isoc99_vsscanf": "sscanf", "__isoc23_sscanf": "sscanf", "__isoc23_vsscanf": "sscanf",
	"fscanf": "scanf", "__isoc99_scanf": "scanf", "__isoc23_scanf": "scanf", "__isoc99_fscanf": "scanf", "__isoc23_fscanf": "scanf",
	"aio_read64": "aio_read", "aio_write64": "aio_write", "tdelete": "tsearch", "twalk_r": "twalk", "pwritev": "writev", "preadv": "readv", "pwritev64": "writev", "preadv64": "readv",
	"fgets_unlocked": "fgets", "qsort_r": "qsort", "localtime_r": "gmtime_r", "pipe2": "pipe",
	"recv": "read", "recvfrom": "read", "pread": "read", "pread64": "read",
	"getpwuid": "getpwnam", "getpwent": "getpwnam", "getgrgid": "getgrnam", "getgrent": "getgrnam",
	"gethostbyaddr": "gethostbyname", "gethostbyname2": "gethostbyname", "getservbyport": "getservbyname",
	"getservent": "getservbyname", "gethostent": "gethostbyname", "getprotobynumber": "getprotobyname", "getprotoent": "getprotobyname",
	"getnetbyaddr": "getnetbyname", "getnetent": "getnetbyname", "ptsname": "ttyname", "l64a": "ttyname",
	"ecvt": "ttyname", "fcvt": "ttyname", "ether_ntoa": "ttyname", "crypt": "ttyname", "getspnam": "ttyname",
	"accept": "lseek", "accept4": "lseek", "bind": "lseek", "connect": "lseek", "dup": "lseek", "epoll_pwait": "lseek", "epoll_wait": "lseek",
	"fallocate": "lseek", "fdatasync": "lseek", "flock": "lseek",
	"fsync": "lseek", "ftruncate": "lseek", "ftruncate64": "lseek", "getsockopt": "lseek", "ioctl": "lseek", "listen": "lseek", "lseek64": "lseek",
	"setsockopt": "lseek", "shutdown": "lseek", "sendfile64": "sendfile",
	"secure_getenv": "getenv", "system": "getenv", "popen": "getenv", "unsetenv": "setenv", "putenv": "setenv", "clearenv": "setenv",
	"lrand48": "drand48", "mrand48": "drand48", "srand48": "drand48", "seed48": "drand48", "lcong48": "drand48",
	"hdestroy": "hcreate", "getopt_long": "getopt", "getopt_long_only": "getopt",
	"fwrite_unlocked": "fwrite", "fread_unlocked": "fread", "__fread_unlocked_chk": "__fread_chk",
	"__strdup": "strdup", "__strndup": "strndup", "__isoc23_strtol": "strtol", "__isoc23_strtoul": "strtol",
	"__isoc23_strtoll": "strtol", "__isoc23_strtoull": "strtol",
}

// libraryFunction returns what a function of the C library accesses, and its name without what a fortified
// function (__memcpy_chk) adds.
func libraryFunction(symbol string) (name string, ranges []memoryRange) {
	name = libname.Plain(symbol)
	for _, n := range []string{symbol, name} {
		if alias, ok := libraryAliases[n]; ok {
			n = alias
		}
		if ranges = libraryRanges[n]; ranges != nil {
			if shown, ok := libraryNames[n]; ok {
				name = shown
			}
			return strings.TrimPrefix(strings.TrimPrefix(name, "__isoc23_"), "__isoc99_"), ranges
		}
	}
	if formatArguments[symbol] > 0 {
		return name, []memoryRange{}
	}
	return "", nil
}

// libraryCallee returns a function that returns the symbol of the function to which an instruction passes
// control, if it is the C library's and accesses memory through its arguments, or if it allocates memory.
func (b *builder) libraryCallee() func(*insn.Inst) string {
	f := b.plan.File
	targets, slots := f.PLTTargets(), f.GOTSlots()
	if f.Static() {
		targets = b.importing().targets
	}
	return func(in *insn.Inst) string {
		symbol := ""
		switch in.Kind {
		case insn.Call, insn.Jump, insn.CondJump:
			symbol = targets[in.Target]
		case insn.IndirectCall, insn.IndirectJump:
			if in.NMem == 1 && in.Mem[0].Fixed {
				symbol = slots[in.Mem[0].Addr]
			}
		}
		if _, ranges := libraryFunction(symbol); ranges == nil && allocates(symbol) == nil {
			return ""
		}
		return symbol
	}
}

// maxRanges bounds the ranges of one call.
const maxRanges = 7

// libraryCalls plans the accesses by library functions that the file's own code calls. At most most sites are
// planned in all.
func (b *builder) libraryCalls(calls []pointer.Call, most int) error {
	unseen := 0
	// Where the system calls are observed that free and take numbers.
	numbers := b.plan.File.ReusesDescriptors() || b.plan.File.MakesChannels()
	for _, c := range calls {
		if b.inStub(c.Addr) || b.ofLibrary(c.Addr) {
			continue
		}
		name, ranges := libraryFunction(c.Callee)
		ranges = slices.Concat(ranges, b.formatRanges(c))
		if !numbers {
			ranges = slices.DeleteFunc(ranges, func(r memoryRange) bool { return r.number })
		}
		for i := range ranges {
			sites, err := b.rangeSites(c, &ranges[i], i)
			if err != nil {
				return err
			}
			if len(sites) == 0 || i >= maxRanges || len(b.plan.Sites)+len(sites) > most {
				unseen++
				continue
			}
			for j := range sites {
				sites[j].Callee = name
				b.sitesAt[sites[j].Addr]++
			}
			b.plan.Sites = append(b.plan.Sites, sites...)
		}
	}
	if unseen > 0 {
		b.note("%d {access|accesses} by library functions that %s calls {is|are} not seen", unseen, path.Base(b.plan.File.Name()))
	}
	return nil
}

// inStub reports whether the jump at an address is that of a stub of the procedure linkage table.
func (b *builder) inStub(jump uint64) bool {
	for _, before := range []uint64{0, 1, 4, 5} { // the length of endbr64, and of a prefix
		if b.stubs[jump-before] != "" {
			return true
		}
	}
	return false
}

// rangeSites plans the probes of one access by a library function: one at the call or, where it is known only
// once the function has returned what was accessed, one there that remembers the arguments and one behind. There
// is none if the access cannot be observed. number is the index of the range among those of the call.
func (b *builder) rangeSites(c pointer.Call, r *memoryRange, number int) ([]Site, error) {
	if (r.returned || r.result) && c.Tail {
		return nil, nil
	}
	if r.result {
		return b.resultSite(c, r)
	}
	at, ok, err := b.atCall(c)
	if !ok || err != nil {
		return nil, err
	}
	s := b.rangeSite(c, r, at)
	if !r.returned {
		return []Site{s}, nil
	}
	behind, ok, err := b.behindCall(c, cheapsite.Want{
		Reads: insn.RegSet(0).With(b.resultRegister()).With(b.arch.SP()), Stop: func(addr uint64) bool { return b.accessAt[addr] },
	})
	if !ok || err != nil {
		return nil, err
	}
	s.BPF.Access.Reach = uint8(bpf.ReachCalled)
	if r.whole {
		s.BPF.Access.Imm = uint64(r.least) + 1
	}
	done := b.rangeSite(c, r, behind)
	// Stack pointers are multiples of 8: what is remembered of a call is found again by its own and the number.
	s.BPF.SpDelta, done.BPF.SpDelta = int32(1+number), int32(behind.SPDelta)+int32(1+number)
	d := &done.BPF.Access
	*d = bpf.AccessSite{Reach: uint8(bpf.ReachReturned), Home: int64(at.Addr - behind.Addr), Imm: uint64(r.plus), Width: 8}
	if r.int {
		d.Width = 4
	}
	return []Site{s, done}, nil
}

// resultSite plans the probe of an access of the memory to which the result of a call points.
func (b *builder) resultSite(c pointer.Call, r *memoryRange) ([]Site, error) {
	behind, ok, err := b.behindCall(c, cheapsite.Want{
		Reads: insn.RegSet(0).With(b.resultRegister()), Stop: func(addr uint64) bool { return b.accessAt[addr] },
	})
	if !ok || err != nil {
		return nil, err
	}
	return []Site{b.rangeSite(c, r, behind)}, nil
}

// atCall returns where the probe of a call sits; ok is false if it has no place.
func (b *builder) atCall(c pointer.Call) (at cheapsite.Site, ok bool, err error) {
	at, err = b.image.Place(cheapsite.Want{At: c.Addr, Sense: cheapsite.After, Stop: func(addr uint64) bool { return addr != c.Addr }})
	return at, err == nil && at.Class != cheapsite.Refused && b.sitesAt[at.Addr] < bpf.MaxChain, err
}

// behindCall returns where the probe behind a call sits, by what it wants; ok is false if it has no place.
func (b *builder) behindCall(c pointer.Call, want cheapsite.Want) (behind cheapsite.Site, ok bool, err error) {
	want.At, want.Sense = c.Addr+uint64(c.Len), cheapsite.Before
	behind, err = b.image.Place(want)
	return behind, err == nil && behind.Class != cheapsite.Refused && b.sitesAt[behind.Addr] < bpf.MaxChain, err
}

// rangeSite returns the site of a call that accesses a range.
func (b *builder) rangeSite(c pointer.Call, r *memoryRange, where cheapsite.Site) Site {
	s := newSite(c.Addr, where, "")
	s.Program, s.Variable, s.Conditional, s.Argument = ProgramPointer, Unnamed, true, r.pointer
	op := bpf.OpRead
	if r.writes {
		op = bpf.OpWrite
	}
	s.BPF = bpf.Site{Op: uint8(op), Action: uint8(bpf.ActionEmit), When: c.Cond}
	b.rangeObject(&s.BPF, r)
	d := &s.BPF.Access
	d.Reach, d.Span = uint8(bpf.ReachRange), uint32(max(r.bytes, 1))
	if r.count > 0 {
		d.Times = 1 + uint8(b.argument(r.count))
	}
	if r.size > 0 {
		d.Extra = 1 + uint8(b.argument(r.size))
	}
	if r.first {
		d.Stride = 1
	}
	if r.descriptor > 0 {
		d.TableDisp = 1 + int32(b.argument(r.descriptor))
	}
	b.measured(d, r)
	return s
}

// measured has an access be as long as memory says.
func (b *builder) measured(d *bpf.AccessSite, r *memoryRange) {
	if r.text > 0 {
		d.ValueReg = 1 + uint8(b.argument(r.text))
	}
	d.IndexReg = uint8(r.holder)
	if r.behind {
		d.IndexReg = 1
	}
	d.Scale = uint8(r.buffer)
	if r.number {
		d.Scale = bpf.ScaleNumber
	}
}
