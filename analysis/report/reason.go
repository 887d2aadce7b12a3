package report

import (
	"cmp"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// reason returns a sentence, without its full stop, for a reason; "" if there is none.
func (b *builder) reason(r *reason.Reason) string { return Clean(b.because(r)) }

// because is reason with names as the program has them, which may be hostile.
func (b *builder) because(r *reason.Reason) string {
	text := sentences[r.What]
	if strings.Contains(text, "%d") {
		text = plural.Sprintf(text, r.Count)
	}
	of := ""
	if r.Of != nil {
		of = b.because(r.Of)
	}
	return strings.NewReplacer(
		"$threads", someThreads(r.Threads, r.Others), "$thread", number(r.Thread), "$other", number(r.Other),
		"$length", strconv.Itoa(r.Length), "$object", b.nameIn(r), "$memory", b.memoryIn(r), "$at", b.at(r.Stack),
		"$call", r.Call, "$words", r.Words, "$of", of,
	).Replace(text)
}

func number(t event.ThreadID) string { return fmt.Sprintf("T%d", t) }

// nameIn returns the name of the object that a reason speaks of; without a name, what it is.
func (b *builder) nameIn(r *reason.Reason) string {
	what := "a variable"
	switch r.What {
	case reason.PostMissing:
		what = "a semaphore"
	case reason.NotifyMissing:
		what = "a condition"
	case reason.ArrivalMissing:
		what = "a barrier"
	}
	return cmp.Or(b.named(r.Object).Name, what)
}

// memoryIn returns the name, the place or the address of the object that a reason speaks of.
func (b *builder) memoryIn(r *reason.Reason) string {
	o := b.named(r.Object)
	return cmp.Or(o.Name, o.Member, fmt.Sprintf("the lock at %#x", o.Addr))
}

func (b *builder) named(id event.ObjectID) (o run.Object) {
	if id != 0 && b.resolver != nil {
		o = b.resolver.Object(id)
	}
	return o
}

// at returns the place of an event, with the preposition; "" if it is not known.
func (b *builder) at(id event.StackID) string {
	if id == 0 || b.resolver == nil {
		return ""
	}
	frames := b.resolver.Frames(id)
	switch {
	case len(frames) == 0:
	case frames[0].Line > 0:
		return fmt.Sprintf(" at %s:%d", path.Base(frames[0].File), frames[0].Line)
	case frames[0].Function != "":
		return " in " + frames[0].Function
	}
	return ""
}

// The beginnings of sentences of schedules that leave critical sections out or move them.
const (
	moves     = "the schedule leaves critical sections out or moves them, and "
	theyWrote = moves + "what they wrote may decide what "
)

// sentences are the sentences of reasons. A word that begins with $ stands for a field of a reason: see because.
var sentences = map[reason.What]string{
	reason.Evicted:         "an event it needs lies before the part of the run that was kept; a larger --history may tell",
	reason.Unreleased:      "any schedule that leads there needs the release of a lock that this run never released",
	reason.Inclusion:       "no other schedule that keeps the observed order of critical sections leads there",
	reason.OnlyTrylocks:    "the acquire is a trylock, which does not block",
	reason.NoCycle:         "the locks do not make these threads wait for each other",
	reason.NoReordering:    "no schedule leads there in which each thread reads what it read in this run, also where critical sections change places",
	reason.Exhausted:       "no other schedule that keeps the observed order of critical sections leads there, and not all others were tried; a larger --reversals may tell",
	reason.Ordered:         "one of its sides comes before another in every schedule in which each thread reads what it read in this run",
	reason.NoConflict:      "the accesses do not conflict",
	reason.UnseenEvent:     "the schedule that was found cannot be executed, as something of the run was not seen: $words",
	reason.ToolError:       "the schedule that was found is none, which is an error of tracepredict: $words",
	reason.UnexplainedRead: "any schedule that leads there needs what the record does not explain: a read of a value that no recorded write left, or a wait for a semaphore without a post",
	reason.OneThread:       "one thread alone cannot do it",
	reason.NotSearched:     "the analysis ended before all of its schedules were searched; a longer --analysis-time may tell",
	reason.NobodyStuck:     "the threads go on in the schedule that was tried",
	reason.NoSearch:        "nothing predicts this kind of finding",
	reason.NotShown:        "no schedule is shown: $of",
	reason.NotWhole:        "no schedule that leads there was found, but the record is not whole: $of",
	reason.Learned:         "the protocol was learned from runs, and nobody has confirmed it",
	reason.NoWitness:       "no schedule could be made of it: $words",

	reason.NotKept:    "not all of it was kept; a larger --history may tell",
	reason.BeforePost: "what comes before a post for a semaphore is not known",
	reason.TooMuch:    "there is too much of it",
	reason.OtherWrite: "$thread reads what another thread wrote than in the run, and what comes before that is not known",
	reason.Unplaced:   "it is not known between which events $thread made some accesses",
	reason.Overtaken:  "$thread may have read, without a record, what $other writes before in this schedule",

	reason.SectionsDecide:     theyWrote + "$thread does in its own ($words)",
	reason.SectionsUnexamined: theyWrote + "threads do in theirs (not examined)",
	reason.SectionsUnknown:    moves + "what others wrote in theirs may decide what threads do ($of)",
	reason.SectionsUnsure:     moves + "what $thread wrote in its own may decide what others do in theirs ($words)",
	reason.SectionsAddress:    moves + "$thread may have the address of what it accesses from what they wrote ($words)",
	reason.AddressUnwritten:   moves + "$thread has the address of what it accesses from memory in which no recorded write had left it: without that write it would not be there",
	reason.OtherValue:         "in this schedule $thread reads another value of $object$at than in this run, and it was not checked that it then does the same",
	reason.PerhapsPrevented:   "what $thread and $other do under a lock that both acquire, or a semaphore that both wait for, comes in another order than in the run, and the data that it guards, which were not recorded, may prevent that",
	reason.SignalTaken:        "the signal of $thread wakes another thread than in this run, which waits for the same condition elsewhere or looks at other data; whether that thread then waits again may not be recorded",
	reason.SignalAgain:        "$thread may signal again, or not before the wait begins: what decides that may not be recorded",
	reason.TriesAgain:         "$thread does not wait for $object, but tries again and again: nothing in its code ends that but to have the lock, as far as the code was understood",
	reason.TriesOnly:          "$thread only tries here, with an interpreter's lock held: whether it waits if that fails, as Python's acquire() does and acquire(blocking=False) does not, was not recorded",
	reason.GoesOnWaiting:      "in this schedule another thread goes on while $thread has released an interpreter's lock to wait, but $thread only does so if it has to wait",

	reason.Unseen:              "$threads synchronised unobserved ($words), which may order any two events",
	reason.UnseenWait:          "$threads synchronised unobserved ($words), which may order what followed after what other threads did before",
	reason.WaitEnded:           "$thread went on after $call of $other, which probably ended its wait ($words): that probably keeps the two sides apart in other schedules too",
	reason.AskChanged:          "$thread went on after $call of $other, which changed what it asked for ($words): that probably keeps the two sides apart in other schedules too",
	reason.SeveralProcesses:    "the threads are of several processes, which may wait for each other by what is not recorded: a signal, a file, memory that they map",
	reason.Helped:              "a signal handler, a timer or another process may end a wait, and it is not known whether there is one",
	reason.AnotherSignal:       "another signal may come, or this one be sent again, by what is not known",
	reason.Handlers:            "the program has signal handlers, and one of them may end a wait",
	reason.TimedWait:           "a wait has a time limit, after which its thread may let the others go on",
	reason.TimedCycle:          "a wait of this cycle has a time limit, after which its thread may let the others go on",
	reason.TimedThread:         "a thread of this cycle gives up waiting after a time limit, so that the others may go on",
	reason.CalledBack:          "the C library called $thread and $other back here, within $words, and holds a lock of its own then, which is not observed: if it is the same one, as that of one stream, the two are never there at the same time",
	reason.FirstOwner:          "one of the accesses may be the first owner's preparation of the variable, before others knew of it",
	reason.AnotherNotification: "another thread may notify it, or it may find a value for which it does not wait, by what is not known",

	reason.InSummary:          "$words",
	reason.HeldBefore:         "$thread may have held a lock then that it took before the observation began",
	reason.EventsLost:         "events of $thread were lost",
	reason.RunLost:            "events of this run were lost, so what orders these may have been lost too",
	reason.WriteForgotten:     "$thread reads a variable of which the write before was forgotten to bound memory: whether it was recorded is not known",
	reason.KnowledgeForgotten: "what threads could learn from variables and locks was forgotten to bound memory: the thread may know more",
	reason.UseForgotten:       "$thread waits for what was used before, which was forgotten to bound memory: what ended its wait is not known",
	reason.HeldByTwo:          "the record contradicts itself: $thread acquired one of its locks while $other held it, so a release was not seen",
	reason.HeldInFreed:        "the record contradicts itself: the memory of one of its locks became another object while $thread held the lock, so a release was not seen",
	reason.ManyHeldByTwo:      "the record contradicts itself: many locks were acquired while another thread held them, so releases were not seen",
	reason.PostMissing:        "$thread got past its wait for $object$at although no recorded post was left, and what posted may order any two events",
	reason.NotifyMissing:      "$thread woke from its wait on $object$at although no recorded notification was left, and what woke it may order any two events",
	reason.ArrivalMissing:     "$thread left $object$at although fewer threads than it waits for were seen to arrive, and those not seen may order any two events",
	reason.WriteMissing:       "$thread read a value of $object$at that no recorded write left, and what wrote it may order any two events",
	reason.JoinedTwice:        "$thread was joined twice, the second time$at, so that what its end orders is not known",
	reason.WentOnJoined:       "$thread went on$at after it had been joined, so that what its end orders is not known",
	reason.OrderOpen:          "an access and its record are two moments, and the record does not show whether this run had that order",
	reason.ValueMissing:       "a write of a watched variable did not tell its value",
	reason.CreationUnseen:     "the object was not seen to be created, so that its state is not known",
	reason.InitialMissing:     "what the variable '$words' held before its first write is not known",
	reason.LibraryUnloaded:    "$memory lies in memory of a library that was unloaded, and another one may have been loaded there in between",
	reason.MemoryFreed:        "the memory of $memory may have been freed and used again in between, which was not recorded",
	reason.FieldFreed:         "its memory may have been freed and used again in between, which was not recorded",
	reason.MemoryReused:       "the memory of $memory may have been used again in between, as by a pool of the program's own: no call initialised the lock",
	reason.LifeUnknown:        "its memory may have been freed and used again in between, since it is not known when that was freed",

	reason.CallsNotFollowed:  "%d {call could not be followed to its return, and it|calls could not be followed to their return, and one} may have taken the lock",
	reason.PerhapsAtomic:     "nothing shows whether the access of $thread, or what orders it, is atomic: its code has no debug information (compile with -g), has it in another file (-gsplit-dwarf), or is too much to be searched",
	reason.PerhapsWaits:      "$thread waits for the value in a loop: it is no race if the accesses are those of atomic built-ins, which machine code does not show",
	reason.PerhapsFlag:       "the threads use it as a flag: $other accesses $object before it stores the flag, and $thread does so$at after it has looked at the flag and gone on by its value, and nothing else keeps these apart; it is no race if the accesses of the flag are those of atomic built-ins, which machine code does not show",
	reason.PerhapsWider:      "the instruction of $thread loads more bytes at once than this variable has: compilers join loads of neighbouring variables, and load whole vectors of which the source uses only some; it is no race if the source does not read the variable there (code compiled with -O0 shows it)",
	reason.ReaderByPolicy:    "a reader of this cycle waits behind a writer, as --rwlock-policy writer has all read-write locks do; schedules are made for those that do not",
	reason.ReaderByKind:      "a reader of this cycle waits behind a writer: the lock prefers writers (as a lock of Rust does, or one made with PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP, as its memory said when it was first taken); schedules are made for locks that prefer readers",
	reason.ClassesOnly:       "the run shows no locks that all of these threads took: only the classes of the locks form a cycle (--lock-classes)",
	reason.PerhapsInit:       "it may have been initialised again without a call, by a static initialiser or another process",
	reason.PerhapsGaveUp:     "the other wait has a time limit, and its thread may have given up by then and been waiting for its mutex",
	reason.PerhapsLeft:       "all threads had arrived, and the other one may have left the barrier by then, though its call had not returned",
	reason.PerhapsOnPurpose:  "it may hold the lock on purpose, so that no other thread changes what the lock guards while the process ends",
	reason.PerhapsUnused:     "the program may never touch the lock again: no thread was seen to unlock it after that",
	reason.PerhapsToldUnused: "something that was not observed may have told the thread that the object is used no more",

	reason.SearchEnded:    "the search for cycles of locks ended after %d {step|steps}, at cycles of $length threads",
	reason.LongerCycles:   "cycles of more than $length threads were not looked for",
	reason.NoRoom:         "%d {acquisition|acquisitions} had lock orders for which there was no room",
	reason.CyclesDropped:  "%d more {cycle was|cycles were} dropped",
	reason.OrderedDropped: "%d {time|times} more accesses came one after the other in every schedule, at more pairs of places than are listed",
	reason.LockedDropped:  "%d {time|times} more accesses were kept apart by a lock, at more pairs of places than are listed",
}
