package probes

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/tracepredict/tracepredict/probes/elf"
)

// This file encodes plans and what they consist of. Values follow each other without names or types: an
// encoded value is read by the same build of the tool only. Equal strings, and pointers to the same value,
// are written once. A field that is not exported is an error, except in a Plan, for which stored has them.

// maxDepth bounds the nesting of values.
const maxDepth = 32

var (
	fileType = reflect.TypeFor[*elf.File]()
	planType = reflect.TypeFor[Plan]()
)

// shape is what is known of a type of structures: the indexes of the fields that are encoded.
type shape struct {
	fields []int
	err    error
}

// shapes are the shapes of the types that were met.
type shapes map[reflect.Type]shape

func (s shapes) of(t reflect.Type) ([]int, error) {
	known, ok := s[t]
	if !ok {
		for i := range t.NumField() {
			switch {
			case t.Field(i).IsExported():
				known.fields = append(known.fields, i)
			case t != planType && t.Field(i).Name != "_": // padding
				known.err = notEncodable(t)
			}
		}
		s[t] = known
	}
	return known.fields, known.err
}

type encoder struct {
	out      []byte
	files    []*elf.File
	strings  map[string]uint64
	pointers map[any]uint64
	shapes   shapes
}

// encode returns the bytes of what a pointer points to. files are those that it may mention.
func encode(from any, files []*elf.File) ([]byte, error) {
	e := encoder{files: files, strings: map[string]uint64{}, pointers: map[any]uint64{}, shapes: shapes{}}
	err := e.value(reflect.ValueOf(from).Elem(), 0)
	return e.out, err
}

func (e *encoder) uint(n uint64) { e.out = binary.AppendUvarint(e.out, n) }

func (e *encoder) value(v reflect.Value, depth int) error {
	if depth > maxDepth {
		return notEncodable(v.Type())
	}
	if v.Type() == fileType {
		return e.file(v.Interface().(*elf.File))
	}
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			e.uint(1)
		} else {
			e.uint(0)
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		e.out = binary.AppendVarint(e.out, v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		e.uint(v.Uint())
	case reflect.String:
		e.text(v.String())
	case reflect.Array:
		return e.elements(v, depth)
	case reflect.Slice:
		if v.IsNil() {
			e.uint(0)
			return nil
		}
		e.uint(1 + uint64(v.Len()))
		return e.elements(v, depth)
	case reflect.Struct:
		fields, err := e.shapes.of(v.Type())
		for _, i := range fields {
			if err == nil {
				err = e.value(v.Field(i), depth+1)
			}
		}
		return err
	case reflect.Pointer:
		return e.pointer(v, depth)
	case reflect.Map:
		return e.mapping(v, depth)
	default:
		return notEncodable(v.Type())
	}
	return nil
}

func (e *encoder) file(f *elf.File) error {
	if f == nil {
		e.uint(0)
		return nil
	}
	i := slices.Index(e.files, f)
	if i < 0 {
		return errors.New("a file that is not among those of the plan")
	}
	e.uint(1 + uint64(i))
	return nil
}

// text writes the number of a string and, if it is a new one, its bytes.
func (e *encoder) text(s string) {
	n, known := e.strings[s]
	if !known {
		n = uint64(len(e.strings))
		e.strings[s] = n
	}
	if e.uint(n); !known {
		e.uint(uint64(len(s)))
		e.out = append(e.out, s...)
	}
}

func (e *encoder) elements(v reflect.Value, depth int) error {
	for i := range v.Len() {
		if err := e.value(v.Index(i), depth+1); err != nil {
			return err
		}
	}
	return nil
}

// pointer writes the number of a pointer and, if it is a new one, what it points to.
func (e *encoder) pointer(v reflect.Value, depth int) error {
	if v.IsNil() {
		e.uint(0)
		return nil
	}
	n, known := e.pointers[v.Interface()]
	if !known {
		n = 1 + uint64(len(e.pointers))
		e.pointers[v.Interface()] = n
	}
	if e.uint(n); known {
		return nil
	}
	return e.value(v.Elem(), depth+1)
}

// mapping writes a map from addresses, in their order.
func (e *encoder) mapping(v reflect.Value, depth int) error {
	if v.Type().Key().Kind() != reflect.Uint64 {
		return notEncodable(v.Type())
	}
	if v.IsNil() {
		e.uint(0)
		return nil
	}
	e.uint(1 + uint64(v.Len()))
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int {
		if a.Uint() < b.Uint() {
			return -1
		}
		return 1
	})
	for _, k := range keys {
		e.uint(k.Uint())
		if err := e.value(v.MapIndex(k), depth+1); err != nil {
			return err
		}
	}
	return nil
}

type decoder struct {
	in       []byte
	files    []*elf.File
	strings  []string
	pointers []reflect.Value
	shapes   shapes
	left     int // bytes that may still be allocated
}

var errDamaged = errors.New("the encoded plan is damaged")

