package main

import (
	"errors"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// parseDuration reads a time as people write it: 90s, 1m30s, or a number of seconds, as 30 or 0.5.
func parseDuration(text string) (time.Duration, error) {
	if text != "" && strings.Trim(text, "0123456789.") == "" {
		text += "s"
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, errors.New("it is a time such as 30s, 5m or 1h30m; a number alone is seconds")
	}
	return d, nil
}

// durationFlag is the value of a flag that takes a time.
type durationFlag struct{ to *time.Duration }

// Set takes a time.
func (f durationFlag) Set(text string) (err error) {
	*f.to, err = parseDuration(text)
	return err
}

// String returns the time.
func (f durationFlag) String() string {
	if f.to == nil {
		return ""
	}
	return f.to.String()
}

// Type returns the kind of the flag's values.
func (f durationFlag) Type() string { return "D" }

func durationVar(fs *pflag.FlagSet, to *time.Duration, name string, value time.Duration, text string) {
	*to = value
	fs.Var(durationFlag{to}, name, text)
}
