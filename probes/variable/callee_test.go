package variable

import "testing"

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
