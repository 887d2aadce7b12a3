package probes

import (
	"fmt"
	"strings"
	"testing"
)

// TestPrintedTexts checks of which arguments a format prints the text, and how many bytes at most, 0 for the first one.
func TestPrintedTexts(t *testing.T) {
	for format, want := range map[string]string{
		"": "", "text": "", "%s": "2", "%d %s %ld %s": "3 5", "%f %s %g %s": "2 3", "%% %s": "2", "%m %s": "2", "%*d %s": "4",
		"%-10.3s%s": "2:3 3", "%.0s %s": "3", "%.s %s": "3", "%.*s %s": "4", "%.10s": "2:10", "%5s%-*s": "2 4", "%ls %S": "2:1 3:1", "%hhd %zu %jx %s": "5",
		"%Lf %s": "2", "%1$s": "", "%s %2$d %s": "2", "%s %y %s": "2", "%s %": "2", "%n %s": "3", "%'d %#x %+d % d %s": "6", "%c%s": "3",
	} {
		var got []string
		for _, r := range printedTexts(format, 2) {
			shown := fmt.Sprint(r.pointer)
			if r.text == 0 {
				shown += ":1"
			} else if r.bytes < maxText {
				shown += fmt.Sprint(":", r.bytes)
			}
			got = append(got, shown)
			if r.writes || r.text != 0 && r.text != r.pointer {
				t.Errorf("%q: %+v", format, r)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %q, want %q", format, got, want)
		}
	}
}

// TestScannedRanges checks what a format stores, as argument:bytes, once how many values are assigned.
func TestScannedRanges(t *testing.T) {
	for format, want := range map[string]string{
		"": "", "text": "", "%d": "3:4>=1", "%d %ld": "3:4>=1 4:8>=2", "%hhd%hd%lld%zu": "3:1>=1 4:2>=2 5:8>=3 6:8>=4",
		"%f %lf %Lf": "3:4>=1 4:8>=2 5:16>=3", "%*d %d": "3:4>=1", "%d%%%d": "3:4>=1 4:4>=2", "%63s %d": "3:text64>=1 4:4>=2", "%ls%s": "3:1>=1 4:text>=2",
		"%c%p": "3:1>=1 4:8>=2", "%2c": "3:2>=1", "%0c": "", "%[^]x] %d": "3:text>=1 4:4>=2", "%9[]] %d": "3:text10>=1 4:4>=2", "%[a-z": "",
		"%d%n %d": "3:4>=1 4:4>=1 5:4>=2", "%d %n%d": "3:4>=1 5:4>=2", "%n%d": "4:4>=1", "%d%hhn": "3:4>=1 4:1>=1", "%d%*n": "3:4>=1",
		"%1$d": "", "%ms": "", "%d %": "3:4>=1", "%Ld": "", "%x:%x": "3:4>=1 4:4>=2", "%*[^,],%d": "3:4>=1", "%*%d": "",
	} {
		var got []string
		for _, r := range scannedRanges(format, 3) {
			bytes := fmt.Sprint(r.bytes)
			if r.text != 0 {
				bytes = "text"
				if r.bytes < maxText {
					bytes += fmt.Sprint(r.bytes)
				}
			}
			got = append(got, fmt.Sprintf("%d:%s>=%d", r.pointer, bytes, r.least))
			if !r.writes || !r.returned || !r.int || !r.whole {
				t.Errorf("%q: %+v", format, r)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %q, want %q", format, got, want)
		}
	}
}
