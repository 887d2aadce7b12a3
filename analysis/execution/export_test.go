package execution

// SetCheckpoints sets how many events lie between two checkpoints.
func (r *Run) SetCheckpoints(every int) { r.strict.every, r.lenient.every = every, every }
