package textreport

import (
	"fmt"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/internal/plural"
)

const maxPairs = 3 // other pairs of a cause that the text names, unless all were requested

// countedPairs returns a number of pairs of accesses, or of locks.
func countedPairs(c *report.Cause, format string, n int) string {
	if c.Lead.Kind == finding.Deadlock {
		return plural.Sprintf(format+" {pair|pairs} of locks", n)
	}
	return plural.Sprintf(format+" {pair|pairs} of accesses", n)
}

// otherPairs prints the other pairs of accesses, or of locks, that have the same cause.
func (p *printer) otherPairs(c *report.Cause) {
	if c.Pairs() == 1 {
		return
	}
	p.out.WriteByte('\n')
	if p.complete {
		p.para(p.style.title, 3, 5, countedPairs(c, "also, with the same cause, %d other", c.Pairs()-1)+":")
		for _, f := range c.Others {
			p.para(unchanged, 5, 7, fmt.Sprintf("%s; fingerprint %s", p.names.OtherPair(c.Lead, f), f.Fingerprint))
		}
		if n := c.MorePairs(); n > 0 {
			p.para(unchanged, 5, 7, plural.Sprintf("%d more {pair|pairs} of locks that these sections nest, of which only the number was kept", n))
		}
		return
	}
	var parts []string
	for _, f := range c.Others[:min(maxPairs, len(c.Others))] {
		parts = append(parts, p.names.OtherPair(c.Lead, f))
	}
	if more := len(c.Others) - len(parts); more > 0 {
		parts = append(parts, fmt.Sprintf("%d more with --verbose", more))
	}
	if n := c.MorePairs(); n > 0 {
		parts = append(parts, fmt.Sprintf("%d more, of which only the number was kept", n))
	}
	p.para(unchanged, 3, 5, "also: "+strings.Join(parts, "; "))
}
