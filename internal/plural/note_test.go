package plural

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNotes(t *testing.T) {
	const seen = "%d {instruction|instructions} of %s {is|are} not seen"
	for _, c := range []struct {
		got, want Note
	}{
		{About("/lib/libfoo.so", seen, 1, "libfoo.so"), Note{"1 instruction of libfoo.so is not seen", "{number} instructions of {files} are not seen", "libfoo.so", 1, false}},
		{About("/lib/libfoo.so", seen, uint64(7), "/lib/libfoo.so"), Note{"7 instructions of /lib/libfoo.so are not seen", "{number} instructions of {files} are not seen", "libfoo.so", 7, false}},
		{About("shop", "%s at 0x%x of %s: %v", "x", 16, "shop", errors.New("no")), Note{"x at 0x10 of shop: no", "... at 0x... of {files}: ...", "shop", 0, false}},
		{About("shop", "%d of more than %d", 3, 9), Note{"3 of more than 9", "{number} of more than ...", "shop", 3, false}},
		{About("shop", "all of it"), Note{"all of it", "all of it", "shop", 0, false}},
		{Like("process %d ended: %v", 12, "why"), Note{"process 12 ended: why", "process ... ended: ...", "", 0, false}},
		{Plain("100%"), Note{Text: "100%"}},
		{First("100%"), Note{Text: "100%", First: true}},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
}
