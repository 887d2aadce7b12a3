package target

import (
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"testing"

	"github.com/tracepredict/tracepredict/internal/loadertest"
)

func TestLookupUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("sudo's caller counts for root alone: run the tests with sudo")
	}
	for _, c := range []struct {
		name, sudo string
		uid        int // -1: the tool's own user
		fails      bool
	}{
		{"", "", -1, false},
		{"", "0", -1, false},
		{"", "65534", loadertest.Nobody, false},
		{"", "what", 0, true},
		{"", "4294967", 0, true},
		{"root", "65534", -1, false},
		{"nobody", "", loadertest.Nobody, false},
		{"no-such-user", "", 0, true},
	} {
		t.Setenv("SUDO_UID", c.sudo)
		got, err := LookupUser(c.name)
		switch {
		case (err != nil) != c.fails:
			t.Errorf("%+v: %v", c, err)
		case c.fails:
		case (got == nil) != (c.uid < 0) || got != nil && (got.UID != c.uid || got.Name != "nobody" || len(got.Groups) == 0):
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

func TestExitError(t *testing.T) {
	cause := errors.New("cause")
	if err := (&ExitError{Code: 126, Err: cause}); err.Error() != "cause" || !errors.Is(err, cause) {
		t.Errorf("%v", err)
	}
}

// TestCredentialsArePassedOn: a process that gets them as JSON becomes the user, and without a user it becomes nobody else.
func TestCredentialsArePassedOn(t *testing.T) {
	c := Credentials{UID: 1, GID: 2, Groups: []int{3}, Name: "n", Home: "/h"}
	text, err := json.Marshal(c)
	var got Credentials
	if err != nil || json.Unmarshal(text, &got) != nil || !reflect.DeepEqual(got, c) {
		t.Errorf("%s, %v: %+v", text, err, got)
	}
	if err := (&Credentials{}).Assume(); err == nil {
		t.Error("nobody was assumed")
	}
}
