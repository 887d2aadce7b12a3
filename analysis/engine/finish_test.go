package engine_test

import (
	"github.com/tracepredict/tracepredict/analysis/engine"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/part"
	"github.com/tracepredict/tracepredict/analysis/verdict"
)

// finish ends the analyses of a run without a specification, which does not fail.
func finish(e *engine.Engine, of verdict.Run, program part.Known) []finding.Finding {
	found, _ := e.Finish(of, program)
	return found
}
