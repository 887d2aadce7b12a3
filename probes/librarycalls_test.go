package probes

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// rangeText returns what the site of a call of a library function observes: the function, the operation, the
// argument that points to the memory, and how many bytes.
func rangeText(s *Site) string {
	d := &s.BPF.Access
	argument := func(plusOne uint8) int {
		for i, r := range insn.AMD64.Arguments() {
			if plusOne == 1+uint8(r) {
				return i + 1
			}
		}
		return 0
	}
	text := fmt.Sprintf("%s %v %d:", s.Callee, bpf.Op(s.BPF.Op), s.Argument)
	switch bpf.Reach(d.Reach) {
	case bpf.ReachReturned:
		return text + fmt.Sprintf(" result+%d", d.Imm)
	case bpf.ReachCalled:
		text += " at most"
	case bpf.ReachRange:
	default:
		return text + " ?"
	}
	if d.Times == 0 {
		text += fmt.Sprintf(" %d", d.Span)
	} else {
		text += fmt.Sprintf(" #%d", argument(d.Times))
	}
	if d.Extra != 0 {
		text += fmt.Sprintf("*#%d", argument(d.Extra))
	}
	if d.Scale == bpf.ScaleNumber {
		return text + " number"
	}
	if d.Scale != 0 {
		text += fmt.Sprintf(" buffer %d", d.Scale)
		return text + [...]string{"", " of a message", " of a request"}[d.IndexReg]
	}
	if d.ValueReg != 0 {
		text += fmt.Sprintf(" as text %d", argument(d.ValueReg))
	}
	if d.IndexReg != 0 {
		text += " behind"
	}
	if d.Stride != 0 {
		text += fmt.Sprintf(" up to %d", d.Stride)
	}
	if s.BPF.When != 0 {
		text += " if"
	}
	return text
}

