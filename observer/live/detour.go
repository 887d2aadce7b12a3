package live

import (
	"fmt"

	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
	"github.com/tracepredict/tracepredict/probes/between"
)

// Course reports whether a thread that reads other values still makes the calls that it made next, as far as its code
// shows.
func (l *Link) Course(d event.Detour) event.Course {
	r, question := l.given(), fmt.Sprint(d)
	a, known := r.courses[question]
	if !known {
		a = run.Reading{Detour: &d, Course: l.course(d)}
		r.courses[question] = a
	}
	return a.Course
}

func (l *Link) course(d event.Detour) event.Course {
	if l.Session == nil || l.readings.budget <= 0 || len(d.To) == 0 {
		return event.CourseUnclear
	}
	from, ok := l.stackIn(d.From, 0)
	if !ok {
		return event.CourseUnclear
	}
	tgid := l.processOf(d.From)
	q := between.Detour{From: from, Changed: d.Changed, Unrecorded: l.unrecorded()}
	for _, to := range d.To {
		stack, ok := l.stackIn(to, tgid)
		if !ok {
			return event.CourseUnclear
		}
		q.To = append(q.To, stack)
	}
	for _, r := range d.Reads {
		seen, ok := l.seen(r, tgid)
		if !ok && r.Differs() {
			return event.CourseUnclear
		}
		if ok {
			q.Reads = append(q.Reads, seen)
		}
	}
	x := l.examiner(int(tgid))
	x.Budget = l.readings.budget
	course := x.Course(q)
	l.readings.budget = x.Budget
	return map[between.Course]event.Course{between.Same: event.CourseSame, between.Elsewhere: event.CourseElsewhere}[course]
}

// stackIn returns the addresses of a call stack of a process, any if tgid is 0.
func (l *Link) stackIn(id event.StackID, tgid uint32) ([]uint64, bool) {
	s, known := l.observed.StackOf(id)
	if !known || s.Call > 0 || tgid != 0 && s.TGID != tgid {
		return nil, false
	}
	stack := l.callStack(id, s)
	return stack, len(stack) > 1
}

func (l *Link) processOf(id event.StackID) uint32 {
	s, _ := l.observed.StackOf(id)
	return s.TGID
}

// seen returns a read as the code sees it: whole bytes of memory.
func (l *Link) seen(r event.ReadValue, tgid uint32) (s between.Seen, ok bool) {
	obj, known := l.Observer.ObjectInfo(r.Object)
	at, known2 := l.observed.StackOf(r.Stack)
	if !known || !known2 || obj.TGID != tgid || obj.Form == nil || obj.Form.Bits == 0 || obj.Form.Bits%8 != 0 {
		return s, false
	}
	site := l.Session.Site(at.Site)
	if site == nil {
		return s, false
	}
	if v, named := l.Session.Variable(site); named && v.Bits.Size > 0 {
		return s, false
	}
	s = between.Seen{Addr: obj.Addr, Size: int(obj.Form.Bits / 8), Value: r.Value, Other: r.Other}
	if r.Initially {
		if s.Other, ok = l.initially(obj.Addr, s.Size, tgid); !ok {
			return s, false
		}
	}
	return s, true
}

// initially returns what memory of the program holds when it begins.
func (l *Link) initially(addr uint64, size int, tgid uint32) (value uint64, ok bool) {
	if l.Observer.Attached() || int(tgid) != l.Session.PID() {
		return 0, false
	}
	for _, seg := range l.process.Segments(int(tgid)) {
		linked, file := addr-seg.Bias, seg.Module.Bin
		if memory := file.Memory(); linked < memory.Lo || linked >= memory.Hi {
			continue
		}
		if value, ok = file.Initial(linked, size); ok {
			return value, true
		}
		if to, ok := file.RelativePointers()[linked]; ok && size == 8 {
			return to + seg.Bias, true
		}
		return 0, false
	}
	return 0, false
}

// unrecorded reports whether calls of synchronisation functions may have made no events.
func (l *Link) unrecorded() bool {
	return l.Observer.InnerAcquisitions() > 0 || l.Observer.Stats().Lost > 0 || l.Observer.FormerLocks() > 0
}
