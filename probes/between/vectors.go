package between

// vector executes what copies vector registers, makes them zero, and compares one floating-point number.
func (o *operation) vector() bool {
	if o.op < 0x0f00 {
		return false
	}
	reg := o.regNumber()
	switch o.op {
	case 0x0f10, 0x0f28, 0x0f6f:
		return o.loadVector(reg)
	case 0x0f11, 0x0f29, 0x0f7f:
		return o.storeVector(reg)
	case 0x0f6e:
		if !o.narrow {
			return false
		}
		o.vectors[reg] = [2]term{o.rm(o.wordOf()), number(0)}
	case 0x0f7e:
		switch {
		case o.repeat:
			o.vectors[reg] = [2]term{o.low(8), number(0)}
		case o.narrow:
			o.setRM(o.vectors[reg][0].trunc(o.wordOf()), o.wordOf())
		default:
			return false
		}
	case 0x0fd6:
		if !o.narrow || o.isRegister() {
			return false
		}
		o.setRM(o.vectors[reg][0], 8)
	case 0x0f57, 0x0fef:
		if !o.isRegister() || o.rmNumber() != reg || o.op == 0x0fef && !o.narrow {
			return false
		}
		o.vectors[reg] = [2]term{}
	case 0x0f2e, 0x0f2f:
		size := 4
		if o.narrow {
			size = 8
		}
		o.flags = comparison{known: true, float: true, size: size, x: o.vectors[reg][0].trunc(size), y: o.low(size)}
	default:
		return false
	}
	return true
}

// wordOf returns the size of the general register of movd or movq.
func (o *operation) wordOf() int {
	if o.rex&8 != 0 {
		return 8
	}
	return 4
}

// low returns the low bytes of the vector operand that ModR/M names.
func (o *operation) low(size int) term {
	if o.isRegister() {
		return o.vectors[o.rmNumber()][0].trunc(size)
	}
	return o.rm(size)
}

// bytes returns how many bytes a move of vectors copies; 0 if it is none.
func (o *operation) bytes() int {
	switch {
	case o.op>>4 == 0x0f1 && o.repeat:
		return 4
	case o.op>>4 == 0x0f1 && o.single:
		return 8
	case (o.op == 0x0f6f || o.op == 0x0f7f) && !o.narrow && !o.repeat:
		return 0 // of MMX
	}
	return 16
}

func (o *operation) loadVector(reg int) bool {
	n := o.bytes()
	if n == 0 {
		return false
	}
	if o.isRegister() {
		from := o.vectors[o.rmNumber()]
		switch n {
		case 16:
			o.vectors[reg] = from
		case 8:
			o.vectors[reg][0] = from[0]
		default:
			o.vectors[reg][0] = o.vectors[reg][0].with(from[0], 4)
		}
		return true
	}
	at, ok := o.address()
	if !ok {
		return false
	}
	if n < 16 {
		o.vectors[reg] = [2]term{o.e.load(o.machine, at, n), {}}
		return true
	}
	o.vectors[reg] = [2]term{o.e.load(o.machine, at, 8), o.e.load(o.machine, at.plus(8), 8)}
	return true
}

func (o *operation) storeVector(reg int) bool {
	n := o.bytes()
	at, ok := o.address()
	if n == 0 || !ok {
		return false
	}
	v := o.vectors[reg]
	if n < 16 {
		o.e.store(o.machine, at, n, v[0])
		return true
	}
	o.e.store(o.machine, at, 8, v[0])
	o.e.store(o.machine, at.plus(8), 8, v[1])
	return true
}
