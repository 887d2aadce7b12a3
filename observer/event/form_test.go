package event

import (
	"math"
	"strings"
	"testing"
)

func TestValuesAsInTheSource(t *testing.T) {
	state := &Form{Class: FormUnsigned, Bits: 32, Names: SortNames([]Name{{7, "CLOSED"}, {0, "IDLE"}, {1, "OPEN"}, {1, "AJAR"}})}
	signed := &Form{Class: FormSigned, Bits: 8, Names: SortNames([]Name{{0xff, "NONE"}})}
	for _, c := range []struct {
		form  *Form
		value uint64
		want  string
	}{
		{nil, 1 << 63, "9223372036854775808"},
		{&Form{Bits: 16}, 0xffff, "65535"},
		{&Form{Class: FormSigned, Bits: 32}, 0xffffffff, "-1"},
		{&Form{Class: FormSigned, Bits: 64}, 1 << 63, "-9223372036854775808"},
		{&Form{Class: FormSigned, Bits: 5}, 0x1f, "-1"},
		{&Form{Class: FormSigned, Bits: 5}, 0x0f, "15"},
		{&Form{Class: FormBool, Bits: 8}, 1, "true"},
		{&Form{Class: FormBool, Bits: 8}, 0, "false"},
		{&Form{Class: FormBool, Bits: 8}, 2, "2"},
		{&Form{Class: FormPointer, Bits: 64}, 0x7f00, "0x7f00"},
		{&Form{Class: FormFloat, Bits: 64}, math.Float64bits(-2.5), "-2.5"},
		{&Form{Class: FormFloat, Bits: 64}, math.Float64bits(math.Inf(1)), "+Inf"},
		{&Form{Class: FormFloat, Bits: 32}, uint64(math.Float32bits(0.1)), "0.1"},
		{&Form{Class: FormFloat, Bits: 16}, 0x3e00, "1.5"},
		{&Form{Class: FormFloat, Bits: 16}, 0xfc00, "-Inf"},
		{&Form{Class: FormFloat, Bits: 16}, 0x0001, "5.9604645e-08"},
		{&Form{Class: FormFloat, Bits: 16}, 0x7e00, "NaN"},
		{&Form{Class: FormFloat, Bits: 8}, 3, "3"},
		{&Form{Class: FormChar, Bits: 8}, 'a', "'a' (97)"},
		{&Form{Class: FormChar, Bits: 8}, 0xff, "-1"},
		{&Form{Class: FormUChar, Bits: 32}, 0xff, "255"},
		{state, 7, "CLOSED (7)"}, {state, 1, "OPEN (1)"}, {state, 3, "3"},
		{signed, 0xff, "NONE (-1)"}, {signed, 0xfe, "-2"},
		{&Form{}, 3, "1"}, {&Form{Bits: 200}, 3, "3"}, // no such width
	} {
		if got := c.form.Text(c.value); got != c.want {
			t.Errorf("%+v, %#x: %s, want %s", c.form, c.value, got, c.want)
		}
	}
}

func TestNamesOfValuesAreBounded(t *testing.T) {
	var many, long []Name
	for i := range uint64(2 * MaxFormNames) {
		many, long = append(many, Name{i, "x"}), append(long, Name{i, strings.Repeat("x", 1000)})
	}
	if n := len(SortNames(many)); n != MaxFormNames {
		t.Errorf("%d names", n)
	}
	if n := len(SortNames(long)); n != MaxFormText/1000 {
		t.Errorf("%d long names", n)
	}
}