// allocationFactor bounds what is allocated for each byte of an encoded plan, in bytes: most fields of a site
// are 0, and take one byte of up to eight.
const allocationFactor = 64

// decode sets what a pointer points to, to what encode encoded.
func decode(data []byte, to any, files []*elf.File) error {
	d := decoder{in: data, files: files, shapes: shapes{}, left: allocationFactor * len(data)}
	if err := d.value(reflect.ValueOf(to).Elem(), 0); err != nil {
		return err
	}
	if len(d.in) > 0 {
		return errDamaged
	}
	return nil
}

func (d *decoder) uint() (uint64, error) {
	n, size := binary.Uvarint(d.in)
	if size <= 0 {
		return 0, errDamaged
	}
	d.in = d.in[size:]
	return n, nil
}

// length reads a number of elements of a type, plus 1; -1 stands for nil.
func (d *decoder) length(each reflect.Type) (int, error) {
	n, err := d.uint()
	if err != nil || n > uint64(len(d.in))+1 {
		return 0, errDamaged
	}
	return int(n) - 1, d.allocate(max(int(n)-1, 0) * int(each.Size()))
}

func (d *decoder) allocate(bytes int) error {
	if bytes > d.left {
		return errDamaged
	}
	d.left -= bytes
	return nil
}

func (d *decoder) value(v reflect.Value, depth int) error {
	if depth > maxDepth {
		return errDamaged
	}
	if v.Type() == fileType {
		return d.file(v)
	}
	switch v.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n, size := binary.Varint(d.in)
		if size <= 0 || v.OverflowInt(n) {
			return errDamaged
		}
		d.in = d.in[size:]
		v.SetInt(n)
		return nil
	case reflect.Array:
		return d.elements(v, depth)
	case reflect.Slice:
		n, err := d.length(v.Type().Elem())
		if err != nil || n < 0 {
			return err
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		return d.elements(v, depth)
	case reflect.Struct:
		fields, err := d.shapes.of(v.Type())
		for _, i := range fields {
			if err == nil {
				err = d.value(v.Field(i), depth+1)
			}
		}
		return err
	case reflect.Map:
		return d.mapping(v, depth)
	}
	n, err := d.uint()
	if err != nil {
		return err
	}
	switch v.Kind() {
	case reflect.Bool:
		if n > 1 {
			return errDamaged
		}
		v.SetBool(n == 1)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if v.OverflowUint(n) {
			return errDamaged
		}
		v.SetUint(n)
	case reflect.String:
		return d.text(v, n)
	case reflect.Pointer:
		return d.pointer(v, n, depth)
	default:
		return notEncodable(v.Type())
	}
	return nil
}

func (d *decoder) file(v reflect.Value) error {
	n, err := d.uint()
	if err != nil || n > uint64(len(d.files)) {
		return errDamaged
	}
	if n > 0 {
		v.Set(reflect.ValueOf(d.files[n-1]))
	}
	return nil
}

func (d *decoder) text(v reflect.Value, number uint64) error {
	if number == uint64(len(d.strings)) {
		n, err := d.uint()
		if err != nil || n > uint64(len(d.in)) {
			return errDamaged
		}
		d.strings = append(d.strings, string(d.in[:n]))
		d.in = d.in[n:]
	}
	if number >= uint64(len(d.strings)) {
		return errDamaged
	}
	v.SetString(d.strings[number])
	return nil
}

func (d *decoder) elements(v reflect.Value, depth int) error {
	for i := range v.Len() {
		if err := d.value(v.Index(i), depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (d *decoder) pointer(v reflect.Value, number uint64, depth int) error {
	switch {
	case number == 0:
		return nil
	case number > uint64(len(d.pointers))+1:
		return errDamaged
	case number <= uint64(len(d.pointers)):
		known := d.pointers[number-1]
		if known.Type() != v.Type() {
			return errDamaged
		}
		v.Set(known)
		return nil
	}
	if err := d.allocate(int(v.Type().Elem().Size())); err != nil {
		return err
	}
	to := reflect.New(v.Type().Elem())
	d.pointers = append(d.pointers, to)
	v.Set(to)
	return d.value(to.Elem(), depth+1)
}

func (d *decoder) mapping(v reflect.Value, depth int) error {
	n, err := d.length(v.Type().Elem())
	if err != nil || n < 0 {
		return err
	}
	if v.Type().Key().Kind() != reflect.Uint64 {
		return notEncodable(v.Type())
	}
	v.Set(reflect.MakeMapWithSize(v.Type(), n))
	for range n {
		key, err := d.uint()
		if err != nil {
			return err
		}
		value := reflect.New(v.Type().Elem()).Elem()
		if err := d.value(value, depth+1); err != nil {
			return fmt.Errorf("at %#x: %w", key, err)
		}
		v.SetMapIndex(reflect.ValueOf(key).Convert(v.Type().Key()), value)
	}
	return nil
}
