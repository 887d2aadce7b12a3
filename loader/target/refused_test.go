package target

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/loader/need"
)

// TestRefusedWithPrivileges checks that nobody is told to become root who has what root has.
func TestRefusedWithPrivileges(t *testing.T) {
	status := map[string]string{"Name": "init", "Uid": "0\t0\t0\t0"}
	refusal := &os.PathError{Op: "readlink", Path: "/proc/1/exe", Err: unix.EACCES}
	for _, c := range []struct {
		name  string
		in    need.Circumstances
		words []string
	}{
		{"nothing is known", need.Circumstances{CapsKnown: true}, []string{"process 1 (init)", "even with CAP_SYS_PTRACE", "a security module of the kernel or the sandbox"}},
		{"modules", need.Circumstances{CapsKnown: true, SecurityModules: "yama, selinux"}, []string{"(yama, selinux)", "dmesg"}},
		{"user namespace", need.Circumstances{CapsKnown: true, Nested: true}, []string{"user namespace", "outside of it"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := notYours(c.in, 1, status, refusal)
			wantNeed(t, err, ErrNotYours, c.words...)
			wantNeed(t, err, unix.EACCES)
			if text := err.Error(); strings.Contains(text, "sudo") || strings.Contains(text, "as root") {
				t.Errorf("%q tells root to be root", text)
			}
		})
	}
	err := notYours(need.Circumstances{CapsKnown: true, NoPtrace: true, Self: "tp"}, 1, status, refusal)
	if os.Geteuid() == 0 {
		wantNeed(t, err, ErrNotYours, "missing CAP_SYS_PTRACE", "--cap-add SYS_PTRACE")
		if strings.Contains(err.Error(), "sudo") {
			t.Errorf("%q tells root to be root", err)
		}
		return
	}
	wantNeed(t, err, ErrNotYours, "missing CAP_SYS_PTRACE", "sudo tp")
}
