package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/loader/steer"
	"github.com/tracepredict/tracepredict/probes/elf"
)

// This file has how another run is led into a finding in two forms: for reports, which outlive the run, and for the
// loader.

// steeringTime is how long it may take after a run to find out how other runs are led into its findings.
const steeringTime = 10 * time.Second

// addSteering adds to a report of the run how other runs are led into its findings.
func (r *observation) addSteering(rep *report.Report) {
	if r.counter == nil || !r.flags.repeats() && !r.flags.to.has("json") {
		return
	}
	files := fileTable{builds: map[string]string{}, program: realPath(rep.Run.Program)}
	session := r.live.Session
	for _, s := range session.Segments(session.PID()) {
		files.builds[s.Module.Path] = s.Module.Bin.BuildID()
	}
	rep.Run.Build = files.builds[files.program]
	t := r.leading()
	end := time.Now().Add(steeringTime)
	for _, f := range candidates(rep, r.flags.set) {
		first, err := t.firstBefore(end, f)
		if err != nil {
			f.Steering = &report.Steering{Files: []report.SteeredFile{}, Steps: []report.SteeredStep{}, Reason: err.Error()}
			continue
		}
		f.Steering = files.steering(first)
	}
}

// firstBefore is first until there is no time left.
func (t *trying) firstBefore(end time.Time, f *report.Finding) (*steer.Plan, error) {
	if time.Now().After(end) {
		return nil, errors.New("there was no time left to find out how another run is led into it")
	}
	return t.first(f)
}

// fileTable knows the build IDs of files by their paths, and which one is the program.
type fileTable struct {
	builds  map[string]string
	program string
}

// steering returns the form of a plan for reports.
func (t *fileTable) steering(plan *steer.Plan) *report.Steering {
	out := &report.Steering{Files: []report.SteeredFile{}, Steps: []report.SteeredStep{}, Exact: plan.Exact}
	file := func(path string) int {
		i := slices.IndexFunc(out.Files, func(f report.SteeredFile) bool { return f.Path == path })
		if i < 0 {
			i = len(out.Files)
			out.Files = append(out.Files, report.SteeredFile{Path: path, Build: t.builds[path], Program: path == t.program})
		}
		return i
	}
	for _, g := range plan.Gates {
		site := plan.Sites[g.Site]
		out.Steps = append(out.Steps, report.SteeredStep{
			Thread: g.Thread, File: file(site.Module), Address: max(site.Return, site.At), Instruction: site.At > 0, Count: g.Count,
			After: g.After, Behind: g.Behind, Returns: g.Returns, Pause: g.Pause, Optional: g.Optional, Text: g.What,
		})
	}
	if plan.Pair != nil {
		for _, s := range plan.Pair.Sides {
			out.Meets = append(out.Meets, report.SteeredStep{Thread: s.Thread, File: file(s.Module), Address: s.At, Instruction: true, Count: s.Count, Text: s.What})
		}
	}
	for _, steps := range [][]report.SteeredStep{out.Steps, out.Meets} {
		for i := range steps {
			steps[i].Thread = append([]int{}, steps[i].Thread...) // JSON has no null
		}
	}
	return out
}

// reported is the program that is run for a report.
type reported struct {
	name    string // of the report
	program string // the path that its processes name
	// specified reports that a try observes what a specification speaks of.
	specified bool
	files     map[string]*elf.File
}

// planned returns the schedule of each try of a finding that was read, from 0.
func (p *reported) planned(f *report.Finding) (func(n int) *steer.Plan, error) {
	s := f.Steering
	switch {
	case s == nil:
		return nil, errors.New("the report does not say how: --format json of exec does, for findings that it shows")
	case s.Reason != "":
		return nil, errors.New(s.Reason)
	case f.Kind.Specified() && !p.specified:
		return nil, errors.New("it is about a specification: give confirm the --spec, --check and --watch of the run that the report is of")
	case f.Kind == finding.Race && (len(f.Evidence) != 2 || len(s.Meets) != 2), f.Kind != finding.Race && len(s.Steps) == 0:
		return nil, errors.New("the report does not say how")
	}
	plan := p.plan(s)
	return variants(plan), plan.Check()
}

