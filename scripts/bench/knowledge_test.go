package main

import (
	"strings"
	"testing"
)

// fakeKnowledge is a bank that is slowed down so much, and so much memory, in MiB, with many threads.
func fakeKnowledge(slowdown, many float64) knowledgeCost {
	one := func(name string, ns float64) result {
		return result{&variant{name: name, threads: bankThreads}, []sample{{Pairs: 2000, NsPerPair: ns, CPU: 3.9, toolCPU: 0.4}}}
	}
	return knowledgeCost{[]result{one(plain, 1e6), one(observedBank, slowdown*1e6)}, 75, many, kernelForm{formCost{400_000, []float64{5}}, formCost{12, []float64{3}}}}
}

// TestKernelFormRows: both figures are of the kernel's form relative to that of user space.
func TestKernelFormRows(t *testing.T) {
	for _, c := range []struct {
		kernel      formCost
		events, cpu bool
	}{
		{formCost{12, []float64{3, 9, 3.5}}, true, true},
		{formCost{50_000, []float64{3, 9, 3.5}}, false, true},
		{formCost{12, []float64{4.8}}, true, false},
		{formCost{}, false, false},
	} {
		f := kernelForm{formCost{400_000, []float64{5, 4, 5}}, c.kernel}
		if rs := f.requirements(); rs[0].met != c.events || rs[1].met != c.cpu {
			t.Errorf("%+v: %+v", c.kernel, rs)
		}
	}
}

func TestKnowledgeRows(t *testing.T) {
	for _, c := range []struct {
		what    string
		k       knowledgeCost
		bank    bool
		memory  bool
		texts   []string
		without string
	}{
		{"both met", fakeKnowledge(1.1, 76), true, true, []string{"1.10", "1.01: 75 MiB and 76 MiB", "| plain | 2.00 | 2.00 | 2.00 | 3.90 | 0.40 |"}, "not measured"},
		{"slow", fakeKnowledge(1.4, 76), false, true, []string{"1.40"}, "not measured"},
		{"memory that grows", fakeKnowledge(1.1, 750), true, false, []string{"10.00: 75 MiB and 750 MiB"}, "not measured"},
		{"not measured", knowledgeCost{}, false, false, []string{"not measured"}, "###"},
	} {
		rs := c.k.requirements()
		if rs[0].met != c.bank || rs[1].met != c.memory {
			t.Errorf("%s: %+v", c.what, rs)
		}
		var b strings.Builder
		c.k.render(&b)
		text := rs[0].measured + rs[1].measured + b.String()
		for _, want := range c.texts {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is not in %s", c.what, want, text)
			}
		}
		if strings.Contains(text, c.without) {
			t.Errorf("%s: %q is in %s", c.what, c.without, text)
		}
	}
}
