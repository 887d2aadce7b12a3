package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tracepredict/tracepredict/loader/need"
)

func TestPrefersCopy(t *testing.T) {
	folder := t.TempDir()
	copied, plain := filepath.Join(folder, "tracepredict"), filepath.Join(folder, "plain")
	for name, mode := range map[string]os.FileMode{copied: 0o755, plain: 0o644} {
		if err := os.WriteFile(name, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	lacking := need.Circumstances{CapsKnown: true, Missing: []string{"CAP_BPF"}}
	for _, c := range []struct {
		name      string
		here      need.Circumstances
		path, own string
		want      bool
	}{
		{"it may be executed", lacking, copied, "/usr/bin/tracepredict", true},
		{"it is this process's own", lacking, copied, copied, false},
		{"nothing is missing", need.Circumstances{CapsKnown: true}, copied, "/usr/bin/tracepredict", false},
		{"what is missing is not known", need.Circumstances{}, copied, "/usr/bin/tracepredict", false},
		{"there is none", lacking, filepath.Join(folder, "absent"), "/usr/bin/tracepredict", false},
		{"it may not be executed", lacking, plain, "/usr/bin/tracepredict", false},
	} {
		if got := prefersCopy(c.here, c.path, c.own); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
