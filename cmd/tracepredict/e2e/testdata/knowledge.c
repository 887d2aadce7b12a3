/* The programs of the paper on DAME (Sen, Vardhan, Agha, Rosu), whose threads take their steps when the test says so:
 * thread N waits for a byte from a pipe of its own, N + 2, which no thread of the program writes, and reports each step.
 * So nothing but the program's own accesses and locks lets a thread know of another. The argument says which program. */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#define KEEP __attribute__((noipa))

static const char *program;

static void wait_for_turn(int thread)
{
	char c;

	if (read(thread + 2, &c, 1) != 1)
		_exit(3);
}

static void step_taken(void)
{
	if (write(1, "step\n", 5) != 5)
		_exit(3);
}

static int is(const char *name) { return !strcmp(program, name); }

/* Figure 2: a thread adds what two others have written. "stale": it adds what it read before. */
volatile int y, u;

KEEP void add(int early)
{
	int known = y;

	u = (is("stale") ? early : known) + u;
}

static void *writes_y(void *arg)
{
	wait_for_turn(1);
	y = 7;
	step_taken();
	return arg;
}

static void *writes_u(void *arg)
{
	wait_for_turn(2);
	u = 9;
	step_taken();
	return arg;
}

static void *adder(void *arg)
{
	wait_for_turn(3);
	int early = is("sum") ? 0 : y;
	step_taken();
	wait_for_turn(3);
	add(early);
	step_taken();
	return arg;
}

/* Section 3: the balance of two accounts, and a transfer between them. "accounts": each account has a lock. "bank": one
 * lock guards both, and a step is a whole call. */
volatile int checking = 100, saving = 50;
static pthread_mutex_t checking_lock = PTHREAD_MUTEX_INITIALIZER, saving_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t bank_lock = PTHREAD_MUTEX_INITIALIZER;

static void lock(pthread_mutex_t *account)
{
	if (is("accounts"))
		pthread_mutex_lock(account);
}

static void unlock(pthread_mutex_t *account)
{
	if (is("accounts"))
		pthread_mutex_unlock(account);
}

static void half_done(int thread)
{
	if (is("bank"))
		return;
	step_taken();
	wait_for_turn(thread);
}

KEEP int calc_balance(void)
{
	if (is("bank"))
		pthread_mutex_lock(&bank_lock);
	lock(&checking_lock);
	int sum = checking;
	unlock(&checking_lock);
	half_done(1);
	lock(&saving_lock);
	sum += saving;
	unlock(&saving_lock);
	if (is("bank"))
		pthread_mutex_unlock(&bank_lock);
	return sum;
}

KEEP void transfer(int amount)
{
	if (is("bank"))
		pthread_mutex_lock(&bank_lock);
	lock(&checking_lock);
	checking -= amount;
	unlock(&checking_lock);
	half_done(2);
	lock(&saving_lock);
	saving += amount;
	unlock(&saving_lock);
	if (is("bank"))
		pthread_mutex_unlock(&bank_lock);
}

static void *auditor(void *arg)
{
	wait_for_turn(1);
	int sum = calc_balance();
	step_taken();
	return sum < 0 ? NULL : arg;
}

static void *teller(void *arg)
{
	wait_for_turn(2);
	transfer(10);
	step_taken();
	return arg;
}

/* Section 3: a block that a thread executes twice. "repeated": another thread sees only the first. "interrupted": it sees
 * the inside of the second. */
volatile int written, answered;

KEEP void block(int value)
{
	int seen = is("repeated") && value > 1 ? answered : 0;

	written = value + seen;
	if (is("interrupted") && value > 1) {
		step_taken();
		wait_for_turn(1);
		seen = answered;
	}
}

static void *repeats(void *arg)
{
	for (int value = 1; value <= 2; value++) {
		wait_for_turn(1);
		block(value);
		step_taken();
	}
	return arg;
}

static void *answers(void *arg)
{
	wait_for_turn(2);
	answered = written;
	step_taken();
	return arg;
}

/* Section 4: mutual exclusion that tests a flag in one step and sets it in another. "mutex": done right. */
volatile int flag, inside;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

KEEP void critical(void) { inside++; }

static void enter(int thread)
{
	if (is("mutex")) {
		pthread_mutex_lock(&mutex);
		return;
	}
	int taken = flag;
	step_taken();
	wait_for_turn(thread);
	if (taken)
		_exit(4);
	flag = 1;
}

static void leave(void)
{
	if (is("mutex"))
		pthread_mutex_unlock(&mutex);
}

static void *visitor(void *number)
{
	int thread = *(int *)number;

	wait_for_turn(thread);
	enter(thread);
	critical();
	leave();
	step_taken();
	return NULL;
}

int main(int argc, char **argv)
{
	static int numbers[] = {1, 2, 3};
	void *(*accounts[])(void *) = {auditor, teller, NULL}, *(*sums[])(void *) = {writes_y, writes_u, adder};
	void *(*blocks[])(void *) = {repeats, answers, NULL}, *(*visitors[])(void *) = {visitor, visitor, NULL};
	pthread_t threads[3];

	program = argc > 1 ? argv[1] : "";
	void *(**starts)(void *) = is("sum") || is("stale") ? sums : is("repeated") || is("interrupted") ? blocks :
		is("flag") || is("mutex") ? visitors : accounts;
	for (int i = 0; i < 3 && starts[i]; i++)
		if (pthread_create(&threads[i], NULL, starts[i], &numbers[i]))
			return 1;
	for (int i = 0; i < 3 && starts[i]; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
