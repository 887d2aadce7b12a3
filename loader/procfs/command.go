package procfs

import (
	"bytes"
	"io"
	"os"
	"strings"
	"unicode/utf8"
)

// maxCommand is the length of a command line that is kept, in bytes.
const maxCommand = 1000

// CommandLine returns the command line of a process, its words quoted where a shell would divide or change them. One that
// is longer than a thousand bytes ends with "...". It is "" if the process has none, as a kernel thread, or is gone.
func CommandLine(pid int) string {
	f, err := os.Open(Dir(pid) + "/cmdline")
	if err != nil {
		return ""
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxCommand+1))
	if err != nil {
		return ""
	}
	return commandLine(raw)
}

// commandLine returns the words of raw, each of which ends with a zero byte.
func commandLine(raw []byte) string {
	cut := len(raw) > maxCommand
	if cut {
		raw = raw[:maxCommand]
		for len(raw) > 0 && !utf8.Valid(raw[len(raw)-1:]) { // no part of a character
			raw = raw[:len(raw)-1]
		}
	}
	words := strings.Split(string(bytes.TrimRight(raw, "\x00")), "\x00")
	if len(words) == 1 && words[0] == "" {
		return ""
	}
	for i, w := range words {
		words[i] = quoted(w)
	}
	if cut {
		words = append(words, "...")
	}
	return strings.Join(words, " ")
}

// quoted returns a word as a shell reads it.
func quoted(word string) string {
	special := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=,+@%", r) || r >= utf8.RuneSelf)
	}
	if word != "" && !strings.ContainsFunc(word, special) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
