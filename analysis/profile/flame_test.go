package profile

import (
	"bytes"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/observer/event"
)

// flame returns the page of a run.
func flame(t *testing.T, events []event.Event) string {
	t.Helper()
	w := New(io.Discard, Options{Names: shopNames()})
	for i := range events {
		w.Event(&events[i])
	}
	p, err := w.Profile()
	if err != nil {
		t.Fatal(err)
	}
	var page bytes.Buffer
	if err := WriteFlame(&page, p, "/opt/<shop>"); err != nil {
		t.Fatal(err)
	}
	return page.String()
}

// TestFlame checks the boxes of a run in which threads wait, that the page needs no network, and that of a run in which nobody
// waits it has the locks alone.
func TestFlame(t *testing.T) {
	page := flame(t, shopRun())
	box := regexp.MustCompile(`<div( class="\w+")? style="top: calc\((\d+) \* 19px\); left: ([0-9.]+)%; width: ([0-9.]+)%" title="([^"]*)">([^<]*)</div>`)
	var got []string
	for line := range strings.Lines(page) {
		if m := box.FindStringSubmatch(line); m != nil {
			got = append(got, strings.Join(m[1:], "|"))
		}
	}
	want := []string{
		"|0|0.0000|100.0000|take (shop.c:4): 4µs, 100.0 %, 1 time|take (shop.c:4)",
		` class="object"|1|0.0000|100.0000|stock: 4µs, 100.0 %, 1 time|stock`,
		` class="blocker"|2|0.0000|100.0000|because of restock (shop.c:9): 4µs, 100.0 %, 1 time|because of restock (shop.c:9)`,
		"|0|0.0000|100.0000|take (shop.c:4): 500ns, 100.0 %, 1 time|take (shop.c:4)",
		` class="object"|1|0.0000|100.0000|bell: 500ns, 100.0 %, 1 time|bell`,
		` class="blocker"|2|0.0000|100.0000|because of ring (shop.c:20): 500ns, 100.0 %, 1 time|because of ring (shop.c:20)`,
		"|0|0.0000|88.8889|restock (shop.c:9): 4µs, 88.9 %, 2 times|restock (shop.c:9)",
		` class="object"|1|0.0000|88.8889|stock: 4µs, 88.9 %, 2 times|stock`,
		"|0|88.8889|11.1111|take (shop.c:4): 500ns, 11.1 %, 1 time|take (shop.c:4)",
		` class="object"|1|88.8889|11.1111|stock: 500ns, 11.1 %, 1 time|stock`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if !strings.Contains(page, "<h1>/opt/&lt;shop&gt;</h1>") {
		t.Error("the program's name is not escaped")
	}
	if at := regexp.MustCompile(`(src|href|url|import|fetch)\b *[=(]`).FindString(page); at != "" {
		t.Errorf("the page may need the network: %s", at)
	}
	alone := slices.DeleteFunc(shopRun(), func(e event.Event) bool { return e.Thread != 1 })
	if page := flame(t, alone); strings.Count(page, "<h2>") != 1 || !strings.Contains(page, "<h2>locks held: 500ns</h2>") {
		t.Errorf("without those that it waited for:\n%s", page)
	}
	if page := flame(t, alone[:1]); !strings.Contains(page, "No lock was taken, and nobody waited.") {
		t.Errorf("without locks:\n%s", page)
	}
}
