package variable

import (
	"strings"
	"testing"
)

// TestNamesOfCallees checks that the address of a variable escapes to a function whose name only
// begins like one of the C library's, and does not to one that synchronises.
func TestNamesOfCallees(t *testing.T) {
	for call, escapes := range map[string]bool{
		"sem_post":               false,
		"pthread_mutex_lock":     false,
		"sem_keep":               true,
		"mtx_register":           true,
		"cnd_list_add":           true,
		"pthread_mutex_remember": true,
	} {
		text := "void " + call + "(long *); static long counter[4];\nvoid f(void) { " + call + "(counter); counter[0]++; }\n"
		f := build(t, "gcc", []string{"-O2", "-g", "-shared", "-fPIC"}, []string{"v.c"}, map[string]string{"v.c": text})
		got, err := Accesses(f, mustFind(t, f, "counter[0]"))
		if err != nil {
			t.Fatal(err)
		}
		if (len(got.Escapes) > 0) != escapes || len(got.Accesses) == 0 {
			t.Errorf("%s: %d escapes, %d accesses", call, len(got.Escapes), len(got.Accesses))
		}
	}
}

// TestOwnCallees checks that a function of the program is not taken for the C library's function of
// its name.
func TestOwnCallees(t *testing.T) {
	for _, c := range []struct {
		compiler, flags string
	}{{"gcc", "-O1"}, {"gcc", "-O1 -static"}, {"musl-gcc", "-O1 -static"}} {
		for _, call := range []string{"sem_post", "puts", "getpid"} {
			text := "static long counter[4]; long *kept;\n" +
				"__attribute__((noinline)) int own(long *p) __asm__(\"" + call + "\");\n" +
				"__attribute__((noinline)) int own(long *p) { kept = p; return *p == 3; }\n" +
				"int main(void) { int n = own(counter); return counter[0]++ + n; }\n"
			f := build(t, c.compiler, append(strings.Fields(c.flags), "-g"), []string{"v.c"}, map[string]string{"v.c": text})
			got, err := Accesses(f, mustFind(t, f, "counter[0]"))
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Escapes) == 0 {
				t.Errorf("%s %s: the address does not escape to the program's own %s", c.compiler, c.flags, call)
			}
		}
	}
}
