package observer

import (
	"reflect"
	"testing"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/event"
)

// TestBegin checks that begin resets all fields of the shared event, except those that send
// and the clocks set.
func TestBegin(t *testing.T) {
	replaced := []string{"Seq", "Slot", "Epoch", "Since", "Must"}
	o := New(Options{})
	full := reflect.ValueOf(&o.ev).Elem()
	for i := range full.NumField() {
		switch f := full.Field(i); f.Kind() {
		case reflect.Slice:
			f.Set(reflect.MakeSlice(f.Type(), 3, 3))
		case reflect.Pointer:
			f.Set(reflect.New(f.Type().Elem()))
		case reflect.Bool:
			f.SetBool(true)
		default:
			f.SetUint(3)
		}
	}
	o.now = 7
	got := *o.begin(&thread{id: 5}, &bpf.Record{Stack: 9}, event.Signal)
	for _, name := range replaced {
		reflect.ValueOf(&got).Elem().FieldByName(name).SetZero()
	}
	want := event.Event{Time: 7, Thread: 5, Stack: 9, Op: event.Signal}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
