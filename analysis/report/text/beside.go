package textreport

import (
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/tracepredict/tracepredict/analysis/report"
)

// beside joins blocks of lines side by side and pads each block to its width in columns; the
// lines of the result end with spaces. It pads the blocks itself if all lines fit, as they
// nearly always do: lipgloss measures each character of each line several times.
func beside(blocks [][]string, widths []int) []string {
	rows := 0
	for i, block := range blocks {
		rows = max(rows, len(block))
		for _, line := range block {
			if report.Columns(line) > widths[i] {
				return besideWrapped(blocks, widths)
			}
		}
	}
	out := make([]string, rows)
	var b strings.Builder
	for row := range out {
		b.Reset()
		for i, block := range blocks {
			line := ""
			if row < len(block) {
				line = block[row]
			}
			b.WriteString(pad(line, widths[i]))
		}
		out[row] = b.String()
	}
	return out
}

// besideWrapped is beside for blocks with lines that must be wrapped.
func besideWrapped(blocks [][]string, widths []int) []string {
	filled := make([]string, 0, len(blocks))
	for i, block := range blocks {
		filled = append(filled, lipgloss.NewStyle().Width(widths[i]).Render(strings.Join(block, "\n")))
	}
	return strings.Split(lipgloss.JoinHorizontal(lipgloss.Top, filled...), "\n")
}
