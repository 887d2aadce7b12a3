// Command genops writes ops.go, the constants that the BPF programs share with Go, from the
// enumerations of record.h and site.h and their comments.
//
// It reads the text of the headers, because the objects' BTF lacks enumerations that are the type of no
// variable. It knows no more of C than these headers have.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if err := run("."); err != nil {
		fmt.Fprintln(os.Stderr, "genops:", err)
		os.Exit(1)
	}
}

// run writes ops.go in the folder of the headers.
func run(folder string) error {
	text, err := generateIn(folder)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "ops.go"), text, 0o666)
}

// generateIn returns the text of ops.go for the headers in a folder.
func generateIn(folder string) ([]byte, error) {
	var enums []enum
	for _, file := range []string{"record.h", "site.h"} {
		text, err := os.ReadFile(filepath.Join(folder, file))
		if err != nil {
			return nil, err
		}
		found, err := parse(file, string(text))
		if err != nil {
			return nil, err
		}
		enums = append(enums, found...)
	}
	return generate(enums)
}
