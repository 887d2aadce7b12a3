#!/bin/bash
# cilium/ebpf's package asm has constructors for the atomic instructions of BPF: FetchAdd, FetchAnd, FetchOr, FetchXor,
# Xchg and CmpXchg. What they make prints as what was asked for, and is written as a plain atomic addition: which atomic
# operation it is stands in the immediate of the instruction, and that is read before the operation is put there. So a
# program that exchanges two values adds one to the other, without an error, and its register keeps what it had. What
# was read from an object file is written as it was, since the immediate is kept beside the operation; and so is an
# instruction whose Constant is set by hand.
#
# Seen: cilium/ebpf 0.22.0, the newest release, Go 1.26, 2026-11-29: all four below are "db 12 00 00 00 00 00 00".
# Needs go. Fails if it is otherwise.
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >main.go <<'GO'
package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"

	"github.com/cilium/ebpf/asm"
)

func written(ins asm.Instruction) string {
	var b bytes.Buffer
	if _, err := ins.Marshal(&b, binary.LittleEndian); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	return fmt.Sprintf("% x", b.Bytes())
}

func main() {
	for _, op := range []asm.AtomicOp{asm.AddAtomic, asm.FetchAdd, asm.Xchg, asm.CmpXchg} {
		ins := op.Mem(asm.R2, asm.R1, asm.DWord, 0)
		fmt.Printf("%v: %s\n", ins, written(ins))
	}
	byHand := asm.FetchAdd.Mem(asm.R2, asm.R1, asm.DWord, 0)
	byHand.Constant = 1 // BPF_ADD | BPF_FETCH
	fmt.Printf("by hand: %s\n", written(byHand))
}
GO
go mod init findings >/dev/null 2>&1
go get github.com/cilium/ebpf@v0.22.0 >/dev/null 2>&1
go run . | tee said
[ "$(grep -c 'db 12 00 00 00 00 00 00' said)" = 4 ] && grep -q '^by hand: db 12 00 00 01 00 00 00' said || {
	echo "cilium/ebpf writes atomic instructions otherwise now" >&2
	exit 1
}
