package main

import (
	"fmt"
	"slices"

	"github.com/tracepredict/tracepredict/loader"
)

// usage returns an error with exit status exitUsage: the user asked for something wrong.
func usage(format string, args ...any) error {
	return &loader.UsageError{Err: fmt.Errorf(format, args...)}
}

// oneOf returns a usage error if a flag's value is not one of the allowed ones.
func oneOf[T ~string](flag, value string, allowed ...T) error {
	if slices.Contains(allowed, T(value)) {
		return nil
	}
	text := string(allowed[0])
	for i, v := range allowed[1:] {
		if i+2 == len(allowed) {
			text += " or " + string(v)
		} else {
			text += ", " + string(v)
		}
	}
	return usage("--%s %s: it is %s", flag, value, text)
}

// notNegative returns a usage error if a flag's value is negative.
func notNegative[T ~int | ~int64](flag string, value T) error {
	if value < 0 {
		return usage("--%s %v: it is not negative", flag, value)
	}
	return nil
}
