package report

import (
	"testing"

	"github.com/tracepredict/tracepredict/observer/event"
)

func TestFunctionNames(t *testing.T) {
	for name, want := range map[string]string{
		"":                                   "",
		"main":                               "main",
		"f.isra.0.cold":                      "f",
		"f.part.12.constprop.3":              "f",
		"Q<int>::put(int)":                   "Q<>::put(int)",
		"put<int>(int)":                      "put<>",
		"put<long>(std::vector<long>)":       "put<>",
		"V::name[abi:cxx11](char)":           "V::name(char)",
		"operator<(A, B)":                    "operator<(A, B)",
		"f(std::pair<int, int>)":             "f(std::pair<>)",
		"run()::{lambda(int)#1}::operator()": "run()::{lambda(int)#1}::operator()",
	} {
		if got := functionName(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestModuleNames(t *testing.T) {
	for path, want := range map[string]string{
		"/opt/shop":                 "shop",
		"/lib/libz.so.1.2.13":       "libz.so",
		"/lib/libc-2.31.so":         "libc.so",
		"/lib/ld-linux-x86-64.so.2": "ld-linux-x86-64.so",
		"/lib/a-b.so":               "a-b.so",
		"[kernel]":                  "[kernel]",
	} {
		if got := moduleName(event.Frame{Module: path}); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}
