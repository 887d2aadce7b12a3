package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/scripts/figures"
)

func TestNewPageHasItsMarks(t *testing.T) {
	for _, m := range []figures.Marks{marks, scopeMarks} {
		if _, err := m.Replace(newPage, "figures\n"); err != nil {
			t.Error(err)
		}
	}
}

func TestParseBenchmarks(t *testing.T) {
	got := parseBenchmarks(`goos: linux
BenchmarkPipeline/observer-2         	 2364816	       600 ns/op	       0 B/op	       0 allocs/op
BenchmarkPipeline/all-2              	  322839	     10102 ns/op	     473 B/op	       1 allocs/op
BenchmarkPipeline/observer-2         	 2364816	       637.5 ns/op	       2 B/op	       0 allocs/op
PASS
`)
	want := []stage{{"observer", 618.75, 1, 0}, {"all", 10102, 473, 1}}
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestParseSample(t *testing.T) {
	s, err := parseSample([]byte("Attaching 3 probes...\n{\"pairs\": 10, \"ns_per_pair\": 2.50, \"cpu_s\": 0.001}\n\n@l: 10\n"))
	if err != nil || s.Pairs != 10 || s.NsPerPair != 2.5 || s.CPU != 0.001 {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := parseSample([]byte("Attaching 3 probes...\n")); err == nil {
		t.Error("output without a measurement is taken")
	}
}

// A limit that two empty probes pass already is said to be out of reach, and is
// not met all the same.
func TestOutOfReach(t *testing.T) {
	p := fake(221, 0, 0.5)
	p.results[1].samples[0].NsPerPair = 4000 // of 20,000 with entry sites
	floor := func(ns float64) result {
		return result{&variant{name: twoProbes, threads: 1}, []sample{{Pairs: 100, NsPerPair: ns}}}
	}
	const words = "two probes that do nothing take 1990 ns, the limit is 1667"
	p.results = append(p.results, floor(2000))
	if text, met := p.render(); met || !strings.Contains(text, words) {
		t.Errorf("want %q, and not met:\n%s", words, text)
	}
	p.results[len(p.results)-1] = floor(1500)
	if text, met := p.render(); met || strings.Contains(text, "out of reach") {
		t.Errorf("within reach, and not met:\n%s", text)
	}
}

// fake is a page whose cheap variant costs a tenth of the entry one.
func fake(events, lost, toolCPU float64) *page {
	one := func(name string, threads int, ns float64) result {
		v := &variant{name: name, threads: threads, idle: sample{Pairs: 2, events: 25}}
		return result{v, []sample{{Pairs: 100, NsPerPair: ns, CPU: 1, toolCPU: toolCPU, events: events, lost: lost}}}
	}
	k := checked{perSecond: 2e5, width: 64, heap: []float64{40, 40, 40, 40}, resident: []float64{50, 50, 50, 50}}
	ws := []written{{"text", 0.2, 3}, {"json", 0.9, 140}}
	return &page{knowledge: fakeKnowledge(1.2, 80), checked: k, unbounded: minUnbounded, reports: ws, chains: named{1, 200}, hang: told{500, 700}, confirmed: []confirmedIn{{"shop", 0.3, 0.9}}, lockGraph: 0.2, ordered: minOrdered, results: []result{
		one(plain, 1, 10), one(cheap, 1, 1010), one(entry, 1, 20_010), one(bpftrace, 1, 30_010), one(cheap, 2, 2000),
	}}
}

func TestRequirements(t *testing.T) {
	for _, c := range []struct {
		name string
		page *page
		met  bool
	}{
		{"all met", fake(221, 0, 0.5), true},
		{"one event missing", fake(220, 0, 0.5), false},
		{"one event too many", fake(222, 0, 0.5), false},
		{"one lost", fake(221, 1, 0.5), false},
		{"the tool works harder than the program", fake(221, 0, 1), false},
	} {
		text, met := c.page.render()
		if met != c.met {
			t.Errorf("%s: met %v, want %v\n%s", c.name, met, c.met, text)
		}
	}
	without := fake(221, 0, 0.5)
	without.results = without.results[:3]
	if _, met := without.render(); met {
		t.Error("a requirement that was not measured counts as met")
	}
	if q, _ := fake(221, 0, 0.5).ratio(cheap, entry, 1); q != 0.05 {
		t.Errorf("ratio %v, want 0.05", q)
	}
}

func TestParseReplays(t *testing.T) {
	out := `goos: linux
BenchmarkReplay/clocks,eraser,goodlock-2         	       3	         1.8 B/event	         0.002 allocs/event	       100 cpu-ns/event	  10000000 events/s
BenchmarkReplay/all-2         	       3	         54 B/event	         0.005 allocs/event	       200 cpu-ns/event	  5000000 events/s
BenchmarkReplay/clocks,eraser,goodlock-2         	       3	         1.8 B/event	         0.004 allocs/event	       300 cpu-ns/event	  8000000 events/s
BenchmarkReplay/clocks,eraser,goodlock-2         	       3	         1.8 B/event	         0.003 allocs/event	       200 cpu-ns/event	  9000000 events/s
`
	got := parseReplays(out)
	want := []replayed{{required, 9e6, 200, 1.8, 0.003}, {"all", 5e6, 200, 54, 0.005}}
	if !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	p := page{replays: got}
	met := false
	for _, q := range p.requirements() {
		met = met || strings.Contains(q.text, "recorded trace") && q.met
	}
	if !met {
		t.Errorf("nine million events a second are too few: %+v", p.requirements())
	}
}

func TestRenderStores(t *testing.T) {
	one := func(name string, ns, events float64) result {
		return result{&variant{name: name, threads: 1, idle: sample{Pairs: 1, events: 9}}, []sample{{Pairs: 100, NsPerPair: ns, CPUPair: ns - 1, events: events}}}
	}
	p := &page{stores: []result{one(noStore, 2, 0), one(cheapStore, 502, 108), one(trappedStore, 10_002, 107)}}
	var b strings.Builder
	p.renderStores(&b)
	for _, want := range []string{"| a probe at a cheap site | 500 | 500 | 500 | 500 | 1.0 | 0 |", "| a hardware watchpoint | 10000 | 10000 | 10000 | 10000 | 20.0 | 1 |"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no line %q in\n%s", want, b.String())
		}
	}
}

const latticeOutput = `goos: linux
BenchmarkProperties-2   	       1	         0.0000011 allocs/state	    147582 events/s	 45.17 heap-MB-at-100	 45.10 heap-MB-at-25	 45.15 heap-MB-at-50	 45.16 heap-MB-at-75	 57.29 rss-MB-at-100	 60.0 rss-MB-at-25	 58.05 rss-MB-at-50	 57.29 rss-MB-at-75	 63.98 states/level
BenchmarkProperties-2   	       1	         0.0000011 allocs/state	    149582 events/s	 45.17 heap-MB-at-100	 45.10 heap-MB-at-25	 45.15 heap-MB-at-50	 45.16 heap-MB-at-75	 57.29 rss-MB-at-100	 60.0 rss-MB-at-25	 58.05 rss-MB-at-50	 57.29 rss-MB-at-75	 63.98 states/level
BenchmarkUnbounded/n=4/k=50-2         	       1	1234567 ns/op	   8100000 cuts/s
BenchmarkUnbounded/n=8/k=6-2          	       1	1234567 ns/op	   2400000 cuts/s
`

func TestLatticeRows(t *testing.T) {
	k, err := parseChecked(latticeOutput)
	if err != nil {
		t.Fatal(err)
	}
	rows := k.requirements()
	rows = append(rows, unboundedRequirements(parseUnbounded(latticeOutput))...)
	var got []string
	for _, r := range rows {
		got = append(got, fmt.Sprintf("%s: %s, %v", r.limit, r.measured, r.met))
	}
	want := []string{
		"at least 100,000 on levels of at least 60 states, goal 150,000: 148,582 on levels of 64.0; goal missed, true",
		"at most 1.1 times that of the first quarter; none: 45.1, 45.1, 45.2, 45.2 MB alive, 60.0, 58.0, 57.3, 57.3 MB resident; 0.000001, true",
		"at least 8.0 million: 8.10 million, true",
		"at least 2.5 million: 2.40 million, false",
	}
	if !slices.Equal(got, want) {
		t.Errorf("rows:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, r := range unboundedRequirements(nil) {
		if r.met {
			t.Errorf("what was not measured is met: %s", r.text)
		}
	}
	k.heap[3] = 60
	if rows := k.requirements(); rows[1].met {
		t.Error("memory that grows is taken for flat")
	}
	k.width = 40
	if rows := k.requirements(); rows[0].met {
		t.Error("narrow levels are taken for wide ones")
	}
	if _, err := parseChecked("PASS\n"); err == nil {
		t.Error("no benchmark, and no error")
	}
}

func TestOrderRow(t *testing.T) {
	const out = `BenchmarkEvents-2   	    3872	    932764 ns/op	        28.35 Mevents/cpu-s	        17.54 Mevents/s	       8 B/op	       0 allocs/op
BenchmarkEvents-2   	    3872	    932764 ns/op	        26.25 Mevents/cpu-s	        17.54 Mevents/s	       8 B/op	       0 allocs/op
`
	if q := orderRequirement(parseOrdered(out)); !q.met || q.measured != "27.3 million" {
		t.Errorf("%+v", q)
	}
	for _, bad := range []string{"PASS", strings.ReplaceAll(out, " 2", " 1")} {
		if q := orderRequirement(parseOrdered(bad)); q.met {
			t.Errorf("%+v", q)
		}
	}
}

func TestReportRows(t *testing.T) {
	ws := parseWritten(`BenchmarkReport/text-2         	       5	2206240721 ns/op	         2.580 MB	         0.206 s/report	139989561 B/op	 2084061 allocs/op
BenchmarkReport/json-2         	       5	5370938891 ns/op	       140.7 MB	         1.371 s/report	116436408 B/op	  381314 allocs/op
`)
	want := []written{{"text", 0.206, 2.58}, {"json", 1.371, 140.7}}
	if !slices.Equal(ws, want) {
		t.Fatalf("%+v, want %+v", ws, want)
	}
	rows := writtenRequirements(ws)
	if !rows[0].met || rows[1].met || rows[0].measured != "0.21, for 2.6 MB" {
		t.Errorf("%+v", rows)
	}
	for _, r := range writtenRequirements(nil) {
		if r.met {
			t.Errorf("what was not measured is met: %s", r.text)
		}
	}
}

func TestParseChains(t *testing.T) {
	n := parseChains("BenchmarkChains-2   	       3	1690253109 ns/op	     10116 inlined	       264.1 peak-MB	         1.690 s/run\n")
	if r := chainsRequirement(n); !r.met || r.measured != "1.69 s, 264 MB" {
		t.Errorf("%+v of %+v", r, n)
	}
	if r := chainsRequirement(named{2, 600}); r.met {
		t.Error("too much memory is enough")
	}
	if r := chainsRequirement(named{}); r.met {
		t.Error("what was not measured is met")
	}
}

func TestParseTold(t *testing.T) {
	got := parseTold("BenchmarkHangTold-2   	       5	         0 ns/op	       702.0 ms-at-worst	       576.2 ms-until-told\n")
	if r := hangRequirement(got); !r.met || r.measured != "576 on average, 702 at worst" {
		t.Errorf("%+v of %+v", r, got)
	}
	if r := hangRequirement(told{900, 1001}); r.met {
		t.Error("too late is in time")
	}
	if r := hangRequirement(told{}); r.met {
		t.Error("what was not measured is met")
	}
}

func TestParseProtocols(t *testing.T) {
	got, err := parseProtocols(`BenchmarkObjects/at_once_false-2  1  300000000 ns/op  40.00 MiB
BenchmarkObjects/at_once_true-2   1  2300000000 ns/op  73.00 MiB
`, `BenchmarkMillionCalls/random/equal/k=1/s=50-2  1  1200000000 ns/op  1.100 cpu-s/op  210.0 peak-MiB
BenchmarkMillionCalls/loops/and/k=4/s=80-2  1  4900000000 ns/op  4.800 cpu-s/op  150.0 peak-MiB
`)
	want := protocolCost{objects: 2.3, objectsMiB: 73, mining: 4.8, miningMiB: 210, rule: "loops/and/k=4/s=80"}
	if err != nil || got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	if _, err := parseProtocols("", ""); err == nil {
		t.Error("no benchmark ran, and that is no error")
	}
}

func TestSumsOfWaits(t *testing.T) {
	sum, err := sumOfTables("tracepredict: x: 3 threads, 4 waits in the kernel for futexes\n\nwaits for locks: 1.5s\n  rows\n\nwaits for the end of threads: 250ms\n")
	if err != nil || sum != 1.75 {
		t.Errorf("%v s, %v", sum, err)
	}
	if _, err := sumOfTables("nobody waited in the kernel for a futex\n"); err == nil {
		t.Error("a profile without waits is taken")
	}
	sum, err = sumOfTrace("\n\n@waited: 1500000000\n")
	if err != nil || sum != 1.5 {
		t.Errorf("%v s, %v", sum, err)
	}
}

func TestInterval(t *testing.T) {
	// 2.776 times the deviation of 1, 2, 3, 4 and 5, 1.5811, over the root of 5.
	mean, half := interval([]float64{1, 2, 3, 4, 5})
	if mean != 3 || half < 1.962 || half > 1.964 {
		t.Errorf("%v +- %v", mean, half)
	}
}
