package bind

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/spec"
)

// TestKernelScope: which scopes can be monitored in the observed threads, and why others cannot.
func TestKernelScope(t *testing.T) {
	const locals = "local n : int = 0 { on work : n := n + 1 }\n"
	for _, c := range []struct{ before, action, event, local, reason string }{
		{"", "acquire room", "call do_work", "on any_thread(work) is F(work)", ""},
		{"", "release room", "return do_work", "on any_thread(work) is F(work)", ""},
		{"", "call turn", "call do_work", "on any_thread(work) is F(work)", ""},
		{"", "call turn(n) when n > 0", "call do_work", "on any_thread(work) is F(work)", "action cut has a condition"},
		{"", "acquire room by any_thread", "call do_work", "on any_thread(work) is F(work)", "is of threads of one type"},
		{"", "acquire any", "call do_work", "on any_thread(work) is F(work)", "is of no lock with a name"},
		{"", "signal ready", "call do_work", "on any_thread(work) is F(work)", "is no call, return, acquire or release"},
		{"", "acquire room", "call do_work(n) when n == 1", "on any_thread(work) is F(work)", ""},
		{"", "acquire room", "return do_work(n) -> r when r < n", "on any_thread(work) is F(work)", ""},
		{"", "acquire room", "call do_work(n) when n == tid", "on any_thread(work) is F(work)", "the condition of work is not for the kernel: it reads tid"},
		{"", "acquire room", "call do_work(n) when n * 1.5 > 2", "on any_thread(work) is F(work)", "it computes with floats"},
		{"", "acquire room", "release room", "on any_thread(work) is F(work)", "p is over work, which is no call or return"},
		{"", "acquire room", "call do_work by other", "on any_thread(work) is F(work)", "p is over work, which is of threads of another type"},
		{"", "acquire room", "call do_work", "on any_thread(work) is G(sync -> F(work)) across scopes", "p continues across scopes"},
		{locals, "acquire room", "call do_work", "on any_thread(work) is F(work)", "more than a scope"},
	} {
		text := fmt.Sprintf("lock room = room_lock\ncond ready = ready_cond\nthread any_thread = name \"*\"\nthread other = start f\n"+
			"event cut = %s\nevent work = %s\n%sscope s (cut) {\n  property p %s\n  atom x = any(p)\n  check always x\n}\n", c.action, c.event, c.before, c.local)
		s, problems := spec.Parse("s.tps", text)
		if problems.HasErrors() {
			t.Errorf("%s: %v", text, problems)
			continue
		}
		k, err := NewKernelScope(s)
		switch {
		case (err == nil) != (c.reason == "") || err != nil && !strings.Contains(err.Error(), c.reason):
			t.Errorf("%s, %s: %v, want %q", c.action, c.event, err, c.reason)
		case err == nil:
			if _, releases, ok := k.Lock(); ok != strings.Contains(c.action, "room") || releases != strings.Contains(c.action, "release") {
				t.Errorf("%s: of a lock: %v, releases: %v", c.action, ok, releases)
			}
		}
	}
}
