package bpf

// A Record's Extra is a union by operation: the methods return it under the names of its members in record.h, which
// say of which records they are.

// Entered returns the time of the entry of an OpJoin that has returned.
func (r *TracepredictRecord) Entered() uint64 { return r.Extra }

// Allocated returns the time at which the thread made the block of an OpAlloc with RecPast.
func (r *TracepredictRecord) Allocated() uint64 { return r.Extra }

// Ip returns the instruction pointer of an OpTouch, or that of the instruction behind a call of a futex.
func (r *TracepredictRecord) Ip() uint64 { return r.Extra }

// Marks returns what a condition or mutex says of itself: CondShared and its neighbours, or MutexDestroyed.
func (r *TracepredictRecord) Marks() uint64 { return r.Extra }

// Pshared returns the operand of an OpInit that is not 0 if processes share the object.
func (r *TracepredictRecord) Pshared() uint64 { return r.Extra }

// Bytes returns the bytes of its word, a bit for each, that an access of data through a pointer accesses.
func (r *TracepredictRecord) Bytes() uint64 { return r.Extra }

// Offset returns the distance in bytes of an element from the beginning of its array.
func (r *TracepredictRecord) Offset() uint64 { return r.Extra }

// Ended returns those events of a descriptor that is ready which say that it has ended; 0: none does.
func (r *TracepredictRecord) Ended() uint64 { return r.Extra }

// Channel returns the channel of the descriptor that an OpSend adds to an epoll set.
func (r *TracepredictRecord) Channel() uint64 { return r.Extra }

// Woken returns the observed thread that the OpSend of a ChannelWake wakes; 0: it wakes another task.
func (r *TracepredictRecord) Woken() uint64 { return r.Extra }

// Asked returns a key of what a loop of an OpUnseen has asked for; the other one is Sp.
func (r *TracepredictRecord) Asked() uint64 { return r.Extra }

// ByItself returns whether the thread of an OpName has given itself the name; 0: another one has.
func (r *TracepredictRecord) ByItself() uint64 { return r.Extra }

// Token returns what a call on an eventfd, or on a set of semaphores of System V, does; see EventfdToken and SemOne.
func (r *TracepredictRecord) Token() uint64 { return r.Extra }