// TestLibraryCalls checks what is planned for calls of library functions, however the program is linked: the calls
// of a function that the program defines under such a name are its own.
func TestLibraryCalls(t *testing.T) {
	const head = "#define _GNU_SOURCE\n#include <aio.h>\n#include <sys/socket.h>\n#include <locale.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <search.h>\n#include <sys/uio.h>\n#include <time.h>\n#include <unistd.h>\nint main(void) { return 0; }\n"
	copies := []string{"memcpy read 2: #3", "memcpy write 1: #3"}
	for _, x := range []struct {
		name, source string
		args         []string
		want         []string
	}{
		{"called", "void *f(char *a, char *b, long n) { memcpy(a, b, n); return a + 1; }", nil, copies},
		{"called without a stub", "void *f(char *a, char *b, long n) { memcpy(a, b, n); return a + 1; }", []string{"-fno-plt"}, copies},
		{"called last", "void *f(char *a, char *b, long n) { return memcpy(a, b, n); }", []string{"-O2"}, copies},
		{"called last without a stub", "void *f(char *a, char *b, long n) { return memcpy(a, b, n); }", []string{"-O2", "-fno-plt"}, copies},
		{"static", "void *f(char *a, char *b, long n) { memcpy(a, b, n); return a + 1; }", []string{"-static"}, copies},
		{"fortified", "char t[8]; void f(char *b, long n) { memcpy(t, b, n); }", []string{"-O2", "-D_FORTIFY_SOURCE=2"}, copies},
		{"its own", "__attribute__((noinline)) void *mempcpy(void *a, const void *b, unsigned long n) { *(char *)a = 1; return a; } void *f(char *a, char *b, long n) { return (char *)mempcpy(a, b, n) + 1; }", []string{"-fno-builtin"}, nil},
		{"first byte", "int f(char *a, char *b, long n) { return memcmp(a, b, n) + strcmp(a, b); }", []string{"-fno-builtin"},
			[]string{"memcmp read 1: #3 up to 1", "memcmp read 2: #3 up to 1", "strcmp read 1: 1", "strcmp read 2: 1"}},
		{"once returned", "int f(int d, char *a, long n, FILE *s) { return read(d, a, n) + fread(a, 4, n, s) + snprintf(a, n, \"%d\", d); }", []string{"-fno-builtin"},
			[]string{"read write 2: at most #3", "read write 2: result+0", "fread write 1: at most #3*#2", "fread write 1: result+0", "snprintf write 1: at most #2", "snprintf write 1: result+1"}},
		{"returns to its caller's caller", "long f(int d, char *a, long n) { return read(d, a, n); }", []string{"-O2"}, nil},
		{"at the start", "int f(int d, char *a, long n, FILE *s) { return write(d, a, n) + fwrite(a, 4, n, s); }", []string{"-fno-builtin"},
			[]string{"write read 2: #3", "fwrite read 1: #3*#2"}},
		{"texts", "char *f(char *a, char *b, long n) { return strcat(strncpy(a, b, n), b); }", []string{"-fno-builtin"},
			[]string{"strncpy read 2: #3 as text 2", "strncpy write 1: #3", "strcat read 1: 65536 as text 1", "strcat read 2: 65536 as text 2", "strcat write 1: 65536 as text 2 behind"}},
		{"a text, once returned", "int f(char *a, int n, FILE *s) { return !fgets(a, n, s); }", nil, []string{"fgets write 1: at most 65536 as text 1", "fgets write 1: result+0"}},
		{"a text to be read", "int f(char *a, char *b) { return sscanf(b, \"%7s\", a); }", nil,
			[]string{"sscanf read 1: 1", "sscanf write 3: at most 8 as text 3", "sscanf write 3: result+0"}},
		{"a vector", "long f(int d, struct iovec *v, int n) { return writev(d, v, n) + 1; }", nil,
			[]string{"writev read 2: #3", "writev read 2: #3 buffer 1", "writev read 2: #3 buffer 2", "writev read 2: #3 buffer 3", "writev read 2: #3 buffer 4", "writev read 2: #3 buffer 5"}},
		{"a descriptor", "int socket(int, int, int); int f(int d, char *a, long n) { d = d ? d : socket(1, 1, 0); return write(d, a, n) + close(d); }", []string{"-fno-builtin"},
			[]string{"write read 0: #1 number", "write read 2: #3", "close write 0: #1 number"}},
		{"a message", "long f(int d, struct msghdr *m) { return sendmsg(d, m, 0) + 1; }", nil,
			[]string{"sendmsg read 2: 16", "sendmsg read 2: 1 buffer 1 of a message", "sendmsg read 2: 1 buffer 2 of a message", "sendmsg read 2: 1 buffer 3 of a message",
				"sendmsg read 2: 1 buffer 4 of a message", "sendmsg read 2: 1 buffer 5 of a message"}},
		{"a request", "int f(struct aiocb *a) { return aio_read(a) + aio_write(a); }", nil, []string{"aio_read write 1: 1 buffer 1 of a request", "aio_write read 1: 1 buffer 1 of a request"}},
		{"a tree", "int f(void **r, int (*c)(const void *, const void *)) { return !tsearch(r, r, c) + !tfind(r, r, c); }", nil, []string{"tsearch write 2: 8", "tfind read 2: 8"}},
		{"memory of its own", "int f(long *t) { return localtime(t)->tm_year + *ctime(t); }", nil,
			[]string{"localtime read 0: 8", "localtime write 0: 56", "ctime read 0: 8", "ctime write 0: 25"}},
		{"a state of its own", "int f(char *a, char *b) { return setenv(a, b, 1) + !getenv(a) + !strtok(a, b) + !setlocale(6, a); }", nil,
			[]string{"setenv write 0: 8", "getenv read 0: 8", "strtok read 2: 65536 as text 2", "strtok write 0: 8", "setlocale read 0: 8", "setlocale write 0: #2 up to 1"}},
		{"memory of its own, handed on", "struct tm *f(long *t) { return gmtime(t); }", []string{"-O2"}, nil},
		{"printed", "int f(FILE *s, char *a, long n) { return fprintf(s, \"%ld %s\\n\", n, a); }", []string{"-O2"}, []string{"fprintf read 4: 65536 as text 4"}},
		{"printed, fortified", "int f(FILE *s, char *a, long n) { return fprintf(s, \"%ld %s\\n\", n, a); }", []string{"-O2", "-D_FORTIFY_SOURCE=2"}, []string{"fprintf read 5: 65536 as text 5"}},
		{"printed by a format that is not constant", "int f(FILE *s, char *a, const char *format) { return fprintf(s, format, a); }", []string{"-O2"}, nil},
		{"by a pointer", "void *f(void *(*copy)(void *, const void *, unsigned long), char *a, char *b) { return (char *)copy(a, b, 4) + 1; }", nil, nil},
	} {
		t.Run(x.name, func(t *testing.T) {
			p := plan(t, build(t, "gcc", head+x.source, append([]string{"-O1", "-g"}, x.args...)...), Options{Atomics: true, Pointers: true})
			var got []string
			for i := range p.Sites {
				if s := &p.Sites[i]; s.Callee != "" && s.Function == "f" {
					got = append(got, rangeText(s))
				}
			}
			if diff := cmp.Diff(x.want, got); diff != "" {
				t.Errorf("%s (notes: %q)", diff, plural.Texts(p.Notes))
			}
		})
	}
	t.Run("default", func(t *testing.T) {
		p := plan(t, build(t, "gcc", head+"void *f(char *a, char *b, long n) { memcpy(a, b, n); return a + 1; }", "-O1", "-g"), Options{Atomics: true})
		for i := range p.Sites {
			if p.Sites[i].Callee != "" {
				t.Errorf("a site of %s, though accesses through pointers are not asked for", p.Sites[i].Callee)
			}
		}
	})
}

