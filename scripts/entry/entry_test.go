package entry

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestMainEnds runs Main in a process of its own, which is this test once more.
func TestMainEnds(t *testing.T) {
	if how := os.Getenv("ENTRY_ENDS"); how != "" {
		Main("shop", parse(how), work)
		return
	}
	for how, want := range map[string]struct {
		status int
		said   string
	}{
		"well":        {0, ""},
		"badly":       {1, "shop: the till is empty"},
		"misused":     {2, "shop: no such flag"},
		"interrupted": {1, "shop: context canceled"},
	} {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestMainEnds$")
		cmd.Env = append(os.Environ(), "ENTRY_ENDS="+how)
		var said strings.Builder
		cmd.Stderr = &said
		err := cmd.Run()
		if got := cmd.ProcessState.ExitCode(); got != want.status || strings.TrimSpace(said.String()) != want.said {
			t.Errorf("%s: status %d, %q, %v", how, got, said.String(), err)
		}
	}
}

func parse(how string) func() (string, error) {
	return func() (string, error) {
		if how == "misused" {
			return "", errors.New("no such flag")
		}
		return how, nil
	}
}

func work(ctx context.Context, how string) error {
	switch how {
	case "badly":
		return errors.New("the till is empty")
	case "interrupted":
		if err := unix.Kill(os.Getpid(), unix.SIGINT); err != nil {
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}
