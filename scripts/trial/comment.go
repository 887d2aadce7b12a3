package trial

import (
	"regexp"
	"slices"
	"strings"
)

// Comment is the comment that a program opens with: sentences, and lines that begin with a key.
type Comment struct {
	Text  string // the sentences
	Title string // the first of them, or enough of it for a table
	Lines []Line
}

// Line is what stands behind a key and its colon, or a key that stands alone.
type Line struct {
	Key  string
	Rest string
}

// Opening reads the comment that a program's text opens with, of lines that begin with //.
// A line that begins with none of the keys belongs to the sentences.
func Opening(text string, keys ...string) (c Comment) {
	var sentences strings.Builder
	for line := range strings.Lines(text) {
		comment, ok := strings.CutPrefix(strings.TrimSpace(line), "//")
		if !ok {
			break
		}
		key, rest, _ := strings.Cut(strings.TrimSpace(comment), ":")
		if slices.Contains(keys, key) {
			c.Lines = append(c.Lines, Line{key, strings.TrimSpace(rest)})
		} else {
			sentences.WriteString(comment)
		}
	}
	c.Text = strings.TrimSpace(sentences.String())
	c.Title = firstSentence(c.Text)
	return c
}

// sentenceEnd is where enough of a sentence has been said for a table.
var sentenceEnd = regexp.MustCompile(`[.;:] `)

func firstSentence(text string) string {
	if at := sentenceEnd.FindStringIndex(text); at != nil {
		text = text[:at[0]]
	}
	return strings.TrimSuffix(text, ".")
}
