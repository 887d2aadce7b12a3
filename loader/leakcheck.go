package loader

import (
	"os"
	"path"
	"strings"
)

// leakCheck is the function of LeakSanitizer, which AddressSanitizer contains, that looks for leaks at
// the end of a program. It traces the program, which fails while another process traces it.
const leakCheck = "__lsan_do_leak_check"

// noteLeakCheck adds a note if the program of the first process looks for leaks at its end, since it
// is traced. The caller holds s.mu.
func (s *Session) noteLeakCheck() {
	if !s.traced || !leaksWanted() {
		return
	}
	for _, m := range s.first.modules {
		name := path.Base(m.Path)
		if m.Path != s.first.program && !strings.Contains(name, "asan") && !strings.Contains(name, "lsan") {
			continue
		}
		if len(m.Bin.Lookup(leakCheck)) > 0 {
			s.notes.say("the program looks for memory leaks at its end (LeakSanitizer, which AddressSanitizer contains): that fails, and with it the program, because exec traces the program; ASAN_OPTIONS=detect_leaks=0 leaves the check out, and attach does not disturb it")
			return
		}
	}
}

// leaksWanted reports whether the environment, which the program inherits, leaves the check in.
func leaksWanted() bool {
	for _, name := range []string{"ASAN_OPTIONS", "LSAN_OPTIONS"} {
		if strings.Contains(os.Getenv(name), "detect_leaks=0") {
			return false
		}
	}
	return true
}
