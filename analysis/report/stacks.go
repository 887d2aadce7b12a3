package report

// Stacks calls visit with each call stack of the findings, and again for each further use of
// it.
func (r *Report) Stacks(visit func(Stack)) {
	for i := range r.ThreadStates {
		r.ThreadStates[i].Step.stacks(visit)
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		for j := range f.Objects {
			f.Objects[j].stacks(visit)
		}
		for _, t := range f.Mentioned {
			visit(t.Created)
		}
		if f.First != nil {
			f.First.stacks(visit)
		}
		for _, steps := range f.steps() {
			for j := range steps {
				steps[j].stacks(visit)
			}
		}
	}
}

// steps returns the sides and the schedules of the finding.
func (f *Finding) steps() [][]Step {
	return [][]Step{f.Evidence, f.Witness, f.Sketch, f.Observed, f.Lost}
}

func (o *Object) stacks(visit func(Stack)) {
	visit(o.Init)
	visit(o.First)
}

func (s *Step) stacks(visit func(Stack)) {
	visit(s.Stack)
	for i := range s.Held {
		visit(s.Held[i].Stack)
	}
}
