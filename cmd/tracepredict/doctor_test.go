package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/loader/doctor"
	"github.com/tracepredict/tracepredict/loader/target"
)

func TestRunDoctor(t *testing.T) {
	const sudo = "run it with sudo"
	last := func(s doctor.State, detail, remedy string) doctor.Check {
		return doctor.Check{Name: "all together", State: s, Needed: true, Detail: detail, Remedy: remedy}
	}
	for _, c := range []struct {
		name   string
		checks []doctor.Check
		want   string
		err    string
	}{
		{
			name: "all there",
			checks: []doctor.Check{
				{Name: "kernel", State: doctor.Yes, Needed: true, Detail: "Linux 6.12.0"},
				last(doctor.Yes, "it loads", ""),
			},
			want: `
CHECK         HERE  NEEDED  DETAIL
kernel        yes   yes     Linux 6.12.0
all together  yes   yes     it loads

tracepredict works here.
`,
		},
		{
			name: "a wish is missing",
			checks: []doctor.Check{
				{Name: "CAP_SYS_PTRACE", State: doctor.No, Detail: "not in effect", Remedy: sudo},
				last(doctor.Yes, "it loads", ""),
			},
			want: `
CHECK           HERE  NEEDED  DETAIL
CAP_SYS_PTRACE  no    no      not in effect
all together    yes   yes     it loads

tracepredict works here, with limits.

What to do:
  for CAP_SYS_PTRACE:
    run it with sudo
`,
		},
		{
			name: "a need is missing",
			checks: []doctor.Check{
				{Name: "CAP_BPF", State: doctor.No, Needed: true, Detail: "not in effect", Remedy: sudo},
				{Name: "ring buffer", Needed: true, Detail: "not\tpermitted\nto try", Remedy: sudo},
				{Name: "BTF", State: doctor.No, Needed: true, Detail: "no BTF", Remedy: "boot another kernel"},
				last(doctor.No, "missing CAP_BPF", sudo),
			},
			want: `
CHECK         HERE     NEEDED  DETAIL
CAP_BPF       no       yes     not in effect
ring buffer   unknown  yes     not permitted to try
BTF           no       yes     no BTF
all together  no       yes     missing CAP_BPF

tracepredict cannot work here; failing checks: CAP_BPF, BTF.

What to do:
  for CAP_BPF, all together:
    run it with sudo
  for BTF:
    boot another kernel
`,
			err: "tracepredict cannot work here; failing checks: CAP_BPF, BTF",
		},
		{
			name: "unknown, and it works",
			checks: []doctor.Check{
				{Name: "ptrace", Needed: true, Detail: "could not tell", Remedy: "look"},
				last(doctor.Yes, "it loads", ""),
			},
			want: `
CHECK         HERE     NEEDED  DETAIL
ptrace        unknown  yes     could not tell
all together  yes      yes     it loads

tracepredict works here, with limits.

What to do:
  for ptrace:
    look
`,
		},
		{
			name:   "the last alone fails",
			checks: []doctor.Check{last(doctor.Unknown, "could not tell", "")},
			want: `
CHECK         HERE     NEEDED  DETAIL
all together  unknown  yes     could not tell

tracepredict cannot work here; failing checks: all together.
`,
			err: "tracepredict cannot work here; failing checks: all together",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			err := runDoctor(&out, c.checks)
			if diff := cmp.Diff(c.want, "\n"+out.String()); diff != "" {
				t.Error(diff)
			}
			checkDoctorError(t, err, c.err)
		})
	}
}

func checkDoctorError(t *testing.T, err error, want string) {
	t.Helper()
	if want == "" {
		if err != nil {
			t.Error(err)
		}
		return
	}
	var exit *target.ExitError
	if !errors.As(err, &exit) || exit.Code != 125 || err.Error() != want {
		t.Errorf("got %v (%T), want exit status 125: %s", err, err, want)
	}
}

// full is a file on a device without space.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestRunDoctorCannotPrint(t *testing.T) {
	if err := runDoctor(full{}, []doctor.Check{{Name: "x", State: doctor.Yes}}); err == nil {
		t.Error("no error, though nothing could be printed")
	}
}
