package jsonreport

import (
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/observer/event"
)

type jsonThreadState struct {
	Thread    event.ThreadID   `json:"thread"`
	TID       uint32           `json:"tid"`
	Name      string           `json:"name"`
	Start     string           `json:"start"`
	Main      bool             `json:"main"`
	State     string           `json:"state"`     // "running", "stopped", "asleep"
	Call      string           `json:"call"`      // the system call that it sleeps in
	Operation string           `json:"operation"` // the operation that it attempts by the call; "" if unknown
	Object    string           `json:"object,omitempty"`
	Peer      event.ThreadID   `json:"peer,omitempty"`
	Timed     bool             `json:"timed"`
	By        []event.ThreadID `json:"held_by"`
	Ended     bool             `json:"holder_ended"`
	Readers   int              `json:"readers,omitempty"`
	jsonStack
}

func (e *encoder) threadState(d report.ThreadState) jsonThreadState {
	step := e.step(&d.Step, sideFrames)
	out := jsonThreadState{
		Thread: d.Thread.ID, TID: d.Thread.TID, Name: d.Thread.Name, Start: d.Thread.Start, Main: d.Thread.Main, State: "running",
		Call: d.Call, Peer: d.Step.Peer, Timed: d.Step.Flags&event.Timed != 0, By: each(d.By, unchanged), Ended: d.Ended,
		Readers: d.Step.Readers, Object: step.Name, jsonStack: step.jsonStack,
	}
	if d.Stopped {
		out.State = "stopped"
	} else if d.Call != "" {
		out.State = "asleep"
	}
	if d.Step.Op != event.None {
		out.Operation = d.Step.Op.String()
	}
	return out
}
