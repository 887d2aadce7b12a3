package probes

import "testing"

func TestAllocatorNamed(t *testing.T) {
	for name, want := range map[string]bool{
		"malloc": true, "je_malloc": true, "mi_realloc": true, "tc_free": true, "_ZnwmSt11align_val_t": true, "_ZdaPvm": true,
		"malloc_trim": false, "je_": false, "xmalloc": false, "mi_heap_malloc": false, "_Znx": false, "": false,
	} {
		if _, ok := allocatorNamed(name); ok != want {
			t.Errorf("%q: %v", name, ok)
		}
	}
}
