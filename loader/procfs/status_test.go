package procfs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseStatus(t *testing.T) {
	got := parseStatus("Name:\ta:b\nState:\tS (sleeping)\nUid:\t1\t2\t3\t4\nKthread:\t0\nno field\nEmpty:\n")
	want := map[string]string{"Name": "a:b", "State": "S (sleeping)", "Uid": "1\t2\t3\t4", "Kthread": "0", "Empty": ""}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func FuzzParseStatus(f *testing.F) {
	f.Add("Name:\ta\nState:\tS (sleeping)\n")
	f.Fuzz(func(t *testing.T, text string) {
		if fields := parseStatus(text); len(fields) > strings.Count(text, ":") {
			t.Errorf("%q gives %q", text, fields)
		}
	})
}

func TestReadSetting(t *testing.T) {
	if _, ok, err := Setting("kernel.no_such_setting"); ok || err != nil {
		t.Errorf("%v, %v", ok, err)
	}
	if n, ok, err := Setting("kernel.pid_max"); !ok || err != nil || n < 100 {
		t.Errorf("kernel.pid_max: %d, %v, %v", n, ok, err)
	}
	if _, _, err := Setting("kernel.osrelease"); err == nil {
		t.Error("a release is taken for a number")
	}
}
