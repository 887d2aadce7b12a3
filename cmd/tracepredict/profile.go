package main

import (
	"fmt"

	"github.com/tracepredict/tracepredict/analysis/profile"
	"github.com/tracepredict/tracepredict/observer/run"
)

// profiling is the profile that --profile asks for.
type profiling struct {
	*profile.Writer
	file *outputFile
}

// newProfiling opens the file of a profile; it returns nil without --profile.
func newProfiling(name, program string, names run.Namer) (*profiling, error) {
	if name == "" {
		return nil, nil
	}
	file, err := openOutput("--profile", name, partOfNothing)
	if err != nil {
		return nil, err
	}
	return &profiling{profile.New(file, profile.Options{Names: names, Program: program}), file}, nil
}

// finish writes the profile.
func (p *profiling) finish() error {
	if err := p.Close(); err != nil {
		return fmt.Errorf("--profile: %w", err)
	}
	if err := p.file.commit(); err != nil {
		return fmt.Errorf("--profile: %w", err)
	}
	return nil
}
