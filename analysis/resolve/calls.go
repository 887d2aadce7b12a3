package resolve

import (
	"github.com/tracepredict/tracepredict/loader"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/probes"
	"github.com/tracepredict/tracepredict/probes/function"
)

// lives translates what a function does to its instance.
var lives = [...]event.Life{function.Lives: event.Lives, function.Begins: event.Begins, function.Ends: event.Ends}

// eventFunc says of a site at which a function is entered what events tell of it;
// nil for others.
func eventFunc(s *loader.Session, index uint32, site *probes.Site) *event.Func {
	fn := site.Method
	if fn == nil {
		return nil
	}
	f := &event.Func{Name: fn.Name, Module: s.SiteModule(index), Result: fn.ResultType, Makes: fn.Makes, Life: lives[fn.Life]}
	for _, p := range fn.Params {
		f.Params = append(f.Params, event.Param{Name: p.Name, Type: p.Type, Index: p.Index})
	}
	patterns := s.Patterns()
	for _, i := range fn.On {
		f.On = append(f.On, event.On{Pattern: patterns[i].Text, Return: patterns[i].Return})
	}
	return f
}
