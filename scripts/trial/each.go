// Package trial has what the commands of this folder that run small programs under a tool
// have in common: how a program describes itself in its opening comment, how it is built and
// run, and what tracepredict's report says of it.
package trial

import "sync"

// Each does something with all of a list, at most jobs of them at once, and gives what
// came of each.
func Each[T any](jobs int, list []T, do func(int, T) error) []error {
	errs := make([]error, len(list))
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(jobs, len(list)) {
		workers.Go(func() {
			for i := range next {
				errs[i] = do(i, list[i])
			}
		})
	}
	for i := range list {
		next <- i
	}
	close(next)
	workers.Wait()
	return errs
}