// TestLibraryStates checks that each state of the C library has a name, and no other address.
func TestLibraryStates(t *testing.T) {
	for s := environment; s < states; s++ {
		if at := uint64(s.address()); LibraryState(at) == "" || LibraryState(at+stateSize-1) != LibraryState(at) {
			t.Errorf("state %d has no name", s)
		}
	}
	for n, addr := range map[int]uint64{0: descriptorWords, 3: descriptorWords + 31, maxDescriptors - 1: descriptorWords + 8*maxDescriptors - 1} {
		if name := LibraryState(addr); name != fmt.Sprint("descriptor ", n) {
			t.Errorf("%#x is %q", addr, name)
		}
	}
	for _, addr := range []uint64{0, uint64(states) * stateSize, descriptorWords - 1, descriptorWords + 8*maxDescriptors, 0x7f0000000000} {
		if name := LibraryState(addr); name != "" {
			t.Errorf("%#x is %s", addr, name)
		}
	}
}

// TestLibraryFunctions checks the names of the table.
func TestLibraryFunctions(t *testing.T) {
	for symbol, want := range map[string]string{
		"memcpy": "memcpy", "__memcpy_chk": "memcpy", "memmove": "memmove", "__explicit_bzero_chk": "explicit_bzero", "__fread_chk": "fread",
		"__isoc23_strtol": "strtol", "__isoc99_sscanf": "sscanf", "printf": "printf", "__fprintf_chk": "fprintf",
		"__memmove_chk": "memmove", "__mempcpy_chk": "mempcpy", "__memset_chk": "memset", "__strcpy_chk": "strcpy", "__stpcpy_chk": "stpcpy", "__strncpy_chk": "strncpy", "__strcat_chk": "strcat", "__strncat_chk": "strncat",
		"__read_chk": "read", "__recv_chk": "recv", "__recvfrom_chk": "recvfrom", "__pread_chk": "pread", "__pread64_chk": "pread64", "__sprintf_chk": "sprintf", "__snprintf_chk": "snprintf", "__vsprintf_chk": "vsprintf",
		stringPrefix + "9_M_appendEPKcm": "std::string::append", "__vsnprintf_chk": "vsnprintf", "memcpyx": "", "": "", "_chk": "", "malloc": "", "pthread_mutex_lock": "",
	} {
		if name, _ := libraryFunction(symbol); name != want {
			t.Errorf("%s is %q, want %q", symbol, name, want)
		}
	}
	for alias, name := range libraryAliases {
		if libraryRanges[name] == nil {
			t.Errorf("%s is an alias of %s, which is not there", alias, name)
		}
	}
	if _, ranges := libraryFunction("__fread_chk"); ranges[0].count != 4 || ranges[0].size != 3 {
		t.Errorf("__fread_chk has the arguments of fread: %+v", ranges)
	}
}