// plan returns the form of a steering for the loader.
func (p *reported) plan(s *report.Steering) *steer.Plan {
	plan := &steer.Plan{Exact: s.Exact}
	for _, step := range s.Steps {
		site := steer.Site{Module: p.path(&s.Files[step.File]), Return: step.Address}
		if step.Instruction {
			site.Return, site.At = 0, step.Address
		}
		plan.Gates = append(plan.Gates, steer.Gate{
			Thread: step.Thread, Site: plan.Use(site), Count: step.Count, After: step.After, Behind: step.Behind,
			Returns: step.Returns, Pause: step.Pause, Optional: step.Optional, What: step.Text,
		})
	}
	if len(s.Meets) == 2 {
		plan.Pair = &steer.Pair{}
		for i, step := range s.Meets {
			plan.Pair.Sides[i] = steer.Side{Thread: step.Thread, Module: p.path(&s.Files[step.File]), At: step.Address, Count: step.Count, What: step.Text}
		}
	}
	return plan
}

// programOf returns the path of the program that a report is of, in its call stacks.
func programOf(rep *report.Report) string {
	for i := range rep.Findings {
		s := rep.Findings[i].Steering
		if s == nil {
			continue
		}
		if i := slices.IndexFunc(s.Files, func(f report.SteeredFile) bool { return f.Program }); i >= 0 {
			return s.Files[i].Path
		}
	}
	return rep.Run.Program
}

// path returns the path of a file in the process that is run.
func (p *reported) path(f *report.SteeredFile) string {
	if f.Program {
		return p.program
	}
	return f.Path
}

// check returns an error if a report is of another program, or of another build of it.
func (p *reported) check(rep *report.Report) error {
	bin, err := p.open(p.program)
	if err != nil {
		return err
	}
	steered := func(f report.Finding) bool { return f.Steering != nil }
	if len(rep.Findings) > 0 && !slices.ContainsFunc(rep.Findings, steered) && rep.Run.Build == "" {
		return fmt.Errorf("%s: it does not say how the threads of another run are held: exec --format json does, and attach and analyze do not", p.name)
	}
	if own := bin.BuildID(); own != rep.Run.Build {
		return p.other(fmt.Sprintf("its build ID is %s, and that of %s is %s", orNone(rep.Run.Build), p.program, orNone(own)))
	}
	for i := range rep.Findings {
		if s := rep.Findings[i].Steering; s != nil {
			if err := p.checkPlaces(s); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkPlaces returns an error if the instructions of a steering do not exist.
func (p *reported) checkPlaces(s *report.Steering) error {
	for i := range s.Files {
		f := &s.Files[i]
		bin, err := p.open(p.path(f))
		switch {
		case err != nil && f.Program:
			return err
		case err != nil:
			s.Reason = fmt.Sprintf("a library of the run that the report is of is missing: %v", err)
			return nil
		case bin.BuildID() != f.Build && !f.Program:
			s.Reason = fmt.Sprintf("%s is another one than in the run that the report is of: its build ID was %s, and is %s", f.Path, orNone(f.Build), orNone(bin.BuildID()))
			return nil
		}
	}
	for _, step := range s.Steps {
		if err := checkPlace(p.files[p.path(&s.Files[step.File])], &step); err != nil {
			return p.other(fmt.Sprintf("%s: %v", step.Text, err))
		}
	}
	for _, step := range s.Meets {
		if err := checkInstruction(p.files[p.path(&s.Files[step.File])], step.Address); err != nil {
			return p.other(fmt.Sprintf("%s: %v", step.Text, err))
		}
	}
	return nil
}

// checkPlace returns an error if there is no call, or no instruction, where a step says.
func checkPlace(bin *elf.File, s *report.SteeredStep) error {
	if s.Instruction {
		return checkInstruction(bin, s.Address)
	}
	_, err := steer.CallBefore(bin, s.Address)
	return err
}

func checkInstruction(bin *elf.File, at uint64) error {
	_, err := steer.AccessAt(bin, at)
	if errors.Is(err, steer.ErrNoAccess) {
		return nil
	}
	return err
}

func (p *reported) other(why string) error {
	return fmt.Errorf("%s is not a report of this program (%s): %s; run the one that the report is of, or observe this one with exec --format json", p.name, p.program, why)
}

func (p *reported) open(path string) (*elf.File, error) {
	if f := p.files[path]; f != nil {
		return f, nil
	}
	f, err := elf.Open(path)
	if err == nil {
		p.files[path] = f
	}
	return f, err
}

func (p *reported) close() {
	for _, f := range p.files {
		f.Close()
	}
}

func orNone(build string) string {
	if build == "" {
		return "none"
	}
	return build
}

// realPath returns a path without links, as a process that executes the file names it; the path itself if that is not
// known.
func realPath(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		return real
	}
	return abs
}
