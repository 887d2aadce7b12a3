package main

import (
	"fmt"
	"slices"
	"strings"
)

// prelude is what the source of every program begins with. Each operation waits for a time slot of
// its own; an operation that is not over when its slot is ends the program with the status late.
const prelude = `// gcc %s
#define _GNU_SOURCE
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>
#ifndef SLOT
#define SLOT 1000000L
#endif
struct me { long base, until; const unsigned char *next; int value; };
static const unsigned char slots[%d][%d] = { %s };
static long now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000000000L + t.tv_nsec; }
static void check(int well) { if (!well) _exit(%d); }
static struct me begin(intptr_t arg) { return (struct me){ arg >> 2, LONG_MAX, slots[arg & 3], 0 }; }
static void *pass(struct me *me, int thread) { return (void *)(intptr_t)(me->base << 2 | thread); }
static void done(struct me *me) { check(now() <= me->until && *me->next == 0); }
static void woke(struct me *me) {
	long slot = me->base + *me->next++ * SLOT;
	check(now() >= slot - SLOT && now() <= slot + SLOT);
	me->until = slot + SLOT;
}
static void at(struct me *me) {
	check(now() <= me->until && *me->next != 0);
	long slot = me->base + *me->next++ * SLOT;
	struct timespec t = { slot / 1000000000L, slot %% 1000000000L };
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
	me->until = slot + SLOT;
}
`

// late is the exit status of a program that did not keep to its slots.
const late = 99

var preludeLines = strings.Count(prelude, "\n")

// compiler makes the code of one routine.
type compiler struct {
	*program
	code   []instruction
	indent int
}

// compile makes the instructions and the source from the statements.
func (p *program) compile() {
	p.code, p.source = make([][]instruction, len(p.blocks)), nil
	c := &compiler{program: p}
	c.objects()
	for i := len(p.blocks) - 1; i >= 0; i-- {
		c.routine(i)
	}
}

func (c *compiler) emit(format string, args ...any) (line int) {
	c.source = append(c.source, strings.Repeat("\t", c.indent)+fmt.Sprintf(format, args...))
	return preludeLines + len(c.source)
}

func (c *compiler) objects() {
	for i, name := range c.locks {
		if i < c.mutexes {
			c.emit("static pthread_mutex_t %s = PTHREAD_MUTEX_INITIALIZER;", name)
		} else {
			c.emit("static pthread_rwlock_t %s = PTHREAD_RWLOCK_INITIALIZER;", name)
		}
	}
	for i := range c.conditions {
		c.emit("static pthread_cond_t c%d = PTHREAD_COND_INITIALIZER;", i)
	}
	for i := range c.semaphores {
		c.emit("static sem_t s%d;", i)
	}
	for i, name := range c.variables {
		c.emit("static %sint %s __attribute__((used));", map[bool]string{true: "_Atomic "}[i < c.atomics], name)
	}
}

func (c *compiler) routine(i int) {
	c.code, c.indent = nil, 0
	c.emit("")
	if i > 0 {
		c.emit("static void *r%d(void *arg)", i)
		c.emit("{")
		c.indent++
		c.emit("struct me me = begin((intptr_t)arg);")
	} else {
		c.emit("int main(void)")
		c.emit("{")
		c.indent++
		c.emit("sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){ .sched_priority = 1 });")
		for s, v := range c.semaphores {
			c.emit("sem_init(&s%d, 0, %d);", s, v)
		}
		c.emit("struct me me = begin((intptr_t)((now() + 2 * SLOT) << 2));")
	}
	for _, s := range c.blocks[i] {
		if s.kind == create {
			c.emit("pthread_t t%d;", s.object)
		}
	}
	c.block(c.blocks[i])
	c.emit("done(&me);")
	c.emit("return 0;")
	c.indent--
	c.emit("}")
	c.resolve()
	c.program.code[i] = c.code
}

func (c *compiler) add(in instruction) *instruction {
	in.then = len(c.code) + 1
	c.code = append(c.code, in)
	return &c.code[len(c.code)-1]
}

func (c *compiler) block(list []statement) {
	for _, s := range list {
		c.statement(s)
	}
}

func (c *compiler) statement(s statement) {
	in := instruction{kind: s.kind, object: s.object, value: s.value, test: s.test}
	switch {
	case s.kind == wait:
		c.wait(s)
	case s.kind == increment:
		in.line = c.emit("at(&me); %s++;", c.variables[s.object])
		in.kind = read
		c.add(in)
		in.kind = increment
		c.add(in)
	case s.kind == tryLock || s.kind == semTry || s.test:
		c.branch(s, in)
	default:
		in.line = c.emit("at(&me); %s;", c.text(s))
		c.add(in)
	}
}

