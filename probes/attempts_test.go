package probes

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/bpf"
)

// TestAttempts checks which sites are those of attempts that are repeated, of looks in between, and of what may release a
// lock: of static variables and through pointers.
func TestAttempts(t *testing.T) {
	const source = `#include <stdatomic.h>
struct lock { int unused; atomic_int word; };
static atomic_int word, flag;
void lock_static(void) { while (atomic_exchange(&word, 1)) while (atomic_load(&word)) ; }
void lock_pointer(struct lock *l) { int free = 0; while (!atomic_compare_exchange_weak(&l->word, &free, 1)) free = 0; }
void unlock_static(void) { atomic_store_explicit(&word, 0, memory_order_release); }
void unlock_pointer(struct lock *l) { atomic_store_explicit(&l->word, 0, memory_order_release); }
int try_static(void) { return !atomic_exchange(&word, 1); }
void set_static(void) { atomic_store_explicit(&flag, 1, memory_order_release); }
int main(int argc, char **argv) { struct lock l = {0}; lock_static(); unlock_static(); lock_pointer(&l); unlock_pointer(&l); set_static(); return try_static() + argc; }
`
	p := plan(t, build(t, "gcc", source, "-O2", "-g", "-fno-inline"), Options{Atomics: true, Shared: true, Pointers: true})
	var got []string
	for i := range p.Sites {
		if s := &p.Sites[i]; s.synchronises() && !strings.HasPrefix(s.Function, "main") {
			got = append(got, fmt.Sprintf("%s %s repeats %v traceless %v kept %v", s.Function, bpf.Op(s.BPF.Op), s.Repeats, s.Traceless, s.Kept))
		}
	}
	slices.Sort(got)
	want := []string{
		"lock_pointer read repeats true traceless true kept true",
		"lock_pointer update repeats true traceless true kept true",
		"lock_static read repeats false traceless true kept false",
		"lock_static update repeats true traceless true kept true",
		"set_static write repeats false traceless false kept false",
		"try_static update repeats false traceless false kept false",
		"unlock_pointer write repeats false traceless false kept true",
		"unlock_static write repeats false traceless false kept true",
	}
	if diff := cmp.Diff(want, slices.Compact(got)); diff != "" {
		t.Error(diff)
	}
}
