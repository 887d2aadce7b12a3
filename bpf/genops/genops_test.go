package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// TestCurrent checks that the committed ops.go is what the headers make.
func TestCurrent(t *testing.T) {
	want, err := generateIn("..")
	if err != nil {
		t.Fatal(err)
	}
	have, err := os.ReadFile("../ops.go")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, want) {
		t.Error("bpf/ops.go is not that of its headers: run go generate ./bpf")
	}
}

func TestGenerate(t *testing.T) {
	enums, err := parse("record.h", `
/* What a thread did.
 * See OP_GO_ON. */
enum op {
	OP_NONE,
	OP_GO_ON = 4, /* it goes on; OP_NONE is
		       * none */
	/* Before. */
	OP_READ_FIFO,
};
/* Bits. */
enum {
	REC_ANY = 0xffff,
};
`)
	if err != nil {
		t.Fatal(err)
	}
	text, err := generate(enums)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"// Op is enum op of record.h. What a thread did. See OpGoOn.\ntype Op uint8\n",
		"OpGoOn     Op = 4 // it goes on; OpNone is none\n",
		"OpReadFIFO Op = 5 // Before.\n",
		"\"go-on\",\n",
		"numOps Op = 3\n",
		"// Constants of record.h: Bits.\nconst (\n\tRecAny = 0xffff\n)",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

func TestGenerateRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"enum x {\n\tNEW_ONE,\n};":     "NEW_ONE is of no kind that Go knows",
		"enum x {\n\tOP_A = WORD,\n};": "enum x: strconv",
		"enum x {\n};":                 "enum x has no constants",
	} {
		enums, err := parse("record.h", text)
		if err == nil {
			_, err = generate(enums)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