// wait makes the loop of a wait for a predicate.
func (c *compiler) wait(s statement) {
	of := c.conditions[s.object]
	loop := len(c.code)
	line := c.emit("while (at(&me), %s != %d)", c.variables[of.variable], of.value)
	c.add(instruction{kind: read, object: of.variable, value: of.value, test: true, otherwise: loop + 1, line: line}).then = loop + 2
	c.indent++
	line = c.emit("{ at(&me); pthread_cond_wait(&c%d, &%s); woke(&me); }", s.object, c.locks[of.mutex])
	c.indent--
	c.add(instruction{kind: wait, object: s.object, mutex: of.mutex, line: line}).then = loop
}

// branch makes a test or an attempt with what depends on it.
func (c *compiler) branch(s statement, in instruction) {
	in.line = c.emit("at(&me); if (%s) {", c.text(s))
	test := len(c.code)
	c.add(in)
	c.indent++
	c.block(s.body)
	c.indent--
	c.code[test].otherwise = len(c.code)
	if len(s.other) > 0 {
		over := len(c.code)
		c.add(instruction{kind: jump})
		c.code[test].otherwise = len(c.code)
		c.emit("} else {")
		c.indent++
		c.block(s.other)
		c.indent--
		c.code[over].then = len(c.code)
	}
	c.emit("}")
}

// text returns the expression of a statement, which for a branch is what is tested.
func (c *compiler) text(s statement) string {
	switch s.kind {
	case lock, tryLock, readLock, unlock:
		return c.lockCall(s)
	case signal:
		return fmt.Sprintf("pthread_cond_signal(&c%d)", s.object)
	case broadcast:
		return fmt.Sprintf("pthread_cond_broadcast(&c%d)", s.object)
	case post:
		return fmt.Sprintf("sem_post(&s%d)", s.object)
	case semWait:
		return fmt.Sprintf("sem_wait(&s%d)", s.object)
	case semTry:
		return fmt.Sprintf("sem_trywait(&s%d) == 0", s.object)
	case create:
		return fmt.Sprintf("pthread_create(&t%d, NULL, r%d, pass(&me, %d))", s.object, c.program.routine[s.object], s.object)
	case join:
		return fmt.Sprintf("pthread_join(t%d, NULL)", s.object)
	case write:
		if s.object < c.atomics && c.release {
			return fmt.Sprintf("__atomic_store_n(&%s, %d, __ATOMIC_RELEASE)", c.variables[s.object], s.value)
		}
		return fmt.Sprintf("%s = %d", c.variables[s.object], s.value)
	case update:
		return c.variables[s.object] + "++"
	}
	if s.test {
		return fmt.Sprintf("%s == %d", c.variables[s.object], s.value)
	}
	return "me.value += " + c.variables[s.object]
}

func (c *compiler) lockCall(s statement) string {
	call := map[kind]string{lock: "mutex_lock", tryLock: "mutex_trylock", unlock: "mutex_unlock"}
	if s.object >= c.mutexes {
		call = map[kind]string{lock: "rwlock_wrlock", readLock: "rwlock_rdlock", tryLock: "rwlock_trywrlock", unlock: "rwlock_unlock"}
	}
	text := fmt.Sprintf("pthread_%s(&%s)", call[s.kind], c.locks[s.object])
	if s.kind == tryLock {
		text += " == 0"
	}
	return text
}

// resolve leads what would go to a jump to the jump's end.
func (c *compiler) resolve() {
	end := func(at int) int {
		for at < len(c.code) && c.code[at].kind == jump {
			at = c.code[at].then
		}
		return at
	}
	for i := range c.code {
		c.code[i].then, c.code[i].otherwise = end(c.code[i].then), end(c.code[i].otherwise)
	}
}

func (p *program) compilerFlags() []string {
	return []string{"-g", fmt.Sprintf("-O%d", p.optimise), "-pthread"}
}

// text returns the source that shows a run.
func (p *program) text(run []event) string {
	rows := make([][]string, len(p.routine))
	for _, e := range run {
		if e.in.kind != increment {
			rows[e.thread] = append(rows[e.thread], fmt.Sprint(e.slot))
		}
	}
	columns := 0
	table := make([]string, len(rows))
	for i, row := range rows {
		table[i] = "{ " + strings.Join(append(row, "0"), ", ") + " }"
		columns = max(columns, len(row)+1)
	}
	head := fmt.Sprintf(prelude, strings.Join(p.compilerFlags(), " "), len(rows), columns, strings.Join(table, ", "), late)
	return head + strings.Join(slices.Concat(p.source, []string{""}), "\n")
}
