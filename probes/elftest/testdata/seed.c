// A program that defines its own locks, so that a plan has sites; nothing runs it.
typedef struct { int word; } lock_t;
int hits; static _Atomic int turns; struct node { struct node *next; int v; } *head;
static volatile long total;
extern int puts(const char *); extern int other(int *);
__attribute__((noinline)) int pthread_mutex_lock(lock_t *l) { while (__atomic_exchange_n(&l->word, 1, 2)) ; return 0; }
__attribute__((noinline)) int pthread_mutex_unlock(lock_t *l) { l->word = 0; return 0; }
__attribute__((noinline)) int pthread_cond_wait(lock_t *c, lock_t *m) { pthread_mutex_unlock(m); while (!c->word) if (puts("x")) break; return pthread_mutex_lock(m); }
__attribute__((noinline)) int pick(int k) {
  switch (k) { case 0: return puts("a"); case 1: hits++; return 3; case 2: return other(&hits); case 3: total += k; return 9; case 4: return hits * 5; case 5: turns++; return 1; case 6: return 77; }
  return -1;
}
static inline __attribute__((always_inline)) int twice(int k) { static int count; count += k; return pick(k) + pick(count); }
int *where(void) { return &hits; }
int start(int n) { static lock_t l; pthread_mutex_lock(&l); int r = twice(n); head = 0; pthread_mutex_unlock(&l); return r + *where(); }
