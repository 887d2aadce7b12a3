package trace

import (
	"encoding/binary"

	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// The functions code… define the encoding of names in the file, field by field. Each serves
// for both writing and reading, depending on its coder.

// coder writes the fields that are passed to it, or sets them to the values that it reads. A
// reading coder sets bad in its cursor when it finds an error.
type coder struct {
	out          []byte              // the bytes written so far
	stringNumber func(string) uint64 // returns the number of a string, for writing

	in    *cursor  // nil in a coder that writes
	table []string // the strings of the block, by number, for reading
}

// uvarint codes a number.
func (k *coder) uvarint(v *uint64) {
	if k.in != nil {
		*v = k.in.uvarint()
	} else {
		k.out = binary.AppendUvarint(k.out, *v)
	}
}

// num codes a number that fits into 32 bits. A negative one is written as 0.
func num[T ~uint32 | ~int](k *coder, v *T) {
	if k.in != nil {
		*v = T(k.in.number())
	} else {
		k.out = binary.AppendUvarint(k.out, uint64(max(*v, 0)))
	}
}

// small codes a number that fits into 8 bits; a greater one is read as 255.
func small[T ~uint8](k *coder, v *T) {
	wide := uint64(*v)
	k.uvarint(&wide)
	*v = T(min(wide, 255))
}

// signed codes a number of 32 bits that may be negative.
func (k *coder) signed(v *int) {
	wide := zigzag(uint64(*v))
	k.uvarint(&wide)
	*v = int(int32(unzigzag(wide)))
}

// flag codes a boolean, as 0 or 1.
func (k *coder) flag(v *bool) {
	wide := uint64(0)
	if *v {
		wide = 1
	}
	k.uvarint(&wide)
	*v = wide != 0
}

// text codes a string, by its number in the block; 0 is "".
func (k *coder) text(s *string) {
	if k.in == nil {
		k.out = binary.AppendUvarint(k.out, k.stringNumber(*s))
		return
	}
	i := k.in.uvarint()
	if i >= uint64(len(k.table)) && i > 0 {
		k.in.bad = true
		return
	}
	if i > 0 {
		*s = k.table[i]
	}
}

// list codes a list of at most most elements: further ones are not written, and a longer list
// is an error when read.
func list[T any](k *coder, all *[]T, most int, code func(*coder, *T)) {
	n := uint64(min(len(*all), most))
	k.uvarint(&n)
	if k.in != nil {
		if k.in.bad || n > uint64(most) {
			k.in.fail()
			return
		}
		if n > 0 {
			*all = make([]T, n)
		}
	}
	for i := range *all {
		if uint64(i) == n || k.in != nil && k.in.bad {
			return
		}
		code(k, &(*all)[i])
	}
}

func codeThread(k *coder, t *run.Thread) {
	num(k, &t.TID)
	num(k, &t.TGID)
	num(k, &t.Parent)
	num(k, &t.Created)
	k.text(&t.Start)
	k.text(&t.Name)
	k.flag(&t.Main)
}

func codeObject(k *coder, o *run.Object) {
	small(k, &o.Kind)
	k.text(&o.Name)
	k.uvarint(&o.Addr)
	num(k, &o.TGID)
	num(k, &o.Init)
	num(k, &o.First)
	num(k, &o.FirstThread)
}

func codeMember(k *coder, o *run.Object) {
	k.text(&o.Member)
	k.text(&o.Class)
}

func codeBlock(k *coder, b *run.Block) {
	k.uvarint(&b.Size)
	k.uvarint(&b.Offset)
	num(k, &b.Thread)
	k.uvarint(&b.Element)
}

func codeFunc(k *coder, f *event.Func) {
	k.text(&f.Name)
	k.text(&f.Module)
	k.text(&f.Result)
	k.flag(&f.ReturnsAddress)
	small(k, &f.Life)
	list(k, &f.Params, event.MaxArgs, codeParam)
	list(k, &f.Patterns, maxPatterns, codePattern)
}

func codeParam(k *coder, p *event.Param) {
	k.text(&p.Name)
	k.text(&p.Type)
	number := p.Index
	if p.Stored {
		number = firstStored - p.Index - maxIndex*p.Element
	}
	k.signed(&number)
	p.Index = number
	if number <= firstStored {
		p.Stored, p.Index, p.Element = true, (firstStored-number)%maxIndex, (firstStored-number)/maxIndex
	}
}

// A parameter that is what a function has stored has a number up to firstStored, from which its index, below maxIndex,
// and its element are subtracted: readers of earlier versions find no such parameter.
const (
	firstStored = -2
	maxIndex    = 1 << 12
)

func codePattern(k *coder, o *event.Pattern) {
	k.text(&o.Pattern)
	k.flag(&o.Return)
}

func codeFrame(k *coder, f *event.Frame) {
	k.text(&f.Function)
	k.text(&f.File)
	k.text(&f.Module)
	num(k, &f.Line)
	k.uvarint(&f.Offset)
	k.flag(&f.Inlined)
	k.uvarint(&f.Addr)
}

// codeStart codes the line on which the function of a frame begins.
func codeStart(k *coder, f *event.Frame) { num(k, &f.Start) }

func codeFormName(k *coder, n *event.Name) {
	k.uvarint(&n.Value)
	k.text(&n.Text)
}
