package report

import (
	"reflect"
)

// Cleaned returns the report with all texts of its run clean. Writers call it, since parts of a run are added after
// Build.
func (r Report) Cleaned() Report {
	r.Run = cleaned(r.Run)
	return r
}

// CleanTexts returns a copy of v, data without cycles, in which each text is clean.
func CleanTexts[T any](v T) T { return cleaned(v) }

// cleaned returns a copy of v, data without cycles, in which each text is clean. Words of the tool, whose type is not
// string itself, stay as they are.
func cleaned[T any](v T) T {
	out := reflect.New(reflect.TypeFor[T]()).Elem()
	out.Set(cleanedValue(reflect.ValueOf(&v).Elem()))
	return out.Interface().(T)
}

func cleanedValue(v reflect.Value) reflect.Value {
	if !hasText(v.Type()) || (v.Kind() == reflect.Pointer || v.Kind() == reflect.Slice || v.Kind() == reflect.Map) && v.IsNil() {
		return v
	}
	out := reflect.New(v.Type()).Elem()
	switch v.Kind() {
	case reflect.String:
		out.SetString(Clean(v.String()))
	case reflect.Pointer:
		out.Set(reflect.New(v.Type().Elem()))
		out.Elem().Set(cleanedValue(v.Elem()))
	case reflect.Slice:
		out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			out.Index(i).Set(cleanedValue(v.Index(i)))
		}
	case reflect.Map:
		out.Set(reflect.MakeMapWithSize(v.Type(), v.Len()))
		for of := v.MapRange(); of.Next(); {
			out.SetMapIndex(cleanedValue(of.Key()), cleanedValue(of.Value()))
		}
	case reflect.Struct:
		out.Set(v)
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				out.Field(i).Set(cleanedValue(v.Field(i)))
			}
		}
	default:
		return v
	}
	return out
}

// hasText reports whether a value of a type may have a text in it.
func hasText(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String:
		return t == reflect.TypeFor[string]()
	case reflect.Pointer, reflect.Slice:
		return hasText(t.Elem())
	case reflect.Map:
		return hasText(t.Key()) || hasText(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() && hasText(f.Type) {
				return true
			}
		}
	}
	return false
}
